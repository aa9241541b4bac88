"""State tables: their slots, and the statements that remember and recall."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...lang import tree
from ...lang.text.diagnostics import Diagnostics
from .. import model
from ..lower.reads import walk
from . import faults_files, faults_headers, faults_rules
from . import faults_states as faults
from .changes import Changed
from .edges import CheckedGraph
from .flow import Scope, State, bind
from .header_fields import scalar
from .kinds import MOST_RULES
from .lookups import Fallback
from .names import RESERVED
from .stage_names import Program, StageNames
from .values import fits

MOST_SECONDS = 365 * 24 * 3600
_TYPES = ["u8", "u16", "u32", "u64", "mac", "ip4", "ip6", "port"]


def collect_states(
    declared: Sequence[tree.State],
    kinds: dict[str, tree.Rule],
    nodes: CheckedGraph,
    found: Diagnostics,
) -> dict[str, model.State]:
    """State tables by name; they share their names with rule kinds."""
    folded = {name.lower(): rule.name.span for name, rule in kinds.items()}
    states: dict[str, model.State] = {}
    for state in declared:
        name = state.name
        first = folded.setdefault(name.text.lower(), name.span)
        node = next((n for n in nodes.graph.nodes if n.name == name.text), None)
        if first is not name.span:
            found.add(faults_files.declared_twice("rule kind or state", name, first))
            continue
        if node is not None:
            found.add(faults_files.name_taken(name, "a node of the parse graph", node.span))
        elif name.text in RESERVED or scalar(name.text) or name.text == "bytes":
            found.add(faults_files.name_taken(name, RESERVED.get(name.text, "a type")))
        states[name.text] = _state(state, found)
    return states


def _state(state: tree.State, found: Diagnostics) -> model.State:
    if not 1 <= state.capacity.value <= MOST_RULES:
        span = state.capacity.span
        found.add(faults_rules.number_out_of_range(span, "the capacity", 1, MOST_RULES, "4M"))
    first: dict[str, tree.Slot] = {}
    slots: dict[str, list[model.Slot]] = {"match": [], "gives": []}
    ages: list[tree.Ages] = []
    for clause in state.clauses:
        if isinstance(clause, tree.Ages):
            ages.append(clause)
            continue
        for slot in clause.slots:
            again = first.setdefault(slot.name.text, slot)
            if again is not slot:
                found.add(faults_files.declared_twice("slot", slot.name, again.name.span))
            elif (made := _slot(slot, found)) is not None:
                slots[clause.word].append(made)
    words = {c.word for c in state.clauses if isinstance(c, tree.Slots)}
    if words != {"match", "gives"}:
        found.add(faults.nothing_kept(state.name, "match" in words, "gives" in words))
    for again_ages in ages[1:]:
        found.add(faults_files.twice_in_pipeline("`ages`", again_ages.span, ages[0].span))
    if ages and not 1 <= ages[0].seconds.value <= MOST_SECONDS:
        span = ages[0].seconds.span
        found.add(faults_rules.number_out_of_range(span, "the age", 1, MOST_SECONDS))
    return model.State(
        state.name.text,
        state.capacity.value,
        tuple(slots["match"]),
        tuple(slots["gives"]),
        ages[0].seconds.value if ages else 0,
        state.doc,
        state.name.span,
    )


def _slot(slot: tree.Slot, found: Diagnostics) -> model.Slot | None:
    if slot.type.text == "port":
        return model.Slot(slot.name.text, 32, "uint", port=True)
    typed = scalar(slot.type.text)
    if typed is None:
        allowed = "u1 … u64, mac, ip4, ip6, port"
        found.add(faults_headers.no_such_type(slot.type, allowed, _TYPES))
        return None
    return model.Slot(slot.name.text, typed[1], typed[0])


# ---- statements -----------------------------------------------------------------------------


def remember(program: Program, written: tree.Remember, state: State, scope: Scope) -> Changed:
    table = _named(program, written.state)
    if table is None:
        return Changed(None, state)
    values = _values(program, written, (*table.match, *table.gives), state, scope)
    if values is None:
        return Changed(None, state)
    return Changed(model.Remember(table.name, values, written.span), state)


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
    key = _values(program, written, table.match, state, scope)
    if key is None:
        return Changed(None, after)
    return Changed(model.Recall(table.name, key, body, written.span), after)


def updates(stages: Sequence[model.Stage]) -> Iterator[tuple[model.Stage, model.Remember]]:
    """Where an entry is remembered from what was recalled of it, in the same stage: read, modify,
    write, of which the kernel makes no single step."""
    for stage in stages:
        parts = list(walk(stage.body))
        recalled = {(part.state, part.key) for part in parts if isinstance(part, model.Recall)}
        sizes = {state: len(key) for state, key in recalled}
        for part in parts:
            if isinstance(part, model.Remember) and part.state in sizes:
                key, values = part.values[: sizes[part.state]], part.values[sizes[part.state] :]
                used = {value.state for value in walk(values) if isinstance(value, model.Recalled)}
                if part.state in used and (part.state, key) in recalled:
                    yield stage, part


def _named(program: Program, name: tree.Name) -> model.State | None:
    table = program.states.get(name.text)
    if table is None:
        help = "declare it: `state NAME [CAPACITY] {…}`"
        program.report(faults_files.unknown("state", name, program.states, help))
    return table


def _values(
    program: Program,
    written: tree.Remember | tree.Recall,
    slots: Sequence[model.Slot],
    state: State,
    scope: Scope,
) -> tuple[model.Expr, ...] | None:
    """The value of each slot, in order; None if one is missing or wrong."""
    given: dict[str, model.Expr] = {}
    said: dict[str, tree.Assign] = {}
    known = {s.name: s for s in slots}
    table = program.states[written.state.text]
    for each in written.given:
        name = each.target.parts[-1]
        value = StageNames(program, state, scope).expressions.value(each.value)
        slot = known.get(name.text)
        if slot is None or len(each.target.parts) > 1:
            program.report(faults.no_such_slot(each.target, table, list(known)))
            said.update((name, each) for name in known)  # misspelt: what seems missing is likely it
            continue
        if said.setdefault(name.text, each) is not each:
            first = said[name.text].target.span
            program.report(faults_files.declared_twice("the value of", name, first))
        elif value is None:
            continue
        elif slot.port != _is_port(value.expr):
            program.report(faults.not_of_port(each.value.span, slot.name, slot.port, table.span))
        elif fits(value, slot.width, slot.kind, f"`{slot.name}`", table.span, program.found):
            given[slot.name] = value.expr
    missing = [s.name for s in slots if s.name not in said]
    if missing:
        program.report(faults.slot_missing(written.state.span, table, missing))
    return tuple(given[s.name] for s in slots) if len(given) == len(slots) else None


def _is_port(expr: model.Expr) -> bool:
    return isinstance(expr, model.Arrival) or (isinstance(expr, model.Recalled) and expr.port)
