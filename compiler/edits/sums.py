"""Checksums that follow what is assigned under them (RFC 1624)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial

from ..headers.groups import group_pointer
from ..ir.builder import Builder
from ..ir.edits import SetField
from ..ir.expr import CTX, Call, Expr, Name, NotNull, Symbol, not_, number
from ..ir.expr_builders import both
from ..ir.nodes import Do
from ..ir.types import U64
from ..model import Derived, Field
from ..model.checksums import NETWORK, is_checksum
from ..model.parse_graph import below, between
from .context import Covering, EditContext


def covering_of(site: EditContext, target: SetField) -> list[Covering]:
    """The checksums that an assignment changes: of its header, of those behind that count an
    address in, and of those in front, innermost first."""
    above, front = counting(site, target), _in_front(site, target.node)
    routing = [n for n in above if site.header(n).protocol == "srh" and target.field != "src"]
    found = [Covering(target.node, f.name, (), front) for f in _sums(site, target.node, "header")]
    for node in above:
        nearer = *routing, *between(site.graph, site.role, target.node, node)
        found += [
            Covering(node, f.name, nearer, front, site.head.partial)
            for f in _sums(site, node, "pseudo")
        ]
    return found + _of_fronts(site, front)


def _of_fronts(site: EditContext, front: tuple[str, ...]) -> list[Covering]:
    return [
        Covering(node, field.name, (), front[i + 1 :])
        for i, node in enumerate(front) for field in _sums(site, node, "payload")
    ]  # fmt: skip


def waits(site: EditContext, target: SetField) -> bool:
    """Whether checksums may follow an assignment later. Not where one in front that is no UDP's
    sees those that do: of the two zeros of its arithmetic it might get the other one."""
    front = _in_front(site, target.node)
    return target.index is None and all(site.header(n).protocol == "udp" for n in front)


def follow(
    site: EditContext, sums: Mapping[Covering, Name], tests: Mapping[str, Sequence[Expr]] = {}
) -> None:
    """Each checksum follows the sum of what changed under it, and those in front follow it, too.
    `tests`: whether what changed counts for a node."""
    w, every_sum = site.writer, site.sums.new_child({**sums})
    for each in sorted(sums, key=lambda each: -len(each.fronts)):
        lacking = [not_(NotNull(site.pointer(n))) for n in each.nearer]
        every = [*tests.get(each.node, ()), *lacking]
        outer = [every_sum[front] for front in _of_fronts(site, each.fronts)]
        with w.when(both(every)) if every else nullcontext():
            _follow(site, each, sums[each], outer)


def _follow(site: EditContext, covering: Covering, change: Expr, outer: Sequence[Name]) -> None:
    """A checksum follows `change`; `outer` have its own change added. Where the node may be absent
    that is a call: a branch would double what the verifier has to follow."""
    node, w = covering.node, site.writer
    field = site.header(node).field(covering.field)
    udp = site.header(node).protocol == "udp"
    at = field.offset // 8
    unfinished = site.head.partial and _covers(field, "pseudo")
    if field.group is not None:
        name = f"follow_{node}_{field.name}"
        called = site.helper(name, partial(_follow_group, node=node, field=field))
        _add(w, outer, site.call(called, Call("folded", (change,))))
    elif (node in site.known and not unfinished) or not site.head.scratch:
        call = "udp_checksum_follow" if udp else "checksum_follow"
        pointer = site.found(node)
        with nullcontext() if node in site.known else w.when(pointer):
            _add(w, outer, Call(call, (pointer + at, change), U64))
    else:
        what = number(at) | Symbol("UDP_CHECKSUM") if udp else number(at)
        what = what | Symbol("UPPER_LAYER") if unfinished else what
        what = what | Symbol("PSEUDO") if covering.pseudo else what
        _add(w, outer, Call("follow", (CTX, site.offset(node), what, change), U64))


def _add(w: Builder, places: Sequence[Name], call: Expr) -> None:
    """What a call returns; it is made also where nobody asks."""
    if not places:
        w.put(Do(call))
        return
    changed = w.local(U64, "changed", call)
    for place in places:
        w.add(place, changed)


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


def counting(site: EditContext, target: SetField) -> list[str]:
    """Nodes behind an IP header, or a routing header, whose checksum its addresses may count for,
    and routing headers, which tell of the other address."""
    protocol, field = site.header(target.node).protocol, target.field
    last = protocol == "srh" and field == "segments"
    if not last and (protocol not in NETWORK or field not in ("src", "dst")):
        return []
    behind = below(site.graph, site.role, target.node)
    return [n for n in behind if site.header(n).protocol == "srh" or _sums(site, n, "pseudo")]


def _in_front(site: EditContext, node: str) -> tuple[str, ...]:
    """Nodes that may be in front with a checksum over their payload, innermost first."""
    gone = site.shape.gone(site.graph, site.role)
    kept = [n for n in site.in_front(node)[1:] if n not in gone]
    return tuple(n for n in kept if _sums(site, n, "payload"))
