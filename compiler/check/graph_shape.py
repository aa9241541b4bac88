"""The parse graph as a whole: edges that overlap, cycles, nodes that nothing reaches, its size."""

from __future__ import annotations

from collections.abc import Sequence

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, Diagnostics, error
from ...lang.text.source import Span
from .. import model
from ..model import guards
from ..model.parse_graph import count_ways, deepest, reachable
from .edge_guards import shown_common, shown_guard, suggestion
from .stacks import is_copy

MOST_NODES = 32
MOST_WAYS = 16_384
DEEPEST = 32_767


def check_overlaps(
    parser: tree.Parser,
    edges: Sequence[model.Edge],
    further: frozenset[str],
    found: Diagnostics,
) -> None:
    """Of two edges that leave a node on one role, at most one may match. `further`: nodes of which
    what is said of the first of their chain is not said again."""
    guards_of = {id(e): t for e, t in ((e, _guard_span(parser, e)) for e in edges)}
    edges = sorted(edges, key=lambda e: e.span.start)  # those of chains are found last
    for i, second in enumerate(edges):
        for first in edges[:i]:
            if first.source != second.source or not first.roles & second.roles:
                continue
            if is_copy(first.source) or first.source in further or first.span == second.span:
                continue  # said of the first node of the stack, or of what the chain has
            if not guards.overlap(first.tests, second.tests):
                continue
            if first.target == second.target and first.tests == second.tests:
                found.add(_duplicate_edge(second.span, first.span))
            else:
                found.add(
                    _overlapping_edges(
                        guards_of[id(first)],
                        guards_of[id(second)],
                        shown_guard(first),
                        shown_common(first, second),
                        suggestion(first, second),
                    )
                )
            break


def _guard_span(parser: tree.Parser, edge: model.Edge) -> Span:
    written = next((e for e in parser.edges if e.span == edge.span), None)
    if written is None:
        return edge.span  # leads back in a chain
    own = [t.span for t in written.guard if edge.span.start <= t.span.start < edge.span.end]
    return own[0].to(own[-1]) if own else edge.span


def cycle_among(edges: Sequence[model.Edge], among: Sequence[str]) -> Diagnostic:
    """Of nodes each of which has one of them in front."""
    at = among[0]
    way: list[model.Edge] = []
    while at not in (e.target for e in way):
        # Every node that waits has a predecessor that waits: walk back until one comes again.
        edge = next(e for e in edges if e.target == at and e.source in among)
        way.append(edge)
        at = edge.source
    start = next(i for i, e in enumerate(way) if e.target == at)
    circle = list(reversed(way[start:]))
    return _cycle([(e.span, f"{e.source} -> {e.target}") for e in circle])


def check_reach(graph: model.Graph, roles: Sequence[str], found: Diagnostics) -> None:
    """Every node is read on some role, or there to be pushed."""
    reached = {role: reachable(graph, role) for role in roles}
    for node in graph.nodes:
        if any(node.name in r for r in reached.values()):
            continue
        entering = graph.entering(node.name)
        if any(not e.roles for e in entering):
            continue  # it is there to be pushed
        if any(all(e.source not in r for r in reached.values()) for e in entering):
            continue  # what leads here is reported itself
        sources = [(e.span, e.source) for e in entering]
        found.add(_unreachable_node(node.span, node.name, sources))


def check_size(graph: model.Graph, roles: Sequence[str], whole: Span, found: Diagnostics) -> None:
    """Nodes, ways and depth are bounded. `whole`: the parser as written."""
    if len(graph.nodes) > MOST_NODES:
        found.add(_too_large(whole, "nodes", len(graph.nodes), MOST_NODES))
        return
    for role in roles:
        count = count_ways(graph, role)
        if count > MOST_WAYS:
            found.add(_too_large(whole, f"ways on `{role}`", count, MOST_WAYS))
            return
    depth, way = deepest(graph)
    if depth > DEEPEST:
        found.add(_too_deep(graph, depth, way))


# ---- errors ---------------------------------------------------------------------------------


def _duplicate_edge(again: Span, first: Span) -> Diagnostic:
    return error(
        "H0212",
        "this edge is there already",
        (again, "said again"),
        (first, "the same edge"),
        help="remove one of the two",
    )


def _overlapping_edges(
    first: Span, second: Span, first_matches: str, second_matches: str, help: str
) -> Diagnostic:
    return error(
        "H0213",
        "these two edges overlap",
        (second, f"also matches {second_matches}"),
        (first, f"matches {first_matches}"),
        help=help,
    )


def _unreachable_node(name: Span, node: str, sources: Sequence[tuple[Span, str]]) -> Diagnostic:
    return error(
        "H0215",
        f"no packet reaches `{node}`",
        (name, "not reached on any port role"),
        *((span, f"`{source}` is not reached where this edge is read") for span, source in sources),
        help="lead an edge to it from a node that is reached on the same ports",
    )


def _cycle(edges: Sequence[tuple[Span, str]]) -> Diagnostic:
    return error(
        "H0216",
        "the parse graph goes round in a circle",
        *edges,
        help="give each instance of a header a name of its own, `-> ipv4 as inner`, or bound how "
        "many of a kind stand in a row: `-> vlan[2]`",
    )


def _too_deep(graph: model.Graph, depth: int, way: Sequence[str]) -> Diagnostic:
    steps, fewer = list(way), ""
    for chain in graph.chains:
        if met := [name for name in way if name in chain.members]:
            largest = max(graph.node(m).header.maximum for m in chain.members)
            steps[steps.index(met[0])] = f"{chain.most} of `{chain.name}`, {largest:,} bytes each"
            fits = (DEEPEST - depth) // largest + chain.most
            fewer = f", or write `max {fits}` for `{chain.name}`" if fits > 0 else fewer
    return error(
        "H0217",
        f"headers may end up to {depth:,} bytes into the packet",
        (graph.node(way[-1]).span, f"the longest way: {' -> '.join(steps)}"),
        help=f"the kernel's verifier follows {DEEPEST:,} bytes at most: shorten the way{fewer}",
    )


def _too_large(span: Span, what: str, count: int, limit: int) -> Diagnostic:
    return error(
        "H0218",
        f"the parse graph has {count} {what}",
        (span, f"at most {limit}"),
        help="leave out what no stage reads, or split the pipeline",
    )
