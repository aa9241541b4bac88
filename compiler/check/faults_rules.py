"""Errors of information elements and rule kinds: H0250 to H0269."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...lang import tree
from ...lang.syntax.planned import planned
from ...lang.text.diagnostics import Diagnostic, did_you_mean, listed
from ...lang.text.source import Span
from .faults_files import either, error


def number_taken(again: tree.Number, first: Span, name: str) -> Diagnostic:
    return error(
        "H0250",
        f"the number {again.value} is taken",
        (again.span, "used again"),
        (first, f"the number of `{name}`"),
        help="every information element has a number of its own on the wire",
    )


def number_out_of_range(
    number: Span, what: str, least: int, most: int, shown: str = ""
) -> Diagnostic:
    """Numbers of elements, capacities, bounds of a spread."""
    return error(
        "H0251",
        f"{what} cannot be {number.text}",
        (number, f"out of {least}..{shown or most}"),
        help=f"write a number from {least} to {shown or most}",
    )


def mixed_types(span: Span, plain: Sequence[str]) -> Diagnostic:
    return error(
        "H0252",
        "an information element is a value or a reference, not both",
        (span, f"{listed(plain)} {'is a type' if len(plain) == 1 else 'are types'} of values"),
        help="name one type, or only rule kinds and `port`",
    )


def symbols_of(span: Span, type_: str) -> Diagnostic:
    return error(
        "H0253",
        f"an element of type `{type_}` has no symbols",
        (span, "symbols stand for numbers"),
        help="give it a type u1 … u64, or leave the symbols out",
    )


def symbol_value_twice(again: tree.Symbol, first: tree.Symbol) -> Diagnostic:
    return error(
        "H0254",
        f"`{first.name.text}` and `{again.name.text}` are the same value",
        (again.span, "this value again"),
        (first.span, "first here"),
        help="give each symbol a value of its own",
    )


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
        help=either(did_you_mean(kind.text, known), f"use one of {', '.join(known)}"),
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


def grouped_found(span: Span, kind: str, chosen: Span) -> Diagnostic:
    return error(
        "H0263",
        f"rules of kind `{kind}` are reached by `choose`, not on their own",
        (span, "reached on its own here"),
        (chosen, "its rules share an id here, and are told apart by their match"),
        help=f"write `choose … from X.{kind}` here too, or declare another rule kind",
    )


def nothing_to_find(span: Span, kind: str, where: Span) -> Diagnostic:
    return error(
        "H0264",
        f"`{kind}` matches nothing, so it cannot be found",
        (span, "looked up by its match"),
        (where, "has no `match`"),
        help=f"add a `match` to `{kind}`, or reach it from another rule: `if X gives {kind}`",
    )


def never_found(span: Span, kind: str, nodes: list[str], where: Span) -> Diagnostic:
    return error(
        "H0225",
        f"no rule of kind `{kind}` can be found here",
        (span, f"no packet has {' and '.join(f'`{n}`' for n in nodes)} here"),
        (where, "what each of its rules matches"),
        help="look it up where packets have that, or match it as `optional`",
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


def not_matched(target: tree.Path, kind: str, names: Sequence[str], where: Span) -> Diagnostic:
    return error(
        "H0266",
        f"`{kind}` matches no `{target.text}`",
        (target.span, "no element that it matches"),
        (where, f"it matches {listed(names)}" if names else "it matches nothing"),
        help=either(did_you_mean(target.text, names), "give elements of the kind's `match`"),
    )


def value_not_given(span: Span, kind: str, element: str, where: Span) -> Diagnostic:
    return error(
        "H0267",
        f"`{element}` of `{kind}` is given here by nobody",
        (span, "looked up without it"),
        (where, "matches a value that each `find` gives"),
        help=f"give it: `find {kind}({element} = …)`; a `choose` cannot",
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
