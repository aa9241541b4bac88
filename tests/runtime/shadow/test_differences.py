"""How two builds' ways of a packet differ, in words."""

from __future__ import annotations

import pytest
from helioc.lang.contract.trace.steps import Bound, Step, Trace, TracedValue
from helioc.runtime.shadow.allowed import read_allowed
from helioc.runtime.shadow.copies import Met
from helioc.runtime.shadow.differences import Names, differences
from helioc.runtime.shadow.report import MOST_GROUPS, Report, Sample
from helioc.runtime.shadow.report_json import report_json
from helioc.runtime.shadow.text import report_text

NAMES = Names({1: "LAN", 2: "WAN1", 3: "WAN2"}, {"PDR": "FLOW"})
FRAME = bytes(range(60))


def rule(kind: str, id_: int) -> Step:
    return Step("rule", kind, rule=Bound(kind, id_))


def event(group: str, reason: str) -> Step:
    return Step("event", group, reason=reason)


def tos(after: int) -> Step:
    values = TracedValue("before", 0), TracedValue("after", after)
    return Step("set", "ipv4.tos", values)


def met(verdict: str, *steps: Step, egress: int | None = None, frame: bytes | None = None) -> Met:
    return Met(Trace(1, 60, (), steps, verdict, egress), frame)


LEAVES = met("redirect", rule("PDR", 7), egress=2, frame=FRAME)


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (LEAVES, met("redirect", rule("FLOW", 7), egress=2, frame=FRAME), ()),
        (LEAVES, met("drop", rule("FLOW", 7)), ("redirect -> drop",)),
        (LEAVES, met("redirect", rule("FLOW", 7), egress=3, frame=FRAME), ("WAN1 -> WAN2",)),
        (LEAVES, met("redirect", rule("FLOW", 9), egress=2, frame=FRAME), ("FLOW 7 -> FLOW 9",)),
        (LEAVES, met("redirect", egress=2, frame=FRAME), ("FLOW 7 -> -",)),
        (
            LEAVES,
            met("redirect", rule("FLOW", 7), rule("FAR", 1), egress=2, frame=FRAME),
            ("- -> FAR 1",),
        ),
        (
            met("drop", event("miss", "A"), event("drop", "old")),
            met("drop", event("drop", "new"), event("verdict", "drop")),
            ("drop old -> drop new",),
        ),
        (
            met("pass", tos(1), frame=FRAME),
            met("pass", tos(2), frame=FRAME[::-1]),
            ("frame ipv4.tos",),
        ),
        (met("pass", frame=FRAME), met("pass", frame=FRAME[:15]), ("frame byte 15",)),
        (
            met("pass", Step("pop", "", nodes=("vlan",)), frame=FRAME),
            met("pass", frame=FRAME[1:]),
            ("frame vlan",),
        ),
        (LEAVES, met("pass", frame=FRAME), ("redirect -> pass", "FLOW 7 -> -")),
    ],
)
def test_in_words(one: Met, other: Met, said: tuple[str, ...]) -> None:
    assert differences(NAMES, one, other) == said


def test_memory_is_bounded() -> None:
    """However many kinds of differences, and rules, there are."""
    report = Report(NAMES, read_allowed([], []))
    for number in range(6000):
        shadow = met("redirect", rule("FLOW", 10 + number), egress=2, frame=FRAME)
        report.add(Sample(number, 0, FRAME, LEAVES, shadow))
    assert report.compared == report.differing == report.not_allowed == 6000
    assert len(report.groups) == MOST_GROUPS and report.more[False] == 6000 - MOST_GROUPS
    assert len(report.rules) == 4096 and report.more_rules == 6000 - 4095
    said = report_text(report_json(report))
    assert "further rules, which are not listed, were found 1,905 times" in said
    assert "and 4,076 more rules" in said and "5,936 packets differ in further ways" in said
