"""What can go wrong with rules on a card, and with loading for one: H0750 to H0759."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lang.diagnostics import Diagnostic
from ...lang.explain import Explanation

if TYPE_CHECKING:
    from .tables import Taken


def taken(taken: Taken) -> Diagnostic:
    rule = taken.rule
    if taken.hashed:
        why = f"`{rule.kind} {rule.id}` has the hash of another rule, and a card has room for one"
        return Diagnostic("H0751", why, (), "leave one of them out, or to the host")
    return Diagnostic(
        "H0750", f"`{rule.kind} {rule.id}` matches just what another rule matches", (),
        "a card holds one rule for each match: delete or update the other",
    )  # fmt: skip


EXPLANATIONS: dict[str, Explanation] = {
    "H0750": Explanation(
        "two rules of a card match the same",
        "A card finds a rule by its whole key, in a table that has each key once. On the host the "
        "older of two such rules holds, and the younger when that one goes.",
    ),
    "H0751": Explanation(
        "two rules of a card have one hash",
        "Rules of a kind that is found `by hash` are kept by a hash of 32 bits, and what was found "
        "is compared with all that it matches: so a packet whose hash is another rule's gains "
        "nothing. But of two rules with the same hash only one can be there. Among 10,000 rules "
        "there is such a pair in one of 86 cases.",
    ),
}
