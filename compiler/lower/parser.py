"""The parse graph, for one port role: a label a node, a jump an edge."""

from __future__ import annotations

from ...lang.contract.world.bare_packets import ETHERNET
from ..headers import groups
from ..headers.context import announced, place_of
from ..headers.fragments import begun_within, in_first_fragments
from ..headers.frame import DATA, END, LENGTH, let_edges
from ..ir.expr import Call, Expr, State
from ..ir.expr_builders import both, either, low_bits
from ..ir.names import chain_label, node_label
from ..ir.nodes import (
    Barrier,
    Blank,
    ForgetPlaces,
    Function,
    Goto,
    Label,
    Next,
    StatementStart,
)
from ..ir.types import BYTES, U32, U64, raw
from ..model import And, Edge, Event, Found, Header, Node, Test
from ..model.walk import walk
from . import trace
from .chains import let_walked, lower_chain
from .context import LoweringContext
from .header_steps import (
    AT,
    EVENT,
    FRAGMENTED,
    LIMIT,
    SIZE,
    WHOLE,
    P,
    ahead_test,
    begun,
    bytes_ahead,
    chains_of,
    field_test,
    fragmented,
    frame_begins,
    header_holds,
    read_header,
)


def lower_parser(site: LoweringContext, many: bool = False) -> Function:
    """All of the state is set; `drop_unused` leaves out what no stage asks for. `many`: there are
    more ways through the graph than the verifier can follow."""
    w, graph = site.writer, site.graph
    nodes = [n for n in graph.nodes if n.name in site.reachable]
    let_edges(w)
    w.let(BYTES, P.name, DATA)
    w.let(U64, WHOLE.name, LENGTH)
    w.let(U32, AT.name, 0)
    w.let(U32, LIMIT.name, WHOLE)
    w.let(U32, SIZE.name)
    w.let(U32, EVENT.name)
    let_walked(w, chains_of(site))
    parts = in_first_fragments(graph, site.role)
    if fragmented(site) == FRAGMENTED:
        w.let(raw(16), FRAGMENTED.name, 0)
    else:
        w.set(fragmented(site), 0)
    if not site.card:
        w.set(site.state("epoch"), Call("epoch_now", (), U64))
    bare = site.role in site.pipeline.bare
    w.set(site.state("length"), WHOLE - ETHERNET if bare else WHOLE)
    for each in graph.chains:
        w.set(announced(each), 0)
    with w.only(memory=True):
        _forget(site, nodes)
    bounded: set[str] = set()  # nodes behind one with an extent: `limit` may end before `end`
    chained: set[str] = set()  # chains that were written
    for node in nodes:
        chain = graph.chain(node.name)
        entering = graph.entering(node.name, site.role)
        fronts = [graph.node(e.source) for e in entering]
        if any(n.name in bounded or n.header.extent or n.header.reach for n in fronts):
            bounded.add(node.name)
        if chain is not None and chain.name not in chained:
            chained.add(chain.name)
            lower_chain(site, chain, node.name in bounded, parts)
        if chain is not None:
            continue
        with w.at(entering[0].span if entering else node.span):
            if entering:
                w.put(Blank(), Label(node_label(node.name)), StatementStart())
            if many and len(entering) > 1:
                w.set(AT, Call("forgotten", (State("scratch", BYTES), AT)))
                w.set(P, DATA + AT)
            read_header(site, node, node.name in bounded, node.name in parts)
            _leave(site, node, parts)
    w.put(Label("done"))
    trace.parsed(site)
    _goes_on(site)
    _ends(site, bool(parts & site.reachable), any(begun_within(graph, n, site.role) for n in nodes))
    return Function(
        f"stage_{site.role}_parser",
        "parser",
        site.role,
        w.body,
        graph.entry(site.role).span,
    )


def _goes_on(site: LoweringContext) -> None:
    with site.writer.only(memory=True):
        site.writer.put(Barrier())
    site.writer.returns(None)


def _ends(site: LoweringContext, parts: bool, begun: bool) -> None:
    """Where packets go that are not whole. `parts`: headers may be cut short by a first fragment,
    `begun`: a later one may begin within a header."""
    w = site.writer
    if parts:
        w.put(Blank(), Label("partial", unlikely=True))
        with w.when(fragmented(site)):
            w.put(Goto("done", leaves=True))
    w.put(Blank(), Label("malformed"))
    trace.parsed(site)
    w.count(EVENT)
    _stopped(site, "malformed")
    if parts:
        w.put(Blank(), Label("cut", unlikely=True))
        with w.unless(fragmented(site)):
            w.put(Goto("malformed", leaves=True))
    if parts or begun:
        w.put(Blank(), Label("tiny", unlikely=True))
        trace.parsed(site)
        _stopped(site, "tiny_fragment")


