"""Changing packets: pops and pushes are collected in a `Shape` and carried out at the verdict."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...lang.source import Span
from ..model import Attribute, Derived, Edge, Event, Expr, Forward, Header, Packet, Pop, Push
from .headers_out import HeaderOut, put_headers
from .values import Site, Value, attribute, value

ECN_CE = 3


@dataclass(frozen=True)
class Shape:
    """What the packet will look like. `fronts`: nodes that may be the first behind the link nodes
    and the pushes; `popped` what was removed in front of it, outermost first; `pushed` outermost
    first."""

    fronts: tuple[str, ...]
    popped: tuple[str, ...] = ()
    pushed: tuple[HeaderOut, ...] = ()

    @property
    def touched(self) -> bool:
        return bool(self.popped or self.pushed)


class Unsupported(Exception):
    """The pipeline needs something that is not compiled yet; `span` is what asks for it."""

    def __init__(self, what: str, span: Span | None = None) -> None:
        super().__init__(what)
        self.span = span


# ---- collecting -----------------------------------------------------------------------------


def pop(site: Site, statement: Pop) -> Shape:
    """Note the removal; join ECN now, while the outer header is at hand (RFC 6040 section 4.2)."""
    chain = _between(site, statement.node)
    outer = next((n for n in reversed(chain) if site.header(n).protocol == "ipv4"), None)
    if outer and site.header(statement.node).protocol == "ipv4":
        w, inner = site.writer, site.node(statement.node)
        with w.nest(f"if ((RAW8({site.node(outer)}, 1) & 3) == {ECN_CE}) {{"):
            with w.nest(f"if (!(RAW8({inner}, 1) & 3)) {{"):
                drop(site, "ecn")
            w.put(f"set_ecn_ce({inner});")
    return replace(site.shape, fronts=(statement.node,), popped=site.shape.popped + chain)


def _between(site: Site, node: str) -> tuple[str, ...]:
    """Nodes on the way from the link nodes to `node` on this role, outermost first."""
    graph, at = site.pipeline.graph, node
    chain: list[str] = []
    while True:
        sources = {e.source for e in graph.entering(at, site.role) if e.source in site.reachable}
        inner = [s for s in sources if not graph.node(s).header.link]
        if not inner:
            return tuple(reversed(chain))
        if len(sources) > 1:
            raise Unsupported(f"several ways lead to {node}")
        at = inner[0]
        chain.append(at)


def push(site: Site, statement: Push) -> Shape:
    """Take the values now (they may change later); the octets are written at the verdict."""
    graph = site.pipeline.graph
    following = [e.node for e in statement.elements[1:]] + [statement.before]
    out = []
    for element, after in zip(statement.elements, following, strict=True):
        header = graph.node(element.node).header
        _refuse_unwritable(site, header, dict(element.values))
        edge = writable(site, element.node, after)
        given = {name: _captured(site, value(site, v)) for name, v in element.values}
        if header.protocol == "ipv4" and not {"tos", "dscp", "ecn"} & given.keys():
            front = site.node(statement.before)
            if site.header(statement.before).protocol == "ipv4":
                given["ecn"] = _captured(site, Value(f"(RAW8({front}, 1) & 3)", 2))
        out.append(HeaderOut(element.node, header, given, edge.writes or ()))
    return replace(site.shape, fronts=(statement.before,), pushed=(*out, *site.shape.pushed))


def _refuse_unwritable(site: Site, header: Header, given: dict[str, Expr]) -> None:
    """What a push cannot write yet: checksums over more than the header, fields over 64 bits."""
    told, span = f"`{header.name}` cannot be pushed", site.writer.span
    groups = {f.group for f in header.fields if f.name in given} | {None}
    for f in header.fields:
        if f.group not in groups:
            continue
        match f.default:
            case Derived("checksum", over) if over != {"header"} or f.group is not None:
                raise Unsupported(f"{told}: its `{f.name}` covers the payload", span)
        if f.width > 64:
            raise Unsupported(f"{told}: its `{f.name}` is over 64 bits", span)


def _captured(site: Site, v: Value) -> Value:
    """The value in a local variable of its own."""
    name = site.writer.fresh("value")
    site.writer.put(f"u{v.octets * 8} {name} = {v.text};")
    given = ""
    if v.given:
        given = site.writer.fresh("given")
        site.writer.put(f"u8 {given} = {v.given};")
    return Value(name, v.width, v.raw, given)


def writable(site: Site, source: str, target: str) -> Edge:
    """The edge that says how `source` announces `target` (whatever the port role)."""
    edges = [
        e
        for e in site.pipeline.graph.leaving(source)
        if e.target == target and e.writes is not None
    ]
    if not edges:
        raise Unsupported(f"{source} has no edge to {target} that can be written")
    return edges[0]


# ---- carrying out ---------------------------------------------------------------------------


def front_ipv4(site: Site) -> str:
    """The IPv4 node that stands first behind the link nodes and the pushes."""
    for node in site.shape.fronts:
        if site.header(node).protocol == "ipv4":
            return node
    raise Unsupported("no IPv4 header to forward by")


def forward(site: Site, statement: Forward) -> None:
    """All reasons to fail are tested before the first octet changes, so that a hook sees the packet
    without its pushes."""
    w, front = site.writer, front_ipv4(site)
    pointer = site.node(front)
    pushed = _size_of(site)
    w.put(
        f"u32 extent = bpf_ntohs(RAW16({pointer}, 2)), pushed = {pushed};", "struct next_hop hop;"
    )
    with w.nest("if (is_to_group(ctx)) {"):
        w.put(f"count_event({site.events('kept', 'link-layer group')});")
        finish(_unpushed(site), "pass")
    with w.nest(f"if (RAW8({pointer}, 8) <= 1) {{"):
        hook(site, "ttl_expired", front, "0")
    _next_hop(site, statement, front)
    with w.nest("if (extent + pushed > hop.mtu) {"):
        hook(site, "too_big", front, "hop.mtu - pushed")
    w.put(f"u32 from = {site.offset(front)};")
    with w.nest(f"if (bpf_xdp_adjust_head(ctx, (int)from - {ETHERNET} - (int)pushed)) {{"):
        hook(site, "no_headroom", front, "0")
    w.put("void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;")
    known = constant_size(site.shape.pushed)
    with w.nest(f"if (data + {ETHERNET + known} > end) {{"):
        drop(site, "internal")
    first = site.shape.pushed[0].node if site.shape.pushed else front
    w.put(
        "__builtin_memcpy(data, hop.mac, 12);",
        f"PUT16(data, 12, bpf_htons({_type_of(site, first):#x}));",
    )
    put_headers(w, site.shape.pushed, ETHERNET, "extent", lambda: drop(site, "internal"))
    w.put(f"void *front = packet_at(data, {ETHERNET} + pushed);")
    with w.nest("if (front + 20 > end) {"):
        drop(site, "internal")
    w.put("decrement_ttl(front);")
    _clamp(site)
    with w.nest("if (hop.vlan && !insert_vlan(ctx, hop.vlan)) {"):
        drop(site, "internal")
    w.put(f"return redirect(st, hop.port, {site.events('verdict', 'redirect')});")


ETHERNET = 14


def _size_of(site: Site) -> str:
    return " + ".join(h.size_text() for h in site.shape.pushed) or "0"


def constant_size(headers: tuple[HeaderOut, ...]) -> int:
    """Octets up to and with the fixed part of the first header of variable size."""
    size = 0
    for h in headers:
        size += h.header.fixed // 8
        if h.variable:
            break
    return size


def _type_of(site: Site, node: str) -> int:
    """The EtherType that announces a node."""
    for e in site.pipeline.graph.entering(node):
        if site.header(e.source).protocol == "ethernet" and e.writes:
            return dict(e.writes)["type"]
    raise Unsupported(f"no edge from ethernet to {node}")


def _next_hop(site: Site, statement: Forward, front: str) -> None:
    """Fill `hop`: from the rule's record where it is kept there, else by neighbour and FIB."""
    w, via = site.writer, statement.via
    port = statement.port.source
    if isinstance(port, Attribute):
        number = f"{site.bindings[port.binding].text}->{port.element}"
    else:
        number = site.ports[port]
    address = value(site, via).network() if isinstance(via, Packet) else attribute(site, via).text
    kept = (
        isinstance(via, Attribute) and isinstance(port, Attribute) and via.binding == port.binding
    )
    look_up = f"!next_hop_of(ctx, {number}, {address}, &hop)"
    if kept:
        assert isinstance(via, Attribute)
        w.put(f"hop = {site.bindings[via.binding].text}->next_hop;")
        look_up = f"!hop.resolved && {look_up}"
    with w.nest(f"if ({look_up}) {{"):
        hook(site, "unresolved", front, "0")


