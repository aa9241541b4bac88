"""What packets reached of a pipeline, and what none of them did."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import TypeGuard

from ...lang.text.diagnostics import Diagnostic, Label
from ...lang.text.source import Span
from ..headers.fragments import in_first_fragments
from ..model import (
    Among,
    Block,
    Bridge,
    Choose,
    Copy,
    Each,
    Edge,
    Event,
    Exchange,
    Find,
    Forward,
    Found,
    If,
    IfGives,
    Inline,
    IsLimited,
    MatchNumber,
    MatchReference,
    MatchValue,
    Not,
    Packet,
    Pipeline,
    Recall,
    Remember,
    Statement,
)
from ..model.guards import joined
from ..model.parse_graph import reachable
from ..model.walk import walk
from .packet_fields import TIME_TO_LIVE
from .reached import HIT, MISS, RUN, Reached, key_of

_LONGEST = 60  # characters of a statement that are shown
Key = tuple[Span, str]


@dataclass(frozen=True)
class _Point:
    """A statement, or a way out of a look-up. `after`: what comes right before it; None at the
    beginning of a stage. `decides`: the part of the model on which it depends whether a packet
    that came there goes on here."""

    key: Key
    after: Key | None
    decides: object = ()


@dataclass(frozen=True)
class Goal:
    """What no packet reached: an edge, or what is right behind `after`, as in `_Point`."""

    edge: Edge | None = None
    after: Key | None = None
    decides: object = ()


class Coverage:
    """What `reached` says of a pipeline. Points are its statements, the hit and the miss of each
    look-up, the edges of its parse graph that are read, and the hooks that can be run."""

    def __init__(self, pipeline: Pipeline, reached: Reached) -> None:
        self._pipeline, self._reached = pipeline, reached
        sole = {(r.name, *r.alternatives) for r in pipeline.rules if len(r.alternatives) == 1}
        self._points = [p for stage in pipeline.stages for p in _block(stage.body, sole)]
        graph = pipeline.graph
        there = {role: reachable(graph, role) for role in pipeline.roles}
        self._edges = {
            key_of(edge): edge
            for edge in (*graph.edges, *graph.again)
            if any(edge.source in there[role] for role in edge.roles)
        }
        self._hooks = _hooks(pipeline)

    def summary(self) -> list[str]:
        """Lines: how much was reached, then what was not, each with its file and line. Of what
        stands behind these there is a number only."""
        statements = {point.key for point in self._points}
        done = len(statements & self._reached.statements)
        done += len(self._edges.keys() & self._reached.edges)
        done += len(self._hooks & self._reached.hooks)
        total = len(statements) + len(self._edges) + len(self._hooks)
        head = f"reached {done:,} of {total:,} statements, hits, misses, edges and hooks"
        missing = self.unreached()
        if not missing:
            return [head]
        behind = total - done - len(missing)
        more = f" ({behind:,} more {'stands' if behind == 1 else 'stand'} behind these)"
        return [head, f"never reached{more if behind else ''}:", *(f"  {line}" for line in missing)]

    def unreached(self) -> list[str]:
        """What no packet reached. Of statements one after the other, the first; what is behind an
        unreached edge is left out as well."""
        reached = self._reached
        starts = {self._pipeline.graph.entry(role).name for role in self._pipeline.roles}
        starts |= {target for _, _, target in reached.edges}
        edges = {
            f"{span}: edge {source} -> {target}": None
            for span, source, target in self._edges
            if source in starts and (span, source, target) not in reached.edges
        }
        points: dict[Key, _Point] = {}
        for point in self._points:
            if point.key not in reached.statements and (
                point.after is None or point.after in reached.statements
            ):
                points.setdefault(point.key, point)
        hooks = [f"hook {event}" for event in sorted(self._hooks - reached.hooks)]
        return [*edges, *map(_words, points.values()), *hooks]

    def goals(self) -> list[Goal]:
        """What packets may reach next: `unreached`, but for what no drawn packet can reach."""
        reached = self._reached
        goals = [Goal(edge) for key, edge in self._edges.items() if key not in reached.edges]
        goals += [
            Goal(after=point.after, decides=point.decides)
            for point in self._points
            if point.key not in reached.statements
            and point.after in reached.statements
            and not _is_limited(point)
        ]
        if self._hooks - reached.hooks:
            leaving = (p for p in walk(self._pipeline.stages) if isinstance(p, Forward | Bridge))
            goals += [
                Goal(after=(part.span, RUN), decides=self._lives(part))
                for part in leaving
                if (part.span, RUN) in reached.statements
            ]
        return goals

    def _lives(self, leaving: Forward | Bridge) -> tuple[Packet, ...]:
        """Fields of which a packet that leaves there may die."""
        fronts = dict.fromkeys(n for _, n in leaving.fronts) if isinstance(leaving, Forward) else {}
        headers = ((name, self._pipeline.graph.node(name).header) for name in fronts)
        return tuple(
            Packet(name, TIME_TO_LIVE[header.protocol], 8)
            for name, header in headers
            if header.protocol in TIME_TO_LIVE
        )

    def idle(self) -> Diagnostic | None:
        """That nothing was reached that would make agreement worth something."""
        lookups = [
            part.span for part in walk(self._pipeline.stages)
            if isinstance(part, Find | Choose | Recall)
        ]  # fmt: skip
        if lookups and not any((span, RUN) in self._reached.statements for span in lookups):
            labels = tuple(Label(span, "no packet came here") for span in lookups)
            return _idle("no packet reached a `find`, `choose` or `recall`", labels)
        nodes = self._pipeline.graph.nodes
        inner = {node.name for node in nodes if not node.header.link}
        if inner and not any(target in inner for _, _, target in self._reached.edges):
            title = "no packet was parsed beyond its link-layer headers"
            return _idle(title, (Label(self._pipeline.span),))
        return None


def _idle(title: str, labels: tuple[Label, ...]) -> Diagnostic:
    help_ = "draw more packets (`--packets`), or look at the conditions in front of it"
    return Diagnostic("H0816", title, labels, help_)


def _block(
    block: Block,
    sole: Set[tuple[str, ...]],
    after: Key | None = None,
    decides: object = (),
) -> Iterator[_Point]:
    """`sole`: rule kinds with the one kind that each of their rules gives. Nothing comes behind an
    `if` that asks for that one and ends the packet."""
    for statement in block.statements:
        key = statement.span, RUN
        yield _Point(key, after, decides)
        if _may_miss(statement):
            hit, miss = (statement.span, HIT), (statement.span, MISS)
            yield from (_Point(way, key, statement) for way in (hit, miss))
            yield from _block(statement.otherwise, sole, miss)
        for i, inner in enumerate(_inside(statement)):
            yield from _block(inner, sole, key, _condition(statement, i))
        match statement:
            case IfGives(_, rule, given, then) if then.ends and (rule, given) in sole:
                return
        after, decides = key, statement


def _may_miss(statement: Statement) -> TypeGuard[Find | Choose | Recall | Remember | Exchange]:
    if isinstance(statement, Remember):
        return statement.if_absent
    return isinstance(statement, Find | Choose | Recall | Exchange)


def _inside(statement: Statement) -> tuple[Block, ...]:
    match statement:
        case If() | IfGives():
            return statement.then, statement.otherwise
        case MatchValue():
            return tuple(body for _, body in statement.arms)
        case MatchNumber():
            return *(body for _, body in statement.arms), statement.otherwise
        case MatchReference():
            return tuple(arm.body for arm in statement.arms)
        case Inline() | Copy() | Each():
            return (statement.body,)
    return ()


def _hooks(pipeline: Pipeline) -> set[Event]:
    """Those that a drawn packet may run into. All have headroom enough."""
    parts = list(walk(pipeline.stages))
    copied = {id(part.way) for part in parts if isinstance(part, Copy)}  # runs no hook
    ways = (part for part in parts if isinstance(part, Forward | Bridge))
    leaving = [way for way in ways if id(way) not in copied]
    found: set[Event] = {"malformed"} if len(pipeline.graph.nodes) > 1 else set()
    if any(in_first_fragments(pipeline.graph, role) for role in pipeline.roles):
        found |= {"tiny_fragment"}
    if leaving:
        found |= {"too_big", "unresolved"}
    fronts = {node for part in leaving if isinstance(part, Forward) for _, node in part.fronts}
    if any(pipeline.graph.node(front).header.protocol in TIME_TO_LIVE for front in fronts):
        found |= {"ttl_expired"}
    return found


def _condition(statement: Statement, way: int) -> object:
    """What decides whether a packet goes this way of those within the statement."""
    match statement:
        case MatchNumber(subject, arms):
            taken = arms[way : way + 1] or arms
            asked = Among(subject, joined(each for ranges, _ in taken for each in ranges))
            return asked if way < len(arms) else Not(asked)
        case If():
            return statement.condition
        case MatchValue() | MatchReference():
            return statement.subject
        case IfGives():
            return Found(statement.rule)
    return ()


def _is_limited(point: _Point) -> bool:
    """Whether it takes a limit of ICMP errors, which drawn packets do not meet."""
    return isinstance(point.decides, IsLimited)


def _words(point: _Point) -> str:
    span, what = point.key
    line = span.text.splitlines()[0].rstrip(" {")
    shown = line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
    why = " (here ICMP errors have no limit)" if _is_limited(point) else ""
    return f"{span}: `{shown}`" + {RUN: why, HIT: " never hits", MISS: " never misses"}[what]
