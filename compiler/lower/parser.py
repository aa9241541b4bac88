"""The parse graph as C, for one port role: a label a node, a jump an edge."""

from __future__ import annotations

from ..model import And, Edge, Event, Field, Found, Header, Node, Test
from ..model.parse_graph import sometimes_leading, tunnels
from ..model.sums import LAYER4
from . import groups, trace
from .conditions import condition
from .fields import constant, field_value
from .fragments import begun_within, in_first_fragments
from .ip import FRAGMENT
from .lowered import Function, c_name
from .reads import walk
from .site import Site
from .values import value

_UNUSED = "__attribute__((unused))"  # of a label: not every graph has a way there


def lower_parser(site: Site, wanted: frozenset[str], many: bool = False) -> Function:
    """`wanted` are the state members that the stages use; only those are set. `many`: there are
    more ways through the graph than the verifier can follow."""
    w, graph = site.writer, site.pipeline.graph
    nodes = [n for n in graph.nodes if n.name in site.reachable]
    w.put(
        "void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end, *p = data;",
        "u64 length = frame_length(ctx);",
        "u32 at = 0, limit = length, size, event;",
    )
    parts = in_first_fragments(graph, site.role)
    if "l4" in wanted or parts or any(_reaches(site, node) for node in nodes):
        wanted |= {"fragment"}
        w.put("u16 fragment = 0;")
    if "epoch" in wanted and not site.card:
        w.put(f"{site.state('epoch')} = epoch_now();")
    if "length" in wanted:
        w.put(f"{site.state('length')} = length;")
    if site.in_memory:
        _forget(site, wanted, nodes)
    bounded: set[str] = set()  # nodes behind one with an extent: `limit` may end before `end`
    for node in nodes:
        entering = graph.entering(node.name, site.role)
        fronts = [graph.node(e.source) for e in entering]
        if any(n.name in bounded or n.header.extent or n.header.reach for n in fronts):
            bounded.add(node.name)
        with w.at(entering[0].span if entering else node.span):
            if entering:
                w.put("", f"node_{c_name(node.name)}:")
            if many and len(entering) > 1:
                w.put("at = forgotten(st->scratch, at);", "p = data + at;")
            _node(site, node, wanted, node.name in bounded, parts)
    w.put("done:")
    trace.parsed(site)
    if site.in_memory:
        w.put("REMEMBERED;")
    w.put("return CONTINUE;")
    if parts & site.reachable:
        w.put("", f"partial: {_UNUSED};", "if (fragment)", "\tLEAVE(done);")
    w.put("", "malformed:")
    trace.parsed(site)
    w.put("count_event(event);")
    _stopped(site, "malformed")
    if parts & site.reachable:
        w.put("", f"cut: {_UNUSED};", "if (!fragment)", "\tLEAVE(malformed);")
    if parts & site.reachable or any(begun_within(graph, node, site.role) for node in nodes):
        w.put("", f"tiny: {_UNUSED};")
        trace.parsed(site)
        _stopped(site, "tiny_fragment")
    return Function(
        f"stage_{site.role}_parser",
        "parser",
        site.role,
        tuple(w.lines),
        graph.entry(site.role).span,
    )


def _forget(site: Site, wanted: frozenset[str], nodes: list[Node]) -> None:
    """What the packet before left in the scratch record."""
    parts = walk(site.pipeline.stages)
    tested = {part.rule for part in parts if isinstance(part, Found)}
    slots = {f"{site.tables[rule].manifest.prefix}_slot" for rule in tested}
    places = {f"{c_name(n.name)}_at" for n in nodes if not site.leads(n.name)}
    for members, nothing in (({"l4", "link", "queue"} | slots, "0"), (places, "ABSENT")):
        site.writer.put(*(f"{site.state(m)} = {nothing};" for m in sorted(wanted & members)))


