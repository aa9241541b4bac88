"""Edges `if it fits`: whether the node that they lead to is absent where it does not fit."""

from __future__ import annotations

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, Diagnostics, error
from ...lang.text.source import Span


def nodes_that_fit(parser: tree.Parser, found: Diagnostics) -> frozenset[str]:
    """Nodes whose edges say so: all that are read, or none."""
    by_node: dict[str, list[tree.Edge]] = {}
    for edge in parser.edges:
        read = [port.text for port in edge.ports] != ["push"]
        if edge.fits and (not read or edge.source.text == "start"):
            found.add(_not_read(edge.fits.span, read))
        elif read:
            by_node.setdefault((edge.alias or edge.target).text, []).append(edge)
    fitting: set[str] = set()
    for node, edges in by_node.items():
        said = next((e.fits for e in edges if e.fits), None)
        silent = next((e for e in edges if not e.fits), None)
        if said and silent:
            found.add(_by_some(said.span, silent.span, node))
        elif said:
            fitting.add(node)
    return frozenset(fitting)


def to_chain(fits: tree.Name, chain: tree.Name) -> Diagnostic:
    return error(
        "H0334",
        f"an edge to the chain `{chain.text}` cannot ask `if it fits`",
        (fits.span, "of which header?"),
        (chain.span, "the chain"),
        help="leave it out: a header of a chain that does not fit is malformed",
    )


def _not_read(span: Span, read: bool) -> Diagnostic:
    where = "where packets start" if read else "that is written only"
    return error(
        "H0334",
        f"an edge {where} cannot ask `if it fits`",
        (span, "nothing is in front of it" if read else "no packet is read by it"),
        help="leave it out",
    )


def _by_some(span: Span, other: Span, node: str) -> Diagnostic:
    return error(
        "H0334",
        f"`{node}` is absent where it does not fit, and malformed",
        (span, "absent by this edge"),
        (other, "malformed by this one"),
        help="say `if it fits` on each edge that leads to it, or name one of the two nodes by `as`",
    )
