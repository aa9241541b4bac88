"""Names that statements mention, from which follows what nobody asks of a packet any more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate

from ...lang import tree
from ...lang.text.frozen import kept
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
    """All names in a part of the tree."""
    return frozenset(_below(node))


def _below(node: object) -> Iterator[str]:
    if isinstance(node, tree.Name):
        yield node.text
    elif isinstance(node, tuple):
        for each in node:
            yield from _below(each)
    elif isinstance(node, tree.Node):
        parts: tuple[str, ...] = node.__match_args__[1:]
        for part in parts:
            yield from _below(getattr(node, part))
