"""State tables: their slots, and the statements that remember and recall."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, Diagnostics, did_you_mean, error, listed
from ...lang.text.source import Span
from .. import model
from ..lower.reads import walk
from . import errors
from .changes import Changed
from .edges import CheckedGraph
from .flow import Scope, State, bind
from .header_fields import scalar
from .kinds import MOST_RULES
from .lookups import Fallback
from .names import RESERVED
from .stage_names import StageNames
from .stage_program import Program
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
            found.add(errors.declared_twice("rule kind or state", name, first))
            continue
        if node is not None:
            found.add(errors.name_taken(name, "a node of the parse graph", node.span))
        elif name.text in RESERVED or scalar(name.text) or name.text == "bytes":
            found.add(errors.name_taken(name, RESERVED.get(name.text, "a type")))
        states[name.text] = _state(state, found)
    return states


def _state(state: tree.State, found: Diagnostics) -> model.State:
    if not 1 <= state.capacity.value <= MOST_RULES:
        span = state.capacity.span
        found.add(errors.number_out_of_range(span, "the capacity", 1, MOST_RULES, "4M"))
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
                found.add(errors.declared_twice("slot", slot.name, again.name.span))
            elif (made := _slot(slot, found)) is not None:
                slots[clause.word].append(made)
    words = {c.word for c in state.clauses if isinstance(c, tree.Slots)}
    if words != {"match", "gives"}:
        found.add(_nothing_kept(state.name, "match" in words, "gives" in words))
    for again_ages in ages[1:]:
        found.add(errors.twice_in_pipeline("`ages`", again_ages.span, ages[0].span))
    if ages and not 1 <= ages[0].seconds.value <= MOST_SECONDS:
        span = ages[0].seconds.span
        found.add(errors.number_out_of_range(span, "the age", 1, MOST_SECONDS))
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
        found.add(errors.no_such_type(slot.type, allowed, _TYPES))
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
    """Where an entry is remembered from what was recalled of it: read, modify, write, of which the
    kernel makes no single step."""
    every = [part for stage in stages for part in walk(stage.body)]
    named = {p.local: p.value for p in every if isinstance(p, model.Let)}
    recalled = {(part.state, part.key) for part in every if isinstance(part, model.Recall)}
    sizes = {state: len(key) for state, key in recalled}
    for stage in stages:
        for part in walk(stage.body):
            if isinstance(part, model.Remember) and part.state in sizes:
                key, values = part.values[: sizes[part.state]], part.values[sizes[part.state] :]
                if part.state in _recalled_in(values, named) and (part.state, key) in recalled:
                    yield stage, part


def _recalled_in(
    values: tuple[model.Expr, ...], named: Mapping[model.Local, model.Expr]
) -> set[str]:
    """The states of which something goes into these values, also by names."""
    found, left, seen = set[str](), [*values], set[model.Local]()
    while left:
        for part in walk(left.pop()):
            if isinstance(part, model.Recalled):
                found.add(part.state)
            elif isinstance(part, model.Local) and part in named and part not in seen:
                seen.add(part)
                left.append(named[part])
    return found


def _named(program: Program, name: tree.Name) -> model.State | None:
    table = program.states.get(name.text)
    if table is None:
        help = "declare it: `state NAME [CAPACITY] {…}`"
        program.report(errors.unknown("state", name, program.states, help))
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
            program.report(_no_such_slot(each.target, table, list(known)))
            said.update((name, each) for name in known)  # misspelt: what seems missing is likely it
            continue
        if said.setdefault(name.text, each) is not each:
            first = said[name.text].target.span
            program.report(errors.declared_twice("the value of", name, first))
        elif value is None:
            continue
        elif slot.port != _is_port(value.expr):
            program.report(_not_of_port(each.value.span, slot.name, slot.port, table.span))
        elif fits(value, slot.width, slot.kind, f"`{slot.name}`", table.span, program.found):
            given[slot.name] = value.expr
    missing = [s.name for s in slots if s.name not in said]
    if missing:
        program.report(_slot_missing(written.state.span, table, missing))
    return tuple(given[s.name] for s in slots) if len(given) == len(slots) else None


def _is_port(expr: model.Expr) -> bool:
    return isinstance(expr, model.Arrival) or (isinstance(expr, model.Recalled) and expr.port)


# ---- errors ---------------------------------------------------------------------------------


def _nothing_kept(name: tree.Name, match: bool, gives: bool) -> Diagnostic:
    lacking = [word for word, said in (("match", match), ("gives", gives)) if not said]
    return error(
        "H0310",
        f"the state `{name.text}` has no {listed([f'`{word}`' for word in lacking], 'and no')}",
        (name.span, "keeps nothing"),
        help="say what an entry is found by and what it holds: `match a : TYPE`, `gives b : TYPE`",
    )


def _no_such_slot(target: tree.Path, state: model.State, slots: Sequence[str]) -> Diagnostic:
    return error(
        "H0311",
        f"`{target.text}` is no slot of `{state.name}` that is given here",
        (target.span, "not one of them"),
        (state.span, f"takes {listed(slots)}"),
        help=did_you_mean(target.text, slots) or f"give {listed(slots)}",
    )


def _slot_missing(span: Span, state: model.State, slots: Sequence[str]) -> Diagnostic:
    named = listed([f"`{s}`" for s in slots])
    return error(
        "H0312",
        f"{named} of `{state.name}` {'is' if len(slots) == 1 else 'are'} not given",
        (span, "without it"),
        (state.span, "declared here"),
        help=f"write `{state.name}({', '.join(f'{s} = …' for s in slots)})`",
    )


def _not_of_port(span: Span, slot: str, port: bool, where: Span) -> Diagnostic:
    holds, found = ("a port", "none") if port else ("a value", "a port")
    return error(
        "H0313",
        f"`{slot}` holds {holds}, and this is {found}",
        (span, "of another sort"),
        (where, "declared here"),
        help="give it `port`, the port of arrival" if port else f"declare `{slot} : port`",
    )
