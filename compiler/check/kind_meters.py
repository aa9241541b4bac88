"""Meters of rule kinds: `meters mbr, burst`."""

from __future__ import annotations

from collections.abc import Callable

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, Diagnostics, error
from .. import model
from . import errors

Use = Callable[[tree.Name], model.Element | None]

#: Of clauses by their number of elements: what each element is. RFC 2697 has three, RFC 2698 four.
_FORMS = {
    2: ("rate", "burst"),
    3: ("rate", "burst", "burst"),
    4: ("rate", "burst", "rate", "burst"),
}
_WIDEST = {"rate": 64, "burst": 32}
_UNITS = {"rate": "bits a second", "burst": "bytes"}


def meters(rule: tree.Rule, use: Use, found: Diagnostics) -> tuple[model.Element, ...]:
    """The elements of a kind's meter; empty where it has none. `use` is an element that the rule
    has, once."""
    clauses = [c for c in rule.clauses if isinstance(c, tree.Meters)]
    for again in clauses[1:]:
        found.add(errors.twice_in_pipeline("`meters`", again.span, clauses[0].span))
    if not clauses:
        return ()
    names = clauses[0].elements
    form = _FORMS.get(len(names))
    if form is None:
        found.add(_no_form(clauses[0]))
        return ()
    elements = [use(name) for name in names]
    for name, element, what in zip(names, elements, form, strict=True):
        if element is not None and not _is_number(element, _WIDEST[what]):
            found.add(_no_number(name, element, what))
    return tuple(element for element in elements if element is not None)


def _is_number(element: model.Element, widest: int) -> bool:
    held = element.references or element.symbols or element.most
    return not held and element.kind == "uint" and element.width <= widest


# ---- errors ---------------------------------------------------------------------------------


def _no_form(clause: tree.Meters) -> Diagnostic:
    count = len(clause.elements)
    return error(
        "H0391",
        "a meter has a rate and a burst, RFC 2697 one burst more, RFC 2698 another rate and burst",
        (clause.span, f"{count} element{'s' if count > 1 else ''}, and not two, three or four"),
        help="write `meters rate, burst`, `meters cir, cbs, ebs` or `meters cir, cbs, pir, pbs`",
    )


def _no_number(name: tree.Name, element: model.Element, what: str) -> Diagnostic:
    widest, unit = _WIDEST[what], _UNITS[what]
    return error(
        "H0392",
        f"`{name.text}` cannot be the {what} of a meter",
        (name.span, f"the {what}, in {unit}"),
        (element.span, f"not a plain number of up to {widest} bits"),
        help=f"declare an element for it: `ie {what} = …, u{widest}`",
    )
