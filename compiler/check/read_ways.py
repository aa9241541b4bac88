"""In how many ways what is pushed may be read: how many elements arrays have, on which roles."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

from ...lang.text.diagnostics import Diagnostic, error
from ...lang.text.source import Span
from .. import model
from .ranges import Facts, excluded, narrowed
from .written import Counts, Written

#: More ways in which lists may be long than this are not looked at one by one.
MOST_COUNTS = 1_024
#: The edges that read a header, in each way that it may be.
Ways = tuple[tuple[model.Edge, ...], ...]


def not_on_one_role(written: Sequence[Written], ways: Sequence[Ways]) -> Diagnostic | None:
    """Whatever the headers hold, there is a role on which the whole path is read, or this says
    not."""
    for each in product(*ways):
        left: frozenset[str] | None = None
        before: tuple[Span, str] | None = None
        for i, reading in enumerate(each):
            if not reading:
                continue
            (edge, *_), roles = reading, frozenset[str]().union(*(e.roles for e in reading))
            here = edge.span, f"on {', '.join(sorted(roles))}"
            if before and left is not None and not left & roles:
                span, node = written[i].span, written[i].element.node
                return _no_role_reads(span, node, before, here)
            left, before = roles if left is None else left & roles, here
    return None


def every_count(written: Sequence[Written], tested: Facts) -> list[Counts]:
    """How many values the elements may hold that arrays are given; one way without any where there
    are too many."""
    lists = (items for w in written for _, items in w.element.lists)
    keys = list(dict.fromkeys(model.Count(i.source, i.most) for i in lists))
    numbers = [_counts_of(key, tested) for key in keys]
    if prod(map(len, numbers)) > MOST_COUNTS:
        return [{}]
    return [dict(zip(keys, each, strict=True)) for each in product(*numbers)]


def _counts_of(key: model.Count, tested: Facts) -> list[int]:
    """How many values an element may hold here."""
    low, high = narrowed(tested, key, 1, key.most)
    never = excluded(tested, key)
    return [n for n in range(low, high + 1) if n not in never]


# ---- errors ---------------------------------------------------------------------------------


def _no_role_reads(
    span: Span, node: str, first: tuple[Span, str], second: tuple[Span, str]
) -> Diagnostic:
    """The edges in front of `node` and behind it, with the roles that each is read on."""
    return error(
        "H0332",
        "the parser does not read this push back on any port",
        (span, f"no role reads the edges in front of `{node}` and behind it"),
        first,
        second,
        help="read the edges of the path on one role, or write one of them only: `on push`",
    )
