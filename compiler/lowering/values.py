"""Model expressions and conditions as C, for one function on one port role."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..events import Events
from ..graph import leading
from ..layout import Table
from ..lowered import Line, Writer, c_name
from ..manifest import State
from ..model import (
    And,
    Arithmetic,
    Arrival,
    Attribute,
    Compare,
    Condition,
    Const,
    Count,
    Expr,
    Field,
    First,
    Found,
    Hash,
    Header,
    IsFragment,
    IsLocal,
    IsMulticast,
    Item,
    Layer4,
    Listed,
    Not,
    Or,
    Own,
    Packet,
    Pipeline,
    PortIs,
    Present,
    Recalled,
)
from ..requests.lists import octets_of

if TYPE_CHECKING:
    from .shape import Shape
    from .trace import Points

SWAP = {2: "bpf_ntohs", 4: "bpf_ntohl", 8: "bpf_be64_to_cpu", 16: "swap128"}


@dataclass(frozen=True)
class Value:
    """A C expression of `width` bits; `raw`: whole octets as they stand in the packet, not yet in
    host order. `given`: a C condition under which there is a value at all ("" for always)."""

    text: str
    width: int
    raw: bool = False
    given: str = ""

    @property
    def octets(self) -> int:
        return octets_of(self.width)

    def host(self) -> str:
        return f"{SWAP[self.octets]}({self.text})" if self.raw and self.octets > 1 else self.text

    def network_of(self, octets: int) -> str:
        """As a number of `octets` octets stands in a packet."""
        if self.raw and self.width == octets * 8:
            return self.text
        return f"{SWAP[octets]}({self.host()})" if octets > 1 else self.host()

    def network(self) -> str:
        """As it must stand in a packet of `octets` octets."""
        if self.raw or self.octets == 1:
            return self.text
        return f"{SWAP[self.octets]}({self.text})"


@dataclass
class Site:
    """Where a function is being lowered: what is known there, and what it takes from the state."""

    pipeline: Pipeline
    role: str
    stage: str
    tables: dict[str, Table]
    events: Events
    points: Points
    writer: Writer
    reachable: frozenset[str]
    shape: Shape
    bindings: dict[str, Binding] = field(default_factory=dict)
    card: bool = (
        False  # for a network card: no scratch record, no epochs, no functions of their own
    )
    ports: dict[str, str] = field(default_factory=dict)  # `port p`: C text of its number
    helpers: dict[str, Helper] = field(default_factory=dict)
    states: dict[str, State] = field(default_factory=dict)
    in_memory: bool = True  # whether what earlier stages found is in the scratch record
    uses: set[str] = field(default_factory=set)  # members of the state
    needs: set[str] = field(default_factory=set)  # the same of all helpers
    loaded: set[str] = field(default_factory=set)  # pointers that this function has, null or not
    known: set[str] = field(default_factory=set)  # nodes and kinds whose pointers are not null here
    kept: Kept = field(default_factory=lambda: Kept())

    def branch(self, known: set[str] | frozenset[str] = frozenset()) -> Site:
        """The same place for one way of a branch: what it learns stays there. `known`: nodes that
        the branch's condition found present."""
        return replace(
            self,
            bindings=dict(self.bindings),
            ports=dict(self.ports),
            loaded=set(self.loaded),
            known=self.known | known,
        )

    def apart(self, writer: Writer, **changes: Any) -> Site:
        """The same place in a function of its own, which knows nothing yet."""
        own: dict[str, Any] = {
            "bindings": dict(self.bindings),
            "ports": {},
            "uses": set(),
            "loaded": set(),
            "known": set(),
        }
        return replace(self, writer=writer, **own | changes)

    def node(self, name: str) -> str:
        """C text of the pointer to a present node's header. The checker saw that it is present; the
        verifier sees it by the test that is put here unless one went before."""
        return self._surely(name, self.pointer(name))

    def record(self, name: str) -> str:
        """C text of the pointer to a bound rule's record. Of one that is kept in the state the
        verifier has to see that it is there, as of a node."""
        bound = self.bindings[name]
        if not bound.text.startswith("st->"):
            return bound.text
        prefix, kept = self.tables[bound.rule].manifest.prefix, bound.text
        if self._lacks(kept):
            slot = self.writer.fresh("slot")
            self.writer.put(
                f"u32 {slot} = {self.state(f'{prefix}_slot')};",
                f"{kept} = bpf_map_lookup_elem(&{prefix}_records, &{slot});",
            )
        return self._surely(kept, kept)

    def _lacks(self, pointer: str) -> bool:
        """Whether a pointer has to be made of what is in the scratch record; from then on it is
        there, on this way and those that branch off it."""
        if not self.in_memory or pointer in self.loaded:
            return False
        self.loaded.add(pointer)
        return True

    def _surely(self, known: str, pointer: str) -> str:
        if known not in self.known:
            self.writer.never(f"!there({pointer})")
            self.known.add(known)
        return pointer

    def may_have(self, name: str) -> bool:
        """Whether a packet here can have the node: none that a pop or an append took away."""
        gone = self.shape.gone(self.pipeline.graph, self.role)
        return name in self.reachable and name not in gone

    def pointer(self, name: str) -> str:
        """C text of the pointer to a node's header; null where the packet lacks the node."""
        pointer = f"st->{c_name(name)}_h"
        self.uses.add(f"{c_name(name)}_at")
        if self._lacks(pointer):
            at, size = self.offset(name), self.header(name).minimum
            self.writer.put(f"{pointer} = header_at(ctx, {at}, {size});")
        return pointer

    def offset(self, name: str) -> str:
        """C text of the octet of the frame at which a node starts."""
        at = self.state(f"{c_name(name)}_at")
        if self.card:
            self.uses.add(f"{c_name(name)}_off")
        return "0" if self.in_memory and self.leads(name) else at

    def leads(self, name: str) -> bool:
        """Whether a node is where every frame starts."""
        graph = self.pipeline.graph
        return graph.entry(self.role).name == name and not graph.entering(name, self.role)

    def helper(self, what: str, lower: Callable[[Site], None]) -> str:
        """C name of a function for this role and this shape of packet; lowered at its first use. It
        finds its nodes by the scratch record, and is called as `NAME(ctx, st, a, b)`."""
        if self.card:
            from .shape import Unsupported

            raise Unsupported("keeping an optional checksum of a header in front", self.writer.span)
        gone = [n for way in self.shape.popped for n in way]
        own = [self.shape.own] if self.shape.own else []
        shape = c_name("_".join((self.role, *gone, "to", *own, *self.shape.fronts)))
        name = f"{what}_{shape}"
        if name not in self.helpers:
            inner = self.apart(Writer(span=self.writer.span), in_memory=True, bindings={})
            lower(inner)
            self.helpers[name] = Helper(name, tuple(inner.writer.lines), tuple(sorted(inner.uses)))
            self.needs |= inner.uses
        return name

    def state(self, member: str) -> str:
        """C text of a member of the state."""
        self.uses.add(member)
        return f"st->scratch->{member}" if self.in_memory else f"st->{member}"

    @property
    def links(self) -> list[str]:
        """Link nodes that may be at the front of a frame."""
        return leading(self.pipeline.graph, self.role)

    def header(self, node: str) -> Header:
        return self.pipeline.graph.node(node).header


