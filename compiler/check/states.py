"""State tables: their slots, and how long entries are kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ...lang import tree
from ...lang.contract.manifest.manifest import IDENTITY
from ...lang.text.diagnostics import Diagnostic, Diagnostics, error, listed
from ...lang.text.source import Span
from .. import model
from ..model.walk import walk
from . import errors
from .edges import CheckedGraph
from .header_fields import scalar
from .kind_meters import entry_meters
from .kinds import MOST_RULES, counts_nothing
from .names import RESERVED

MOST_SECONDS = 365 * 24 * 3600
#: Bits of a slot with seconds: as nanoseconds they fit into 63 bits.
_LONGEST = 32
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
        states[name.text] = _state(state, kinds, found)
    return states


def _state(state: tree.State, kinds: Mapping[str, tree.Rule], found: Diagnostics) -> model.State:
    if not 1 <= state.capacity.value <= MOST_RULES:
        span = state.capacity.span
        found.add(errors.number_out_of_range(span, "the capacity", 1, MOST_RULES, "4M"))
    first: dict[str, tree.Name] = {}
    slots: dict[str, list[model.Slot]] = {"match": [], "gives": [], "counts": []}
    ages = [clause for clause in state.clauses if isinstance(clause, tree.Ages)]
    for word, name, type_ in _declared(state):
        if first.setdefault(name.text, name) is not name:
            found.add(errors.declared_twice("slot", name, first[name.text].span))
        elif type_ is not None and type_.text in kinds:
            if word == "match":
                found.add(_found_by_rule(type_))
            else:
                kept = model.Slot(name.text, 8 * IDENTITY, "uint", False, type_.text, name.span)
                slots[word].append(kept)
        elif (made := _slot(name, type_, kinds, found)) is not None:
            slots[word].append(made)
    words = {c.word for c in state.clauses if isinstance(c, tree.Slots)}
    words |= {"gives"} if slots["counts"] else set()
    if words != {"match", "gives"}:
        found.add(_nothing_kept(state.name, "match" in words, "gives" in words))
    for again_ages in ages[1:]:
        found.add(errors.twice_in_pipeline("`ages`", again_ages.span, ages[0].span))
    metered, in_packets = entry_meters(state, slots["gives"], found)
    table = model.State(
        state.name.text,
        state.capacity.value,
        tuple(slots["match"]),
        (*slots["gives"], *slots["counts"]),
        doc=state.doc,
        span=state.name.span,
        counts=tuple(slot.name for slot in slots["counts"]),
        meters=metered,
        packet_meter=in_packets,
    )
    return _aging(table, ages[0], found) if ages else table


def _declared(state: tree.State) -> Iterator[tuple[str, tree.Name, tree.Name | None]]:
    """Each slot: the word of its clause, its name and type; without one what is counted."""
    for clause in state.clauses:
        match clause:
            case tree.Slots(word=word, slots=slots):
                yield from ((word, slot.name, slot.type) for slot in slots)
            case tree.Counts(what=names):
                yield from (("counts", name, None) for name in names)


def _aging(state: model.State, ages: tree.Ages, found: Diagnostics) -> model.State:
    """`ages.seconds` is a number, or a slot that has the entry's own."""
    seconds, own = ages.seconds, ""
    if seconds.named:
        slot = next((slot for slot in state.given if slot.name == seconds.text), None)
        if slot is None:  # its declaration is wrong
            return state
        if slot.kind != "uint" or slot.port or slot.width > _LONGEST:
            found.add(_no_seconds(seconds.span, slot))
        own = slot.name
    elif not 1 <= seconds.value <= MOST_SECONDS:
        found.add(errors.number_out_of_range(seconds.span, "the age", 1, MOST_SECONDS))
    return replace(state, ages=0 if own else seconds.value, lifetime=own, idle=ages.idle)


def in_place(
    states: Iterable[model.State], stages: Sequence[model.Stage]
) -> tuple[model.State, ...]:
    """The states, knowing whether packets change entries where they are."""
    changed = set[str]()
    for part in walk(stages):
        match part:
            case model.Forget(state) | model.Remember(state, if_absent=True):
                changed.add(state)
            case model.Update(slot) | model.Exchange(slot):
                changed.add(slot.state)
    return tuple(
        replace(s, in_place=bool(s.name in changed or s.idle or s.lifetime or s.counts or s.meters))
        for s in states
    )


def _slot(
    name: tree.Name, type_: tree.Name | None, kinds: Iterable[str], found: Diagnostics
) -> model.Slot | None:
    if type_ is None:
        if name.text not in ("packets", "bytes"):
            found.add(counts_nothing(name, "an entry", ("packets", "bytes")))
            return None
        return model.Slot(name.text, 64, "uint", span=name.span)
    if type_.text == "port":
        return model.Slot(name.text, 32, "uint", port=True, span=name.span)
    typed = scalar(type_.text)
    if type_.text in ("name", "bytes"):
        found.add(_no_run(type_))
        return None
    if typed is None:
        allowed = "u1 … u64, mac, ip4, ip6, port, and kinds of rules"
        found.add(errors.no_such_type(type_, allowed, [*_TYPES, *kinds]))
        return None
    return model.Slot(name.text, typed[1], typed[0], span=name.span)


# ---- errors ---------------------------------------------------------------------------------


def _no_run(type_: tree.Name) -> Diagnostic:
    what = "a domain name" if type_.text == "name" else "a run of bytes"
    return error(
        "H0428",
        f"a state does not keep {what}",
        (type_.span, "not the type of a slot"),
        help="match it in a rule, and keep which rule it was: `match rule : u32`, then "
        "`remember S(rule = R.id, …)`",
    )


def _found_by_rule(type_: tree.Name) -> Diagnostic:
    return error(
        "H0486",
        "no entry is found by a rule",
        (type_.span, "a kind of rules, in a key"),
        help=f"find it by the rule's id: `match rule : u32`, then `rule = {type_.text}.id`",
    )


def _nothing_kept(name: tree.Name, match: bool, gives: bool) -> Diagnostic:
    lacking = [word for word, said in (("match", match), ("gives", gives)) if not said]
    return error(
        "H0310",
        f"the state `{name.text}` has no {listed(lacking, 'and no')}",
        (name.span, "keeps nothing"),
        help="say what an entry is found by and what it holds: `match a : TYPE`, `gives b : TYPE`",
    )


def _no_seconds(span: Span, slot: model.Slot) -> Diagnostic:
    held = f"{slot.width} bits" if slot.kind == "uint" else slot.kind
    held = "a port" if slot.port else "a rule" if slot.rule else held
    return error(
        "H0370",
        f"`{slot.name}` cannot say after how many seconds an entry is forgotten",
        (span, f"it holds {held}"),
        help=f"seconds are a number of at most {_LONGEST} bits: `{slot.name} : u16`",
    )
