"""Whether the host is congested, and how much of whose priority traffic is to go elsewhere.

In this order: what has no priority is sent on as soon as anything is hot (the flag). Where that
does not help, a CPU that stays hot loses its share of priority traffic eighth by eighth. Eighths
are given back, and then the flag is taken away, when all has been calm for long enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .settings import Congestion

#: Parts of a CPU's priority traffic.
PARTS = 8


@dataclass(frozen=True)
class Seen:
    """What one period showed. `cpus`: how busy each was, 0 to 1; `dropped`: frames a second that
    its input queue dropped. `ports`: that interfaces did."""

    seconds: float
    cpus: Mapping[int, float]
    dropped: Mapping[int, float] = field(default_factory=dict)
    ports: float = 0.0


@dataclass(frozen=True)
class Verdict:
    """`levels`: for each CPU, how many of `PARTS` of its priority traffic go elsewhere."""

    congested: bool = False
    levels: Mapping[int, int] = field(default_factory=dict)

    @property
    def quiet(self) -> bool:
        """Nothing is sent on."""
        return not self.congested


@dataclass(frozen=True)
class State:
    """What was decided, and since when nothing spoke against changing it: seconds that each CPU was
    hot or calm without a break since its last step, and that everything was calm."""

    verdict: Verdict = field(default_factory=Verdict)
    hot: Mapping[int, float] = field(default_factory=dict)
    calm: Mapping[int, float] = field(default_factory=dict)
    all_calm: float = 0.0


def step(state: State, seen: Seen, settings: Congestion) -> State:
    """What follows from one period more."""
    was, seconds = state.verdict, seen.seconds
    lost = seen.ports >= settings.drops
    hot = {cpu: _is_hot(cpu, seen, settings) for cpu in seen.cpus}
    calm = {cpu: _is_calm(cpu, seen, settings) for cpu in seen.cpus}
    congested = was.congested or lost or any(hot.values())
    levels: dict[int, int] = {}
    hot_for, calm_for = dict[int, float](), dict[int, float]()
    for cpu in seen.cpus:
        level = was.levels.get(cpu, 0)
        # The first period only raises the flag, which is given time to help.
        hot_for[cpu] = state.hot.get(cpu, 0.0) + seconds if hot[cpu] and was.congested else 0.0
        calm_for[cpu] = state.calm.get(cpu, 0.0) + seconds if calm[cpu] else 0.0
        if hot_for[cpu] >= settings.hold and level < PARTS:
            level, hot_for[cpu] = level + 1, 0.0
        elif calm_for[cpu] >= settings.hold and level > 0:
            level, calm_for[cpu] = level - 1, 0.0
        levels[cpu] = level
    peace = all(calm.values()) and not seen.ports and not any(levels.values())
    all_calm = state.all_calm + seconds if peace and congested else 0.0
    if congested and all_calm >= settings.hold:
        congested, all_calm = False, 0.0
    return State(Verdict(congested, levels), hot_for, calm_for, all_calm)


def _is_hot(cpu: int, seen: Seen, settings: Congestion) -> bool:
    return seen.cpus[cpu] >= settings.cpu or seen.dropped.get(cpu, 0.0) >= settings.drops


def _is_calm(cpu: int, seen: Seen, settings: Congestion) -> bool:
    return seen.cpus[cpu] <= settings.calm and not seen.dropped.get(cpu, 0.0)