def _clamp(site: Site) -> None:
    tcp = [n for n in site.reachable if site.header(n).protocol == "tcp"]
    if not site.clamp or not tcp:
        return
    w, node = site.writer, tcp[0]
    pointer = site.pointer(node)
    moved = f"{ETHERNET} + pushed + ({site.offset(node)} - from)"
    with w.nest(f"if ({pointer} && !(RAW16(front, 6) & bpf_htons(0x3fff))) {{"):
        w.put(f"clamp_mss(ctx, {moved}, hop.mtu - pushed - 40);")


# ---- verdicts -------------------------------------------------------------------------------


def drop(site: Site, reason: str) -> None:
    site.writer.put(
        f"count_event({site.events('drop', reason)});",
        f"return verdict({site.events('verdict', 'drop')}, XDP_DROP);",
    )


def finish(site: Site, what: str) -> None:
    """`pass`, `drop`, `default` or `send back`, with the pops and pushes so far."""
    w = site.writer
    if what == "drop":
        w.put(f"return verdict({site.events('verdict', 'drop')}, XDP_DROP);")
        return
    if what == "default" and site.shape.touched:
        with w.nest("if (default_verdict() == XDP_DROP) {"):
            finish(site, "drop")
        what = "pass"
    elif what == "default":
        w.put("return default_action();")
        return
    name, action = ("tx", "XDP_TX") if what == "send back" else ("pass", "XDP_PASS")
    if site.shape.popped and not site.shape.pushed:
        closed = site.helper("close", _close)
        with w.nest(f"if ({closed}(ctx, 0, 0) != XDP_PASS) {{"):
            finish(site, "drop")
    elif site.shape.touched:
        _materialise(site)
    w.put(f"return verdict({site.events('verdict', name)}, {action});")


