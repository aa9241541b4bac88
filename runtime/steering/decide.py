"""Decides which members of a spread take flows, by what is measured of their paths. Pure: times are
arguments, in seconds.

- A member that is out of a bound leaves at once. It returns when it was below `RETURN` of all its
  bounds for the hold-down time without a break.
- Where no member is within its bounds, those take flows that are nearest to them.
- Of those that are within, with a preference only those take flows that are about as good as the
  best.

Values that vary by 10 % move no member to and fro: between where it leaves and where it returns
lies a factor of 1.25, or, where two that vary are compared, of 1.5 (1.1 / 0.9 is 1.22, its square
1.49).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ..edge.path_quality import Measured
from ..edge.steering_policy import Policy

#: The part of each bound from which on a member may return.
RETURN = 0.8
#: How many times the best is about as good, and that times what is so no more.
_NEAR, _FAR = 1.2, 1.5
#: What of that makes no difference: seconds, and a part of all packets.
_SLACK = {"delay": 0.001, "jitter": 0.001, "loss": 0.01}


class Path(NamedTuple):
    """That of a member. `alive`: not found dead. `seen`: None where nothing probes it."""

    alive: bool
    seen: Measured | None = None


@dataclass(frozen=True)
class State:
    """Of a spread's members, by their ids: those that are `within` its bounds, and those that take
    flows. `good`, `near`: since when they could return, and were about as good as the best."""

    within: frozenset[int]
    chosen: frozenset[int]
    good: Mapping[int, float] = field(default_factory=dict)
    near: Mapping[int, float] = field(default_factory=dict)


def step(
    state: State, paths: Mapping[int, Path], policy: Policy, hold_down: float, now: float
) -> State:
    """The state from now on. Of what is not measured nothing changes. Some member takes flows as
    long as one is alive."""
    alive = frozenset(member for member, path in paths.items() if path.alive)
    if not alive:
        return state
    excess = _known({member: policy.excess(path.seen) for member, path in paths.items()})
    good = _since(state.good, {m for m, part in excess.items() if part <= RETURN}, now)
    back = _held(good, hold_down, now)
    within = frozenset(
        member for member in alive
        if member in back or (member in state.within and excess.get(member, 0.0) <= 1)
    )  # fmt: skip
    if not within:
        known = {member: part for member, part in excess.items() if member in alive}
        near = _since(state.near, _about_best(known, known, 0.0), now)
        chosen = _best(state.chosen & alive, known, known, _held(near, hold_down, now), 0.0)
        return State(within, chosen or alive, good, near)
    if not policy.prefer:
        return State(within, within, good)
    cost = _known({member: policy.cost(paths[member].seen) for member in alive})
    slack = _SLACK[policy.prefer]
    among = {member: value for member, value in cost.items() if member in within}
    near = _since(state.near, _about_best(cost, among, slack), now)
    held, current = _held(near, hold_down, now) & within, state.chosen & within
    # One that has just become better is not compared with yet: it may be so for a moment only.
    counted = {member: value for member, value in among.items() if member in current | held}
    chosen = _best(current, among, counted or among, held, slack)
    return State(within, chosen or within, good, near)


def _best(
    current: frozenset[int], cost: Mapping[int, float], counted: Mapping[int, float],
    held: Collection[int], slack: float,
) -> frozenset[int]:  # fmt: skip
    """Of `cost` those that are about as good as the best of `counted`. Of the `current` ones those
    stay that are not much worse, or not measured; `held` ones come."""
    if not cost:
        return current
    enter = _NEAR * min(counted.values()) + slack
    stay = {member for member in current if cost.get(member, 0.0) <= _FAR * enter}
    come = {member for member in held if member in cost and cost[member] <= enter}
    return frozenset(stay | come or {member for member, value in cost.items() if value <= enter})


def _about_best(
    cost: Mapping[int, float], among: Mapping[int, float], slack: float
) -> set[int]:  # fmt: skip
    if not among:
        return set()
    enter = _NEAR * min(among.values()) + slack
    return {member for member, value in cost.items() if value <= enter}


def _known(values: Mapping[int, float | None]) -> dict[int, float]:
    return {member: value for member, value in values.items() if value is not None}


def _since(before: Mapping[int, float], members: set[int], now: float) -> dict[int, float]:
    return {member: before.get(member, now) for member in members}


def _held(since: Mapping[int, float], hold_down: float, now: float) -> frozenset[int]:
    return frozenset(member for member, at in since.items() if now - at >= hold_down)
