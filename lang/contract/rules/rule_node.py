"""`Node`: a rule as it stands in a request, with the rules within it."""

from __future__ import annotations

from collections.abc import Iterator

from ..request.request import IE, Change, Operation, RuleItem
from .rulekinds import Kind


class Node:
    """A rule of the request with what belongs to it. `same`: a bare word stands for that rule.
    `beside`: the rule that this entry of a spread is for; `entry_of`: the entry with which the
    group begins (spread_with_rule.py). `origin`: the item of the request that it was made of."""

    __slots__ = ("beside", "children", "entry_of", "id", "ies", "item", "kind", "operation",
                 "origin", "parent", "rule", "same")  # fmt: skip

    def __init__(self, kind: Kind, item: RuleItem, operation: Operation) -> None:
        self.kind, self.item, self.operation = kind, item, operation
        self.origin = item
        self.ies: list[IE] = []
        self.children: list[Node] = []
        self.parent: Node | None = None
        self.same: Node | None = None
        self.beside: Node | None = None
        self.entry_of: Node | None = None
        self.id = 0  # of the rule, once planned
        self.rule: object = None

    @property
    def place(self) -> RuleItem:
        """The item that says where it stands."""
        return self.item if self.item.at else self.origin

    def described(self) -> bool:
        """More than a reference: something is said about the rule."""
        return bool(self.ies or self.children)


class Arranged:
    """An arranged change."""

    __slots__ = ("change", "nodes")

    def __init__(self, change: Change) -> None:
        self.change = change
        self.nodes: list[Node] = []


def take_apart(tree: list[Arranged]) -> Iterator[None]:
    """Let go of a tree, a node at a time. Its nodes refer to each other: what is only dropped stays
    in memory where garbage is not collected (runtime/base/gc_pause.py)."""
    while tree:
        todo = tree.pop().nodes
        while todo:
            node = todo.pop()
            todo += node.children
            node.children = []
            node.parent = node.same = node.beside = node.entry_of = None
            yield
