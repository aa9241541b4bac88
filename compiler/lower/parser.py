"""The parse graph, for one port role: a label a node, a jump an edge."""

from __future__ import annotations

from contextlib import nullcontext

from ..headers import groups
from ..headers.context import announced, place_of, pointer_to
from ..headers.fields import field_value
from ..headers.fragments import FRAGMENT, begun_within, in_first_fragments
from ..headers.frame import DATA, END, LENGTH, let_edges
from ..ir.expr import Call, Expr, Name, State, Symbol, load, not_, number
from ..ir.expr_builders import both, either, low_bits
from ..ir.names import c_name
from ..ir.nodes import (
    Barrier,
    Blank,
    ForgetPlaces,
    Function,
    Goto,
    Label,
    Next,
    StatementStart,
    Stop,
)
from ..ir.types import BYTES, U32, U64, raw
from ..model import And, Chain, Condition, Edge, Event, Field, Found, Header, Node, Test
from ..model.checksums import LAYER4, NETWORK
from ..model.parse_graph import behind_ports, sometimes_leading, tunnels
from . import trace
from .conditions import condition
from .context import LoweringContext
from .reads import walk
from .values import value

#: The header that the parser is at, the byte where it starts, and how many it has; the byte where
#: what is in front of it ends; whether this is a fragment; what is wrong.
P, AT, SIZE = Name("p", BYTES), Name("at"), Name("size")
LIMIT, WHOLE = Name("limit"), Name("length", U64)
FRAGMENTED, EVENT = Name("fragment", raw(16)), Name("event")


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
    for chain in _chains(site):
        w.let(U32, walked(chain).name, 0)
    parts = in_first_fragments(graph, site.role)
    w.let(raw(16), FRAGMENTED.name, 0)
    if not site.card:
        w.set(site.state("epoch"), Call("epoch_now", (), U64))
    w.set(site.state("length"), WHOLE)
    for chain in graph.chains:
        w.set(announced(chain), 0)
    with w.only(memory=True):
        _forget(site, nodes)
    bounded: set[str] = set()  # nodes behind one with an extent: `limit` may end before `end`
    for node in nodes:
        entering = graph.entering(node.name, site.role)
        fronts = [graph.node(e.source) for e in entering]
        if any(n.name in bounded or n.header.extent or n.header.reach for n in fronts):
            bounded.add(node.name)
        with w.at(entering[0].span if entering else node.span):
            if entering:
                w.put(Blank(), Label(f"node_{c_name(node.name)}"), StatementStart())
            if (many and len(entering) > 1) or graph.chain(node.name):
                w.set(AT, Call("forgotten", (State("scratch", BYTES), AT)))
                w.set(P, DATA + AT)
            _node(site, node, node.name in bounded, parts)
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


def _chains(site: LoweringContext) -> list[Chain]:
    """Those that a packet of the role may have."""
    return [c for c in site.graph.chains if site.reachable & set(c.members)]


def walked(chain: Chain) -> Name:
    """How many headers of a chain the parser came to."""
    return Name(f"{c_name(chain.name)}_walked")


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
        with w.when(FRAGMENTED):
            w.put(Goto("done", leaves=True))
    w.put(Blank(), Label("malformed"))
    trace.parsed(site)
    w.count(EVENT)
    _stopped(site, "malformed")
    if parts:
        w.put(Blank(), Label("cut", unlikely=True))
        with w.unless(FRAGMENTED):
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


def _node(site: LoweringContext, node: Node, bounded: bool, parts: frozenset[str]) -> None:
    """`parts`: nodes that may stand in a first fragment, and so perhaps not whole."""
    w, header, part = site.writer, node.header, node.name in parts
    _bound(site, node, number(header.minimum), bounded, part)
    for accept in header.accept:
        with w.unless(_holds(site, header, accept)):
            w.put(Goto("done", leaves=True))
    _size(site, node, bounded, part)
    for require in header.require:
        _damage(site, not_(_holds(site, header, require)), node, "invalid")
    if header.extent is not None:
        extent = value(site, header.extent, (P, header)).host()
        broken = either((extent < SIZE, extent > LIMIT - AT))  # a sum could wrap
        _damage(site, broken, node, "length", "partial" if part else "malformed")
        w.set(LIMIT, AT + extent)
    if header.reach is not None and _reaches(site, node):
        reach = value(site, header.reach, (P, header)).host()
        with w.unless(FRAGMENTED):
            _damage(site, either((reach < SIZE, reach > LIMIT - AT)), node, "length")
            w.set(LIMIT, AT + reach)
    _remember(site, node)
    _leave(site, node, parts)


def _reaches(site: LoweringContext, node: Node) -> bool:
    """Whether it matters where what stands behind the node ends."""
    behind = site.graph.leaving(node.name, site.role)
    return node.header.reach is not None and bool(behind)


def _holds(site: LoweringContext, header: Header, clause: Condition) -> Expr:
    """A condition of a header's clause, of the header at P."""
    found = condition(site, clause, (P, header))
    return number(found) if isinstance(found, bool) else found


