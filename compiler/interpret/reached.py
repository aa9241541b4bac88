"""What packets reached in a pipeline, as the interpreter ran them."""

from __future__ import annotations

from ...lang.text.source import Span
from ..model import Condition, Edge, Event

RUN, HIT, MISS = "run", "hit", "miss"


class Reached:
    """`statements`: by its place, that one was run, and of a look-up that it hit or missed. `edges`
    of the parse graph that were followed, and `hooks` that were run. `compared`, where it is asked
    for: comparisons of stages, and what stood left and right, since it was cleared."""

    def __init__(self, comparing: bool = False) -> None:
        self.compared: list[tuple[Condition, int, int]] | None = [] if comparing else None
        self.statements: set[tuple[Span, str]] = set()
        self.edges: set[tuple[Span, str, str]] = set()
        self.hooks: set[Event] = set()

    def statement(self, span: Span, what: str = RUN) -> None:
        self.statements.add((span, what))

    def edge(self, edge: Edge) -> None:
        self.edges.add(key_of(edge))

    def add(self, other: Reached) -> None:
        self.statements |= other.statements
        self.edges |= other.edges
        self.hooks |= other.hooks

    def clear(self) -> None:
        self.statements.clear()
        self.edges.clear()
        self.hooks.clear()
        if self.compared is not None:
            self.compared.clear()


def key_of(edge: Edge) -> tuple[Span, str, str]:
    """An edge of an array of nodes is several in the model, of one place."""
    return edge.span, edge.source, edge.target