@dataclass
class Kept:
    """How many words of the scratch record hold what is written later."""

    words: int = 0


@dataclass(frozen=True)
class Helper:
    """A function that stages call for what is long and seldom: its name, body and state."""

    name: str
    body: tuple[Line, ...]
    takes: tuple[str, ...]


@dataclass(frozen=True)
class Binding:
    """A bound rule: C text of its record pointer, and its kind."""

    text: str
    rule: str


# ---- fields ---------------------------------------------------------------------------------


def field_value(pointer: str, f: Field, base: int = 0) -> Value:
    """A field of the fixed part (or, with `base`, of a group that starts there)."""
    start = base * 8 + f.offset
    first, last = start // 8, (start + f.width - 1) // 8
    size, shift = last - first + 1, (last + 1) * 8 - (start + f.width)
    if size in (1, *SWAP) and f.width == size * 8:
        return Value(f"RAW{f.width}({pointer}, {first})", f.width, raw=size > 1)
    text = container(pointer, first, size)
    if f.width == size * 8:  # octets that no integer of C has
        return Value(text, f.width)
    if shift:
        text = f"({text} >> {shift})"
    return Value(f"({text} & {(1 << f.width) - 1:#x})", f.width)


def pieces(octets: int, at: int = 0, most: int = 8) -> Iterator[tuple[int, int]]:
    """(octet, octets) of the integers that so many octets are moved by: none has more than `most`,
    or lies across such a word of an array in which they start at octet `at`."""
    done = 0
    while done < octets:
        left, room = octets - done, most - (at + done) % most
        size = next(n for n in (16, 8, 4, 2, 1) if n <= min(left, room))
        yield done, size
        done += size