def _stopped(site: Site, event: Event) -> None:
    """Run the hook of a packet at one of whose headers parsing stopped."""
    w, verdict = site.writer, site.pipeline.hooks.get(event)
    if verdict is not None:  # a decoder has no hook: it wants to know of these, too
        w.put(f"count_event({site.events('hook', event)});")
    if verdict is not None and verdict != "continue":
        w.put(f"return verdict({site.events('verdict', verdict)}, XDP_{verdict.upper()});")
        return
    if site.in_memory:
        w.put("REMEMBERED;")
    w.put("return CONTINUE;")


def _node(
    site: Site, node: Node, wanted: frozenset[str], bounded: bool, parts: frozenset[str]
) -> None:
    """`parts`: nodes that may stand in a first fragment, and so perhaps not whole."""
    w, header, part = site.writer, node.header, node.name in parts
    _bound(site, node, str(header.minimum), bounded, part)
    for accept in header.accept:
        w.put(f"if (!({condition(site, accept, ('p', header))}))", "\tLEAVE(done);")
    _size(site, node, bounded, part)
    for require in header.require:
        _damage(site, f"!({condition(site, require, ('p', header))})", node, "invalid")
    if header.extent is not None:
        extent = value(site, header.extent, ("p", header)).host()
        broken = f"{extent} < size || at + {extent} > limit"
        _damage(site, broken, node, "length", "partial" if part else "malformed")
        w.put(f"limit = at + {extent};")
    if header.reach is not None and _reaches(site, node):
        reach = value(site, header.reach, ("p", header)).host()
        with w.nest("if (!fragment) {"):
            _damage(site, f"{reach} < size || at + {reach} > limit", node, "length")
            w.put(f"limit = at + {reach};")
    _remember(site, node, wanted)
    _leave(site, node, parts)


def _reaches(site: Site, node: Node) -> bool:
    """Whether it matters where what stands behind the node ends."""
    behind = site.pipeline.graph.leaving(node.name, site.role)
    return node.header.reach is not None and bool(behind)


def _damage(site: Site, broken: str, node: Node, reason: str, label: str = "malformed") -> None:
    """`label`: what decides, `cut` and `partial` by whether this stands in a fragment."""
    with site.writer.nest(f"if (SELDOM({broken})) {{"):
        event = site.events("malformed", f"{node.name}: {reason}")
        site.writer.put(f"event = {event}; /* {node.name}: {reason} */", f"LEAVE({label});")


def _bound(site: Site, node: Node, size: str, bounded: bool, part: bool) -> None:
    text = f"p + {size} > end" + (f" || at + {size} > limit" if bounded else "")
    _damage(site, text, node, "truncated", "cut" if part else "malformed")


def _size(site: Site, node: Node, bounded: bool, part: bool) -> None:
    """Set `size`; recheck the bounds where it is more than the minimum."""
    w, header = site.writer, node.header
    w.put(f"size = {groups.size(site, header, 'p')};")
    if header.size is not None:
        _damage(site, f"size < {groups.parts(site, header, 'p')}", node, "length")
    if header.size is not None or header.groups:
        _bound(site, node, "size", bounded, part)


def _remember(site: Site, node: Node, wanted: frozenset[str]) -> None:
    w, protocol = site.writer, node.header.protocol
    name = c_name(node.name)
    trace.node(site, node)
    if f"{name}_at" in wanted:
        if not site.in_memory:
            w.put(f"st->{name}_h = p;")
        if f"{name}_off" in wanted if site.card else not (site.in_memory and site.leads(node.name)):
            w.put(f"{site.offset(node.name)} = at;")
    if node.name in site.links and "link" in wanted:
        if node.name in sometimes_leading(site.pipeline.graph, site.role):
            w.put(f"if ({site.state('link')} == at)")
        w.put(f"{site.state('link')} = at + size;")
    if protocol in FRAGMENT and "fragment" in wanted:
        w.put(f"fragment = {FRAGMENT[protocol].format('p')};")
    if "l4" not in wanted:
        return
    if node.name in tunnels(site.pipeline.graph, site.role):
        w.put(f"{site.state('l4')} = 0;")
    if protocol in LAYER4:
        w.put("if (!fragment)", f"\t{site.state('l4')} = RAW32(p, 0);")


