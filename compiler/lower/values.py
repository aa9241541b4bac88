"""Model expressions as expressions of the intermediate representation."""

from __future__ import annotations

from ...lang.contract.base.lists import bytes_of
from ..headers.clauses import arithmetic, clause
from ..headers.context import announced, option_of
from ..headers.fields import SIZES, field_value
from ..headers.groups import group_pointer, packet_end, part_pointer
from ..ir.expr import (
    CTX,
    ZERO,
    Call,
    Cast,
    Member,
    Name,
    NotNull,
    Number,
    RegisterCall,
    State,
    as_bytes,
    binary,
    load,
    number,
)
from ..ir.expr import Expr as Made
from ..ir.expr_builders import bits_joined, both, choose, first_of, low_bits, to_network, wide
from ..ir.names import local_name
from ..ir.nodes import Opaque
from ..ir.types import BYTES, U8, U32, U64, Array, Int, Struct, raw
from ..ir.values import Value, constant
from ..model import (
    Announced,
    Arithmetic,
    Arrival,
    Attribute,
    ClockError,
    Const,
    Count,
    Expr,
    Field,
    First,
    FrameLength,
    Hash,
    HasOption,
    Header,
    Item,
    Layer4,
    Listed,
    Local,
    NameBytes,
    Now,
    Own,
    Packet,
    Pick,
    Random,
    Recalled,
    Register,
    RuleCount,
    RuleId,
)
from ..tables.layout import member_name
from .context import LoweringContext
from .rule_facts import counted, id_of

SCRATCH = State("scratch", BYTES)
#: What the functions are called that read a clock; for one packet each returns the same.
CLOCKS = {"boot": "packet_time", "utc": "utc_time", "ntp": "ntp_time", "ptp": "ptp_time"}

#: Functions of the runtime header that compute these without a branch.
_LIMITED = {
    "min": "smaller_of", "max": "larger_of", "+|": "add_limited", "-|": "subtract_limited",
}  # fmt: skip


def value(site: LoweringContext, expr: Expr, own: tuple[Made, Header] | None = None) -> Value:
    """`own` is (pointer, header) where the expression stands in a header's clause."""
    match expr:
        case Const(known, width):
            return constant(known, max(width, 1))
        case Own() | NameBytes():
            assert own is not None
            return clause(site, expr, *own)
        case Packet(node, name, maybe_absent=True):
            return _or_zero(site, node, site.header(node).field(name))
        case Packet(node, name):
            return _packet_field(site, node, site.header(node).field(name))
        case Item(node, name, index):
            return _item(site, node, site.header(node).field(name), value(site, index))
        case Layer4(which):
            shift = 0 if which == "src" else 16
            return Value(Cast(raw(16), as_bytes(site.state("l4")) >> shift), 16)
        case Announced(name, _, width):
            chain = next(c for c in site.graph.chains if c.name == name)
            return Value(announced(chain), bytes_of(width) * 8)
        case HasOption(node, option):
            return Value(option_of(site.graph, node, option).is_not(0), 8)
        case Arrival():
            return Value(Call("arrival_port", (CTX,)), 32)
        case FrameLength():
            return Value(Cast(U32, site.state("length")), 32)
        case Recalled():
            return _recalled(site, expr)
        case Register():
            return _register(site, expr)
        case Local():
            return Value(local_state(expr), bytes_of(expr.width) * 8)
        case Attribute():
            return attribute(site, expr)
        case RuleId(binding):
            return Value(id_of(site, binding), 32)
        case RuleCount(binding, _, what):
            return Value(counted(site, binding, what), 64)
        case Listed(source, index, most):
            return _listed(site, source, value(site, index), most)
        case Count(source, most):
            return Value(load(list_of(site, source), bytes_of(source.width) * most, 8), 8)
        case Arithmetic() if own is None and _without_branches(site, expr):
            left, right = (Cast(U64, value(site, e).host()) for e in (expr.left, expr.right))
            return Value(Call(_LIMITED[expr.operator], (left, right), U64), 64)
        case Arithmetic():
            values = [_once(site, each, own) for each in (expr.left, expr.right)]
            return arithmetic(site, expr, *values)
        case First():
            return _first(site, expr)
        case Pick():
            return site.pick(site, expr)
        case Hash(arguments):
            return _hash(site, arguments)
        case Now(clock):
            return Value(Call(CLOCKS[clock], (SCRATCH,), U64), 64)
        case ClockError():
            return Value(Call("clock_error", (SCRATCH,)), 32)
        case Random(bound, place):
            below = Cast(U64, value(site, bound).host())
            return Value(Call("random_below", (SCRATCH, number(place), below)), 32)


