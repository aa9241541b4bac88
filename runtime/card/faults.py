"""What can go wrong with rules on a card, and with loading for one: H0750 to H0759."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lang.diagnostics import Diagnostic
from ...lang.explain import Explanation

if TYPE_CHECKING:
    from ...compiler.requests.rules import Rule


def same_hash(rule: Rule) -> Diagnostic:
    title = f"`{rule.kind} {rule.id}` has the hash of another rule, and a card has room for one"
    return Diagnostic("H0750", title, (), "leave one of them out, or to the host")


EXPLANATIONS: dict[str, Explanation] = {
    "H0750": Explanation(
        "two rules of a card have one hash",
        "Rules of a kind that is found `by hash` are kept by a hash of 32 bits, and what was found "
        "is compared with all that it matches: so a packet whose hash is another rule's gains "
        "nothing. But of two rules with the same hash only one can be there. Among 10,000 rules "
        "there is such a pair in one of 86 cases.",
    ),
}