def _forget(site: LoweringContext, nodes: list[Node]) -> None:
    """What the packet before left in the scratch record."""
    parts = walk(site.pipeline.stages)
    tested = {part.rule for part in parts if isinstance(part, Found)}
    slots = {f"{site.tables[rule].manifest.prefix}_slot" for rule in tested}
    places = sorted(place_of(n.name).member for n in nodes if not site.leads(n.name))
    for member in sorted({"l4", "link", *(["queue"] if site.steers else []), *slots}):
        site.writer.set(site.state(member), 0)
    if places:
        site.writer.put(ForgetPlaces(tuple(places)))


def _stopped(site: LoweringContext, event: Event) -> None:
    """Run the hook of a packet at one of whose headers parsing stopped."""
    w, verdict = site.writer, site.pipeline.hooks.get(event)
    if verdict is not None:  # a decoder has no hook: it wants to know of these, too
        w.count(site.events("hook", event))
    if verdict is None or verdict == "continue":
        _goes_on(site)
    else:
        site.end("drop" if verdict == "drop" else "pass")


def _leave(site: LoweringContext, node: Node, parts: frozenset[str]) -> None:
    w, header = site.writer, node.header
    edges = site.graph.leaving(node.name, site.role)
    if header.payload and edges:
        with w.unless(header_holds(site, header, And(header.payload))):
            begun(site, node)
            w.put(Goto("done", leaves=True))
    tests = [t for e in edges for t in e.tests]
    bases: Bases = {None: P}
    for group in dict.fromkeys(header.field(t.field).group for t in tests if not t.ahead):
        if group is not None:
            bases[group] = groups.group_pointer(site, header, group, P, END)
    for count in sorted({bytes_ahead(t) for t in tests if t.ahead}):
        bases[count] = _behind(site, header, count)
    # What stands in front of a chain is asked for first: few packets have one.
    for edge in sorted(edges, key=lambda e: site.graph.chain(e.target) is not None):
        _edge(site, edge, header, bases, parts)
    w.put(Goto("done", leaves=True))


def _behind(site: LoweringContext, header: Header, count: int) -> Expr:
    """A pointer to so many bytes behind the header; null if there are fewer."""
    w = site.writer
    ahead = w.local(BYTES, "ahead", P + (_bounded(header) or low_bits(SIZE, _ones(header))))
    with w.when(either((ahead + count > END, AT + SIZE + count > LIMIT))):
        w.set(ahead, 0)
    return ahead


def _ones(header: Header) -> int:
    return header.maximum.bit_length()


def _bounded(header: Header) -> Expr | None:
    """Its size where that has many parts, one of them an array, so that clang may keep it on the
    stack: there verifiers before 6.12 forget its bound, and clang drops a mask that it finds
    needless. None for others."""
    arrays = [group for group in header.groups if group.count is not None]
    if header.size is not None or not arrays or len(header.groups) < 2:
        return None
    return low_bits(Call("opaque", (SIZE,)), _ones(header))


Bases = dict[str | int | None, Expr]


def _edge(
    site: LoweringContext, edge: Edge, header: Header, bases: Bases, parts: frozenset[str]
) -> None:
    w = site.writer
    with w.at(edge.span):
        target = site.graph.node(edge.target)
        tests = [_test(t, header, bases) for t in edge.tests]
        chain = site.graph.chain(target.name)
        with w.when(both(tests)) if tests else w.block():
            frame_begins(site, target, header, parts)
            label = chain_label(chain.name) if chain else node_label(target.name)
            bounded = _bounded(header)
            if bounded is None:
                w.put(Next(label, P, AT, SIZE))
            else:
                w.add(P, bounded)
                w.add(AT, SIZE)
                w.put(Goto(label))


def _test(test: Test, header: Header, bases: Bases) -> Expr:
    """`bases`: pointers to the fixed part, to groups and to so many bytes behind the header: null
    where these are absent."""
    if test.ahead:
        base = bases[bytes_ahead(test)]
        fits = ahead_test(test, base)
    else:
        found = header.field(test.field)
        base = bases[found.group]
        fits = field_test(test, found, base)
    return fits if base == P else both((base, fits))
