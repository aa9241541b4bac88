"""What can be wrong with a wanted state: one function for each code."""

from __future__ import annotations

from ..lang.contract.request.request import Change, Request, RuleItem
from ..lang.text.diagnostics import Diagnostic, Label


def no_state(request: Request, change: Change) -> Diagnostic:
    labels = (Label(request.span(*change.at[:2]), "a change"),) if request.source else ()
    title = f"a wanted state says what is to be: it has no `{change.operation}`"
    return Diagnostic("H0878", title, labels, "only `create`, or rules alone")


def no_id(request: Request, item: RuleItem) -> Diagnostic:
    labels = (Label(request.span(*item.at[:2]), "no id"),) if request.source else ()
    return Diagnostic("H0879", "a wanted rule has no id", labels,
                      f"give it one: `{item.kind or 'FAR'} 1 …`")  # fmt: skip