def _leave(site: Site, node: Node, parts: frozenset[str]) -> None:
    w, header = site.writer, node.header
    edges = site.pipeline.graph.leaving(node.name, site.role)
    if header.payload and edges:
        text = condition(site, And(header.payload), ("p", header))
        with w.nest(f"if (!({text})) {{"):
            _begun(site, node)
            w.put("LEAVE(done);")
    tests = [t for e in edges for t in e.tests]
    bases: dict[str | int | None, str] = {None: "p"}
    for group in dict.fromkeys(header.field(t.field).group for t in tests if not t.ahead):
        if group is not None:
            bases[group] = groups.group_pointer(site, header, group, "p", "end")
    for octets in sorted({_octets_ahead(t) for t in tests if t.ahead}):
        bases[octets] = _behind(site, header, octets)
    for edge in edges:
        _edge(site, edge, header, bases, parts)
    w.put("LEAVE(done);")


def _begun(site: Site, node: Node) -> None:
    """Of a later fragment: whether it begins within the header that the node leads to."""
    graph, header = site.pipeline.graph, node.header
    for edge in begun_within(graph, node, site.role):
        offset = field_value("p", header.field("fragment_offset")).host()
        tests = [f"({_test(test, header, {None: 'p'})})" for test in edge.tests]
        inside = f"{offset} * 8 < {graph.node(edge.target).header.minimum}"
        site.writer.put(f"if ({' && '.join([*tests, inside])})", "\tLEAVE(tiny);")


def _octets_ahead(test: Test) -> int:
    return (test.ahead + 7) // 8


def _behind(site: Site, header: Header, octets: int) -> str:
    """C name of a pointer to so many octets behind the header; null if there are fewer."""
    name = site.writer.fresh("ahead")
    site.writer.put(
        f"void *{name} = p + {_bounded(header) or f'(size & {_ones(header)})'};",
        f"if ({name} + {octets} > end || at + size + {octets} > limit)",
        f"\t{name} = 0;",
    )
    return name


def _ones(header: Header) -> int:
    return (1 << header.maximum.bit_length()) - 1


def _bounded(header: Header) -> str:
    """C text of its size where that has many parts, one of them an array, so that clang may keep it
    on the stack: there verifiers before 6.12 forget its bound, and clang drops a mask that it finds
    needless. Empty for others."""
    arrays = [group for group in header.groups if group.count is not None]
    if header.size is not None or not arrays or len(header.groups) < 2:
        return ""
    return f"({{ u32 octets = size; OPAQUE(octets); octets & {_ones(header)}; }})"


def _edge(
    site: Site, edge: Edge, header: Header, bases: dict[str | int | None, str],
    parts: frozenset[str],
) -> None:  # fmt: skip
    with site.writer.at(edge.span):
        tests = " && ".join(f"({_test(t, header, bases)})" for t in edge.tests) or "1"
        target = site.pipeline.graph.node(edge.target)
        with site.writer.nest(f"if ({tests}) {{"):
            if target.header.link and not header.link:
                label = "partial" if target.name in parts else "malformed"
                _damage(site, "limit != length", target, "length", label)
            step = f"p += {_bounded(header) or 'size'};"
            site.writer.put(step, "at += size;", f"goto node_{c_name(target.name)};")


def _test(test: Test, header: Header, bases: dict[str | int | None, str]) -> str:
    """`bases`: C names of pointers to the fixed part, to groups and to so many octets behind the
    header: null where these are absent."""
    if test.ahead:
        base, found = bases[_octets_ahead(test)], Field(test.field, 0, test.ahead, "uint")
    else:
        found = header.field(test.field)
        base = bases[found.group]
    field = field_value(base, found)
    parts = []
    for low, high in test.ranges:
        first, last = (constant(end, field.width).text for end in (low, high))
        text = field.host()
        if test.mask is not None:
            text = f"({text} & {constant(test.mask, field.width).text})"
        if low == high:
            parts.append(f"{text} == {first}")
        else:
            parts.append(f"({text} >= {first} && {text} <= {last})")
    joined = " || ".join(parts)
    return joined if base == "p" else f"{base} && ({joined})"