def container(pointer: str, first: int, size: int) -> str:
    """`size` octets at `first` as a number in host order."""
    parts = []
    for at, piece in pieces(size):
        text = f"RAW{piece * 8}({pointer}, {first + at})"
        text = f"{SWAP[piece]}({text})" if piece > 1 else text
        left = (size - at - piece) * 8
        wide = "u128" if size > 8 else "u64"
        parts.append(f"(({wide}){text} << {left})" if left else text)
    return parts[0] if len(parts) == 1 else f"({' | '.join(parts)})"


# ---- expressions ----------------------------------------------------------------------------


def value(site: Site, expr: Expr, own: tuple[str, Header] | None = None) -> Value:
    """`own` is (pointer, header) where the expression stands in a header's clause."""
    match expr:
        case Const(number, width):
            return constant(number, max(width, 1))
        case Own(name):
            assert own is not None
            return field_value(own[0], own[1].field(name))
        case Packet(node, name, maybe_absent=True):
            return _or_zero(site, node, site.header(node).field(name))
        case Packet(node, name):
            return _packet_field(site, node, site.header(node).field(name))
        case Item(node, name, index):
            return _item(site, node, site.header(node).field(name), value(site, index))
        case Layer4(which):
            shift = 0 if which == "src" else 16
            return Value(f"(u16)({site.state('l4')} >> {shift})", 16, raw=True)
        case Arrival():
            return Value("arrival_port(ctx)", 32)
        case Recalled():
            octets = next(n for n in (1, 2, 4, 8, 16) if n * 8 >= expr.width)
            text = f"st->{site.states[expr.state].prefix}_got.{expr.slot}"
            return Value(text, octets * 8, raw=octets > 1 and not expr.port)
        case Attribute():
            return attribute(site, expr)
        case Listed(source, index, most):
            return _listed(site, source, value(site, index), most)
        case Count(source, most):
            octets = octets_of(source.width)
            return Value(f"RAW8({attribute(site, source).text}, {octets * most})", 8)
        case Arithmetic(operator, left, right):
            a, b = value(site, left, own), value(site, right, own)
            return Value(f"((u64){a.host()} {operator} {b.host()})", 64)
        case First():
            return _first(site, expr)
        case Hash(arguments):
            return _hash(site, arguments)


def constant(number: int, width: int) -> Value:
    """A number as C writes it: none has more than 64 bits, so an IPv6 address is made of two."""
    if number >> 64:
        return Value(f"((u128){number >> 64:#x}ULL << 64 | {number & _WORD:#x}ULL)", width)
    return Value(str(number) if number < 256 else f"{number:#x}", width)


_WORD = (1 << 64) - 1


def _packet_field(site: Site, node: str, f: Field, sure: bool = True) -> Value:
    from .groups import group_pointer  # which reads values itself: counts, sizes

    pointer = site.node(node) if sure else site.pointer(node)
    if f.group is None:
        return field_value(pointer, f)
    group = group_pointer(site, site.header(node), f.group, pointer, sure=False)
    there = field_value(group, f)
    return replace(there, text=f"({group} ? {there.text} : 0)")


def _item(site: Site, node: str, f: Field, index: Value) -> Value:
    """An element of an array, 0 beyond its end, in a local variable."""
    from .groups import group_pointer

    w, header, pointer = site.writer, site.header(node), site.node(node)
    array = header.array(f)
    assert array is not None and array.count is not None
    octets, name, at = f.width // 8, w.fresh("element"), w.fresh("index")
    first = group_pointer(site, header, array.name, pointer, sure=False)
    count = f"({pointer} ? {value(site, array.count, (pointer, header)).host()} : 0)"
    read = field_value(first, f)
    w.put(f"u64 {at} = {index.host()};", f"u{read.octets * 8} {name} = 0;")
    with w.nest(f"if ({first} && {at} < {count}) {{"):
        w.put(f"{first} += ({at} & {(1 << array.most.bit_length()) - 1}) * {octets};")
        w.put(f"if ({first} + {octets} <= limit_of(ctx))", f"\t{name} = {read.text};")
    return replace(read, text=name)


