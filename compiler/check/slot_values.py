"""What statements say of the slots of a state: values, ports, and which rule was bound."""

from __future__ import annotations

from collections.abc import Sequence

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, did_you_mean, error, listed
from ...lang.text.source import Span
from .. import model
from .flow import Scope, State
from .said import Misfit, given_by_name
from .stage_names import StageNames
from .stage_program import Program


def key_values(
    program: Program,
    written: tree.Recall | tree.Forget,
    table: model.State,
    state: State,
    scope: Scope,
) -> tuple[model.Expr, ...] | None:
    """The same of a key alone, of values alone."""
    values = slot_values(program, written, table.match, state, scope)
    if values is None:
        return None
    return tuple(v for v in values if not isinstance(v, model.Identity | model.PortOf))


def slot_values(
    program: Program,
    written: tree.Remember | tree.Recall | tree.Forget,
    slots: Sequence[model.Slot],
    state: State,
    scope: Scope,
) -> tuple[model.Said, ...] | None:
    """The value of each slot, in order; None if one is missing or wrong."""
    known = {s.name: s for s in slots}
    table = program.states[written.state.text]
    counts = [
        g for g in written.given if g.target.text in table.counts and g.target.text not in known
    ]
    for each in counts:
        program.report(counted(each.target, table, "it begins at 0: leave it out"))
    given = given_by_name(
        table.name, (g for g in written.given if g not in counts), known,
        StageNames(program, state, scope),
        lambda each: _no_such_slot(each.target, table, list(known)),
        lambda span, slot, found: _wrong(span, slot, found, slot in table.match),
    )  # fmt: skip
    missing = [s.name for s in slots if s.name not in given.names]
    if missing and not given.unknown:
        program.report(_slot_missing(written.state.span, table, missing))
    return given.in_order(known)


def _wrong(span: Span, slot: model.Slot, found: Misfit, key: bool) -> Diagnostic:
    match found.what:
        case "no rule" | "another rule":
            return _other_rule(span, slot, found.kind)
        case "a rule":
            return _a_rule(span, slot, found, key)
    return _not_of_port(span, slot)


# ---- errors ---------------------------------------------------------------------------------


def _no_such_slot(target: tree.Path, state: model.State, slots: Sequence[str]) -> Diagnostic:
    return error(
        "H0311",
        f"`{target.text}` is no slot of `{state.name}` that is given here",
        (target.span, "not one of them"),
        (state.span, f"takes {listed(slots)}"),
        help=did_you_mean(target.text, slots) or f"give {listed(slots)}",
    )


def _slot_missing(span: Span, state: model.State, slots: Sequence[str]) -> Diagnostic:
    named = listed(slots)
    return error(
        "H0312",
        f"{named} of `{state.name}` {'is' if len(slots) == 1 else 'are'} not given",
        (span, "without it"),
        (state.span, "declared here"),
        help=f"write `{state.name}({', '.join(f'{s} = …' for s in slots)})`",
    )


def counted(target: tree.Path, state: model.State, help: str) -> Diagnostic:
    name = target.parts[-1].text
    return error(
        "H0379",
        f"`{name}` of `{state.name}` is what the entry counts",
        (target.span, "nothing else writes it"),
        (state.span, f"counts {listed(state.counts)}"),
        help=help,
    )


def _not_of_port(span: Span, slot: model.Slot) -> Diagnostic:
    holds, found = ("a port", "none") if slot.port else ("a value", "a port")
    return error(
        "H0313",
        f"`{slot.name}` holds {holds}, and this is {found}",
        (span, "of another sort"),
        (slot.span, "declared here"),
        help="give it `port`, the port of arrival, or one that a rule leads to: `port p => …`"
        if slot.port
        else f"declare `{slot.name} : port`",
    )


def _other_rule(span: Span, slot: model.Slot, kind: str) -> Diagnostic:
    """`kind`: that of the rule that is given; empty where none is."""
    return error(
        "H0488",
        f"`{slot.name}` says which {slot.rule} it is, and this "
        + (f"is a {kind}" if kind else "names none"),
        (span, f"a rule of the kind {kind}" if kind else "no rule"),
        (slot.span, f"declared here: `{slot.name} : {slot.rule}`"),
        help=f"name a {slot.rule} that was found: `{slot.name} = {slot.rule}`",
    )


def _a_rule(span: Span, slot: model.Slot, rule: Misfit, key: bool) -> Diagnostic:
    """`key`: an entry is found by the slot."""
    kept = f"declare `{slot.name} : {rule.kind}` to keep which one it is, or name an element: "
    return error(
        "H0488",
        f"`{slot.name}` holds {'a port' if slot.port else 'a value'}, and this is a whole rule",
        (span, "a rule"),
        (slot.span, "declared here"),
        help=f"name its id: `{slot.name} = {rule.name}.id`"
        if key
        else f"{kept}`{rule.name}.ELEMENT`",
    )
