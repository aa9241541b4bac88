"""A search in words, and its failure as a packet test that can be kept."""

from __future__ import annotations

from ...lang.contract.world.environment import Outcome
from ...lang.text.diagnostics import Refused
from ...lang.text.source import Source
from ..packettests.cases import Case, read_tests
from ..packettests.runs import disagreements
from .coverage import Coverage
from .scenarios import Fuzzed, Meeting, Scenario
from .search import Found
from .writing import packet_test

NAME = "found by fuzzing"


def summary(found: Found, coverage: Coverage) -> str:
    """What was met, the most frequent first; and what was not."""
    asked = f"{found.requests:,} requests with {found.rules:,} rules"
    counts = f"{found.packets:,} packets under {asked}, {found.scenarios:,} scenarios"
    total = max(found.packets, 1)
    lines = [f"{counts}: interpreter and kernel agree"]
    lines += [f"  {count * 100 / total:5.1f} %  {what}" for what, count in found.seen.most_common()]
    return "\n".join([*lines, *coverage.summary()])


def disagreement(fuzzed: Fuzzed, scenario: Scenario, meeting: Meeting) -> tuple[list[str], str]:
    """In which ways the kernel differs, and the test: a YAML file of one case."""
    asked = fuzzed.taken(Scenario(scenario.steps[: meeting.index + 1]))
    text = _text(fuzzed, asked, meeting.expected)
    case = _read(fuzzed, text)
    lines = (
        [] if case is None else disagreements(fuzzed.pipeline, case, meeting.expected, meeting.got)
    )
    return lines or [f"{meeting.expected} and {meeting.got}"], text


def _text(fuzzed: Fuzzed, scenario: Scenario, expected: Outcome) -> str:
    """By headers where that gives the same octets, else in hex."""
    whole = [not packet.damage for packet in scenario.packets]
    environment = fuzzed.world.environment

    def text() -> str:
        return packet_test(NAME, environment, scenario, expected, whole)

    case = _read(fuzzed, text())
    frames = [] if case is None else [*(frame for frame, _ in case.packets_before), case.frame]
    for i, packet in enumerate(scenario.packets):
        if i >= len(frames) or frames[i] != packet.frame:
            whole[i] = False
    return text()


def _read(fuzzed: Fuzzed, text: str) -> Case | None:
    try:
        (case,) = read_tests(fuzzed.pipeline, fuzzed.manifest, Source("found.test.yaml", text))
    except (Refused, ValueError):
        return None
    return case
