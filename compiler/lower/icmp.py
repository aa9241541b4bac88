"""`reply icmp` (RFC 792, RFC 1122 section 3.2.2, RFC 1191; RFC 4443): the way back is the way it
came."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from ..model import Header
from ..model.parse_graph import writable as announcing
from ..model.sizes import reckoned_from
from ..model.sums import zero_checksum
from .fields import Value, field_value
from .groups import group_pointer
from .headers_out import HeaderOut, put_headers, seal_headers
from .ip import VERSIONS, Version
from .lists import Room
from .lowered import c_name
from .padding import padded
from .shape import Unsupported, constant_size, writable
from .site import Site
from .verdicts import drop, link_paths, save


def reply(site: Site, event: str, front: str, mtu: str) -> None:
    """Answer the sender of `front`, an IP node; `mtu` is C text of the next hop's. The answer is
    a function of its own, for each shape of packet one: it is long and seldom run."""
    kind, code = VERSIONS[site.header(front).protocol].errors[event]
    name = site.helper("reply", lambda inner: _reply(inner, front))
    site.writer.put(f"return {name}(ctx, st, {kind << 8 | code:#06x}, {mtu}) & 7;")


def _reply(site: Site, front: str) -> None:
    """The body: `a` is ICMP type and code, `b` the next hop's MTU."""
    w, popped = site.writer, site.shape.popped or ((),)
    back = [way for way in popped if _leads_back(site, way)]
    refused = f"return verdict({site.events('verdict', 'drop')}, XDP_DROP);"
    if not back:
        w.put(refused)
        return
    x, version = site.node(front), VERSIONS[site.header(front).protocol]
    family, bits = ("", 32) if version.protocol == "ipv4" else ("6", 128)
    told = f"{x}, {site.offset(front)}, a" if family else x
    with w.nest(f"if (!may_answer{family}(ctx, {told}) || !arrival_address{family}(ctx)) {{"):
        w.put(refused)
    w.put(
        f"u{bits} sender = RAW{bits}({x}, {version.source});",
        f"u32 quoted = quote{family}({x}), where = {site.offset(front)};",
    )
    every = list(dict.fromkeys(node for way in popped for node in way))
    if len(popped) > 1:
        w.put(f"u32 absent = {_absent(site, every)}; /* a bit for each that was not popped */")
    if len(back) < len(popped):
        with w.nest(f"if ({' && '.join(f'absent != {_lacking(every, way)}' for way in back)}) {{"):
            w.put(refused)
    with w.nest("if (!take_answer()) {"):
        drop(site, "icmp limit")
    for way in back:
        with w.nest("{" if len(popped) == 1 else f"if (absent == {_lacking(every, way)}) {{"):
            _answer_by(site.branch(), version, way)
    w.put("return internal();")


def _absent(site: Site, nodes: list[str]) -> str:
    """C text of a number that has a bit for each node that was not popped. No branches: each would
    double the ways that the verifier follows."""
    kept = site.shape.perhaps_gone(site.pipeline.graph, site.role)
    bits = []
    for i, node in enumerate(nodes):
        at = site.state(f"{c_name(node)}_at")
        leads = f" | (u32)({at} - {site.state('link')}) >> 31" if node in kept else ""
        bits.append(f"(u32)({at} >> 15{leads}) << {i}")
    return " | ".join(bits)


def _lacking(nodes: list[str], way: tuple[str, ...]) -> str:
    """That number of a packet that has none but these."""
    return f"{sum(1 << i for i, node in enumerate(nodes) if node not in way):#x}"


def _leads_back(site: Site, way: tuple[str, ...]) -> bool:
    """Whether each popped header can announce the next as it has to on the way back, and none is a
    list of where the packet goes."""
    if any(site.header(node).arrays for node in way):
        return False
    pairs = pairwise((*way, site.shape.fronts[0]))
    return all(announcing(site.pipeline.graph, node, after) for node, after in pairs)


