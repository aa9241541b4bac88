"""Where the parts of a header behind its fixed part are: groups, arrays, the tail."""

from __future__ import annotations

from ..ir.expr import CTX, ONE, ZERO, Call, Expr, Name, not_
from ..ir.expr_builders import choose, either, low_bits, total
from ..ir.types import BYTES
from ..model import TAIL, Group, Header
from .clauses import clause
from .context import Context, option_of
from .fields import field_value


def present(header: Header, group: Group, pointer: Expr) -> Expr:
    """Whether the header at `pointer` has the group; 1 where it always has."""
    flags = [field_value(pointer, header.field(flag)).expr for flag in group.flags]
    return either(flags) if flags else ONE


def group_size(context: Context, header: Header, group: Group, pointer: Expr) -> Expr:
    """How many bytes of the header at `pointer` the group takes."""
    there, each = present(header, group, pointer), group.width // 8
    if group.count is None:
        return choose(there, each, 0)
    return choose(there, clause(context, group.count, pointer, header).host() * each, 0)


def parts(context: Context, header: Header, pointer: Expr, before: str = "") -> Expr:
    """The bytes of the fixed part and the groups, or of those before a group."""
    found: list[Expr | int] = [header.fixed // 8]
    for group in header.groups:
        if group.name == before:
            break
        found.append(group_size(context, header, group, pointer))
    return total(found)


def size(context: Context, header: Header, pointer: Expr) -> Expr:
    """The bytes of the whole header."""
    if header.size is not None:
        return clause(context, header.size, pointer, header).host()
    return parts(context, header, pointer)


def start(context: Context, header: Header, name: str, pointer: Expr) -> Expr:
    """The byte at which a group starts, within bounds that the verifier sees."""
    if name == TAIL:
        at = size(context, header, pointer) - header.tail // 8
    else:
        at = parts(context, header, pointer, before=name)
    return low_bits(at, header.maximum.bit_length())


def packet_end() -> Expr:
    """Where the packet's bytes end, read again."""
    return Call("limit_of", (CTX,), BYTES)


def part_pointer(context: Context, node: str, name: str, base: Expr, sure: bool = True) -> Name:
    """A pointer to a group or an option of a node's header; null where it is absent, as
    `group_pointer` has it."""
    header = context.header(node)
    option = header.option(name)
    if option is None:
        return group_pointer(context, header, name, base, sure=sure)
    w, place = context.writer, option_of(context.graph, node, option.name)
    at = base + low_bits(place, header.maximum.bit_length())
    pointer = w.local(BYTES, "option", at if sure else choose(base, at, ZERO))
    beyond = pointer + option.width // 8 > packet_end()
    with w.when(either([*([] if sure else [not_(pointer)]), place.is_(0), beyond])):
        w.set(pointer, ZERO)
    return pointer


def group_pointer(
    context: Context,
    header: Header,
    name: str,
    base: Expr,
    end: Expr | None = None,
    sure: bool = True,
) -> Name:
    """A pointer to a group of the header at `base`; null where the group is absent, and where the
    header is unless `sure`: a second test of a pointer lets clang go on with a 0 where the verifier
    knows the pointer. `end`: where the packet's bytes end. Of an array, its first element."""
    w, group = context.writer, header.group(name)
    there = present(header, group, base)
    at = base + start(context, header, name, base)
    pointer = w.local(BYTES, "group", at if sure else choose(base, at, ZERO))
    beyond = pointer + group.width // 8 > (end if end is not None else packet_end())
    absent = ([] if sure else [not_(pointer)]) + ([] if there == ONE else [not_(there)])
    with w.when(either([*absent, beyond])):
        w.set(pointer, ZERO)
    return pointer
