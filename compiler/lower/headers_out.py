"""Headers written in front of a packet: field values to stores, lengths and checksums derived."""

from __future__ import annotations

import operator
from functools import cached_property, partial

from ...lang.text.frozen import Frozen
from ..ir.builder import Builder
from ..ir.expr import (
    CTX,
    ONE,
    ZERO,
    Call,
    Expr,
    Name,
    Number,
    Operand,
    Symbol,
    bits_joined,
    both,
    choose,
    expr,
    load,
    low_bits,
    not_,
    number,
    total,
)
from ..ir.nodes import Opaque
from ..ir.types import BYTES, U64, raw
from ..model import TAIL, Derived, Field, Group, Header
from ..model.sizes import first_field, solved
from ..model.sums import UPPER_LAYER, is_checksum, nearest_network
from .fields import Value, constant, pieces
from .frame import DATA, END
from .padding import Padding, put_padding
from .stores import stores


class HeaderOut(Frozen):
    """A header to be written: `given` are values by field, `writes` what the edge to the next
    header says. Fields not named take their defaults. `computed`: checksums that are asked for, so
    that their group is there. `listed`: what the array holds, if the header has one. `padded`: what
    its `size` clause asks for where that is not known yet."""

    node: str
    header: Header
    given: dict[str, Value]
    writes: tuple[tuple[str, int], ...]
    computed: frozenset[str] = frozenset()
    listed: ListOut | None = None
    padded: Padding | None = None

    @property
    def variable(self) -> bool:
        conditions = (self.condition(g.name) for g in self.header.groups)
        return self.listed is not None or not all(isinstance(c, Number) for c in conditions)

    @property
    def octets(self) -> int:
        """Of a header that is not variable."""
        return self.plain + self.padding

    @property
    def plain(self) -> int:
        """Octets of the fixed part and of the groups that are surely there, but an array."""
        groups = (
            g.width
            for g in self.header.groups
            if self.condition(g.name) == ONE and not self._is_listed(g)
        )
        return (self.header.fixed + sum(groups)) // 8

    def _is_listed(self, group: Group) -> bool:
        return self.listed is not None and group.count is not None

    @property
    def exact(self) -> bool:
        """Whether nothing but the array decides how many octets it has."""
        known = all(isinstance(self.condition(g.name), Number) for g in self.header.groups)
        return known and not self.header.tail

    @property
    def possible(self) -> set[int]:
        """How many octets it may have without padding, and numbers between them."""
        found = {self.header.fixed // 8}
        for group in self.header.groups:
            octets, condition = group.width // 8, self.condition(group.name)
            most = self.listed.most if self.listed and self._is_listed(group) else 1
            counts = range(condition == ONE and not self._is_listed(group), most + 1)
            if condition != ZERO:
                found = {n + octets * count for n in found for count in counts}
        return found

    @property
    def padding(self) -> int:
        """Octets of zeros that the `size` clause asks for, in front of the tail."""
        field, _, size = self.sized
        return size - self.plain if field else 0

    @cached_property
    def sized(self) -> tuple[str, int, int]:
        """The field that says the size, its value, and the size: the least that has room."""
        if self.header.size is None or self.variable:
            return "", 0, self.plain
        return solved(self.header, self.header.size, lambda size: size >= self.plain)

    def size(self) -> Expr:
        """Its octets."""
        parts: list[Operand] = [self.header.fixed // 8 + self.padding]
        for group in self.header.groups:
            octets = group.width // 8
            if self.listed is not None and group.count is not None:
                parts.append(self.listed.count * octets)
            else:
                parts.append(choose(self.condition(group.name), octets, 0))
        if self.padded is not None and self.padded.most:
            parts.append(self.padded.octets)
        return total(parts)

    def condition(self, name: str) -> Expr:
        """Whether a group is written: if one of its flags is set. A number where that is known."""
        flags = [self.flag(flag) for flag in self.header.group(name).flags]
        unknown = [flag for flag in flags if not isinstance(flag, Number)]
        if not flags or ONE in flags:
            return ONE
        return bits_joined(unknown) if unknown else ZERO

    def flag(self, name: str) -> Expr:
        """A flag's value: as given, else by what its group is given, else by the edge, else by
        default. A number where it is known."""
        otherwise = dict(self.writes).get(name, self.header.field(name).default)
        fallback = ONE if otherwise else ZERO
        if name in self.given:
            said = self.given[name]
            return said.expr if said.given is None else choose(said.given, said.expr, fallback)
        told = self._told(self.header.group_of_flag(name))
        if None in told or (told and fallback == ONE):
            return ONE
        return bits_joined(each for each in told if each is not None) if told else fallback

    def _told(self, group: str | None) -> list[Expr | None]:
        """When the fields of a group are given values; None is always."""
        fields = [f.name for f in self.header.fields if f.group == group and group is not None]
        if self.computed.intersection(fields):
            return [None]
        return [self.given[name].given for name in fields if name in self.given]

    def value_of(self, f: Field) -> Value | None:
        """The value of a field; None where it is derived later."""
        if f.name in self.header.flags:
            return Value(self.flag(f.name), 1)
        if f.name in self.given:
            return self._given(f)
        if self.padded is not None and f.name == self.padded.field:
            return Value(self.padded.number, f.width)
        if self.listed is not None and (number_of := self._follows(f.name)) is not None:
            return Value(self.listed.number(number_of), f.width)
        field, known, _ = self.sized
        if f.name == field:
            return constant(known, f.width)
        if isinstance(f.default, Derived) and f.default.what == "length":
            return None
        if isinstance(f.default, Derived):
            return constant(0, f.width)  # until it is summed up
        return constant(self.untold(f), f.width)

    def part(self, name: str) -> Value:
        """The value of a part of a divided field, where that may be given as a whole."""
        part = self.header.field(name)
        whole = self.header.field(part.part_of) if part.part_of in self.given else None
        found = self.value_of(whole if whole and name not in self.given else part)
        assert found is not None, "a part is never derived"
        if whole is None or name in self.given:
            return found
        shift = whole.offset + whole.width - part.offset - part.width
        return Value(low_bits(found.host() >> shift, part.width), part.width)

    def _given(self, f: Field) -> Value:
        """The value that the push says; of one that a rule may leave out, what it is else."""
        said = self.given[f.name]
        if said.given is None or (f.group is not None and self.condition(f.group) == said.given):
            return said
        otherwise: Expr = number(self.untold(f))
        if f.part_of in self.given:
            whole = self.header.field(f.part_of)
            shift = whole.offset + whole.width - f.offset - f.width
            otherwise = low_bits(self._given(whole).host() >> shift, f.width)
        return Value(choose(said.given, said.host(), otherwise), f.width)

    def untold(self, f: Field) -> int:
        """The value of a field of which the push says nothing."""
        written = dict(self.writes)
        if f.name in written:
            return written[f.name]
        if isinstance(f.default, int):
            return f.default
        if f.part_of is None:
            parts = (p for p in self.header.fields if p.part_of == f.name)
            known = (p for p in parts if p.name in written or isinstance(p.default, int))
            end = f.offset + f.width
            return sum(self.untold(p) << end - p.offset - p.width for p in known)
        whole = self.header.field(f.part_of)
        shift = whole.offset + whole.width - f.offset - f.width
        return self.untold(whole) >> shift & (1 << f.width) - 1

    def _follows(self, name: str) -> list[int] | None:
        """The values of a field that follows from how many elements the array has, by that; None of
        another field."""
        header, listed = self.header, self.listed
        assert listed is not None
        array = next(g for g in header.groups if g.count is not None)
        assert array.count is not None
        sizes = [self.plain + n * array.width // 8 for n in range(listed.most + 1)]
        if name == first_field(array.count):
            count = array.count
            return [solved(header, count, partial(operator.eq, n))[1] for n in range(len(sizes))]
        if header.size is not None and name == first_field(header.size):
            size = header.size
            found = [solved(header, size, partial(operator.le, n)) for n in sizes]
            return [number for _, number, _ in found]
        return None

    def own_sum(self, f: Field) -> bool:
        """A checksum over nothing but the fixed header, summed up as the header is written."""
        return (
            is_checksum(f)
            and f.name not in self.given
            and f.default == Derived("checksum", frozenset({"header"}))
            and not self.header.groups
        )

    def sealed(self) -> list[Field]:
        """Checksums over more than that: the last to be written."""
        return [
            f
            for f in self.header.fields
            if is_checksum(f)
            and f.name not in self.given
            and not self.own_sum(f)
            and (f.group is None or self.condition(f.group) != ZERO)
        ]

    def octet_of(self, f: Field) -> Expr:
        """Where a field starts, counted from the header."""
        parts: list[Operand] = [f.offset // 8]
        if f.group is None:
            return total(parts)
        parts.append(self.header.fixed // 8)
        for group in self.header.groups:
            if group.name == f.group:
                break
            octets = group.width // 8
            if self._is_listed(group):
                assert self.listed is not None
                parts.append(self.listed.count * octets)
            else:
                parts.append(choose(self.condition(group.name), octets, 0))
        if f.group == TAIL:
            parts.append(self.padding if self.padded is None else self.padded.octets)
        return total(parts)


class ListOut(Frozen):
    """What an array is to hold: how many values, where their first is, and which way they are taken
    from there. `most`: so many at most."""

    count: Expr
    first: Expr
    most: int
    backwards: bool

    def number(self, by_count: list[int]) -> Expr:
        """A number that follows from the count."""
        step = by_count[2] - by_count[1] if len(by_count) > 2 else 0
        start = by_count[1] - step
        if any(v != start + n * step for n, v in enumerate(by_count) if n):
            found: Expr = number(by_count[-1])
            for n, v in reversed(list(enumerate(by_count[:-1]))):
                found = choose(self.count.is_(n), v, found)
            return found
        linear = self.count * step
        linear = linear + start if start >= 0 else linear - -start
        return linear if by_count[0] == start else choose(self.count, linear, by_count[0])

    def put(self, w: Builder, where: Name, octets: int) -> None:
        """Write the values one behind the other from `where` on."""
        for i in range(self.most):
            with w.when(self.count > i):
                w.assume_not(where + (i + 1) * octets > END)
                at = expr(i * octets)
                if self.backwards:
                    index = w.local(U64, "at", self.count - (i + 1))
                    w.put(Opaque(index, "clang knows its bound, the verifier does not"))
                    w.assume_not(index >= self.most)
                    w.put(Opaque(index, "computed with only here, where it is bounded"))
                    at = index * octets
                for done, size in pieces(octets, most=16):
                    value = load(self.first, at + done, size * 8)
                    w.store(where, i * octets + done, size * 8, value)


def put_headers(w: Builder, headers: tuple[HeaderOut, ...], start: int, extent: Expr) -> None:
    """Write headers one behind the other from octet `start` of DATA. `extent`: the octets that
    follow the last one. The caller has checked all up to the fixed part of the first variable
    one."""
    constant_so_far = True
    base: Expr = number(start)
    for i, out in enumerate(headers):
        pointer = w.local(BYTES, out.node, DATA + base)
        if not constant_so_far:
            w.assume_not(pointer + out.header.fixed // 8 > END)
        _put_header(w, out, pointer, total([extent, *(h.size() for h in headers[i + 1 :])]))
        constant_so_far = constant_so_far and not out.variable
        base = total([base, out.size()])


def _put_header(w: Builder, out: HeaderOut, pointer: Expr, payload: Expr) -> None:
    fixed = stores(out, None, payload)
    for s in fixed:
        s.put(w, pointer)
    for f in out.header.fields:
        if out.own_sum(f):
            words = total(word for s in fixed for word in s.words())
            w.store(pointer, f.offset // 8, 16, Call("fold", (words,), raw(16)))
    at: Expr = number(out.header.fixed // 8)
    for group in out.header.groups:
        condition = out.condition(group.name)
        if condition == ZERO:
            continue
        if group.name == TAIL:
            at = put_padding(w, out, pointer, at)
        octets = group.width // 8
        if out.listed is not None and group.count is not None:
            out.listed.put(w, w.local(BYTES, "group", pointer + at), octets)
            at = at + out.listed.count * octets
            continue
        with w.block() if condition == ONE else w.when(condition):
            where = w.local(BYTES, "group", pointer + at)
            w.assume_not(where + octets > END)
            for s in stores(out, group.name, payload):
                s.put(w, where)
        at = at + choose(condition, octets, 0)
    if not out.header.tail:
        put_padding(w, out, pointer, at)


OF_IPV6 = Symbol("OF_IPV6")


def told_network(header: Header, at: Expr, routed: Expr | None = None) -> Expr:
    """Where an IP header starts, as `seal` asks. `routed`: of how many octets behind that a segment
    routing header does."""
    if header.protocol != "ipv6":
        return at
    return at | OF_IPV6 if routed is None else at | OF_IPV6 | routed >> 3 << 24


def seal_headers(
    w: Builder, headers: tuple[HeaderOut, ...], start: Operand, extent: Operand
) -> None:
    """Checksums over more than their header, innermost first: the last thing to be done to a frame
    whose `headers` start at octet `start` and are followed by `extent` octets."""
    sizes = [h.size() for h in headers]
    places = [total([start, *sizes[:i]]) for i in range(len(headers))]
    for i, out in reversed(list(enumerate(headers))):
        network = nearest_network([h.header for h in headers[:i]])
        for f in out.sealed():
            assert isinstance(f.default, Derived)
            over, covered = f.default.over, list[Operand]()
            if "header" in over:
                covered.append(sizes[i])
            if "payload" in over:
                covered += [*sizes[i + 1 :], extent]
            at = places[i] if "header" in over else total([places[i], sizes[i]])
            pseudo: Expr = ZERO
            if "pseudo" in over and network is not None:
                pseudo = _pseudo(headers, places, sizes, network, i)
            field = total([places[i], out.octet_of(f)])
            sealed = Call("seal", (CTX, pseudo, at, total(covered), field))
            present = ONE if f.group is None else out.condition(f.group)
            w.assume_not(not_(sealed) if present == ONE else both((present, not_(sealed))))


def _pseudo(
    headers: tuple[HeaderOut, ...], places: list[Expr], sizes: list[Expr], network: int, i: int
) -> Expr:
    """What `seal` asks of the pseudo header of header i, whose IP header is `network`."""
    upper = UPPER_LAYER.get(headers[i].header.protocol, 0)
    between = [h.header.protocol for h in headers[network:i]]
    routing = between.index("srh") if "srh" in between else 0
    routed = total(sizes[network : network + routing]) if routing else None
    return told_network(headers[network].header, places[network], routed) | upper << 16
