"""What can be wrong with a wanted state: one function for each code."""

from __future__ import annotations

from ..lang.contract.request.request import Change, Request, RuleItem
from ..lang.text.diagnostics import Diagnostic, Label
from ..lang.text.explain import Explanation


def no_state(request: Request, change: Change) -> Diagnostic:
    labels = (Label(request.span(*change.at[:2]), "a change"),) if request.source else ()
    title = f"a wanted state says what is to be: it has no `{change.operation}`"
    return Diagnostic("H0878", title, labels, "only `create`, or rules alone")


def no_id(request: Request, item: RuleItem) -> Diagnostic:
    labels = (Label(request.span(*item.at[:2]), "no id"),) if request.source else ()
    return Diagnostic("H0879", "a wanted rule has no id", labels,
                      f"give it one: `{item.kind or 'FAR'} 1 …`")  # fmt: skip


WANTED: dict[str, Explanation] = {
    "H0878": Explanation(
        "a wanted state that says how to get there",
        "A wanted state is the rules that are to be there, whatever there is: `create`, or rules "
        "without a verb. What changes are to be made of that is found by comparing.",
        "update FAR 1 [(action, u8, DROP)]",
        "create FAR 1 [(action, u8, DROP)]",
    ),
    "H0879": Explanation(
        "a wanted rule without an id",
        "Rules of a wanted state are compared with those that there are, again and again, so "
        "each needs an id (or a name, where its kind has names). A rule within another belongs to "
        "that and needs none.",
        "create FAR [(action, u8, DROP)]",
        "create FAR 1 [(action, u8, DROP)]",
    ),
}
