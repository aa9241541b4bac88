"""What a packet will look like when it leaves: pops, pushes and appends, followed through the
stages of each port role, as `lower` does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from ...lang.text.frozen import Frozen
from .. import model as m
from ..headers.outline import (
    Outline,
    cut_behind,
    popped_to,
    pushed,
    untouched,
    without_link,
)
from ..model.checksums import NETWORK
from ..model.parse_graph import missing_selector, reachable


class Edits(Outline):
    """`numbers`: of the pushes and appends that wrote its headers, in the order of `pushes`, an
    append first. `clamp`: at `forward`, the MSS."""

    numbers: tuple[int, ...] = ()
    clamp: bool = False


class Place(Frozen):
    """A statement, and what was done to the packets of a role that come to it."""

    role: str
    statement: m.Statement
    edits: Edits


class Meeting(Frozen):
    """A statement behind which packets of a role meet that were changed in several ways."""

    role: str
    statement: m.Statement
    ways: tuple[Edits, ...]


class Crossing(Frozen):
    """A stage that packets of a role leave for the next one."""

    role: str
    stage: m.Stage
    edits: Edits


@dataclass
class Walk:
    """All that packets come to. `writers`: pushes and appends, by their number in `Edits`."""

    pipeline: m.Pipeline
    places: list[Place] = field(default_factory=list)
    meetings: list[Meeting] = field(default_factory=list)
    crossings: list[Crossing] = field(default_factory=list)
    writers: list[m.Push | m.Append] = field(default_factory=list)

    def of(self, kind: type[m.Statement]) -> Iterator[Place]:
        """The places of one kind of statement."""
        return (place for place in self.places if isinstance(place.statement, kind))


def walk_edits(pipeline: m.Pipeline) -> Walk:
    """Follow the packets of every role through all stages."""
    made = Walk(pipeline)
    for role in pipeline.roles:
        _Role(made, role).run()
    return made


class _Role:
    def __init__(self, walk: Walk, role: str) -> None:
        self.walk, self.role = walk, role
        self.graph = walk.pipeline.graph
        self.reachable = reachable(self.graph, role)

    def run(self) -> None:
        edits = Edits(untouched(self.graph, self.role).fronts)
        for stage in self.walk.pipeline.stages:
            after = self.block(stage.body, edits)
            if after is None:
                return
            edits = after
            self.walk.crossings.append(Crossing(self.role, stage, edits))

    def block(self, block: m.Block, edits: Edits) -> Edits | None:
        """What was done to the packets that fall out of its end; None if none do."""
        for statement in block.statements:
            self.walk.places.append(Place(self.role, statement, edits))
            after = self.statement(statement, edits)
            if after is None:
                return None
            edits = after
        return edits

    def statement(self, s: m.Statement, edits: Edits) -> Edits | None:
        match s:
            case m.If():
                holds = decided(s.condition, self.role, self.may_have(edits))
                if holds is not None:
                    return self.block(s.then if holds else s.otherwise, edits)
                return self.join(s, edits, s.then, s.otherwise)
            case m.IfGives():
                return self.join(s, edits, s.then, s.otherwise)
            case m.MatchValue():
                return self.join(s, edits, *(body for _, body in s.arms))
            case m.MatchNumber():
                return self.join(s, edits, s.otherwise, *(body for _, body in s.arms))
            case m.MatchReference():
                return self.join(s, edits, *(arm.body for arm in s.arms))
            case m.Choose() if not s.otherwise.statements:  # drops
                return edits
            case m.Find() | m.Choose() | m.Recall():
                return self.join(s, edits, m.Block(()), s.otherwise)
            case m.Inline():
                return self.block(s.body, edits)
            case m.Copy() | m.Each():
                self.block(s.body, edits)
                return edits
            case m.Verdict() | m.Forward() | m.Bridge() | m.Reply():
                return None
            case m.Pop():
                return popped_to(edits, self.graph, self.role, s.node)
            case m.PopLink():
                return without_link(edits, s.node)
            case m.Push():
                nodes = tuple(e.node for e in s.elements)
                numbers = (*[self.number(s)] * len(nodes), *edits.numbers)
                return replace(pushed(edits, nodes, s.before, s.behind), numbers=numbers)
            case m.Append():
                return replace(cut_behind(edits, s.behind), numbers=(self.number(s),))
            case m.ClampMss():
                return replace(edits, clamp=True)
        return edits

    def join(self, s: m.Statement, edits: Edits, *blocks: m.Block) -> Edits | None:
        ways = [after for block in blocks if (after := self.block(block, edits)) is not None]
        if any(way != ways[0] for way in ways):
            self.walk.meetings.append(Meeting(self.role, s, tuple(dict.fromkeys(ways))))
        return ways[0] if ways else None

    def may_have(self, edits: Edits) -> Callable[[str], bool]:
        return lambda node: node in self.reachable and node not in edits.gone(self.graph, self.role)

    def number(self, s: m.Push | m.Append) -> int:
        """Of a statement that writes headers: values that are taken in two places differ."""
        writers = self.walk.writers
        if self.writes_constants(s):
            for number, other in enumerate(writers):
                if replace(s, span=other.span) == other:
                    return number
        writers.append(s)
        return len(writers) - 1

    def writes_constants(self, s: m.Push | m.Append) -> bool:
        """Whether nothing is taken from packets or rules, ECN neither."""
        protocols = (self.graph.node(e.node).header.protocol for e in s.elements)
        taken = any(e.values or e.lists for e in s.elements)
        return not taken and not any(protocol in NETWORK for protocol in protocols)


def decided(condition: m.Condition, role: str, may_have: Callable[[str], bool]) -> bool | None:
    """What a condition is on this role; None where the packet decides."""
    match condition:
        case m.PortIs(asked):
            return asked == role
        case m.Present(node):
            return None if may_have(node) else False
        case m.Not(inner):
            holds = decided(inner, role, may_have)
            return None if holds is None else not holds
        case m.And(operands) | m.Or(operands):
            decisive, asked_before = isinstance(condition, m.Or), False
            for operand in operands:
                holds = decided(operand, role, may_have)
                if holds is decisive:  # what stands before it is asked all the same
                    return None if asked_before else decisive
                asked_before = asked_before or holds is None
            return None if asked_before else not decisive
    return None


# ---- ways through the graph -------------------------------------------------------------------


def link_ways(graph: m.Graph, role: str, edits: Edits, node: str) -> list[tuple[str, ...]]:
    """The link nodes that may stand in front of a leading one and can say what follows it."""
    found = list[tuple[str, ...]]()
    todo: list[tuple[str, ...]] = [(edits.own or graph.entry(role).name,)]
    while todo:
        way = todo.pop(0)
        for target in dict.fromkeys(e.target for e in graph.leaving(way[-1], role)):
            if target == node:
                left = tuple(n for n in way if n not in edits.untagged)
                if not missing_selector(graph, left[-1], node):
                    found.append(left)
            elif graph.node(target).header.link:
                todo.append((*way, target))
    return found


def in_front(graph: m.Graph, role: str, node: str) -> list[str]:
    """The node, and those that may stand anywhere in front of it, innermost first."""
    met, found = reachable(graph, role), [node]
    for other in reversed(graph.nodes):
        targets = {e.target for e in graph.leaving(other.name, role)}
        if other.name in met and targets & set(found):
            found.append(other.name)
    return found
