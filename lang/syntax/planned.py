"""Words that a later release gives a meaning to (H0119): what there is in their place today."""

from __future__ import annotations

from typing import Literal

from ..text.diagnostics import Diagnostic, Label
from ..text.frozen import Frozen
from ..text.source import Span

Where = Literal["clause"]


class Planned(Frozen):
    """`where`: as what it may stand within a line of a rule."""

    where: tuple[Where, ...]
    label: str
    instead: str


PLANNED = {
    "ages": Planned(("clause",), "no rule goes by itself yet",
                    "`emit IDLE {…} after 60 idle` tells a controller, which deletes the rule; "
                    "entries of a `state` age"),
}  # fmt: skip


def planned(where: Span, said: Where | None = None) -> Diagnostic | None:
    """What is to be said of the word at `where`, if it is one of these. `said`: as what it was
    written; None where it begins a line, or was read as a name that nothing has."""
    word = PLANNED.get(where.text)
    if word is None or (said and said not in word.where):
        return None
    return _not_in_this_release(where, word.label, word.instead)


# ---- errors ---------------------------------------------------------------------------------


def _not_in_this_release(where: Span, label: str, instead: str) -> Diagnostic:
    """See planned.py."""
    title = f"`{where.text}` is not in this release"
    return Diagnostic("H0119", title, (Label(where, label),), instead)
