"""`forward`: by a next hop out of a port, with that port's link header; and what may fail there."""

from __future__ import annotations

from dataclasses import replace

from ..headers.clauses import clause
from ..headers.frame import DATA, END, LENGTH, let_edges, packet_at
from ..ir import edits
from ..ir.expr import (
    CTX,
    ONE,
    ST,
    ZERO,
    Address,
    Call,
    Cast,
    Expr,
    Member,
    Name,
    Number,
    State,
    Symbol,
    expr,
    load,
    not_,
    number,
)
from ..ir.expr_builders import both, either, to_network, total
from ..ir.types import BYTES, U8, U16, U32, U64, Pointer, Struct
from ..ir.values import Value
from ..model import Event
from ..model.parse_graph import ethertypes
from . import trace
from .context import EditContext
from .head import ETHERNET
from .icmp import reply
from .ip import Version, fragment, header_size, version_of
from .put_headers import put_headers, seal_headers
from .shape import constant_size, pushed_size
from .verdicts import finish, own_link, shaped, trim

HOP_STRUCT = Struct("next_hop")
HOP = Name("hop", Pointer("struct next_hop"))
HOP_PORT, HOP_MTU, HOP_VLAN = Member(HOP, "port"), Member(HOP, "mtu", U16), Member(HOP, "vlan", U16)
LINK_MOST = 18  # bytes that a frame may have in front of a port's MTU: Ethernet and a tag


def forward(site: EditContext, statement: edits.Forward) -> None:
    """By whichever header comes first behind the link header and the pushes. Of the nodes that this
    may be, the one that comes first in the graph is the outermost that the packet has."""
    fronts = statement.fronts
    if not fronts:  # the checker saw that no packet of this role comes here
        site.writer.internal()
        return
    if len(fronts) == 1 or fronts[0] in site.known:
        _forward(site, statement, fronts[0])
        return
    for front in fronts:
        with site.writer.when(site.pointer(front)):
            _forward(site.branch({front}), statement, front)
    site.writer.internal()


def _forward(site: EditContext, statement: edits.Forward, front: str) -> None:
    """All reasons to fail are tested before the first byte changes, so that a hook sees the packet
    without its pushes."""
    w, pointer, version = site.writer, site.node(front), version_of(site, front)
    site.shape = replace(site.shape, fronts=(front,))
    if version is not None:
        with w.block("may_leave"):
            _keep(site, version, pointer)
            with w.when(load(pointer, version.ttl, 8) <= 1):
                hook(site, "ttl_expired", front)
    _next_hop(site, statement, front)
    with w.block("leave"):
        _leave(site, front)


def _leave(site: EditContext, front: str) -> None:
    """To HOP, with its link header and the pushes."""
    w, pointer, version = site.writer, site.node(front), version_of(site, front)
    with w.unless(HOP):
        hook(site, "unresolved", front)
    came = LENGTH - site.offset(front) if version is None else version.extent(pointer)
    extent, pushed = w.let(U32, "extent", came), pushed_size(site.shape)
    if not isinstance(pushed, Number):
        pushed = w.let(U32, "pushed", pushed)
    begins = w.let(U32, "from", site.offset(front))
    clamped = _to_clamp(site, begins, pushed)
    with w.when(site.head.extent(begins, extent, version is None) + pushed > HOP_MTU):
        hook(site, "too_big", front, Cast(U32, HOP_MTU) - pushed)
    stays = extent if site.shape.framed else ZERO
    with w.when(not_(site.head.room(begins, stays, pushed, site.shape.pushed, HOP_VLAN))):
        hook(site, "no_headroom", front)
    trim(site, total([ETHERNET, pushed, extent]))
    let_edges(w)
    known = ETHERNET + constant_size(site.shape.pushed)
    varies = any(h.variable for h in site.shape.pushed)
    behind = version.size if version is not None and not varies else 0
    w.assume_not(DATA + (known + behind) > END)
    first = site.shape.pushed[0].node if site.shape.pushed else front
    if not site.copying:
        trace.leave(site)
    w.do("put_macs", DATA, HOP)
    w.store(DATA, 12, 16, to_network(number(_type_of(site, first)), 16))
    put_headers(w, site.shape.pushed, ETHERNET, extent)
    if version is not None:
        at = DATA + known if behind else packet_at(DATA, ETHERNET + pushed)
        _spend(site, version, front, w.let(BYTES, "front", at), bool(behind))
        for tcp, headers in clamped:
            with w.when(tcp):
                w.do("clamp_mss", CTX, tcp, Cast(U32, HOP_MTU) - pushed - headers)
    else:
        assert not site.shape.clamp, "H0344"
    seal_headers(w, site.shape.pushed, ETHERNET, extent)
    with w.block("leave_by"):
        w.assume_not(both((HOP_VLAN, not_(Call("insert_vlan", (CTX, HOP_VLAN))))))
        w.returns(_out(site, HOP_PORT, HOP_VLAN))


