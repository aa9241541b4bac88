"""Why a member takes no flows, as status and events say it."""

from __future__ import annotations

from helioc.runtime.edge.path_quality import Measured
from helioc.runtime.edge.steering_policy import Policy
from helioc.runtime.edge.steering_status import SteeredMember, SteeredSpread
from helioc.runtime.steering.decide import Path, State
from helioc.runtime.steering.reasons import in_words, reason

POLICY = Policy({"delay": 0.05, "loss": 0.01}, "jitter")
BAD, GOOD = Path(True, Measured(0.2, 0.0, 0.5)), Path(True, Measured(0.01, 0.0, 0.0))


def state(within: set[int], chosen: set[int]) -> State:
    return State(frozenset(within), frozenset(chosen))


def test_reasons() -> None:
    assert reason(POLICY, state({2}, {2}), 1, BAD) == "delay 200 ms, at most 50 ms; " \
        "loss 50 %, at most 1 %"  # fmt: skip
    assert reason(POLICY, state({2}, {2}), 1, GOOD) == "held down"
    assert reason(POLICY, state({1, 2}, {2}), 1, GOOD) == "others have less jitter"
    assert reason(POLICY, state({1, 2}, {1, 2}), 1, GOOD) == ""
    assert reason(POLICY, state({2}, {2}), 1, Path(False)) == "dead"
    assert reason(POLICY, state(set(), {1}), 1, BAD).endswith("; no member is within its bounds")


def test_a_spread_in_words() -> None:
    out = SteeredMember("FAR", 1, "GRE-1", 3, 0, "dead", 0.0, Measured())
    near = SteeredMember("FAR", 2, "", 1, 1, "held down", 0.0, Measured())
    said = in_words(SteeredSpread("LBR", 9, "LBR 9", 1, [out, near]))
    assert said == "LBR 9: FAR 1 (GRE-1) left out: dead, FAR 2 takes flows (held down)"