def _answer_by(site: Site, version: Version, way: tuple[str, ...]) -> None:
    w, room = site.writer, Room(site.kept)
    back = _back(site, way, room)
    pushed = " + ".join(h.size_text() for h in back) or "0"
    w.put(
        f"u32 again = {pushed}; /* octets of the tunnel headers that go back */",
        "int surplus = (int)(where + quoted) - (int)frame_length(ctx);",
    )
    for _, size, here in link_paths(site):
        with w.nest(f"if ({here}) {{"):
            _answer(site, version, back, size, Room(site.kept, room.taken))


def _answer(
    site: Site, version: Version, back: tuple[HeaderOut, ...], size: int, room: Room
) -> None:
    """Trim the frame to what is quoted, make room, write link header, tunnel headers and error."""
    w, added = site.writer, version.added
    family = "" if version.protocol == "ipv4" else "6"
    saved = [
        (at, octets, _put_aside(site, octets, name, room)) for at, octets, name in save(site, size)
    ]
    start = f"(int)where - {size + added} - (int)again"
    w.never(f"bpf_xdp_adjust_tail(ctx, surplus) || bpf_xdp_adjust_head(ctx, {start})")
    w.put("void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;")
    w.never(f"data + {size + constant_size(back)} > end")
    w.put(*(f"PUT{n * 8}(data, {at}, {name});" for at, n, name in saved))
    w.put("swap_macs(data);")
    put_headers(w, back, size, f"{added} + quoted")
    w.never(f"!put_icmp{family}(ctx, {size} + again, sender, quoted, a, b)")
    seal_headers(w, back, size, f"{added} + quoted")
    w.put(f"return verdict({site.events('verdict', 'tx')}, XDP_TX);")


def _back(site: Site, popped: tuple[str, ...], room: Room) -> tuple[HeaderOut, ...]:
    """The popped headers as they go back: source and destination exchanged, the rest as a push
    would write it, but what has no default stays as it came."""
    out: list[HeaderOut] = []
    following = (*popped, site.shape.fronts[0])[1:]
    for node, after in zip(popped, following, strict=True):
        header = site.header(node)
        edge = writable(site, node, after)
        given = _exchanged(site, node, header, {name for name, _ in edge.writes or ()}, room)
        if zero_checksum(header, [h.header for h in out]):
            given["checksum"] = Value("0x0", 16)
        written = HeaderOut(node, header, given, edge.writes or ())
        out.append(padded(site.writer, written))
    return tuple(out)


def _exchanged(
    site: Site, node: str, header: Header, written: set[str], room: Room
) -> dict[str, Value]:
    """What the header's fields have to hold, taken from where they are written over."""
    w, pointer = site.writer, site.removed(node)
    given: dict[str, Value] = {}
    follows = header.flags | reckoned_from(header)
    for f in header.fields:
        if f.default is not None or f.name in written or not f.width or f.part_of:
            continue
        if f.name in follows or f.name.startswith("_"):
            continue
        if f.width > 128:
            raise Unsupported(f"`{f.name}` of a popped `{header.name}` cannot be sent back", w.span)
        has = ""
        if f.group is not None:
            group = group_pointer(site, header, f.group, pointer)
            has = w.fresh("given")
            w.put(f"u8 {has} = {group} != 0;")
        v = field_value(pointer if f.group is None else group, header.opposite(f))
        text = f"{has} ? {v.text} : 0" if has else v.text
        given[f.name] = replace(v, text=_put_aside(site, v.octets, text, room), given=has)
    return given


def _put_aside(site: Site, octets: int, text: str, room: Room) -> str:
    """C text of where a number is found afterwards: not on the stack, which has few octets left."""
    place = f"&{site.words}[{room.take(octets)}]"
    site.writer.put(f"PUT{octets * 8}({place}, 0, {text});")
    return f"RAW{octets * 8}({place}, 0)"
