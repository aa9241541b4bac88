"""What is wrong with events that rules raise."""

from __future__ import annotations

from typing import Literal, NamedTuple

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, error, listed
from ...lang.text.source import Span
from .. import model

What = Literal["idle", "packets", "bytes"]
#: What an amount of it is in, and how many bits it may have.
UNITS = {"idle": "seconds", "packets": "packets", "bytes": "bytes"}
WIDEST = {"idle": 32, "packets": 64, "bytes": 64}


class Use(NamedTuple):
    """An element, in a unit."""

    unit: str
    span: Span


def counts_nothing(unit: tree.Name, kind: model.RuleKind) -> Diagnostic:
    return error(
        "H0491",
        f"whether a rule of `{kind.name}` is idle is not known: it counts nothing",
        (unit.span, "seen by what it counts"),
        (kind.span, "declared here"),
        help="let it count: `counts packets`",
    )


def not_counted(unit: tree.Name, kind: model.RuleKind) -> Diagnostic:
    counts = listed(kind.counts) if kind.counts else "nothing"
    return error(
        "H0491",
        f"rules of `{kind.name}` do not count {unit.text}",
        (unit.span, f"it counts {counts}"),
        (kind.span, "declared here"),
        help=f"let it count them: `counts {', '.join((*kind.counts, unit.text))}`",
    )


def idle_again(written: tree.Raise) -> Diagnostic:
    return error(
        "H0492",
        "a rule that stays idle raises its event once",
        (written.word.span, "not again and again"),
        help=f"write `after {written.amount.text} idle`; once it was matched, it may be idle again",
    )


def no_number(name: tree.Name, what: What, element: model.Element) -> Diagnostic:
    return error(
        "H0493",
        f"`{name.text}` cannot say after how many {UNITS[what]} an event is raised",
        (name.span, f"not a plain number of up to {WIDEST[what]} bits"),
        (element.span, f"declared as {element.type}"),
        help=f"declare an element for it: `ie {name.text} = …, u{WIDEST[what]}`",
    )


def other_unit(name: tree.Name, unit: str, first: Use) -> Diagnostic:
    return error(
        "H0494",
        f"`{name.text}` is in {first.unit}, and here in {unit}",
        (name.span, f"in {unit}"),
        (first.span, f"in {first.unit}"),
        help="declare an element for each of them: a controller could not tell which is meant",
    )


def not_of_the_rule(span: Span, kind: model.RuleKind) -> Diagnostic:
    return error(
        "H0495",
        "an event that a rule raises can tell nothing but what the rule says",
        (span, "there is no packet when it is raised"),
        (kind.span, "raised by its rules"),
        help=f"name the rule (`{kind.name}`), an element or a count of it (`{kind.name}.ELEMENT`), "
        "or a number",
    )


def whole_rule(
    span: Span, field: model.EventField, kind: str, event: model.EventKind
) -> Diagnostic:
    return error(
        "H0496",
        f"`{field.name}` does not say which {kind} it is, and this is one",
        (span, "a rule"),
        (event.span, "declared here"),
        help=f"declare `{field.name} : {kind}`, or name an element: `{kind}.ELEMENT`",
    )


def misfit(span: Span, field: model.EventField, what: str, event: model.EventKind) -> Diagnostic:
    holds = f"which {field.rule} it is" if field.rule else "a port" if field.port else "a value"
    help = f"name the rule itself: `{field.name} = {field.rule}`"
    if not field.rule:
        help = "give it an element of the rule" + (" that is a port" if field.port else "")
    return error(
        "H0496",
        f"`{field.name}` says {holds}, and this is {what}",
        (span, "of another sort"),
        (event.span, "declared here"),
        help=help,
    )


def a_range(name: tree.Name, match: model.Match) -> Diagnostic:
    return error(
        "H0497",
        f"`{name.text}` may be a range, which is no single value",
        (name.span, "from one value to another"),
        (match.span, "matched as a range"),
        help="tell which rule it is: a field of its kind, and the rule's name for it",
    )


def twice(again: tree.Raise, first: Span) -> Diagnostic:
    return error(
        "H0498",
        f"`{again.event.text}` is raised twice at the same moment",
        (again.span, "again"),
        (first, "first here"),
        help="leave one of them out",
    )
