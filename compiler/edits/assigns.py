"""Assignment to fields in place; every checksum that covers them follows (RFC 1624)."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial

from ..headers.clauses import clause
from ..headers.context import option_of
from ..headers.fields import field_value
from ..headers.groups import group_pointer, packet_end, part_pointer
from ..headers.stores import put_summed, put_value
from ..ir.edits import SetField
from ..ir.expr import CTX, Call, Expr, Name, NotNull, Symbol, not_, number
from ..ir.expr_builders import both, low_bits
from ..ir.types import U64
from ..model import Derived, Field
from ..model.checksums import NETWORK, is_checksum
from ..model.header_sizes import starts_even
from ..model.parse_graph import below, between
from . import trace
from .context import EditContext


def set_field(site: EditContext, target: SetField) -> None:
    if target.index is None:
        _change(site, target)
    else:
        _change_element(site, target, target.index)


def _change_element(site: EditContext, target: SetField, index: Expr) -> None:
    """One beyond the array's end stays lacking."""
    w, header, pointer = site.writer, site.header(target.node), site.node(target.node)
    field = header.field(target.field)
    array = header.array(field)
    assert array is not None and array.count is not None
    size = array.width // 8
    at = w.local(U64, "index", index)
    first = group_pointer(site, header, array.name, pointer)
    count = clause(site, array.count, pointer, header).host()
    with w.when(both((first, at < count))):
        w.add(first, low_bits(at, array.most.bit_length()) * size)
        with w.when(first + size <= packet_end()):
            _change_at(site.branch(), target, first, at)


def _change(site: EditContext, target: SetField) -> None:
    """A field of a group that the packet lacks stays lacking."""
    w, header, pointer = site.writer, site.header(target.node), site.node(target.node)
    field = header.field(target.field)
    if field.group is None:
        _change_at(site, target, pointer)
        return
    group = part_pointer(site, target.node, field.group, pointer)
    with w.when(group):
        _change_at(site.branch(), target, group)


def _change_at(
    site: EditContext, target: SetField, pointer: Expr, index: Expr | None = None
) -> None:
    """`pointer` is to what the field's offset counts from: the header, its group, or the element of
    an array at `index`."""
    w, header, new = site.writer, site.header(target.node), target.value
    field = header.field(target.field)
    above, front = _above(site, target), _in_front(site, target.node)
    trace.change(site, target.node, target.field, pointer, new)
    if not (above or front or _sums(site, target.node, "header")):
        put_value(w, pointer, field, new)
        return
    option = header.option(field.group)
    odd = field.group is not None and option is None and not starts_even(header, field.group)
    assert not odd and (index is None or field.width % 16 == 0), "H0346"
    change: Expr = put_summed(w, pointer, header, field, new)
    if option is not None:  # at an odd byte its words count as 256 times as much (RFC 1071)
        start = option_of(site.graph, target.node, option.name)
        change = w.local(U64, "turned", change << ((start & 1) << 3))
    total = w.local(U64, "total", change)
    _follow(site, target.node, "header", change, total)
    routing = [n for n in above if site.header(n).protocol == "srh" and target.field != "src"]
    for node in above:
        nearer = [*routing, *between(site.graph, site.role, target.node, node)]
        tests: list[Expr] = [not_(NotNull(site.pointer(n))) for n in nearer]
        if index is not None:  # of a routing header, where it is the packet's last destination
            left = field_value(site.node(target.node), header.field("segments_left")).expr
            tests = [not_(index), left, *tests]
        with w.when(both(tests)) if tests else nullcontext():
            _follow(site, node, "pseudo", change, total)
    for node in front:
        _follow(site, node, "payload", total, total)


def _follow(site: EditContext, node: str, part: str, change: Expr, total: Expr) -> None:
    """The checksums of a node that cover this part follow `change`; `total` has theirs added. Where
    the node may be absent that is a call: a branch would double what the verifier has to follow."""
    w = site.writer
    for field in _sums(site, node, part):
        udp = site.header(node).protocol == "udp"
        at = field.offset // 8
        if field.group is not None:
            name = f"follow_{node}_{field.name}"
            called = site.helper(name, partial(_follow_group, node=node, field=field))
            w.add(total, site.call(called, Call("folded", (change,))))
        elif node in site.known or not site.head.scratch:
            call = "udp_checksum_follow" if udp else "checksum_follow"
            pointer = site.found(node)
            with nullcontext() if node in site.known else w.when(pointer):
                w.add(total, Call(call, (pointer + at, change), U64))
        else:
            what = number(at) | Symbol("UDP_CHECKSUM") if udp else number(at)
            w.add(total, Call("follow", (CTX, site.offset(node), what, change), U64))


def _follow_group(site: EditContext, node: str, field: Field) -> None:
    """The body of a helper: by how much the checksum changed; `a` is what changed under it."""
    w = site.writer
    assert field.group is not None
    with w.unless(site.pointer(node)):
        w.returns(0)
    group = group_pointer(site, site.header(node), field.group, site.pointer(node))
    with w.unless(group):
        w.returns(0)
    w.returns(Call("checksum_follow", (group + field.offset // 8, Name("a")), U64))


def _sums(site: EditContext, node: str, part: str) -> list[Field]:
    """The checksums of a node that cover a part."""
    return [f for f in site.header(node).fields if _covers(f, part)]


def _covers(field: Field, part: str) -> bool:
    default = field.default
    return is_checksum(field) and isinstance(default, Derived) and part in default.over


def _above(site: EditContext, target: SetField) -> list[str]:
    """Nodes behind an IP header, or a routing header, whose checksum its addresses may count for,
    and routing headers, which tell of the other address."""
    protocol, field = site.header(target.node).protocol, target.field
    last = protocol == "srh" and field == "segments"
    if not last and (protocol not in NETWORK or field not in ("src", "dst")):
        return []
    behind = below(site.graph, site.role, target.node)
    return [n for n in behind if site.header(n).protocol == "srh" or _sums(site, n, "pseudo")]


def _in_front(site: EditContext, node: str) -> list[str]:
    """Nodes that may be in front with a checksum over their payload, innermost first."""
    gone = site.shape.gone(site.graph, site.role)
    kept = [n for n in site.in_front(node)[1:] if n not in gone]
    return [n for n in kept if _sums(site, n, "payload")]
