"""A search in words, and its failure as a packet test that can be kept."""

from __future__ import annotations

from ...lang.contract.world.environment import Outcome
from ...lang.text.diagnostics import Refused
from ...lang.text.source import Source
from ..interpret.coverage import Coverage
from ..packettests.cases import Case, read_tests
from ..packettests.emits import kinds_of
from ..packettests.runs import disagreements
from .scenarios import Fuzzed, Meeting, Scenario
from .search import Found
from .semantics import Answer, said
from .writing import packet_test

NAME = "found by fuzzing"


def summary(found: Found, coverage: Coverage) -> str:
    """What was met, the most frequent first; and what was not."""
    asked = f"{found.requests:,} requests with {found.rules:,} rules"
    counts = f"{found.packets:,} packets under {asked}, {found.scenarios:,} scenarios"
    total = max(found.packets, 1)
    lines = [f"{counts}: interpreter and kernel agree"]
    lines += [f"intermediate representation: agrees on {found.lowered:,} of these packets"]
    lines += [f"  {count * 100 / total:5.1f} %  {what}" for what, count in found.seen.most_common()]
    return "\n".join([*lines, *coverage.summary()])


def disagreement(fuzzed: Fuzzed, scenario: Scenario, meeting: Meeting) -> tuple[list[str], str]:
    """In which ways the kernel differs (where it does not: the intermediate representation), which
    half of the compiler is wrong, and the test: a YAML file of one case."""
    asked = fuzzed.taken(Scenario(scenario.steps[: meeting.index + 1]))
    text = _text(fuzzed, asked, meeting.expected)
    other: Answer | None = meeting.got
    if said(meeting.got) == said(meeting.expected):
        other = meeting.lowered
    lines = _differences(fuzzed, _read(fuzzed, text), meeting.expected, other)
    made_by = fuzzed.made_by(asked) if "lowering" in meeting.wrong else None
    return [*lines, blame(meeting, made_by)], text


def who(meeting: Meeting) -> str:
    """Which two semantics disagree."""
    kernel = said(meeting.got) != said(meeting.expected)
    return f"interpreter and {'kernel' if kernel else 'intermediate representation'} disagree"


def blame(meeting: Meeting, made_by: str | None) -> str:
    """Which half of the compiler is wrong. `made_by`: what `Fuzzed.made_by` found."""
    behind = "what comes behind the intermediate representation: emitter, clang, templates, runtime"
    first = made_by or "lowering or a pass"
    if meeting.lowered is None:
        return f"wrong: {first}, or {behind} (it was not interpreted)"
    if meeting.wrong == {"lowering"}:
        return f"wrong: {first} (kernel and intermediate representation do the same)"
    if meeting.wrong == {"emitting"}:
        return f"wrong: {behind} (interpreter and intermediate representation do the same)"
    if said(meeting.got) == said(meeting.expected):
        return f"wrong: {first}, or the interpreter of that representation (it alone differs)"
    return f"wrong: {first}; and {behind} (all three differ)"


def _differences(
    fuzzed: Fuzzed, case: Case | None, expected: Outcome, other: Answer | None
) -> list[str]:
    if not isinstance(other, Outcome):
        return [f"intermediate representation: {other}"]
    lines = [] if case is None else disagreements(fuzzed.pipeline, case, expected, other)
    return lines or [f"{expected} and {other}"]


def _text(fuzzed: Fuzzed, scenario: Scenario, expected: Outcome) -> str:
    """By headers where that gives the same bytes, else in hex."""
    whole = [not packet.damage for packet in scenario.packets]
    world, kinds = fuzzed.world, kinds_of(fuzzed.pipeline)

    def text() -> str:
        return packet_test(NAME, world, scenario, expected, whole, kinds)

    case = _read(fuzzed, text())
    frames = [] if case is None else [*(frame for frame, _ in case.packets_before), case.frame]
    for i, packet in enumerate(scenario.packets):
        if i >= len(frames) or frames[i] != packet.arriving(world):
            whole[i] = False
    return text()


def _read(fuzzed: Fuzzed, text: str) -> Case | None:
    try:
        (case,) = read_tests(fuzzed.pipeline, fuzzed.manifest, Source("found.test.yaml", text))
    except (Refused, ValueError):
        return None
    return case
