"""Names that statements mention, from which follows what nobody asks of a packet any more."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate

from ...lang import tree
from ...lang.text.frozen import kept, members
from .flow import State, forget
from .stage_program import Program


def mentions(node: tree.Node, actions: Mapping[str, tree.Action]) -> frozenset[str]:
    """All names in a statement or a block, and in the actions that it applies."""
    found, left = set[str](), [node]
    while left:
        for name in names_in(left.pop()) - found:
            found.add(name)
            if name in actions:
                left.append(actions[name].body)
    return frozenset(found)


def mentioned_behind(program: Program, written: tree.Block) -> list[frozenset[str]]:
    """Of each statement of a block, the names that those behind it mention."""
    each = [mentions(s, program.actions) for s in reversed(written.statements)]
    behind = accumulate(each, frozenset.union, initial=frozenset[str]())
    return list(behind)[:-1][::-1]


def forget_unasked(program: Program, state: State, asked: frozenset[str]) -> State:
    """The packets, told apart by no rule or entry that nobody asks for from here on."""
    own = frozenset((*program.rules.known, *program.states))
    return forget(state, own - asked)


@kept
def names_in(node: tree.Node) -> frozenset[str]:
    """All names in a part of the tree. Each statement keeps its own: the branches of a long
    `else if` are within each other."""
    found, left = set[str](), list[object](_parts(node))
    while left:
        part = left.pop()
        if isinstance(part, tree.Name):
            found.add(part.text)
        elif isinstance(part, tree.Block | tree.If):
            found |= names_in(part)
        elif isinstance(part, tuple):
            left += part
        elif isinstance(part, tree.Node):
            left += _parts(part)
    return frozenset(found)


def _parts(node: tree.Node) -> list[object]:
    return [node] if isinstance(node, tree.Name) else list(members(node)[1:])
