"""What meters say of a packet: `meter PDR is red` in a condition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import get_args

from ...lang import tree
from ...lang.contract.base.colours import Colour
from ...lang.text.diagnostics import Diagnostic, did_you_mean, error, listed
from ...lang.text.source import Span
from .. import model
from . import errors
from .flow import Scope, State
from .rule_names import RuleNames
from .stage_names import StageNames
from .stage_program import Program

#: Of the colours: what a packet may have already.
COLOURS: tuple[Colour, ...] = get_args(Colour)
#: What a packet may be that has a colour: none gets a better one.
_WORSE: dict[Colour, set[Colour]] = {
    "green": {"green", "yellow", "red"}, "yellow": {"yellow", "red"}, "red": {"red"}
}  # fmt: skip


def metered(
    program: Program, expr: tree.Metered, state: State, scope: Scope
) -> model.Metered | None:
    """`meter PDR is yellow | red`, `meter PDR from SLICE is red`"""
    measure = _measure(program, expr.rule, state, scope)
    if measure is None:
        return None
    colours = _colours(program, expr, measure)
    made = replace(measure, colours=colours, span=expr.span)
    if expr.given is not None:
        given = _given(program, expr, measure, state, scope)
        if given is None:
            return None
        made = replace(made, given=given)
        if isinstance(given, str) and colours and _WORSE[given].isdisjoint(colours):
            program.report(_never(expr, given, colours))
    return made if colours else None


def _measure(program: Program, name: tree.Name, state: State, scope: Scope) -> model.Metered | None:
    """By which meter a packet is measured."""
    table = program.states.get(name.text)
    if table is not None and name.text not in scope.names:
        return _by_entry(program, name, table, state, scope)
    names = RuleNames(program, state, scope)
    bound = names.bound(name)
    if bound is None:
        return None
    kind = program.rules.known.get(bound.kind)
    if kind is not None and not kind.meters and kind.name in program.broken:
        return None  # reported: it may be that its meter is what is wrong
    if kind is None or not kind.meters:
        program.report(_no_meter(name, kind))
        return None
    for element in kind.meters:
        names.require(bound, element)
    program.metered.add(kind.name)
    by = tuple(
        model.Attribute(bound.name, kind.name, e.name, e.width, e.kind, False) for e in kind.meters
    )
    return model.Metered(bound.name, kind.name, by, ())


def _by_entry(
    program: Program, name: tree.Name, table: model.State, state: State, scope: Scope
) -> model.Metered | None:
    if not table.meters:
        if table.name not in program.broken:
            program.report(_no_meter(name, table))
        return None
    names, by = StageNames(program, state, scope), list[model.Recalled]()
    for slot in table.meters:
        read = names.recalled(tree.Path(name.span, (name, tree.Name(name.span, slot.name))))
        if read is None:  # it may hold nothing here
            return None
        assert isinstance(read.expr, model.Recalled)
        by.append(read.expr)
    program.metered.add(table.name)
    return model.Metered(table.name, "", tuple(by), (), state=True)


def _given(
    program: Program, expr: tree.Metered, measure: model.Metered, state: State, scope: Scope
) -> Colour | model.Metered | None:
    """The colour that the packet has, or the meter in front that says it."""
    name = expr.given
    assert name is not None
    if len(measure.by) == 2:
        program.report(_takes_no_colour(name, _declared(program, measure)))
        return None
    known = {*program.rules.known, *program.states, *scope.names}
    for colour in COLOURS:
        if colour == name.text and colour not in known:
            return colour
    if name.text not in known:
        near = did_you_mean(name.text, [*COLOURS, *sorted(known)])
        program.report(_gives_no_colour(name, "neither a colour nor a rule or an entry", near))
        return None
    given = _measure(program, name, state, scope)
    if given is not None and (given.rule, given.state, given.binding if given.state else "") == (
        measure.rule, measure.state, measure.binding if measure.state else "",
    ):  # fmt: skip
        program.report(_gives_no_colour(name, f"measured by the same meter as `{expr.rule.text}`"))
        return None
    return given


def _declared(program: Program, measure: model.Metered) -> model.RuleKind | model.State:
    if measure.state:
        return program.states[measure.binding]
    return program.rules.known[measure.rule]


def _colours(program: Program, expr: tree.Metered, measure: model.Metered) -> tuple[Colour, ...]:
    known = [c for c in COLOURS if c != "yellow" or len(measure.by) > 2]
    said: dict[str, Span] = {}
    for name in expr.colours:
        if name.text not in known:
            program.report(_no_colour(name, _declared(program, measure), known))
            return ()
        if name.text in said:
            program.report(_colour_twice(name, said[name.text]))
            return ()
        said[name.text] = name.span
    return tuple(colour for colour in COLOURS if colour in said)


def unasked(program: Program) -> Iterator[Diagnostic]:
    """Kinds and states with meters that no packet is measured by; said where nothing else is
    wrong."""
    every: list[model.RuleKind | model.State] = [*program.rules.known.values()]
    for each in [*every, *program.states.values()]:
        if each.meters and each.name not in program.metered:
            yield _unasked(each)


# ---- errors ---------------------------------------------------------------------------------


def _no_meter(name: tree.Name, of: model.RuleKind | model.State | None) -> Diagnostic:
    if of is None:
        return errors.wrong_kind(name.span, "a port", "a rule")
    state = isinstance(of, model.State)
    what, by = ("entries of", "slots") if state else ("rules of kind", "elements")
    return error(
        "H0393",
        f"{what} `{of.name}` have no meter",
        (name.span, "measured here"),
        (of.span, "declared without `meters`"),
        help=f"give it one: `meters rate, burst`, with {by} for bits a second and bytes",
    )


def _no_colour(
    name: tree.Name, of: model.RuleKind | model.State, known: Sequence[str]
) -> Diagnostic:
    if name.text == "yellow":
        return error(
            "H0394",
            f"a packet is never yellow by the meter of `{of.name}`",
            (name.span, "a bucket of tokens knows green and red"),
            (of.span, "has a rate and a burst"),
            help="ask for `red`; meters of three or four elements (RFC 2697, RFC 2698) have yellow",
        )
    help_ = f"the colours of this meter are {listed(known)}"
    return errors.unknown("colour", name, known, help_)


def _takes_no_colour(name: tree.Name, of: model.RuleKind | model.State) -> Diagnostic:
    return error(
        "H0408",
        f"the meter of `{of.name}` does not go by the colour that a packet has",
        (name.span, "a colour is given"),
        (of.span, "a bucket of tokens: a rate and a burst"),
        help="let what is red leave in front of it: `if meter SLICE is red { drop }`; meters of "
        "three or four elements (RFC 2697, RFC 2698) take colours",
    )


def _gives_no_colour(name: tree.Name, says: str, near: str = "") -> Diagnostic:
    return error(
        "H0407",
        f"`{name.text}` does not say which colour a packet has",
        (name.span, says),
        help=near
        or "name what measured it in front, `meter PDR from SLICE is red`, or a colour, "
        "`from yellow`",
    )


def _colour_twice(name: tree.Name, first: Span) -> Diagnostic:
    return error(
        "H0394",
        f"the colour `{name.text}` stands here twice",
        (name.span, "named again"),
        (first, "first named here"),
        help="leave one out",
    )


def _never(expr: tree.Metered, given: Colour, asked: Sequence[Colour]) -> Diagnostic:
    span = expr.colours[0].span.to(expr.colours[-1].span)
    return error(
        "H0442",
        f"a packet that is `{given}` does not become {listed(asked, 'or')}",
        (span, "never so"),
        help="a meter gives no better colour than the packet has: ask for red, or leave `from` out",
        severity="warning",
    )


def _unasked(kind: model.RuleKind | model.State) -> Diagnostic:
    return error(
        "H0395",
        f"no stage asks the meter of `{kind.name}`",
        (kind.span, "measures nothing"),
        help=f"ask for a colour: `if meter {kind.name} is red {{ drop }}`",
        severity="warning",
    )
