"""`forward`: by a next hop out of a port, with that port's link header; and what may fail there."""

from __future__ import annotations

from dataclasses import replace

from ..model import Attribute, Bridge, Event, Forward, PortOf, Recalled
from ..model.parse_graph import ethertypes
from . import trace
from .fields import Value
from .headers_out import put_headers, seal_headers
from .icmp import reply
from .ip import Version, fragment, header_size, version_of
from .layout import member_name
from .shape import Unsupported, constant_size, pushed_size
from .site import Site
from .values import value
from .verdicts import drop, finish, own_link, shaped, trim

ETHERNET = 14
LINK_MOST = 18  # octets that a frame may have in front of a port's MTU: Ethernet and a tag


def forward(site: Site, statement: Forward) -> None:
    """By whichever header comes first behind the link header and the pushes. Of the nodes that this
    may be, the one that comes first in the graph is the outermost that the packet has."""
    fronts = [node for role, node in statement.fronts if role == site.role]
    if not fronts:  # the checker saw that no packet of this role comes here
        site.writer.put("return internal();")
        return
    if len(fronts) == 1 or fronts[0] in site.known:
        _forward(site, statement, fronts[0])
        return
    for front in fronts:
        with site.writer.nest(f"if ({site.pointer(front)}) {{"):
            _forward(site.branch({front}), statement, front)
    site.writer.put("return internal();")


def _forward(site: Site, statement: Forward, front: str) -> None:
    """All reasons to fail are tested before the first octet changes, so that a hook sees the packet
    without its pushes."""
    w, pointer, version = site.writer, site.node(front), version_of(site, front)
    site.shape = replace(site.shape, fronts=(front,))
    pushed = pushed_size(site)
    if version is None:
        w.put(f"u32 extent = frame_length(ctx) - {site.offset(front)}, pushed = {pushed};")
    else:
        w.put(f"u32 extent = {version.extent(pointer)}, pushed = {pushed};")
        _keep(site, version, pointer)
        with w.nest(f"if (RAW8({pointer}, {version.ttl}) <= 1) {{"):
            hook(site, "ttl_expired", front, "0")
    _next_hop(site, statement, front)
    with w.nest("if (extent + pushed > hop->mtu) {"):
        hook(site, "too_big", front, "hop->mtu - pushed")
    w.put(f"u32 from = {site.offset(front)};")
    clamped = _to_clamp(site)
    with w.nest(f"if (!move_begin(ctx, (int)from - {ETHERNET} - (int)pushed, hop->vlan)) {{"):
        hook(site, "no_headroom", front, "0")
    trim(site, f"{ETHERNET} + pushed + extent")
    w.put("void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;")
    known = ETHERNET + constant_size(site.shape.pushed)
    varies = any(h.variable for h in site.shape.pushed)
    behind = version.size if version is not None and not varies else 0
    w.never(f"data + {known + behind} > end")
    first = site.shape.pushed[0].node if site.shape.pushed else front
    trace.leave(site)
    w.put(
        "put_macs(data, hop);",
        f"PUT16(data, 12, bpf_htons({_type_of(site, first):#x}));",
    )
    put_headers(w, site.shape.pushed, ETHERNET, "extent")
    if version is not None:
        if behind:
            w.put(f"void *front = data + {known};")
        else:
            w.put(f"void *front = packet_at(data, {ETHERNET} + pushed);")
            w.never(f"front + {version.size} > end")
        left = Value(f"RAW8(front, {version.ttl}) - 1", 8)
        trace.change(site, front, version.left, "front", left)
        w.put(f"{version.spends}(front);", *clamped)
    elif site.shape.clamp:
        raise Unsupported("`clamp mss` of a packet that is carried with its frame", w.span)
    seal_headers(w, site.shape.pushed, ETHERNET, "extent")
    w.never("hop->vlan && !insert_vlan(ctx, hop->vlan)")
    w.put(f"return redirect(st, hop->port, {site.events('verdict', 'redirect')});")


def _keep(site: Site, version: Version, pointer: str) -> None:
    """What is not for others to forward goes to the kernel; out of a tunnel it would look like a
    neighbour's there, and is dropped."""
    w = site.writer
    first = own_link(site)
    family = "6" if version.protocol == "ipv6" else ""
    kept = {
        "link-layer group": f"RAW8({site.node(first)}, 0) & 1",
        "link-local": f"is_confined{family}({pointer})",
    }
    opened = _opened(site)
    for reason, test in kept.items():
        with w.nest(f"if ({test}) {{"):
            if opened == "1":
                drop(site, reason)
                continue
            if opened:
                with w.nest(f"if ({opened}) {{"):
                    drop(site, reason)
            w.put(f"count_event({site.events('kept', reason)});")
            finish(_unpushed(site), "pass")


def _opened(site: Site) -> str:
    """C text of whether headers were popped; empty if none are, "1" if always some."""
    shape = site.shape
    if () not in shape.popped:
        return "1" if shape.popped or shape.own else ""
    return f"{site.offset(shape.fronts[0])} != {site.state('link')}"