def _or_zero(site: Site, node: str, field: Field) -> Value:
    """A field of a header, 0 where the packet lacks that."""
    gone = site.shape.gone(site.pipeline.graph, site.role)
    if node not in site.reachable or node in gone:
        return constant(0, field.width)
    if node in site.known or field.group is not None:
        return _packet_field(site, node, field, sure=False)
    pointer = site.pointer(node)
    there = field_value(pointer, field)
    return replace(there, text=f"({pointer} ? {there.text} : 0)")


def _first(site: Site, expr: First) -> Value:
    """The first field that is there, in host order."""
    from .groups import group_pointer

    text, ends = "", 0
    for option in expr.options:
        if not site.may_have(option.node):
            continue
        header, pointer = site.header(option.node), site.pointer(option.node)
        field = header.field(option.field)
        if field.group is not None:
            pointer = group_pointer(site, header, field.group, pointer, sure=False)
        there = f"(u64){field_value(pointer, field).host()}"
        if option.node in site.known and field.group is None:
            return Value(f"({text}{there}{')' * ends})", expr.width)
        text, ends = f"{text}({pointer} ? {there} : ", ends + 1
    return Value(f"({text}0{')' * ends})", expr.width)


def attribute(site: Site, expr: Attribute) -> Value:
    record = site.record(expr.binding)
    given = f"{record}->has_{expr.element}" if expr.optional else ""
    octets = octets_of(expr.width)
    return Value(f"{record}->{expr.element}", octets * 8, raw=octets > 1, given=given)


def _listed(site: Site, source: Attribute, index: Value, most: int) -> Value:
    """One of the values in a record; those behind the last are 0."""
    octets, record = octets_of(source.width), attribute(site, source).text
    width = octets * 8
    if index.text.isdigit():
        return Value(f"RAW{width}({record}, {int(index.text) * octets})", width, raw=octets > 1)
    w, at, name = site.writer, site.writer.fresh("index"), site.writer.fresh("listed")
    w.put(
        f"u64 {at} = {index.host()};",
        f"u{width} {name} = 0;",
        f"OPAQUE({at}); /* tested as it is, and not by what it was made of */",
    )
    with w.nest(f"if ({at} < {most}) {{"):
        w.put(f"OPAQUE({at}); /* reckoned with only here, where it is bounded */")
        w.put(f"{name} = RAW{width}({record}, {at} * {octets});")
    return Value(name, width, raw=octets > 1)


def _hash(site: Site, arguments: tuple[Expr, ...]) -> Value:
    """The arguments' octets packed into words of a local array, then jhash."""
    w = site.writer
    name = w.fresh("word")
    octets: list[tuple[int, Value]] = []
    at = 0
    for argument in arguments:
        v = value(site, argument)
        octets.append((at, v))
        at += (v.width + 7) // 8
    count = (at + 3) // 4
    words: list[list[str]] = [[] for _ in range(count)]
    for start, v in octets:
        _pack(words, start, v)
    texts = [" | ".join(parts) for parts in words]
    w.put(f"u32 {name}[{count}] = {{ {', '.join(texts)} }};")
    return Value(f"jhash_words({name}, {count})", 32)


