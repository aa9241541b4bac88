"""The order of names in a decision diagram of bindings: names that depend on each other have to be
near each other, or the diagram doubles with each pair. Sifting (R. Rudell, ICCAD 1993): each name
is moved through all places, by exchanges of neighbours, and stays where diagrams are smallest."""

from __future__ import annotations

from dataclasses import dataclass, field

from .bindings import Bindings, Table

#: Diagrams of fewer nodes in all, or for each name, are left as they are.
_SMALL, _EACH = 500, 6
#: How many times as large as the least so far the diagrams may become while a name is moved.
_GROWTH = 1.05
#: Nodes that are made anew in one go, but for the last name: some two seconds.
_TURNS = 300_000


def sift_if_large(table: Table, nodes: int) -> bool:
    """Whether diagrams of so many nodes were worth a better order, and one was looked for."""
    if nodes < max(table.tolerated, _EACH * len(table.ranks)):
        return False
    table.tolerated = 2 * max(sift(table), _SMALL)
    return True


def sift(table: Table) -> int:
    """Find a better order for all diagrams of the table, which stand for what they stood for. How
    many nodes they have then."""
    table.kept.clear()  # what nothing else refers to is gone by that
    order = _Order(table, sorted(table.ranks, key=table.ranks.__getitem__))
    counts = {name: len(level) for name, level in table.levels.items()}
    for name in sorted(counts, key=counts.__getitem__, reverse=True):
        if order.turns < _TURNS:
            _place(order, name)
    return order.nodes


@dataclass
class _Order:
    """`names`: from the first in a diagram to the last; `nodes`: of all diagrams; `turns`: how many
    were made anew so far."""

    table: Table
    names: list[str]
    nodes: int = field(init=False)
    turns: int = 0

    def __post_init__(self) -> None:
        self.nodes = sum(map(len, self.table.levels.values()))

    def exchange(self, place: int) -> None:
        """Of two names behind each other the second comes first."""
        table = self.table
        upper, lower = self.names[place : place + 2]
        above, below = table.levels[upper], table.levels[lower]
        before = len(above) + len(below)
        self.names[place : place + 2] = lower, upper
        ranks = table.ranks
        ranks[upper], ranks[lower] = ranks[lower], ranks[upper]
        for node in list(below.values()):
            node.rank = ranks[lower]
        crossing = list[Bindings]()
        for node in list(above.values()):
            node.rank = ranks[upper]
            if node.without.name == lower or node.having.name == lower:
                crossing.append(node)
                del above[node.without, node.having]
        for node in crossing:
            _turn(table, node, upper, lower)
        self.nodes += len(above) + len(below) - before
        self.turns += len(crossing)


def _turn(table: Table, node: Bindings, upper: str, lower: str) -> None:
    """A node of `upper` that has a part of `lower` becomes one of `lower`, for the same."""
    neither, second = _parts(table, node.without, lower)
    first, both = _parts(table, node.having, lower)
    node.name, node.rank = lower, table.ranks[lower]
    node.without = table.made(upper, neither, first)
    node.having = table.made(upper, second, both)
    table.levels[lower][node.without, node.having] = node


def _parts(table: Table, node: Bindings, name: str) -> tuple[Bindings, Bindings]:
    return (node.without, node.having) if node.name == name else (node, table.none)


def _place(order: _Order, name: str) -> None:
    """Move the name to both ends, as long as that makes little more of the diagrams, and to the
    best of the places that it came by."""
    last = len(order.names) - 1
    start = order.names.index(name)
    sizes = {start: order.nodes}
    ends = (0, last) if start < last - start else (last, 0)
    for end in ends:
        _move(order, name, start)
        step = 1 if end > start else -1
        for place in range(start + step, end + step, step):
            _move(order, name, place)
            sizes[place] = order.nodes
            if order.nodes > min(sizes.values()) * _GROWTH:
                break
    _move(order, name, min(sizes, key=sizes.__getitem__))


def _move(order: _Order, name: str, place: int) -> None:
    at = order.names.index(name)
    for upper in range(at, place) if at < place else range(at - 1, place - 1, -1):
        order.exchange(upper)