def bridge(site: Site, statement: Bridge) -> None:
    """Out by a port with the packet's own link header."""
    w, shape = site.writer, site.shape
    w.put(
        f"u32 number = {port_number(site, statement.port)};",
        "struct port *port = bpf_map_lookup_elem(&ports, &number);",
    )
    with w.nest("if (!port || !port->in_use) {"):
        hook(site, "unresolved", "", "0")
    length = "frame_length(ctx)"
    if shape.own or shape.untagged:
        length += f" - {site.offset(own_link(site))}"
    if shape.popped:
        length += f" - ({site.offset(shape.fronts[0])} - {site.state('link')})"
    if shape.pushed:
        length += f" + {pushed_size(site)}"
    front = site.header(shape.fronts[0]) if shape.framed else None
    if front is not None and front.extent is not None:  # what is padding goes
        own = (site.node(shape.fronts[0]), front)
        extent = value(site, front.extent, own).host()
        length += f" - (frame_length(ctx) - {site.offset(shape.fronts[0])} - {extent})"
    w.put("u16 tag = port->vlan;")
    with w.nest(f"if ({length} > port->mtu + {LINK_MOST}) {{"):
        hook(site, "too_big", "", "0")
    shaped(site)
    with w.nest("if (tag && !insert_vlan(ctx, tag)) {"):
        if shape.touched:  # what was removed leaves room
            w.put("return internal();")
        else:
            hook(site, "no_headroom", "", "0")
    w.put(f"return redirect(st, number, {site.events('verdict', 'redirect')});")


def _type_of(site: Site, node: str) -> int:
    """The EtherType that announces a node."""
    types = ethertypes(site.pipeline.graph, node)
    if not types:
        raise Unsupported(f"no edge from ethernet to {node}")
    return next(iter(types))


def _next_hop(site: Site, statement: Forward, front: str) -> None:
    """Set `hop`: to a copy of the rule's record's where it is kept there (members in registers,
    while the packet is written), else to the neighbour's own memory or what the FIB says."""
    w, via = site.writer, statement.via
    port, number = statement.port.source, port_number(site, statement.port)
    address = value(site, via).network()
    family = "6" if via.kind == "ip6" else ""
    kept = _kept(site, port, via)
    w.put("struct next_hop *hop;")
    look_up = f"hop = next_hop_of{family}(ctx, {number}, {address}, &st->scratch->hop);"
    if not kept:
        w.put(look_up)
        with w.nest("if (!hop) {"):
            hook(site, "unresolved", front, "0")
        return
    w.put(f"struct next_hop own = {kept};", "hop = &own;")
    with w.nest("if (!own.resolved) {"):
        w.put(look_up)
        with w.nest("if (!hop) {"):
            hook(site, "unresolved", front, "0")
        w.put("own = *hop;", "hop = &own;")


def _kept(site: Site, port: object, via: object) -> str:
    """C text of the next hop in the record of the rule that gives both; "" where there is none."""
    if not isinstance(via, Attribute) or not isinstance(port, Attribute):
        return ""
    if via.binding != port.binding:
        return ""
    way = f"{port.element} via {via.element}"
    members = site.tables[via.rule].manifest.record
    name = next(m.name for m in members if m.kind == "next_hop" and m.element == way)
    return f"{site.record(via.binding)}->{name}"


def port_number(site: Site, port: PortOf) -> str:
    """C text of the port's number."""
    match port.source:
        case str(name):
            return site.ports[name]
        case Recalled() as recalled:
            return value(site, recalled).text
        case Attribute(binding, _, element):
            return f"{site.record(binding)}->{member_name(element)}"


def _to_clamp(site: Site) -> list[str]:
    """C that lowers the MSS of each TCP header that there may be, once the frame has been moved;
    where that is, and whether, is noted now."""
    w, later = site.writer, []
    graph = site.pipeline.graph
    for node in (n.name for n in graph.nodes if n.header.protocol == "tcp"):
        if not site.shape.clamp or not site.may_have(node):
            continue
        at = w.fresh("tcp")
        w.put(f"u32 {at} = 0, {at}_headers = {header_size(site, node)} + 20;")
        with w.nest(f"if ({site.pointer(node)} && !({fragment(site, node)})) {{"):
            w.put(f"{at} = {ETHERNET} + pushed + ({site.offset(node)} - from);")
        later += [f"if ({at})", f"\tclamp_mss(ctx, {at}, hop->mtu - pushed - {at}_headers);"]
    return later


# ---- hooks ----------------------------------------------------------------------------------


def hook(site: Site, event: Event, front: str, mtu: str) -> None:
    """Run a hook on the packet without its pushes. `mtu`: C text for `reply icmp` to a too big
    one. `front`: the header to answer; a frame that is bridged or carried has none, and is not
    answered. What was to leave in a tunnel is not passed: it would leave in the clear."""
    w = site.writer
    w.put(f"count_event({site.events('hook', event)});")
    what = site.pipeline.hooks[event]
    way_back = not (site.shape.own or site.shape.untagged)
    if what == "reply icmp" and (not front or site.header(front).link or not way_back):
        finish(site, "drop")
    elif what == "reply icmp":
        reply(_unpushed(site), event, front, mtu)
    elif what == "pass" and site.shape.pushed:
        drop(site, "in the clear")
    else:
        finish(_unpushed(site), what)


def _unpushed(site: Site) -> Site:
    """The same place, with the packet as it was before its pushes."""
    bare = site.branch()
    bare.shape = replace(site.shape, pushed=(), behind="")
    return bare
