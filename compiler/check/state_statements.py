"""Statements about state tables: entries that packets leave, find, change and remove."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, error
from ...lang.text.source import Span
from .. import model
from ..model.walk import walk, walk_named
from . import errors
from .changes import Changed
from .flow import Scope, State, bind, unbind
from .kept_rules import Fallback
from .slot_values import counted, key_values, slot_values
from .stage_names import StageNames
from .stage_program import Program
from .values import KINDS, WIDEST, Value, fits


class Lost(NamedTuple):
    """What may lose an update. `slot`: the only one that it writes, else empty."""

    stage: str
    state: str
    slot: str
    span: Span


def remember(
    program: Program,
    written: tree.Remember,
    otherwise: Fallback | None,
    state: State,
    scope: Scope,
) -> Changed:
    """`otherwise`: what happens where there is an entry already; None: it is replaced."""
    body, present = otherwise or (model.Block(()), frozenset())
    table = _named(program, written.state)
    after = bind(state, written.state.text) | present
    if table is None:
        program.unsure = True
        return Changed(None, after)
    values = slot_values(program, written, (*table.match, *table.given), state, scope)
    if values is None:
        return Changed(None, after)
    if_absent = otherwise is not None
    made = model.Remember(table.name, values, written.span, if_absent, body)
    return Changed(made, after)


def recall(
    program: Program, written: tree.Recall, otherwise: Fallback, state: State, scope: Scope
) -> Changed:
    body, missed = otherwise
    after = bind(state, written.state.text) | missed
    table = _named(program, written.state)
    if table is None:
        program.unsure = True
        return Changed(None, after)
    program.missed[table.name] = written.state.span
    key = key_values(program, written, table, state, scope)
    if key is None:
        return Changed(None, after)
    return Changed(model.Recall(table.name, key, body, written.span), after)


def forget_entry(program: Program, written: tree.Forget, state: State, scope: Scope) -> Changed:
    after = unbind(state, written.state.text)
    table = _named(program, written.state)
    if table is None:
        return Changed(None, after)
    program.forgotten[table.name] = written.state.span
    key = key_values(program, written, table, state, scope)
    if key is None:
        return Changed(None, after)
    return Changed(model.Forget(table.name, key, written.span), after)


def update(
    program: Program, written: tree.Update | tree.Assign, state: State, scope: Scope
) -> Changed:
    """A slot in place, with an operator or (of an assignment) without."""
    path = written.slot if isinstance(written, tree.Update) else written.target
    operator: model.Change = "="
    if isinstance(written, tree.Update):
        operator = written.operator  # type: ignore[assignment]
    first = path.parts[0]
    if first.text not in program.states:
        known = {n.name for n in program.checked.graph.nodes} | program.rules.known.keys()
        if first.text not in known | scope.names.keys() | scope.values.keys():
            program.report(errors.unknown("state", first, program.states, errors.DECLARE_STATE))
            return Changed(None, state)
        in_packet = first.text in known - program.rules.known.keys()
        program.report(_no_state(path, operator, written.value if in_packet else None))
        return Changed(None, state)
    slot = _slot(program, path, operator != "=", state, scope)
    value = StageNames(program, state, scope).expressions.value(written.value)
    made = _fitting(program, slot, value)
    if slot is None or made is None:
        return Changed(None, state)
    return Changed(model.Update(slot, operator, made, written.span), state)


def exchange(
    program: Program, written: tree.Exchange, otherwise: Fallback, state: State, scope: Scope
) -> Changed:
    body, failed = otherwise
    path = written.slot
    if _named(program, path.parts[0]) is None:
        return Changed(None, state | failed)
    slot = _slot(program, path, False, state, scope)
    read = StageNames(program, state, scope).expressions.value
    before, after = (_fitting(program, slot, read(v)) for v in (written.before, written.after))
    if slot is None or before is None or after is None:
        return Changed(None, state | failed)
    return Changed(model.Exchange(slot, before, after, body, written.span), state | failed)


def _slot(
    program: Program, path: tree.Path, number: bool, state: State, scope: Scope
) -> model.Recalled | None:
    """A slot of the entry that is bound here. `number`: as is computed with."""
    value = StageNames(program, state, scope).recalled(path)
    if value is None:
        return None
    assert isinstance(value.expr, model.Recalled) and value.declared is not None
    table = program.states[value.expr.state]
    if value.expr.slot in table.counts:
        help = f"declare a slot of your own: `{value.expr.slot}_… : u64`"
        program.report(counted(path, table, help))
        return None
    if value.expr.port or value.width > WIDEST or (number and value.kind != "uint"):
        held = "a rule" if value.expr.rule else "a port" if value.expr.port else KINDS[value.kind]
        program.report(_not_in_place(path, held, number, value.declared))
        return None
    return value.expr


def _fitting(
    program: Program, slot: model.Recalled | None, value: Value | None
) -> model.Expr | None:
    if slot is None or value is None:
        return None
    where = next(s.span for s in program.states[slot.state].gives if s.name == slot.slot)
    what = f"`{slot.state}.{slot.slot}`"
    good = fits(value, slot.width, slot.kind, what, where, program.found, slot.slot)
    return value.expr if good else None


def updates(stages: Sequence[model.Stage]) -> Iterator[Lost]:
    """Where an entry is remembered, or a slot is set, from what was recalled of it: read, modify,
    write, which are several steps."""
    every = [part for stage in stages for part in walk(stage.body)]
    named = {p.local: p.value for p in every if isinstance(p, model.Let)}
    recalled = {(part.state, part.key) for part in every if isinstance(part, model.Recall)}
    sizes = {state: len(key) for state, key in recalled}
    for stage in stages:
        for part in walk(stage.body):
            if isinstance(part, model.Update) and part.operator == "=":
                if part.slot in walk_named((part.value,), named):
                    yield Lost(stage.name, part.slot.state, part.slot.slot, part.span)
            elif isinstance(part, model.Remember) and part.state in sizes:
                key, values = part.values[: sizes[part.state]], part.values[sizes[part.state] :]
                read = (p for p in walk_named(values, named) if isinstance(p, model.Recalled))
                if (part.state, key) in recalled and part.state in {p.state for p in read}:
                    yield Lost(stage.name, part.state, "", part.span)


def _named(program: Program, name: tree.Name) -> model.State | None:
    table = program.states.get(name.text)
    if name.text in program.registers:
        program.report(_are_registers(name, program.registers[name.text]))
    elif table is None:
        program.report(errors.unknown_state(name, program.states, program.rules.known))
    return table


# ---- errors ---------------------------------------------------------------------------------


def _are_registers(name: tree.Name, registers: model.Registers) -> Diagnostic:
    return error(
        "H0485",
        f"`{name.text}` is an array of registers, and no state",
        (name.span, "has no entries"),
        (registers.span, "declared here"),
        help=f"read and change one by its index: `{name.text}[…] += 1`",
    )


def _no_state(path: tree.Path, operator: str, value: tree.Expr | None) -> Diagnostic:
    """`value`: of a field."""
    name, sign = path.text, operator
    text = "" if value is None else value.span.text
    text = f"({text})" if isinstance(value, tree.Binary) else text
    return error(
        "H0368",
        f"`{name}` is no slot of a state",
        (path.span, f"`{sign}=` changes a slot of a state in place"),
        help=f"write `{name} = {name} {sign}{'|' if sign in '+-' else ''} {text}`"
        if text
        else "rules and names keep what they hold: packets change fields, and slots of a `state`",
    )


def _not_in_place(path: tree.Path, held: str, number: bool, where: Span) -> Diagnostic:
    state = path.parts[0].text
    return error(
        "H0369",
        f"`{path.text}` cannot be changed in place",
        (path.span, f"it holds {held}"),
        (where, "declared here"),
        help="numbers are computed with: write `=` for another value"
        if number and held not in ("a rule", "a port", KINDS["ip6"])
        else f"remember the entry again: `remember {state}(…)`",
    )
