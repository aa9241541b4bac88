"""What meters say of a packet: `meter PDR is red` in a condition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import get_args

from ...lang import tree
from ...lang.contract.world.meters import Colour
from ...lang.text.diagnostics import Diagnostic, error, listed
from ...lang.text.source import Span
from .. import model
from . import errors
from .flow import Scope, State
from .rule_names import RuleNames
from .stage_program import Program


def metered(
    program: Program, expr: tree.Metered, state: State, scope: Scope
) -> model.Metered | None:
    """`meter PDR is yellow | red`"""
    names = RuleNames(program, state, scope)
    bound = names.bound(expr.rule)
    if bound is None:
        return None
    kind = program.rules.known.get(bound.kind)
    if kind is None or not kind.meters:
        program.report(_no_meter(expr.rule, kind))
        return None
    colours = _colours(program, expr, kind)
    for element in kind.meters:
        names.require(bound, element)
    program.metered.add(kind.name)
    by = tuple(
        model.Attribute(bound.name, kind.name, e.name, e.width, e.kind, False) for e in kind.meters
    )
    return model.Metered(bound.name, kind.name, by, colours, expr.span) if colours else None


def _colours(program: Program, expr: tree.Metered, kind: model.RuleKind) -> tuple[Colour, ...]:
    known = [c for c in get_args(Colour) if c != "yellow" or len(kind.meters) > 2]
    said: dict[str, Span] = {}
    for name in expr.colours:
        if name.text not in known:
            program.report(_no_colour(name, kind, known))
            return ()
        if name.text in said:
            program.report(_colour_twice(name, said[name.text]))
            return ()
        said[name.text] = name.span
    return tuple(colour for colour in get_args(Colour) if colour in said)


def unasked(program: Program) -> Iterator[Diagnostic]:
    """Kinds with meters that no packet is measured by; said where nothing else is wrong."""
    for kind in program.rules.known.values():
        if kind.meters and kind.name not in program.metered:
            yield _unasked(kind)


# ---- errors ---------------------------------------------------------------------------------


def _no_meter(rule: tree.Name, kind: model.RuleKind | None) -> Diagnostic:
    if kind is None:
        return errors.wrong_kind(rule.span, "a port", "a rule")
    return error(
        "H0393",
        f"rules of kind `{kind.name}` have no meter",
        (rule.span, "measured here"),
        (kind.span, "declared without `meters`"),
        help="give it one: `meters rate, burst`, with elements for bits a second and bytes",
    )


def _no_colour(name: tree.Name, kind: model.RuleKind, known: Sequence[str]) -> Diagnostic:
    if name.text == "yellow":
        return error(
            "H0394",
            f"a packet is never yellow by the meter of `{kind.name}`",
            (name.span, "a bucket of tokens knows green and red"),
            (kind.span, "has a rate and a burst"),
            help="ask for `red`; meters of three or four elements (RFC 2697, RFC 2698) have yellow",
        )
    help_ = f"the colours of this meter are {listed(known)}"
    return errors.unknown("colour", name, known, help_)


def _colour_twice(name: tree.Name, first: Span) -> Diagnostic:
    return error(
        "H0394",
        f"the colour `{name.text}` stands here twice",
        (name.span, "named again"),
        (first, "first named here"),
        help="leave one out",
    )


def _unasked(kind: model.RuleKind) -> Diagnostic:
    return error(
        "H0395",
        f"no stage asks the meter of `{kind.name}`",
        (kind.span, "its rules measure nothing"),
        help=f"ask for a colour: `if meter {kind.name} is red {{ drop }}`",
        severity="warning",
    )
