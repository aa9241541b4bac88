"""Assignment to fields in place; every checksum that covers them follows (RFC 1624)."""

from __future__ import annotations

from itertools import takewhile

from ..headers.clauses import clause
from ..headers.context import option_of
from ..headers.fields import field_value
from ..headers.groups import group_pointer, packet_end, part_pointer
from ..headers.stores import put_summed, put_value
from ..ir.edits import FollowSums, SetField
from ..ir.expr import Expr, Name, not_
from ..ir.expr_builders import both, low_bits
from ..ir.nodes import Body
from ..ir.types import U64
from ..model.header_sizes import starts_even
from . import trace
from .context import Covering, EditContext
from .sums import counting, covering_of, follow, waits


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
    field, covering = header.field(target.field), covering_of(site, target)
    trace.change(site, target.node, target.field, pointer, new)
    if not covering:
        put_value(w, pointer, field, new)
        return
    option = header.option(field.group)
    odd = field.group is not None and option is None and not starts_even(header, field.group)
    assert not odd and (index is None or field.width % 16 == 0), "H0346"
    change: Expr = put_summed(w, pointer, header, field, new)
    if option is not None:  # at an odd byte its words count as 256 times as much (RFC 1071)
        start = option_of(site.graph, target.node, option.name)
        change = w.local(U64, "turned", change << ((start & 1) << 3))
    tests = dict[str, list[Expr]]()
    if index is not None and (behind := counting(site, target)):
        # of a routing header, where it is the last destination
        left = field_value(site.node(target.node), header.field("segments_left")).expr
        tests = {node: [not_(index), left] for node in behind}
    held = site.sums if waits(site, target) else {}
    now = dict[Covering, Name]()
    for each in covering:
        if each in held:
            w.add(held[each], change)
        else:
            now[each] = w.local(U64, "sum", change)
    follow(site, now, tests)


# ---- several together -----------------------------------------------------------------------


def hold_sums(site: EditContext, run: Body) -> None:
    """Checksums wait for what is assigned in front of `FollowSums`. Not those that only a branch
    changes: they would follow where it is not taken, too."""
    held = dict[Covering, Name]()
    for s in takewhile(lambda s: not isinstance(s, FollowSums), run):
        if isinstance(s, SetField) and waits(site, s):
            for each in covering_of(site, s):
                if each not in site.sums and each not in held:
                    held[each] = site.writer.local(U64, "sum", 0)
    site.sums = site.sums.new_child(held)


def follow_sums(site: EditContext) -> None:
    """The checksums that waited follow."""
    held, site.sums = site.sums.maps[0], site.sums.parents
    follow(site, held)
