"""What the stages take from rules, from which the layout of records follows; and of the host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...lang.text.frozen import Frozen, kept
from ..ir.unit import Moment
from ..model import (
    And,
    Attribute,
    Block,
    Bridge,
    ClockError,
    Condition,
    Copy,
    Forward,
    If,
    Inline,
    IsLimited,
    IsLocal,
    MatchReference,
    MatchValue,
    Metered,
    Not,
    Now,
    Or,
    Pipeline,
    PortIs,
    PortOf,
    Queue,
    Random,
    Recalled,
    Reply,
    Verdict,
)
from ..model.walk import walk
from ..tables.layout import Reads


def reads(pipeline: Pipeline) -> Reads:
    """Collect every attribute that a stage reads, by rule kind."""
    elements, presence = set(), set()
    references, next_hops = set(), set()
    for part in walk(pipeline.stages):
        match part:
            case MatchReference(subject):
                references.add((subject.rule, subject.element))
            case MatchValue(subject):
                elements.add((subject.rule, subject.element))
            case PortOf(Attribute() as port, True):
                elements.add((port.rule, port.element))
            case PortOf(Attribute() as port):
                references.add((port.rule, port.element))
            case Forward(PortOf(Attribute() as port, matched), Attribute() as via):
                if port.binding == via.binding and not matched:
                    next_hops.add((port.rule, port.element, via.element))
                elements.add((via.rule, via.element))
            case Attribute() if not pipeline.element(part.element).references:
                elements.add((part.rule, part.element))
                if part.optional:
                    presence.add((part.rule, part.element))
    return Reads(
        frozenset(elements), frozenset(presence), frozenset(references), frozenset(next_hops)
    )


def states_read(pipeline: Pipeline, stage: str) -> frozenset[str]:
    """States of which a stage reads what it recalled or remembered."""
    return _read_by_stage(pipeline).get(stage, frozenset())


@kept
def _read_by_stage(pipeline: Pipeline) -> dict[str, frozenset[str]]:
    return {
        stage.name: frozenset(p.state for p in walk(stage.body) if isinstance(p, Recalled))
        for stage in pipeline.stages
    }


def asks_local(pipeline: Pipeline) -> set[str]:
    """Kinds of addresses that are asked whether they are the host's."""
    return {p.address.kind for p in walk(pipeline.stages) if isinstance(p, IsLocal)}


def limits_errors(pipeline: Pipeline) -> bool:
    """Whether the pipeline sends errors, of which there may be only so many."""
    return pipeline.replies or any(isinstance(p, IsLimited) for p in walk(pipeline.stages))


def moments(pipeline: Pipeline) -> tuple[Moment, ...]:
    """What a packet's scratch record keeps of the moment: its time, that of the wall clock, and
    what chance gave it."""
    parts = list(walk(pipeline.stages))
    clocks = {part.clock for part in parts if isinstance(part, Now)}
    asked: dict[Moment, bool] = {
        "now": bool(clocks) or any(isinstance(part, ClockError | Metered) for part in parts),
        "utc": bool(clocks - {"boot"}),
        "random": any(isinstance(part, Random) for part in parts),
    }
    return tuple(what for what in asked if asked[what])


def copies(pipeline: Pipeline) -> bool:
    """Whether a stage makes copies of packets."""
    return any(isinstance(part, Copy) for part in walk(pipeline.stages))


def cut_off(pipeline: Pipeline) -> bool:
    """Whether some of these are of the first bytes alone."""
    return any(isinstance(part, Copy) and part.most for part in walk(pipeline.stages))


def steers(pipeline: Pipeline) -> bool:
    """Whether a stage says which receive queue packets go to."""
    return any(isinstance(part, Queue) for part in walk(pipeline.stages))


def answers(pipeline: Pipeline) -> tuple[str, ...]:
    """Roles on whose ports packets may leave by the port that they came in by: sent back, or
    answered with an ICMP error, which forwarding comes to."""

    def answering(part: Any) -> bool:
        if isinstance(part, Forward | Bridge):
            return pipeline.hooks_reply
        return isinstance(part, Reply) or (
            isinstance(part, Verdict) and part.verdict == "send back"
        )

    bodies = tuple(stage.body for stage in pipeline.stages)
    return tuple(role for role in pipeline.roles if any(map(answering, _walk_on(bodies, role))))


def _walk_on(part: Any, role: str) -> Iterator[Any]:
    """What `walk` gives, without what no packet of this role comes to."""
    if isinstance(part, tuple):
        for item in part:
            yield from _walk_on(item, role)
            if _ends(item, role):
                return
    elif isinstance(part, If):
        holds = _decided(part.condition, role)
        yield from _walk_on(() if holds is False else part.then, role)
        yield from _walk_on(() if holds is True else part.otherwise, role)
    elif isinstance(part, Frozen):
        yield part
        for name in part.__match_args__:
            if name != "span":
                yield from _walk_on(getattr(part, name), role)


def _ends(part: Any, role: str) -> bool:
    """Whether no packet of this role falls out of the end of a statement."""
    match part:
        case Block(body):
            return part.ends or any(_ends(each, role) for each in body)
        case Inline(_, body):
            return _ends(body, role)
        case If(condition, then, otherwise):
            ways = {True: (then,), False: (otherwise,), None: (then, otherwise)}
            return all(_ends(each, role) for each in ways[_decided(condition, role)])
        case Verdict() | Forward() | Bridge() | Reply():
            return True
    return False


def _decided(condition: Condition, role: str) -> bool | None:
    """What a condition is on this role; None where the packet decides."""
    match condition:
        case PortIs(asked):
            return asked == role
        case Not(inner):
            holds = _decided(inner, role)
            return None if holds is None else not holds
        case And(operands) | Or(operands):
            decisive = isinstance(condition, Or)
            found = {_decided(each, role) for each in operands}
            return decisive if decisive in found else None if None in found else not decisive
    return None
