"""Packet edits are carried out, as the target moves a frame: pushes and pops are collected in a
`Shape` and written where the packet leaves, assignments are stores, and checksums follow. What a
stage pushed and a later one writes lies in the scratch record.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

from ..edits import trace
from ..edits.assigns import follow_sums, hold_sums, set_field
from ..edits.carry import carried_over
from ..edits.context import EditContext, ScratchWords
from ..edits.copies import leave
from ..edits.forward import answer, bridge, forward
from ..edits.links import pop_link
from ..edits.pops import pop
from ..edits.pushes import append, push
from ..edits.shape import Shape
from ..edits.verdicts import finish
from ..headers.context import pointer_to
from ..headers.outline import untouched
from ..ir import edits as e
from ..ir import nodes as n
from ..ir.builder import Builder
from ..ir.events import Events
from ..ir.expr import Expr
from ..ir.names import Names
from ..ir.nodes import Body, Function, Statement
from ..ir.rewrite import with_expressions
from ..ir.unit import Unit, with_functions
from ..ir.walk import statements
from ..model.parse_graph import reachable
from ..targets.targets import TARGETS


def edit_packets(unit: Unit) -> Unit:
    names = Names([*(f.name for f in unit.functions), *(p.name for p in unit.programs)])
    events, functions, kept = Events(unit.counters), list[Function](), 0
    for role in unit.roles:
        start = _start(unit, role, names, events)
        functions += _role(unit, start)
        kept = max(kept, start.kept.count)
    return replace(with_functions(unit, functions), kept=kept)


def _start(unit: Unit, role: str, names: Names, events: Events) -> EditContext:
    graph, head = unit.graph, TARGETS[unit.target].head
    return EditContext(
        graph=graph,
        role=role,
        stage="",
        events=events,
        writer=Builder(),
        reachable=reachable(graph, role),
        steers=unit.steers,
        card=unit.target == "nfp",
        shape=Shape(untouched(graph, role).fronts),
        head=head,
        hooks={**dict(unit.hooks), **head.hooks},
        names=names,
        bare=unit.bare,
        kept=ScratchWords(),
    )


def _role(unit: Unit, start: EditContext) -> list[Function]:
    """A role's functions: the packet leaves each stage as the next one finds it."""
    made, shape = list[Function](), start.shape
    for f in unit.functions:
        if f.role != start.role:
            continue
        if any(isinstance(s, n.Label) for s in f.body):  # it parses, and edits nothing
            made.append(f)
            continue
        writer = Builder(span=f.span, named=_most_named(f.body))
        site = start.new_function(writer, stage=f.stage, shape=shape if f.stage else start.shape)
        left = _Editor(site).body(f.body)
        if f.stage and left is not None:
            shape = left
            if shape.pushed or shape.appended:
                shape = carried_over(site, shape)
        made.append(replace(f, body=writer.body))
    span = start.graph.entry(start.role).span
    helpers = [Function(h.name, "", start.role, h.body, span) for h in start.helpers.values()]
    return [*helpers, *made]


def _most_named(body: Body) -> int:
    """The greatest number that a variable's name ends in."""
    names = (s.name.name for s in statements(body) if isinstance(s, _Declaring))
    numbers = (name.rpartition("_")[2] for name in names)
    return max((int(number) for number in numbers if number.isdecimal()), default=0)


_Declaring = n.Let | n.LetArray | n.LetStruct


@dataclass
class _Editor:
    """Carries out the edits of a function, in order."""

    site: EditContext

    def body(self, body: Body) -> Shape | None:
        """The shape behind a body; None where no way leads there."""
        for i, s in enumerate(body):
            with self.site.writer.at(s.span):
                if isinstance(s, e.HoldSums):
                    hold_sums(self.site, body[i:])
                shape = self._statement(s)
            if shape is None:
                return None
            self.site.reshape(shape)
        return self.site.shape

    def _statement(self, s: Statement) -> Shape | None:
        site, w = self.site, self.site.writer
        match s:
            case e.PacketEdit():
                return self._edit(s)
            case n.KnownNotNull(places):
                site.known |= {x.node for x in places if isinstance(x, e.NodePointer)}
                places = tuple(map(self._place, places))
                w.put(n.KnownNotNull(places))
                return site.shape
            case n.MakePointer(e.NodePointer(node, True)):
                site.known.add(node)
        s = with_expressions(s, self._resolved)
        match s:
            case n.If():
                return self._if(s)
            case n.Block(body):
                with w.block():
                    return self.body(body)
            case n.Repeat(index, most, test, body):
                with w.repeated(index, most, test):
                    self._way(body)
                return site.shape
            case n.Only(memory, body):
                with w.only(memory):
                    self.body(body)
                return site.shape
        w.statements.append(s)
        ends = isinstance(s, n.Return | n.Verdict | n.Internal | n.Jump)
        return None if ends else site.shape

    def _if(self, s: n.If) -> Shape | None:
        w = self.site.writer
        with w.when(s.test, s.unlikely):
            ways = [self._way(s.then)]
        if s.otherwise:
            with w.otherwise():
                ways.append(self._way(s.otherwise))
        else:
            ways.append(self.site.shape)
        going = [shape for shape in ways if shape is not None]
        assert len(going) < 2 or going[0] == going[1], "H0269, H0341, H0342"
        return going[0] if going else None

    def _way(self, body: Body) -> Shape | None:
        """One way of a branch: what it learns stays there."""
        w = self.site.writer
        since = w.captured
        shape = replace(self, site=self.site.branch()).body(body)
        if shape is not None and shape != self.site.shape:
            w.outlive(since)  # what a push took is written behind the block
        return shape

    def _copy(self, body: Body, most: int) -> None:
        """Of a copy of the packet: what is pushed, and how it leaves."""
        *pushes, way = body
        shape = self.body(tuple(pushes))
        assert isinstance(way, e.PacketEnd) and shape is not None, "H0531"
        with self.site.writer.at(way.span):
            leave(self.site, cast(e.PacketEnd, with_expressions(way, self._resolved)), most)

    def _edit(self, s: e.PacketEdit) -> Shape | None:
        site = self.site
        resolved = with_expressions(s, self._resolved)
        match resolved:
            case e.Push():
                return push(site, resolved)
            case e.Append():
                return append(site, resolved)
            case e.Pop(node):
                trace.pop(site, node)
                return pop(site, node)
            case e.PopLink(node):
                trace.pop_link(site, node)
                return pop_link(site, node)
            case e.SetField():
                set_field(site, resolved)
                return site.shape
            case e.HoldSums():
                return site.shape
            case e.FollowSums():
                follow_sums(site)
                return site.shape
            case e.ClampMss():
                return replace(site.shape, clamp=True)
            case e.Copy(body, most):
                with site.writer.block("copy"):
                    replace(self, site=site.branch())._copy(body, most)
                return site.shape
        with site.writer.block():
            match resolved:
                case e.Forward():
                    forward(site, resolved)
                case e.Bridge():
                    bridge(site, resolved)
                case e.Reply():
                    answer(site, resolved)
                case e.Finish(verdict):
                    finish(site, verdict)
        return None

    # ---- nodes

    def _resolved(self, x: Expr) -> Expr:
        match x:
            case e.NodePointer(node, sure):
                return replace(self.site.pointer(node), sure=sure)
            case e.NodeOffset(node):
                return self.site.offset(node)
        return x

    def _place(self, x: Expr) -> Expr:
        return pointer_to(x.node) if isinstance(x, e.NodePointer) else x