def _once(site: LoweringContext, expr: Expr, own: tuple[Made, Header] | None) -> Value:
    """In a variable where it is the least or the greatest of others: that is written twice where it
    is compared, and twice as often with each further number."""
    made = value(site, expr, own)
    if own is None and isinstance(expr, Arithmetic) and expr.operator in ("min", "max"):
        return Value(site.writer.local(U64, expr.operator, made.host()), 64)
    return made


def _without_branches(site: LoweringContext, expr: Arithmetic) -> bool:
    """Whether a function of the runtime header computes it without a branch; it has 64 bits."""
    return expr.operator in _LIMITED and expr.width <= 64 and not site.card


def local_state(local: Local) -> State:
    """Where what a `let` named is kept, in this program and in later ones."""
    return State(local_name(local.name), Int(bytes_of(local.width) * 8))


def cell_of(site: LoweringContext, register: Register) -> Name:
    """Its number among all of the array. An index is counted modulo its length."""
    found: Made = ZERO
    for index, length in zip(
        register.at, site.pipeline.array(register.registers).shape, strict=True
    ):
        at = Cast(U64, value(site, index).host())
        power = not length & (length - 1)
        within = at & (length - 1) if power else binary("%", at, number(length))
        found = found * length + (number(index.value) if isinstance(index, Const) else within)
    return site.writer.local(U32, "cell", Cast(U32, found))


def _register(site: LoweringContext, register: Register) -> Value:
    """In a variable: it may be another number when it is read again."""
    read = RegisterCall(register.registers.lower(), "read", (cell_of(site, register),))
    return Value(site.writer.local(U64, "register", read), 64)


def _recalled(site: LoweringContext, expr: Recalled) -> Value:
    """A slot of the entry that was found."""
    size = next(n for n in SIZES if n * 8 >= expr.width)
    type_ = Int(size * 8) if expr.port or expr.rule else raw(size * 8)
    return Value(Member(got_of(site, expr.state), member_name(expr.slot), type_), size * 8)


def got_of(site: LoweringContext, state: str) -> State:
    """The entry that was recalled or remembered last."""
    prefix = site.states[state].prefix
    return State(f"{prefix}_got", Struct(f"{prefix}_entry"), scratch=True)


def _packet_field(site: LoweringContext, node: str, f: Field, sure: bool = True) -> Value:
    pointer = site.node(node) if sure else site.pointer(node)
    if f.group is None:
        return field_value(pointer, f)
    group = part_pointer(site, node, f.group, pointer, sure=node in site.known)
    there = field_value(group, f)
    return there.holding(choose(group, there.expr, ZERO))


def _where_there(site: LoweringContext, pointer: Made, read: Value) -> Value:
    """What is read by a pointer, 0 where that is null; in a local variable: of a test that is
    written more than once clang keeps the result, of which the verifier knows nothing."""
    if site.card:  # whose pointers are registers, which a branch of its own would move to its stack
        return read.holding(choose(pointer, read.expr, ZERO))
    w = site.writer
    found = w.local(read.stored, "read", 0)
    with w.when(NotNull(pointer)):
        w.set(found, read.expr)
    return read.holding(found)


def _item(site: LoweringContext, node: str, f: Field, index: Value) -> Value:
    """An element of an array, 0 beyond its end, in a local variable."""
    w, header, pointer = site.writer, site.header(node), site.node(node)
    array = header.array(f)
    assert array is not None and array.count is not None
    size = f.width // 8
    first = group_pointer(site, header, array.name, pointer)
    count = clause(site, array.count, pointer, header).host()
    read = field_value(first, f)
    at = w.local(U64, "index", index.host())
    found = w.local(read.stored, "element", 0)
    with w.when(both((first, at < count))):
        w.add(first, low_bits(at, array.most.bit_length()) * size)
        with w.when(first + size <= packet_end()):
            w.set(found, read.expr)
    return read.holding(found)


def _or_zero(site: LoweringContext, node: str, field: Field) -> Value:
    """A field of a header, 0 where the packet lacks that."""
    if not site.may_have(node):
        return constant(0, field.width)
    if node in site.known or field.group is not None:
        return _packet_field(site, node, field, sure=node in site.known)
    pointer = site.pointer(node)
    return _where_there(site, pointer, field_value(pointer, field))


