"""What a rule gives: elements, or another rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, Diagnostics, error, listed
from ...lang.text.source import Span
from .. import model
from . import errors
from .elements import Elements

Use = Callable[[tree.Name], model.Element | None]


class Gives:
    """`kinds`: all rule kinds by name."""

    def __init__(self, kinds: dict[str, tree.Rule], elements: Elements, found: Diagnostics) -> None:
        self.kinds, self.elements, self.found = kinds, elements, found

    def of(self, rule: tree.Rule, use: Use) -> tuple[tuple[model.Element, ...], tuple[str, ...]]:
        """The elements that a rule gives, and the kinds of which it refers to one. `use` is an
        element that the rule has, once."""
        elements: list[model.Element] = []
        kinds: list[tree.Name] = []
        for clause in rule.clauses:
            if not isinstance(clause, tree.GivesList):
                continue
            rules = [n for n in clause.names if n.text in self.kinds]
            others = [n for n in clause.names if n.text not in self.kinds]
            if rules and others:
                self.found.add(
                    _gives_mixed(clause.span, [n.text for n in others], [n.text for n in rules])
                )
                continue
            if len(clause.names) > 1 and clause.alternatives != bool(rules):
                self.found.add(_gives_separator(clause.span, bool(rules)))
            if rules and kinds:
                self.found.add(
                    errors.twice_in_pipeline("what rule it gives", clause.span, kinds[0].span)
                )
            kinds += rules
            elements += [e for n in others if (e := self.given(n, use))]
        for i, name in enumerate(kinds):
            if name.text in [k.text for k in kinds[:i]]:
                self.found.add(element_twice(name, kinds[0].span, rule.name.text))
        return tuple(elements), tuple(dict.fromkeys(k.text for k in kinds))

    def given(self, name: tree.Name, use: Use) -> model.Element | None:
        if name.text in self.elements.known or name.text in self.elements.broken:
            return use(name)
        self.found.add(
            errors.unknown(
                "information element or rule kind",
                name,
                [*self.elements.known, *self.kinds],
                "declare it: `ie NAME = NUMBER, TYPE`",
            )
        )
        return None


# ---- errors ---------------------------------------------------------------------------------


def element_twice(again: tree.Name, first: Span, rule: str) -> Diagnostic:
    return error(
        "H0258",
        f"`{rule}` has `{again.text}` twice",
        (again.span, "named again"),
        (first, "first named here"),
        help="leave one out, or declare another element for it",
    )


def _gives_mixed(span: Span, elements: Sequence[str], kinds: Sequence[str]) -> Diagnostic:
    return error(
        "H0260",
        "`gives` names elements or rule kinds, not both in one list",
        (span, f"{listed(kinds)}: a rule kind; {listed(elements)}: an element"),
        help="write `gives a, b` for elements and `gives X | Y` for a rule of one of these kinds",
    )


def _gives_separator(span: Span, kinds: bool) -> Diagnostic:
    if kinds:
        says, help = (
            "rule kinds are alternatives",
            "separate them by `|`: a rule refers to one of them",
        )
    else:
        says, help = "elements are given all together", "separate them by `,`"
    return error("H0261", "the wrong separator in `gives`", (span, says), help=help)
