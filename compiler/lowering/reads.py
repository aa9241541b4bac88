"""What the stages take from rules, from which the layout of records follows; and of the host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...lang.frozen import Frozen
from ..layout import Reads
from ..model import (
    Attribute,
    Forward,
    IsLocal,
    MatchReference,
    MatchValue,
    Pipeline,
    PortOf,
    Queue,
)


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
            case PortOf(Attribute() as port):
                references.add((port.rule, port.element))
            case Forward(PortOf(Attribute() as port), Attribute() as via):
                if port.binding == via.binding:
                    next_hops.add((port.rule, port.element, via.element))
                elements.add((via.rule, via.element))
            case Attribute() if not pipeline.element(part.element).references:
                elements.add((part.rule, part.element))
                if part.optional:
                    presence.add((part.rule, part.element))
    return Reads(
        frozenset(elements), frozenset(presence), frozenset(references), frozenset(next_hops)
    )


def asks_local(pipeline: Pipeline) -> set[str]:
    """Kinds of addresses that are asked whether they are the host's."""
    return {p.address.kind for p in walk(pipeline.stages) if isinstance(p, IsLocal)}


def steers(pipeline: Pipeline) -> bool:
    """Whether a stage says which receive queue packets go to."""
    return any(isinstance(part, Queue) for part in walk(pipeline.stages))


def walk(part: Any) -> Iterator[Any]:
    """Every model node below `part`, itself first."""
    if isinstance(part, tuple):
        for item in part:
            yield from walk(item)
    elif isinstance(part, Frozen):
        yield part
        for name in part.__match_args__:
            if name != "span":
                yield from walk(getattr(part, name))
