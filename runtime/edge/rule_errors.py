"""Finds further errors in the rules of an edge's YAML, so that one reading reports all of them."""

from __future__ import annotations

from collections.abc import Iterable

from ...lang.contract.request.request import Request
from ...lang.contract.rules.rulebook import RuleBook
from ...lang.text.diagnostics import Diagnostic, Refused

#: Errors of a reference, perhaps only because the rule that it names was wrong.
_FOLLOWING = {"H0440", "H0441", "H0450"}


def more_errors(book: RuleBook, requests: Iterable[Request]) -> list[Diagnostic]:
    """The errors of requests that follow something wrong, one planned upon the other. `book` is not
    to be used after it."""
    found: list[Diagnostic] = []
    for request in requests:
        try:
            book.commit(book.plan(request))
        except Refused as refused:
            found += [d for d in refused.diagnostics if d.code not in _FOLLOWING]
    return found
