"""Looking for a scenario on which interpreter, intermediate representation and kernel disagree."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings

from .scenarios import Fuzzed, Kernel, Meeting, Scenario
from .shrink import smallest

_AT_ONCE = 20  # scenarios between two looks at the clock, and at what was reached


@dataclass
class Found:
    """What a search came to. `lowered`: packets that the intermediate representation was run on.
    `seen`: how often each verdict and event was met. `scenario` is the
    smallest that fails, `meeting` what its packet came to; None if nothing was found."""

    scenarios: int = 0
    packets: int = 0
    lowered: int = 0
    rules: int = 0  # created, updated, replaced, deleted
    requests: int = 0
    seen: Counter[str] = field(default_factory=Counter)
    scenario: Scenario | None = None
    meeting: Meeting | None = None


def search(
    fuzzed: Fuzzed, kernel: Kernel, packets: int, start: int = 0, seconds: float | None = None
) -> Found:
    """Run scenarios until that many packets have met them, or the time is over; shrink the first
    failure. The same seed gives the same scenarios where the same modules are loaded: hypothesis
    also draws constants that it finds in them."""
    found = Found()
    kernel.set_environment(fuzzed.world.environment)
    ends = None if seconds is None else time.monotonic() + seconds
    step = 0
    while found.packets < packets and (ends is None or time.monotonic() < ends):
        _some(fuzzed, kernel, found, start * 100_003 + step, packets)
        if found.scenario is not None:
            _shrink(fuzzed, kernel, found.scenario, found)
            break
        step += 1
    return found


def _some(fuzzed: Fuzzed, kernel: Kernel, found: Found, number: int, packets: int) -> None:
    @seed(number)
    @settings(
        max_examples=_AT_ONCE,
        phases=[Phase.generate],  # shrinking is ours: it knows what rules and packets are made of
        database=None,
        deadline=None,
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
    )
    @given(fuzzed.steered())
    def agree(scenario: Scenario) -> None:
        if found.scenario is not None or found.packets >= packets:
            return
        found.scenarios += 1
        found.rules += sum(len(c.items) for r in scenario.requests for c in r.changes)
        found.requests += len(scenario.requests)
        for meeting in fuzzed.meetings(scenario, kernel):
            found.packets += 1
            found.lowered += meeting.lowered is not None
            outcome = meeting.expected
            found.seen.update([outcome.verdict])
            found.seen.update({f"{group}: {what}" for group, what in outcome.events
                               if group != "verdict"})  # fmt: skip
            found.seen.update({f"counted: {kind}" for kind, _ in outcome.counted})
            if not meeting.agree:
                found.scenario, found.meeting = scenario, meeting
                return

    agree()


def _shrink(fuzzed: Fuzzed, kernel: Kernel, scenario: Scenario, found: Found) -> None:
    """What is told is what the smallest one came to when it failed: run again it need not fail,
    where the kernel's tables have what others left."""

    def fails(tried: Scenario) -> bool:
        met = next((m for m in fuzzed.meetings(tried, kernel) if not m.agree), None)
        if met is not None:
            found.scenario, found.meeting = tried, met
        return met is not None

    smallest(scenario, fails)