def _damage(
    site: LoweringContext, broken: Expr, node: Node, reason: str, label: str = "malformed"
) -> None:
    """`label`: what decides, `cut` and `partial` by whether this stands in a fragment."""
    with site.writer.when(broken, unlikely=True):
        site.writer.put(Stop(label, EVENT, site.events("malformed", f"{node.name}: {reason}")))


def _bound(site: LoweringContext, node: Node, size: Expr, bounded: bool, part: bool) -> None:
    beyond = [P + size > END, *([AT + size > LIMIT] if bounded else [])]
    _damage(site, either(beyond), node, "truncated", "cut" if part else "malformed")


def _size(site: LoweringContext, node: Node, bounded: bool, part: bool) -> None:
    """Set SIZE; check the bounds again where it is more than the minimum."""
    w, header = site.writer, node.header
    w.set(SIZE, groups.size(site, header, P))
    if header.size is not None:
        _damage(site, groups.parts(site, header, P) > SIZE, node, "length")
    if header.size is not None or header.groups:
        _bound(site, node, SIZE, bounded, part)


def _remember(site: LoweringContext, node: Node) -> None:
    w, protocol, graph = site.writer, node.header.protocol, site.graph
    chain = graph.chain(node.name)
    with w.when(place_of(node.name).is_(Symbol("ABSENT"))) if chain else nullcontext():
        trace.node(site, node, AT)  # of a chain the first
        with w.only(memory=False):
            w.set(pointer_to(node.name), P)
        if not site.leads(node.name):
            w.set(place_of(node.name), AT)
    if node.name in site.links:
        perhaps = node.name in sometimes_leading(graph, site.role)
        with w.when(site.state("link").is_(AT)) if perhaps else nullcontext():
            w.set(site.state("link"), AT + SIZE)
    if protocol in FRAGMENT:
        said = FRAGMENT[protocol](P)
        (w.set if protocol in NETWORK else w.join)(FRAGMENTED, said)
    if node.name in tunnels(graph, site.role):
        w.set(site.state("l4"), 0)
    if protocol in LAYER4:
        with w.unless(FRAGMENTED):
            w.set(site.state("l4"), load(P, 0, 32))
        if node.name in behind_ports(graph, site.role):
            with w.otherwise():
                w.set(site.state("l4"), 0)


def _leave(site: LoweringContext, node: Node, parts: frozenset[str]) -> None:
    w, header = site.writer, node.header
    # Where a packet may go on without a chain, or leave it, that is asked first.
    onward = site.graph.onward(node.name, site.role)
    edges = sorted(onward, key=lambda e: site.graph.chain(e.target) is not None)
    _announce(site, node)
    if header.payload and edges:
        with w.unless(_holds(site, header, And(header.payload))):
            _begun(site, node)
            w.put(Goto("done", leaves=True))
    tests = [t for e in edges for t in e.tests]
    bases: Bases = {None: P}
    for group in dict.fromkeys(header.field(t.field).group for t in tests if not t.ahead):
        if group is not None:
            bases[group] = groups.group_pointer(site, header, group, P, END)
    for count in sorted({_bytes_ahead(t) for t in tests if t.ahead}):
        bases[count] = _behind(site, header, count)
    for edge in edges:
        _edge(site, edge, header, bases, parts)
    w.put(Goto("done", leaves=True))


def _announce(site: LoweringContext, node: Node) -> None:
    """Keep what the header says of what stands behind it, or behind a chain."""
    w, header = site.writer, node.header
    for chain in site.graph.chains:
        if node.name not in (*chain.fronts, *chain.members):
            continue
        field = header.field(chain.by)
        if field.group is None:
            w.set(announced(chain), field_value(P, field).host())
        else:
            base = groups.group_pointer(site, header, field.group, P, END)
            with w.when(base):
                w.set(announced(chain), field_value(base, field).host())


def _begun(site: LoweringContext, node: Node) -> None:
    """Of a later fragment: whether it begins within the header that the node leads to."""
    graph, header = site.graph, node.header
    for edge in begun_within(graph, node, site.role):
        offset = field_value(P, header.field("fragment_offset")).host()
        tests = [_test(test, header, {None: P}) for test in edge.tests]
        inside = offset * 8 < graph.node(edge.target).header.minimum
        with site.writer.when(both([*tests, inside])):
            site.writer.put(Goto("tiny", leaves=True))


def _bytes_ahead(test: Test) -> int:
    return (test.ahead + 7) // 8


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
        if chain is not None and edge.source in chain.members:
            tests.append(walked(chain) < chain.most)
        with w.when(both(tests)) if tests else w.block():
            if target.header.link and not header.link:
                label = "partial" if target.name in parts else "malformed"
                _damage(site, LIMIT.is_not(WHOLE), target, "length", label)
            if chain is not None:
                w.add(walked(chain), 1)
            label, bounded = f"node_{c_name(target.name)}", _bounded(header)
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
        base, found = bases[_bytes_ahead(test)], Field(test.field, 0, test.ahead, "uint")
    else:
        found = header.field(test.field)
        base = bases[found.group]
    read = field_value(base, found).host()
    if test.mask is not None:
        read = read & test.mask
    fits = either(
        read.is_(low) if low == high else both((read >= low, read <= high))
        for low, high in test.ranges
    )
    return fits if base == P else both((base, fits))
