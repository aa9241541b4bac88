"""Stacks of headers, `vlan[2]`, as plain nodes `vlan`, `vlan[1]` and edges between them.

Everything that comes after this sees plain nodes only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, Diagnostics, error
from ...lang.text.source import Span

DEEPEST_STACK = 16


def unrolled(parser: tree.Parser, found: Diagnostics) -> tree.Parser:
    """The same graph without stacks: an edge that leaves a stack leaves each of its nodes, one from
    the stack to itself leads from each node to the next."""
    stacks: dict[str, tree.Edge] = {}
    for edge in parser.edges:
        if edge.depth is not None:
            _check(edge, edge.depth, stacks, parser, found)
    if not stacks:
        return parser
    headers = {e.alias.text: e.target for e in parser.edges if e.alias is not None}
    edges = tuple(copy for edge in parser.edges for copy in _copies(edge, stacks, headers))
    return replace(parser, edges=edges)


def is_copy(node: str) -> bool:
    """Whether a node is a further one of a stack: what is said of it was said of the first."""
    return node.endswith("]")


def _check(
    edge: tree.Edge,
    depth: tree.Number,
    stacks: dict[str, tree.Edge],
    parser: tree.Parser,
    found: Diagnostics,
) -> None:
    name = _reached(edge)
    if not 1 <= depth.value <= DEEPEST_STACK:
        found.add(_no_depth(depth.span, DEEPEST_STACK))
        return
    first = stacks.setdefault(name, edge)
    assert first.depth is not None
    if first.depth.value != depth.value:
        found.add(_two_depths(depth.span, first.depth.span, name))
    if first is edge and not any(e.source.text == name == _reached(e) for e in parser.edges):
        found.add(_stack_of_one(edge.target.span.to(depth.span), name))


def _reached(edge: tree.Edge) -> str:
    return (edge.alias or edge.target).text


def _copies(
    edge: tree.Edge, stacks: dict[str, tree.Edge], headers: dict[str, tree.Name]
) -> Iterator[tree.Edge]:
    """`headers`: of the nodes that have a name of their own."""
    source, target = edge.source, _reached(edge)
    stack = stacks.get(source.text)
    for i in range(stack.depth.value) if stack is not None and stack.depth else (0,):
        left = replace(edge, source=_node(source, i), depth=None)
        if stack is None or target != source.text:
            yield left
        elif stack.depth and i + 1 < stack.depth.value:
            alias = _node(edge.target, i + 1, source.text)
            yield replace(left, target=headers.get(source.text, stack.target), alias=alias)


def _node(written: tree.Name, index: int, name: str = "") -> tree.Name:
    text = name or written.text
    return tree.Name(written.span, f"{text}[{index}]" if index else text)


# ---- errors ---------------------------------------------------------------------------------


def _no_depth(span: Span, limit: int) -> Diagnostic:
    return error(
        "H0227",
        "a stack of headers has a bound",
        (span, f"from 1 to {limit} of them"),
        help="say how many there are at most, as in `-> vlan[2]`",
    )


def _two_depths(again: Span, first: Span, node: str) -> Diagnostic:
    return error(
        "H0227",
        f"the stack `{node}` has two bounds",
        (again, "another bound"),
        (first, "the first"),
        help="write the same bound on each edge that leads to it, or on one of them only",
    )


def _stack_of_one(span: Span, node: str) -> Diagnostic:
    return error(
        "H0228",
        f"no edge leads from one `{node}` to the next",
        (span, "a stack"),
        help=f"say what announces another one: `{node} -> {node} when …`",
    )
