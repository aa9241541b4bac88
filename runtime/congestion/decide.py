"""Decides whether a pipeline is congested, and how much of whose priority traffic is diverted.

In this order: traffic without priority is diverted as soon as a queue of the pipeline is under
pressure (the flag). Where that does not suffice, a CPU whose queue stays under pressure loses its
share of priority traffic eighth by eighth. Eighths are given back, and then the flag is removed,
when all was calm for long enough. Only drops and backlog of the pipeline's own queues are pressure,
and only in a period in which packets of it came; load of others is ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ..edge.congestion_settings import Congestion

#: Parts of a CPU's priority traffic.
PARTS = 8


@dataclass(frozen=True)
class Queue:
    """A CPU's queue in one period. `packets` that were sent to it; `dropped`: of these
    a second; `standing`: the part of the queue that was occupied at the period's begin and at its
    end, 0 to 1, so that a burst is none; `share`: of the CPU's time that the queue's own thread
    took."""

    packets: int = 0
    dropped: float = 0.0
    standing: float = 0.0
    share: float = 0.0


@dataclass(frozen=True)
class PeriodCounts:
    """The counts of one period. `packets`: of the pipeline's mobile users, wherever they went.
    `missed`: frames a second that the ports' receive queues had no place for."""

    seconds: float
    queues: Mapping[int, Queue]
    packets: int = 0
    missed: float = 0.0


@dataclass(frozen=True)
class Verdict:
    """`levels`: for each CPU, how many of `PARTS` of its priority traffic are diverted."""

    congested: bool = False
    levels: Mapping[int, int] = field(default_factory=dict)

    @property
    def quiet(self) -> bool:
        """Nothing is diverted."""
        return not self.congested


@dataclass(frozen=True)
class State:
    """What was decided, and for how long a change has been due: seconds that each CPU's
    queue was under pressure or calm without a break since its last step, and that everything was
    calm. `why`: the pressure that was seen last, in words."""

    verdict: Verdict = field(default_factory=Verdict)
    hot: Mapping[int, float] = field(default_factory=dict)
    calm: Mapping[int, float] = field(default_factory=dict)
    all_calm: float = 0.0
    why: str = ""


def step(state: State, seen: PeriodCounts, settings: Congestion) -> State:
    """The state after one more period."""
    was, seconds = state.verdict, seen.seconds
    pressures = dict(_pressures(seen, settings))
    calm = {cpu: _is_calm(queue, settings) for cpu, queue in seen.queues.items()}
    congested = was.congested or bool(pressures)
    levels: dict[int, int] = {}
    hot_for, calm_for = dict[int, float](), dict[int, float]()
    for cpu in seen.queues:
        level = was.levels.get(cpu, 0)
        # The first period only raises the flag, which is given time to help.
        under = cpu in pressures and was.congested
        hot_for[cpu] = state.hot.get(cpu, 0.0) + seconds if under else 0.0
        calm_for[cpu] = state.calm.get(cpu, 0.0) + seconds if calm[cpu] else 0.0
        if hot_for[cpu] >= settings.hold and level < PARTS:
            level, hot_for[cpu] = level + 1, 0.0
        elif calm_for[cpu] >= settings.hold and level > 0:
            level, calm_for[cpu] = level - 1, 0.0
        levels[cpu] = level
    missed = seen.missed and seen.packets
    peace = all(calm.values()) and not missed and not any(levels.values())
    all_calm = state.all_calm + seconds if peace and congested else 0.0
    if congested and all_calm >= settings.hold:
        congested, all_calm = False, 0.0
    why = "; ".join(pressures.values()) or (state.why if congested else "")
    return State(Verdict(congested, levels), hot_for, calm_for, all_calm, why)


def _pressures(seen: PeriodCounts, settings: Congestion) -> Iterator[tuple[int | None, str]]:
    """In words, by the CPU whose queue is under pressure; None: the ports' receive queues."""
    for cpu, queue in seen.queues.items():
        if queue.packets and (why := _pressure(queue, settings)):
            yield cpu, f"the queue of CPU {cpu} {why}"
    if seen.packets and seen.missed >= settings.drops:
        yield None, f"the ports had no place for {seen.missed:,.0f} frames/s"


def _pressure(queue: Queue, settings: Congestion) -> str:
    if queue.dropped >= settings.drops:
        return f"dropped {queue.dropped:,.0f} frames/s"
    if queue.standing >= settings.backlog:
        return f"stays {queue.standing:.0%} full"
    if queue.standing > settings.backlog_calm and queue.share >= settings.cpu:
        return f"stays {queue.standing:.0%} full, with {queue.share:.0%} of the CPU"
    return ""


def _is_calm(queue: Queue, settings: Congestion) -> bool:
    quiet = not queue.dropped and queue.standing <= settings.backlog_calm
    return quiet and queue.share <= settings.calm
