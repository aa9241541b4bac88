"""Errors of kinds.py."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...lang import tree
from ...lang.syntax.planned import planned
from ...lang.text.diagnostics import Diagnostic, did_you_mean, error, listed
from ...lang.text.source import Span

# ---- errors ---------------------------------------------------------------------------------


def match_differs(
    element: tree.Name, is_: str, where: Span, operand: Span, field: str, help: str
) -> Diagnostic:
    return error(
        "H0255",
        f"`{element.text}` cannot match `{operand.text}`",
        (operand, f"this is {field}"),
        (where, f"`{element.text}` is {is_}"),
        help=help,
    )


def no_such_match(kind: tree.Name, kinds: Iterable[str]) -> Diagnostic:
    known = list(kinds)
    return error(
        "H0256",
        f"there is no match kind `{kind.text}`",
        (kind.span, f"kinds are {', '.join(known)}"),
        help=did_you_mean(kind.text, known) or f"use one of {', '.join(known)}",
    )


def match_kind_of(kind: tree.Name, type_: str, where: Span, allowed: Sequence[str]) -> Diagnostic:
    return error(
        "H0257",
        f"`{kind.text}` does not go with the type `{type_}`",
        (kind.span, "cannot match this way"),
        (where, f"declared as {type_}"),
        help=f"use {' or '.join(allowed)}",
    )


def element_twice(again: tree.Name, first: Span, rule: str) -> Diagnostic:
    return error(
        "H0258",
        f"`{rule}` has `{again.text}` twice",
        (again.span, "named again"),
        (first, "first named here"),
        help="leave one out, or declare another element for it",
    )


def reference_cycle(steps: Sequence[tuple[Span, str]]) -> Diagnostic:
    return error(
        "H0259",
        "these rule kinds refer to each other",
        *steps,
        help="references between rules lead one way: take one of them out",
    )


def gives_mixed(span: Span, elements: Sequence[str], kinds: Sequence[str]) -> Diagnostic:
    return error(
        "H0260",
        "`gives` names elements or rule kinds, not both in one list",
        (span, f"{listed(kinds)}: a rule kind; {listed(elements)}: an element"),
        help="write `gives a, b` for elements and `gives X | Y` for a rule of one of these kinds",
    )


def gives_separator(span: Span, kinds: bool) -> Diagnostic:
    if kinds:
        says, help = (
            "rule kinds are alternatives",
            "separate them by `|`: a rule refers to one of them",
        )
    else:
        says, help = "elements are given all together", "separate them by `,`"
    return error("H0261", "the wrong separator in `gives`", (span, says), help=help)


def bad_weight(weight: tree.Name, type_: str, where: Span) -> Diagnostic:
    return error(
        "H0262",
        f"`{weight.text}` cannot order or weigh rules",
        (weight.span, "not a number of up to 32 bits"),
        (where, f"declared as {type_}"),
        help="declare an element for it: `ie weight = …, u16`",
    )


def counts_nothing(word: tree.Name) -> Diagnostic:
    return planned(word.span) or error(
        "H0265",
        f"a rule cannot count `{word.text}`",
        (word.span, "not something to count"),
        help="did you mean `bytes`?"
        if word.text == "octets"
        else "count `packets`, `bytes` and `sizes`, or some of these",
    )


def not_hashed(match: Span, element: str, by: Span) -> Diagnostic:
    return error(
        "H0328",
        f"rules found by a hash match exactly, and `{element}` does not",
        (match, "many values fit this"),
        (by, "asked for here"),
        help="match it `exact`, or leave `by hash` out",
    )


def nothing_hashed(by: Span) -> Diagnostic:
    return error(
        "H0329",
        "rules that match nothing have nothing to hash",
        (by, "found by what they match"),
        help="add a `match`, or leave `by hash` out",
    )
