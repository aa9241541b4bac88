"""What an implementation that nobody here wrote sends, and what it took for an answer: recorded,
see the files of cases."""

from __future__ import annotations

from pathlib import Path

import pytest
from helioc.compiler.lower.unit import Join
from helioc.runtime.stamp import times
from helioc.runtime.stamp.session import Answer
from helioc.runtime.stamp.times import converted, distance
from packet_cases import packet_cases_hold
from stamp_world import HP

CASES = Path(__file__).parent
#: One of our sessions by PTP's clock, answered by a reflector by NTP's.
MIXED = Answer(
    0, 0, 254, 0x6B0999F331BCEAA8, 0xEEB41873D5B79FA0, 0xEEB41873D5B94EEF, 0x6B0999F400000000
)


@pytest.mark.parametrize("role", ["sender", "reflector"])
@pytest.mark.parametrize("join", ["staged", "fused"])
def test_recorded_frames(kernel: None, join: Join, role: str) -> None:
    assert packet_cases_hold(HP, join, CASES / f"stamp_suite_{role}.test.yaml") == 3


@pytest.mark.parametrize("ahead", [0, 37])
def test_an_answer_by_another_clock(monkeypatch: pytest.MonkeyPatch, ahead: int) -> None:
    """Its times are the same moments in the session's format, also with a clock of TAI."""
    monkeypatch.setattr(times, "_ahead", lambda: ahead)
    t1 = MIXED.t1 + (ahead << 32)
    t2, t3 = (converted(t, "NTP", "PTP") for t in (MIXED.t2, MIXED.t3))
    assert 368_000 < distance(t1, t2, "PTP") < 369_000
    assert abs(distance(t2, t3, "PTP") - distance(MIXED.t2, MIXED.t3, "NTP")) <= 1
    for there, stamp in (t2, MIXED.t2), (t3, MIXED.t3):
        assert abs(distance(converted(there, "PTP", "NTP"), stamp, "NTP")) <= 1
