"""Checksums follow several assignments at once: from the first to the last of a run of statements
that neither read a checksum nor let the packet go, what changes under each checksum is added up.

The bytes are those of checksums that follow one by one: a folded sum is 0 only where all of it is
(RFC 1071), and UDP's is never 0 (RFC 768).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from operator import is_

from ...lang.text.frozen import kept
from ..ir import nodes as n
from ..ir.edits import Copy, FollowSums, HoldSums, NodeOffset, NodePointer, PacketEdit, SetField
from ..ir.expr import Call, Expr, Frame, HelperCall, Load, Name, NotNull, Number
from ..ir.nodes import Body, Function, Statement
from ..ir.types import BYTES
from ..ir.unit import Unit, with_functions
from ..ir.walk import PURE, blocks, children, own_expressions
from ..model import Field, Graph
from ..model.checksums import is_checksum

#: Of the functions that change nothing, those that give pointers into the frame, or read it.
_INTO_FRAME = {"header_at", "name_bytes", "packet_at", "pushed_at", "there_at"}
_BY_ITSELF = PURE - _INTO_FRAME

_TAKEN = (
    n.Let, n.LetArray, n.LetStruct, n.Set, n.Do, n.If, n.Block, n.AssumeNot, n.Count, n.Emit,
    n.CountRule, n.Internal, n.Trace, n.TraceRule, n.StatementStart, n.MakePointer, n.KnownNotNull,
    n.Blank,
)  # fmt: skip


def join_checksums(unit: Unit) -> Unit:
    made = [f if f.stage == "parser" else _function(unit.graph, f) for f in unit.functions]
    return with_functions(unit, made)


def _function(graph: Graph, f: Function) -> Function:
    body = _Joiner(graph).joined(f.body)
    return f if body is f.body else replace(f, body=body)


@dataclass
class _Joiner:
    """`waiting`: whether checksums may wait for a statement, by its identity: it is asked of all
    that the statement stands in, too."""

    graph: Graph
    waiting: dict[int, bool] = field(default_factory=dict)

    def joined(self, body: Body) -> Body:
        made, run = list[Statement](), list[Statement]()
        for s in body:
            if not self._may_wait(s):
                made += _held(run)
                run = []
                made.append(self._within(s))
            else:
                run.append(self._within(s))
        made += _held(run)
        return body if len(made) == len(body) and all(map(is_, made, body)) else tuple(made)

    def _within(self, s: Statement) -> Statement:
        match s:
            case n.If(_, then, otherwise):
                ways = self.joined(then), self.joined(otherwise)
                if ways[0] is not then or ways[1] is not otherwise:
                    return replace(s, then=ways[0], otherwise=ways[1])
            case n.Block(body) | Copy(body):
                made = self.joined(body)
                return s if made is body else replace(s, body=made)
        return s

    def _may_wait(self, s: Statement) -> bool:
        if id(s) not in self.waiting:
            inner = (inner for body in blocks(s) for inner in body)
            self.waiting[id(s)] = _waits(self.graph, s) and all(map(self._may_wait, inner))
        return self.waiting[id(s)]


def _held(run: list[Statement]) -> list[Statement]:
    """The statements of a run, with the sums held from the first assignment to the last one. Where
    only branches assign, that is for these to do."""
    first = next((i for i, s in enumerate(run) if isinstance(s, SetField)), None)
    assigning = [i for i, s in enumerate(run) if _assigns(s)]
    if first is None or len(assigning) < 2:
        return run
    last = assigning[-1]
    hold, follow = HoldSums().spanned(run[first].span), FollowSums().spanned(run[last].span)
    return [*run[:first], hold, *run[first : last + 1], follow, *run[last + 1 :]]


@kept
def _assigns(s: Statement) -> bool:
    inner = (inner for body in blocks(s) for inner in body)
    return isinstance(s, SetField) or any(map(_assigns, inner))


def _waits(graph: Graph, s: Statement) -> bool:
    """Whether checksums may wait until this is done, but for what stands in it: it reads none, and
    the packet stays."""
    match s:
        case SetField(node, field):
            waits = not is_checksum(_field(graph, node, field))
        case n.Verdict(_, action):
            waits = action == "drop"
        case n.Let(_, NodePointer()) | n.Set(_, NodePointer()):
            waits = False
        case _:
            waits = isinstance(s, _TAKEN) and not isinstance(s, PacketEdit)
    return waits and not any(_reads_sum(graph, x) for x in own_expressions(s))


def _reads_sum(graph: Graph, x: Expr) -> bool:
    """Whether an expression, without those within it, may read a checksum."""
    match x:
        case Load(NodePointer(node), Number(at)):
            return any(f < at + x.bits // 8 and at < f + 2 for f in _sums_of(graph, node))
        case Load(Name() as base):
            return base.type == BYTES
        case Load(NodePointer()) | Frame() | HelperCall():
            return True
        case Call(function):
            return function not in _BY_ITSELF
        case NotNull() | NodePointer() | NodeOffset():
            return False
    return any(isinstance(part, NodePointer) for part in children(x))


def _sums_of(graph: Graph, node: str) -> list[int]:
    """The bytes of a header at which its checksums begin; of those in a group, counted from the
    group on."""
    fields = graph.node(node).header.fields
    return [f.offset // 8 for f in fields if is_checksum(f)]


def _field(graph: Graph, node: str, field: str) -> Field:
    return graph.node(node).header.field(field)