def _out(site: EditContext, port: Expr, tag: Expr) -> Expr:
    """The frame, with the port's tag, leaves by it; or a copy does."""
    if site.copying:
        events = site.events("copy", "sent"), site.events("copy", "failed")
        if site.shown:
            return Call("send_part", (CTX, port, Cast(U32, tag), number(site.shown), *events))
        return Call("send_copy", (CTX, port, Cast(U32, tag), *events))
    return Call("redirect", (ST, port, site.events("verdict", "redirect")))


def _spend(site: EditContext, version: Version, node: str, front: Name, sure: bool) -> None:
    """Lower the time to live of the IP header at `front`. `sure`: it is within bounds."""
    w = site.writer
    if not sure:
        w.assume_not(front + version.size > END)
    if not site.copying:
        trace.change(site, node, version.left, front, Value(load(front, version.ttl, 8) - 1, 8))
    w.do(version.spends, front)


def _keep(site: EditContext, version: Version, pointer: Expr) -> None:
    """What is not for others to forward goes to the kernel; out of a tunnel it would look like a
    neighbour's there, and is dropped."""
    w = site.writer
    first = own_link(site)
    family = "6" if version.protocol == "ipv6" else ""
    kept: dict[str, Expr] = {
        "link-layer group": load(site.node(first), 0, 8) & 1,
        "link-local": Call(f"is_confined{family}", (pointer,)),
    }
    opened = _opened(site)
    for reason, test in kept.items():
        with w.when(test):
            if site.copying:
                _lost(site, reason)
                continue
            if opened == ONE:
                site.drop(reason)
                continue
            if opened is not None:
                with w.when(opened):
                    site.drop(reason)
            w.count(site.events("kept", reason))
            finish(_unpushed(site), "pass")


def _opened(site: EditContext) -> Expr | None:
    """Whether headers were popped; None if none are, 1 if always some."""
    shape = site.shape
    if () not in shape.popped:
        return ONE if shape.popped or shape.own else None
    return site.offset(shape.fronts[0]).is_not(site.state("link"))


def answer(site: EditContext, statement: edits.Reply) -> None:
    """With an ICMP error about whichever IP header comes first, as of `forward`."""
    w, fronts = site.writer, statement.fronts
    w.count(site.events("reply", statement.error))
    for front in fronts:
        if len(fronts) == 1 or front in site.known:
            _answer(site, statement.error, front)
            return
        with w.when(site.pointer(front)):
            _answer(site.branch({front}), statement.error, front)
    w.internal()


def _answer(site: EditContext, error: str, front: str) -> None:
    site.shape = replace(site.shape, fronts=(front,))
    _reply(site, error, front, ZERO)


def _reply(site: EditContext, error: str, front: str, mtu: Expr) -> None:
    """To what is no frame that is bridged or carried, and has its link header."""
    if not front or site.header(front).link or site.shape.own or site.shape.untagged:
        finish(site, "drop")
    else:
        reply(_unpushed(site), error, front, mtu)


def bridge(site: EditContext, statement: edits.Bridge) -> None:
    """Out by a port with the packet's own link header."""
    w, shape = site.writer, site.shape
    number = w.let(U32, "number", statement.port)
    found = Call("bpf_map_lookup_elem", (Address(Symbol("ports")), Address(number)))
    port = w.let(Pointer("struct port"), "port", found)
    absent = [not_(port), not_(Member(port, "in_use", U8))]
    absent += [Call("is_bare", (port,))] if site.bare else []
    with w.when(either(absent)):
        hook(site, "unresolved")
    length = _bridged_length(site)
    if site.shown:
        length = Call("smaller_of", (Cast(U64, length), expr(site.shown)), U64)
    tag = w.let(U16, "tag", Member(port, "vlan", U16))
    with w.when(length > Member(port, "mtu", U16) + LINK_MOST):
        hook(site, "too_big")
    shaped(site)
    with w.when(both((tag, not_(Call("insert_vlan", (CTX, tag)))))):
        if shape.touched:  # what was removed leaves room
            w.internal()
        else:
            hook(site, "no_headroom")
    w.returns(_out(site, number, tag))


