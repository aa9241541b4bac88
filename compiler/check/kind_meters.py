"""Meters of rule kinds and of entries: `meters mbr, burst`, `meters pps, burst in packets`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, Diagnostics, error
from ...lang.text.source import Span
from .. import model
from . import errors

Part = TypeVar("Part", model.Element, model.Slot)

#: Of clauses by their number of elements: what each element is. RFC 2697 has three, RFC 2698 four.
_FORMS = {
    2: ("rate", "burst"),
    3: ("rate", "burst", "burst"),
    4: ("rate", "burst", "rate", "burst"),
}
_WIDEST = {"rate": 64, "burst": 32}
_UNITS = {"rate": "bits a second", "burst": "bytes"}


def rule_meters(
    rule: tree.Rule, use: Callable[[tree.Name], model.Element | None], found: Diagnostics
) -> tuple[tuple[model.Element, ...], bool]:
    """The elements of a kind's meter, empty where it has none, and whether it is in packets. `use`
    is an element that the rule has, once."""
    clause = _only([c for c in rule.clauses if isinstance(c, tree.Meters)], found)
    if clause is None:
        return (), False
    elements = [use(name) for name in clause.elements]
    known = [
        None if e is None else (e, bool(e.references or e.symbols or e.most), e.span)
        for e in elements
    ]
    return _numbers(
        clause, known, "declare an element for it: `ie {} = …, u{}`", found
    ), _in_packets(clause, found)


def entry_meters(
    state: tree.State, slots: Sequence[model.Slot], found: Diagnostics
) -> tuple[tuple[model.Slot, ...], bool]:
    """The same of a state, whose entries hold these slots."""
    clause = _only([c for c in state.clauses if isinstance(c, tree.Meters)], found)
    if clause is None:
        return (), False
    by_name = {slot.name: slot for slot in slots}
    known = []
    for name in clause.elements:
        slot = by_name.get(name.text)
        if slot is None:
            help = f"let the entry hold it: `gives {name.text} : u{_WIDEST['burst']}`"
            of = f"slot of what `{state.name.text}` gives"
            found.add(errors.unknown(of, name, by_name, help))
        known.append(None if slot is None else (slot, slot.port, state.name.span))
    return _numbers(
        clause, known, "let the entry have a slot for it: `gives {} : u{}`", found
    ), _in_packets(clause, found)


def _only(clauses: list[tree.Meters], found: Diagnostics) -> tree.Meters | None:
    """The clause, if there is one of a form that there is."""
    for again in clauses[1:]:
        found.add(errors.twice_in_pipeline("`meters`", again.span, clauses[0].span))
    if not clauses:
        return None
    if len(clauses[0].elements) not in _FORMS:
        found.add(_no_form(clauses[0]))
        return None
    return clauses[0]


def _numbers(
    clause: tree.Meters,
    known: Sequence[tuple[Part, bool, Span] | None],
    declared: str,
    found: Diagnostics,
) -> tuple[Part, ...]:
    """What says rates and bursts, each with whether it holds something else than a number."""
    form = _FORMS[len(known)]
    for name, part, what in zip(clause.elements, known, form, strict=True):
        if part is None:
            continue
        held, other, span = part
        if other or held.kind != "uint" or held.width > _WIDEST[what]:
            unit = _UNITS[what] if clause.unit is None else "packets"
            unit += " a second" if clause.unit is not None and what == "rate" else ""
            help = declared.format(what, _WIDEST[what])
            found.add(_no_number(name, what, unit, span, help))
    return tuple(part[0] for part in known if part is not None)


def _in_packets(clause: tree.Meters, found: Diagnostics) -> bool:
    if clause.unit is not None and clause.unit.text != "packets":
        help = "write `in packets`; without it rates are in bits a second, and bursts in bytes"
        found.add(errors.unknown("unit of meters", clause.unit, ["packets"], help))
    return clause.unit is not None


# ---- errors ---------------------------------------------------------------------------------


def _no_form(clause: tree.Meters) -> Diagnostic:
    count = len(clause.elements)
    return error(
        "H0391",
        "a meter has a rate and a burst, RFC 2697 one burst more, RFC 2698 another rate and burst",
        (clause.span, f"{count} element{'s' if count > 1 else ''}, and not two, three or four"),
        help="write `meters rate, burst`, `meters cir, cbs, ebs` or `meters cir, cbs, pir, pbs`",
    )


def _no_number(name: tree.Name, what: str, unit: str, span: Span, help: str) -> Diagnostic:
    return error(
        "H0392",
        f"`{name.text}` cannot be the {what} of a meter",
        (name.span, f"the {what}, in {unit}"),
        (span, f"not a plain number of up to {_WIDEST[what]} bits"),
        help=help,
    )
