"""`find R from S.slot`: the rule that an entry of a state keeps."""

from __future__ import annotations

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, error, listed
from ...lang.text.source import Span
from .. import model
from . import errors
from .changes import Changed
from .flow import Scope, State, bind
from .stage_names import StageNames
from .stage_program import Program

#: What follows a miss, and the packets that fall out of its end.
Fallback = tuple[model.Block, State]


def find_kept(
    program: Program,
    written: tree.Find,
    origin: tree.Path,
    kind: model.RuleKind,
    otherwise: Fallback,
    state: State,
    scope: Scope,
) -> Changed:
    """The rule that a slot holds. It may have been found for another packet, so that nothing
    follows from what it matches."""
    body, missed = otherwise
    after = bind(state, kind.name) | missed
    program.alone.setdefault(kind.name, written.kind.span)
    program.missed[kind.name] = written.kind.span
    first = origin.parts[0]
    if (table := program.states.get(first.text)) is not None and len(origin.parts) != 2:
        program.report(_no_single_slot(origin, kind.name, table))
        return Changed(None, after)
    if table is None:
        rules = program.rules.known.keys() | scope.names.keys()
        known = {node.name for node in program.checked.graph.nodes} | scope.values.keys() | {"l4"}
        program.report(
            _no_slot(origin, kind.name, first.text in rules and len(origin.parts) > 1)
            if first.text in rules | known
            else errors.unknown("state", first, program.states, errors.DECLARE_STATE)
        )
        return Changed(None, after)
    slot = StageNames(program, state, scope).recalled(origin)
    if slot is None:
        return Changed(None, after)
    assert isinstance(slot.expr, model.Recalled) and slot.declared is not None
    if slot.expr.rule != kind.name:
        program.report(_other_slot(origin, kind.name, slot.expr, slot.declared))
        return Changed(None, after)
    return Changed(model.Find(kind.name, (), body, written.span, slot.expr), after)


# ---- errors ---------------------------------------------------------------------------------


def _no_slot(origin: tree.Path, kind: str, group: bool) -> Diagnostic:
    """`group`: it may be one that a rule leads to."""
    otherwise = f"`find {kind} else {{…}}` goes by what its rules match"
    if group:
        otherwise = f"one of a group is chosen: `choose {kind} from {origin.text}`"
    return error(
        "H0490",
        f"`{origin.text}` is no slot of a state",
        (origin.span, f"does not say which {kind} it was"),
        help=f"{otherwise}; an entry of a state keeps one: `find {kind} from STATE.SLOT`",
    )


def _no_single_slot(origin: tree.Path, kind: str, state: model.State) -> Diagnostic:
    slots = [slot.name for slot in state.gives if slot.rule == kind]
    return error(
        "H0490",
        f"`{origin.text}` is no slot of a state",
        (origin.span, f"does not say which {kind} it was"),
        (state.span, f"keeps a {kind} as {listed(slots)}" if slots else f"keeps no {kind}"),
        help=f"write `find {kind} from {state.name}.{slots[0]}`"
        if slots
        else f"let an entry keep it: `gives {kind.lower()} : {kind}`",
    )


def _other_slot(origin: tree.Path, kind: str, slot: model.Recalled, where: Span) -> Diagnostic:
    name = slot.slot
    return error(
        "H0490",
        f"`{origin.text}` does not say which {kind} it was",
        (origin.span, f"holds a {slot.rule}" if slot.rule else "holds a value"),
        (where, "declared here"),
        help=f"find that one: `find {slot.rule} from {origin.text}`"
        if slot.rule
        else f"let the entry keep the rule: `{name} : {kind}`, and remember it: `{name} = {kind}`",
    )