def _pack(words: list[list[str]], start: int, v: Value) -> None:
    """Put a value's network-order octets at octet `start` of an array of 32-bit words."""
    size = (v.width + 7) // 8
    if size != v.octets:  # 3, 5 … octets: from the number's most significant one on
        text = f"bpf_cpu_to_be64((u64){v.host()} << {64 - size * 8})"
    else:
        text = v.network()
    if start % 4 + size <= 4 and size == v.octets:
        shift = start % 4 * 8
        words[start // 4].append(f"(u32){text} << {shift}" if shift else f"(u32){text}")
        return
    for i in range(size):  # straddles words: octet by octet
        octet = f"(u32)(u8)({text} >> {i * 8})" if i else f"(u32)(u8)({text})"
        at = start + i
        words[at // 4].append(f"{octet} << {at % 4 * 8}" if at % 4 else octet)


# ---- conditions -----------------------------------------------------------------------------


def condition(site: Site, c: Condition, own: tuple[str, Header] | None = None) -> str | bool:
    """C text of a condition, or True or False where the port role decides it."""
    match c:
        case PortIs(role):
            return role == site.role
        case Found(rule):
            return _found(site, rule)
        case Present(node):
            return f"there({site.pointer(node)})" if site.may_have(node) else False
        case Compare(operator, left, right):
            return _compare(operator, value(site, left, own), value(site, right, own))
        case IsLocal(address):
            family = "6" if address.kind == "ip6" else ""
            return f"is_local{family}({value(site, address).network()})"
        case IsMulticast(Packet(node, name, _, kind)):
            first = f"RAW8({site.node(node)}, {site.header(node).field(name).offset // 8})"
            tests = {"mac": f"{first} & 1", "ip4": f"({first} & 0xf0) == 0xe0"}
            return f"({tests.get(kind, f'{first} == 0xff')}) != 0"
        case IsFragment(node):
            return f"(RAW16({site.node(node)}, 6) & bpf_htons(0x3fff)) != 0"
        case Not(operand):
            inner = condition(site, operand, own)
            return not inner if isinstance(inner, bool) else f"!({inner})"
        case And(operands):
            return _join(site, operands, own, "&&")
        case Or(operands):
            return _join(site, operands, own, "||")


def _found(site: Site, rule: str) -> str:
    """Whether a look-up of that kind found a rule: by what the host keeps across stages."""
    prefix = site.tables[rule].manifest.prefix
    if site.card:
        return f"there(st->{prefix}_rule)"
    return f"{site.state(f'{prefix}_slot')} != 0"


def _compare(operator: str, left: Value, right: Value) -> str:
    c = {"=": "=="}.get(operator, operator)
    return f"{left.host()} {c} {right.host()}"


def _join(
    site: Site,
    operands: tuple[Condition, ...],
    own: tuple[str, Header] | None,
    operator: str,
) -> str | bool:
    deciding = operator == "||"  # the operand value that settles the whole
    texts: list[str] = []
    for node in sorted(_tested(operands)):  # a later operand may come to be asked in a branch
        if site.may_have(node):
            site.pointer(node)
    site, w = site.branch(), site.writer
    for operand in operands:
        mark, known = len(w.lines), set(site.known)
        inner = condition(site, operand, own)
        if texts and len(w.lines) > mark:  # statements of its own, to be carried out only then
            texts = [_asked(w, mark, f" {operator} ".join(texts), inner, deciding)]
            site.known = known | present_if(operand, not deciding)
            continue
        site.known |= present_if(operand, not deciding)
        if inner is deciding:
            if not texts:
                return deciding
            texts.append("1" if deciding else "0")
            break
        if not isinstance(inner, bool):
            texts.append(f"({inner})")
    return f" {operator} ".join(texts) if texts else not deciding


def _asked(w: Writer, mark: int, before: str, inner: str | bool, deciding: bool) -> str:
    """C name of a variable: whether `before` (if that settles it) or else `inner` holds, whose
    statements are the lines from `mark` on."""
    lines, name = w.lines[mark:], w.fresh("holds")
    del w.lines[mark:]
    w.put(f"u8 {name} = {before};")
    with w.nest(f"if ({'!' if deciding else ''}{name}) {{"):
        w.lines += [replace(line, depth=line.depth + 1) for line in lines]
        w.put(f"{name} = {inner if isinstance(inner, str) else int(inner)};")
    return name


def _tested(conditions: tuple[Condition, ...]) -> set[str]:
    """Nodes that are asked for."""
    found: set[str] = set()
    for c in conditions:
        match c:
            case Present(node):
                found.add(node)
            case Not(operand):
                found |= _tested((operand,))
            case And(operands) | Or(operands):
                found |= _tested(operands)
    return found


def present_if(c: Condition, truth: bool) -> frozenset[str]:
    """Nodes that are surely present where the condition came out as `truth`."""
    match c:
        case Present(node):
            return frozenset({node}) if truth else frozenset()
        case Not(operand):
            return present_if(operand, not truth)
        case And(operands) if truth:
            return frozenset().union(*(present_if(o, True) for o in operands))
        case Or(operands) if not truth:
            return frozenset().union(*(present_if(o, False) for o in operands))
    return frozenset()