def _first(site: LoweringContext, expr: First) -> Value:
    """The first option that is there, in host order."""
    w = site.writer
    found: list[tuple[Made | None, Made]] = []  # test (None: it surely is there), value
    for option in expr.options:
        if found and found[-1][0] is None:
            break
        if isinstance(option, Attribute):
            read = attribute(site, option)
            found.append((read.given, read.host()))
        elif isinstance(option, Announced):
            found.append((None, value(site, option).host()))
        elif site.may_have(option.node):
            found.append(_option(site, option))
    if site.card:
        return Value(first_of([(test, wide(there)) for test, there in found]), expr.width)
    name = w.local(U64, "first", 0)
    for i, (test, there) in enumerate(found):
        with w.either(i == 0, test):
            w.set(name, there)
    return Value(name, expr.width)


def _option(site: LoweringContext, option: Packet) -> tuple[Made | None, Made]:
    """What tests whether a field of the packet is there (None: it surely is), and its value."""
    header = site.header(option.node)
    field = header.field(option.field)
    known = option.node in site.known
    pointer: Made = site.node(option.node) if known else site.pointer(option.node)
    if field.group is not None:
        pointer = part_pointer(site, option.node, field.group, pointer, sure=known)
    sure = known and field.group is None
    test = pointer if site.card else NotNull(pointer)
    return None if sure else test, field_value(pointer, field).host()


def attribute(site: LoweringContext, expr: Attribute) -> Value:
    record = site.record(expr.binding)
    given = Member(record, f"has_{expr.element}", U8) if expr.optional else None
    size = bytes_of(expr.width)
    return Value(Member(record, member_name(expr.element), raw(size * 8)), size * 8, given)


def list_of(site: LoweringContext, source: Attribute) -> Made:
    """A pointer to the values of an element that holds several: these, then a byte with how
    many."""
    return Member(site.record(source.binding), member_name(source.element), BYTES)


def _listed(site: LoweringContext, source: Attribute, index: Value, most: int) -> Value:
    """One of the values in a record; those behind the last are 0."""
    size, values = bytes_of(source.width), list_of(site, source)
    width = size * 8
    if isinstance(index.expr, Number):
        return Value(load(values, index.expr.value * size, width), width)
    w = site.writer
    at = w.local(U64, "index", index.host())
    found = w.local(raw(width), "listed", 0)
    w.put(Opaque(at, "tested as it is, and not by what it was made of"))
    with w.when(at < most):
        w.put(Opaque(at, "computed with only here, where it is bounded"))
        w.set(found, load(values, at * size, width))
    return Value(found, width)


def _hash(site: LoweringContext, arguments: tuple[Expr, ...]) -> Value:
    """The arguments' bytes packed into words of a local array, then jhash."""
    w = site.writer
    placed: list[tuple[int, Value]] = []
    at = 0
    for argument in arguments:
        v, width = value(site, argument), getattr(argument, "width", 64)
        if width < v.width:  # what a record or an entry holds in more bytes than the type has
            v = Value(v.host(), width)
        placed.append((at, v))
        at += (v.width + 7) // 8
    count = (at + 3) // 4
    parts: list[list[Made]] = [[] for _ in range(count)]
    for start, v in placed:
        _pack(parts, start, v)
    words = tuple(bits_joined(each) for each in parts)
    name = w.array(Array(U32, count), "word", words)
    return Value(Call("jhash_words", (name, number(count))), 32)


def _pack(words: list[list[Made]], start: int, v: Value) -> None:
    """Put a value's network-order bytes at byte `start` of an array of 32-bit words."""
    size = (v.width + 7) // 8
    bytes_ = v.network()
    if size != v.size:  # 3, 5 … bytes: from the number's most significant one on
        bytes_ = to_network(Cast(U64, v.host()) << 64 - size * 8, 64)
    if start % 4 + size <= 4 and size == v.size:
        words[start // 4].append(Cast(U32, bytes_) << start % 4 * 8)
        return
    for i in range(size):  # straddles words: byte by byte
        byte = Cast(U32, Cast(U8, as_bytes(bytes_) >> i * 8))
        at = start + i
        words[at // 4].append(byte << at % 4 * 8)
