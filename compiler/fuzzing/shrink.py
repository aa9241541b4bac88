"""The smallest scenario that still fails: fewer packets, requests, rules and elements, plainer
headers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

from ...lang.contract.request.request import Change, Request, RuleItem
from ..interpret.header_view import Value
from .packets import Drawn, Given
from .scenarios import SHORTEST, Scenario

TRIES = 600


def smallest(scenario: Scenario, fails: Callable[[Scenario], bool], tries: int = TRIES) -> Scenario:
    """Take whatever can be taken while it fails, as long as there is something or `tries` last."""
    progress = True
    while progress:
        progress = False
        for smaller in _smaller(scenario):
            if tries <= 0:
                return scenario
            tries -= 1
            if fails(smaller):
                scenario, progress = smaller, True
                break
    return scenario


def _smaller(scenario: Scenario) -> Iterator[Scenario]:
    """The boldest first."""
    steps = scenario.steps
    for i, step in enumerate(steps):
        if isinstance(step, Drawn) and len(scenario.packets) > 1:  # this one alone
            asked = (s for s in steps[:i] if isinstance(s, Request))
            yield Scenario((*asked, step))
    if scenario.requests:
        yield Scenario(scenario.packets)
    yield Scenario(steps[: len(steps) // 2])
    for i in reversed(range(len(steps))):  # what came last is needed least
        yield Scenario(steps[:i] + steps[i + 1 :])
    for i, (one, other) in enumerate(pairwise(steps)):
        if isinstance(one, Request) and isinstance(other, Request):
            both = Request((*one.changes, *other.changes))
            yield Scenario((*steps[:i], both, *steps[i + 2 :]))
    for i, step in enumerate(steps):
        for less in _requests(step) if isinstance(step, Request) else _packets(step):
            yield Scenario((*steps[:i], less, *steps[i + 1 :]))


def _requests(request: Request) -> Iterator[Request]:
    """A change fewer, a rule, an element of one."""
    changes = request.changes
    if len(changes) > 1:
        yield from (Request(changes[:i] + changes[i + 1 :]) for i in range(len(changes)))
    for i, change in enumerate(changes):
        if len(change.items) > 1:
            for j in range(len(change.items)):
                made = Change(change.operation, change.items[:j] + change.items[j + 1 :])
                yield Request((*changes[:i], made, *changes[i + 1 :]))
        for j, item in enumerate(change.items):
            if isinstance(item, RuleItem):
                for k in range(len(item.items)):
                    less = item._replace(items=item.items[:k] + item.items[k + 1 :])
                    items = (*change.items[:j], less, *change.items[j + 1 :])
                    made = Change(change.operation, items)
                    yield Request((*changes[:i], made, *changes[i + 1 :]))


def _packets(packet: Drawn) -> Iterator[Drawn]:
    if packet.cut is not None:
        yield replace(packet, cut=None)
        if packet.cut >= 2 * SHORTEST:
            yield replace(packet, cut=packet.cut // 2)
    if packet.padding:
        yield replace(packet, padding=b"")
    if packet.wait:
        yield replace(packet, wait=0)
    if packet.random:
        yield replace(packet, random=0)
        yield replace(packet, random=packet.random // 2)
    for i in range(len(packet.damage)):
        yield replace(packet, damage=packet.damage[:i] + packet.damage[i + 1 :])
    if packet.payload:
        yield replace(packet, payload=b"")
        yield replace(packet, payload=packet.payload[: len(packet.payload) // 2])
        if any(packet.payload):
            yield replace(packet, payload=bytes(len(packet.payload)))
    if len(packet.headers) > 1:
        yield replace(packet, headers=packet.headers[:-1])
    for i, header in enumerate(packet.headers):
        for values in _values(header.values):
            plainer = Given(header.node, values)
            yield replace(packet, headers=(*packet.headers[:i], plainer, *packet.headers[i + 1 :]))


def _values(values: Mapping[str, Value]) -> Iterator[dict[str, Value]]:
    """One value fewer, or shorter."""
    for name, value in values.items():
        yield {n: v for n, v in values.items() if n != name}
        if isinstance(value, bytes) and len(value) > 4:
            yield {**values, name: value[: len(value) // 2]}