def _close(site: Site) -> None:
    """The body of a helper: XDP_PASS if all went well."""
    _materialise(site)
    site.writer.put("return XDP_PASS;")


def _materialise(site: Site) -> None:
    """Write the pushes and close the gap of the pops, keeping the frame's own link header."""
    w, shape = site.writer, site.shape
    front = shape.fronts[0]
    w.put(f"u32 pushed = {_size_of(site)}, from = {site.offset(front)};")
    if shape.pushed:
        header = site.header(front)
        if header.extent is not None:
            w.put(f"u32 extent = {value(site, header.extent, (site.node(front), header)).host()};")
        else:
            w.put("u32 extent = frame_length(ctx) - from;")
    first = shape.pushed[0].node if shape.pushed else front
    link = site.state("link")
    for nodes, size in link_paths(site):
        with w.nest(f"if ({link} == {size}) {{"):
            saved = save(site, size)
            with w.nest(f"if (bpf_xdp_adjust_head(ctx, (int)from - {size} - (int)pushed)) {{"):
                drop(site, "internal")
            w.put("void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;")
            with w.nest(f"if (data + {size + constant_size(site.shape.pushed)} > end) {{"):
                drop(site, "internal")
            w.put(*(f"PUT{n * 8}(data, {at}, {name});" for at, n, name in saved))
            announce(site, nodes[-1], first, size)
            put_headers(w, shape.pushed, size, "extent", lambda: drop(site, "internal"))


def announce(site: Site, last: str, first: str, size: int) -> None:
    """Make the last link header name what now follows it."""
    header = site.header(last)
    start = size - header.fixed // 8
    for name, number in writable(site, last, first).writes or ():
        field = header.field(name)
        site.writer.put(f"PUT16(data, {start + field.offset // 8}, bpf_htons({number:#x}));")


def link_paths(site: Site) -> list[tuple[tuple[str, ...], int]]:
    """The chains of link nodes that a packet of this role with more than those may begin with, and
    their octets."""
    graph, found = site.pipeline.graph, []
    todo: list[tuple[str, ...]] = [(graph.entry.name,)]
    while todo:
        chain = todo.pop(0)
        leaving = graph.leaving(chain[-1], site.role)
        if any(not graph.node(e.target).header.link for e in leaving):
            found.append((chain, sum(site.header(n).fixed // 8 for n in chain)))
        todo += [(*chain, e.target) for e in leaving if graph.node(e.target).header.link]
    return found


def save(site: Site, size: int) -> list[tuple[int, int, str]]:
    """Read the frame's first octets into locals: (offset, octets, C name)."""
    w, at, saved = site.writer, 0, []
    w.put("void *start = (void *)(long)ctx->data;")
    with w.nest(f"if (start + {size} > (void *)(long)ctx->data_end) {{"):
        drop(site, "internal")
    while at < size:
        piece = next(n for n in (8, 4, 2, 1) if n <= size - at)
        name = w.fresh("link")
        w.put(f"u{piece * 8} {name} = RAW{piece * 8}(start, {at});")
        saved.append((at, piece, name))
        at += piece
    return saved


def hook(site: Site, event: Event, front: str, mtu: str) -> None:
    """Run a hook on the packet without its pushes. `mtu`: C text for `reply icmp` to a too big
    one. What was to leave in a tunnel is not passed: it would leave in the clear."""
    from .icmp import reply

    w = site.writer
    w.put(f"count_event({site.events('hook', event)});")
    what = site.pipeline.hooks[event]
    if what == "reply icmp":
        reply(_unpushed(site), event, front, mtu)
    elif what == "pass" and site.shape.pushed:
        drop(site, "in the clear")
    else:
        finish(_unpushed(site), what)


def _unpushed(site: Site) -> Site:
    """The same place, with the packet as it was before its pushes."""
    bare = site.branch()
    bare.shape = replace(site.shape, pushed=())
    return bare