def _bridged_length(site: EditContext) -> Expr:
    """The bytes of the frame as it is to leave."""
    shape, length = site.shape, expr(LENGTH)
    if shape.own or shape.untagged:
        length = length - site.offset(own_link(site))
    if shape.popped:
        length = length - Cast(U32, site.offset(shape.fronts[0]) - site.state("link"))
    if shape.pushed:
        length = length + pushed_size(site.shape)
    front = site.header(shape.fronts[0]) if shape.framed else None
    if front is not None and front.extent is not None:  # what is padding goes
        own = (site.node(shape.fronts[0]), front)
        extent = clause(site, front.extent, *own).host()
        length = length - (LENGTH - site.offset(shape.fronts[0]) - extent)
    return length


def _type_of(site: EditContext, node: str) -> int:
    """The EtherType that announces a node."""
    return next(iter(ethertypes(site.graph, node)))  # H0284


def _next_hop(site: EditContext, statement: edits.Forward, front: str) -> None:
    """Set `hop`: to a copy of the rule's record's where it is kept there (members in registers,
    while the packet is written), else to the neighbour's own memory or what the FIB says."""
    w, kept = site.writer, statement.resolved
    family = "6" if statement.family == "ipv6" else ""
    room = Address(State("hop", HOP_STRUCT, scratch=True))
    asked = statement.port, statement.via, room
    if kept is None:
        w.let(HOP.type, HOP.name, Call(f"next_hop_of{family}", (CTX, *asked), HOP.type))
    else:
        own = Address(w.struct(HOP_STRUCT, "own"))
        found = Call(f"kept_next_hop{family}", (CTX, Address(kept), *asked, own), HOP.type)
        w.let(HOP.type, HOP.name, found)


def _to_clamp(site: EditContext, begins: Expr, pushed: Expr) -> list[tuple[Name, Name]]:
    """Of each TCP header that there may be: where it will be once the frame has been moved (0: it
    is not there, or may not be looked at), and the bytes of the headers of IP and TCP."""
    w, later = site.writer, list[tuple[Name, Name]]()
    graph = site.graph
    for node in (n.name for n in graph.nodes if n.header.protocol == "tcp"):
        if not site.shape.clamp or not site.may_have(node):
            continue
        at = w.fresh("tcp")
        headers = header_size(site, node) + 20
        tcp, size = w.let(U32, at, 0), w.let(U32, f"{at}_headers", headers)
        with w.when(both((site.pointer(node), not_(fragment(site, node))))):
            w.set(tcp, ETHERNET + pushed + (site.offset(node) - begins))
        later.append((tcp, size))
    return later


# ---- hooks ----------------------------------------------------------------------------------


def hook(site: EditContext, event: Event, front: str = "", mtu: Expr = ZERO) -> None:
    """Run a hook on the packet without its pushes. `mtu`: for `reply icmp` to a too big one.
    `front`: the header to answer; a frame that is bridged or carried has none, and is not answered.
    What was to leave in a tunnel is not passed: it would leave in the clear."""
    w = site.writer
    if site.copying:
        _lost(site, event)
        return
    w.count(site.events("hook", event))
    what = site.hooks[event]
    if what == "reply icmp":
        _reply(site, event, front, mtu)
    elif what == "pass" and site.shape.pushed:
        site.drop("in the clear")
    else:
        finish(_unpushed(site), what)


def _lost(site: EditContext, reason: str) -> None:
    """A copy does not leave."""
    site.writer.count(site.events("copy", reason))
    site.writer.returns(ZERO)


def _unpushed(site: EditContext) -> EditContext:
    """The same place, with the packet as it was before its pushes."""
    bare = site.branch()
    bare.shape = replace(site.shape, pushed=(), pushes=(), behind="")
    return bare
