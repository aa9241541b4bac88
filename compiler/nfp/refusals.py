"""Diagnostics of the check of a compiled program, in terms of the pipeline."""

from __future__ import annotations

from ...lang.text.diagnostics import Diagnostic, Refused, error
from ...lang.text.source import Span
from ..model import Pipeline, Stage
from ..model.walk import walk
from . import limits
from .conform import Report, Violation, check_object, check_program
from .object_file import read_object

SHOWN = 3  # lines that take most of a program that is too long
PARSER = "parser"


def check_card_programs(data: bytes, pipeline: Pipeline) -> tuple[Report, ...]:
    """How the programs of an object fare on the card. Raises `Refused`."""
    read = read_object(data)
    reports = tuple(check_program(read, name) for name in read.programs)
    wrong = [*check_object(read), *(v for report in reports for v in report.violations)]
    found = list(dict.fromkeys(_violation(pipeline, violation) for violation in wrong))
    for report in reports:
        if report.instructions > limits.INSTRUCTIONS:
            found.append(_too_long(pipeline, report))
        if report.stack > limits.STACK:
            title = (
                f"the program needs {report.stack} bytes of stack, and a card has {limits.STACK}"
            )
            where = pipeline.span, "too much is kept at once"
            found.append(error("H0359", title, where, help="match, push or hash less at a time"))
    if found:
        raise Refused(found)
    return reports


def _violation(pipeline: Pipeline, violation: Violation) -> Diagnostic:
    span = _span(pipeline, violation.line) if violation.line else None
    return error(
        "H0361", f"a card would not run this rightly: {violation.why}",
        (span or pipeline.span, "compiled from here"),
        help="write it another way; or report it, if it looks harmless",
    )  # fmt: skip


def _too_long(pipeline: Pipeline, report: Report) -> Diagnostic:
    costly: list[tuple[Span, int]] = []
    for line, count in sorted(report.lines.items(), key=lambda each: -each[1]):
        span = _span(pipeline, line)
        if span is not None and len(costly) < SHOWN:
            costly.append((span, count))
    return error(
        "H0359",
        f"the program is too long for a card: about {report.instructions:,} of its instructions",
        (pipeline.span, f"at most {limits.INSTRUCTIONS:,}"),
        *((where, f"about {n:,} of them") for where, n in costly),
        help="parse fewer headers, hash less, find fewer rule kinds; what is done in two "
        "places counts twice",
    )


def _span(pipeline: Pipeline, line: tuple[str, int]) -> Span | None:
    """A line of the pipeline's own file, without its indentation."""
    source = pipeline.span.source
    if line[0].rpartition("/")[2] != source.file:
        return None
    text = source.line(line[1])
    start = sum(len(source.line(n)) + 1 for n in range(1, line[1]))
    return source.span(start + len(text) - len(text.lstrip()), start + len(text.rstrip()))


def by_stage(pipeline: Pipeline, report: Report) -> dict[str, int]:
    """Card instructions of the parser and of each stage. What an action takes belongs to the stage
    that applies it first."""
    owners: dict[int, str] = {}
    for stage in pipeline.stages:
        for line in _lines(stage):
            owners.setdefault(line, stage.name)
    counted = {PARSER: 0} | {stage.name: 0 for stage in pipeline.stages}
    own = pipeline.span.source.file
    for (file, line), count in report.lines.items():
        owner = owners.get(line, PARSER) if file.rpartition("/")[2] == own else PARSER
        counted[owner] += count
    return counted


def _lines(stage: Stage) -> set[int]:
    spans = [getattr(part, "span", None) for part in walk(stage.body)]
    return {line for s in (*spans, stage.span) if s is not None
            for line in range(s.line, s.source.position(s.end)[0] + 1)}  # fmt: skip
