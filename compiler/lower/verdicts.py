"""`pass`, `drop`, `default`, `send back`: the packet leaves with its own link header."""

from __future__ import annotations

from dataclasses import replace

from ..model.parse_graph import writable as announcing
from .appends import put_appended
from .fields import constant, pieces
from .headers_out import put_headers, seal_headers
from .shape import Unsupported, constant_size, pushed_size, writable
from .site import Site
from .stores import put_value
from .values import value


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
    if what == "default" and (site.shape.touched or site.steers):
        with w.nest("if (default_verdict() == XDP_DROP) {"):
            finish(site, "drop")
        what = "pass"
    elif what == "default":
        w.put("return default_action();")
        return
    name, action = ("tx", "XDP_TX") if what == "send back" else ("pass", "XDP_PASS")
    shaped(site)
    if name == "pass" and site.steers and site.stage != "parser":
        w.put(f"return steer(ctx, st, {site.state('queue')}, {site.events('verdict', 'pass')});")
        return
    w.put(f"return verdict({site.events('verdict', name)}, {action});")


def shaped(site: Site) -> None:
    """Make of the frame what it is to be, with its own link header."""
    w, shape = site.writer, site.shape
    if shape.appended:
        put_appended(site, lambda: _no_room(site))
    elif shape.pushed or (site.card and shape.touched):
        _materialise(site)
    elif shape.touched:
        closed = site.helper("close", _close)
        with w.nest(f"if ({closed}(ctx, st, 0, 0) != XDP_PASS) {{"):
            finish(site, "drop")


def _no_room(site: Site) -> None:
    """The frame cannot grow: the hook sees it without what was appended."""
    site.writer.put(f"count_event({site.events('hook', 'no_headroom')});")
    bare = site.branch()
    bare.shape = replace(site.shape, appended=None)
    finish(bare, site.pipeline.hooks["no_headroom"])


def _close(site: Site) -> None:
    """The body of a helper: XDP_PASS if all went well."""
    _materialise(site)
    site.writer.put("return XDP_PASS;")


def _materialise(site: Site) -> None:
    """Write the pushes and close the gap of the pops, keeping the frame's own link header."""
    w, shape = site.writer, site.shape
    start = _start(site)
    if not (shape.pushed or shape.popped):
        w.never(f"bpf_xdp_adjust_head(ctx, {start})")
        return
    if site.card and any(header.sealed() for header in shape.pushed):
        raise Unsupported("a checksum over the payload of a packet", w.span)
    front = "" if shape.behind else shape.fronts[0]
    rest = site.offset(front) if front else _behind(site)
    w.put(f"u32 pushed = {pushed_size(site)}, from = {rest};")
    if shape.pushed:
        header = site.header(front) if front else None
        if header is not None and header.extent is not None:
            w.put(f"u32 extent = {value(site, header.extent, (site.node(front), header)).host()};")
        else:
            w.put("u32 extent = frame_length(ctx) - from;")
    first = shape.pushed[0].node if shape.pushed else front
    for last, size, here in link_paths(site):
        if not announcing(site.pipeline.graph, last, first):
            continue  # the checker saw that no packet comes so
        with w.nest(f"if ({here}) {{"):
            saved = save(site, size, start)
            w.never(f"bpf_xdp_adjust_head(ctx, (int)from - {size} - (int)pushed)")
            trim(site, f"{size} + pushed + extent")
            w.put("void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;")
            w.never(f"data + {size + constant_size(site.shape.pushed)} > end")
            w.put(*(f"PUT{n * 8}(data, {at}, {name});" for at, n, name in saved))
            if () in shape.popped and not shape.pushed:
                # perhaps nothing was removed: then it is named already
                with w.nest(f"if (from != {_past(start, size)}) {{"):
                    announce(site, last, first, size)
            else:
                announce(site, last, first, size)
            put_headers(w, shape.pushed, size, "extent")
            seal_headers(w, shape.pushed, size, "extent")


def trim(site: Site, size: str) -> None:
    """A frame within a tunnel has no length of its own: it ends where the packet does, without
    padding. `size`: C text of the bytes that are left then."""
    if site.shape.framed:
        if site.card:
            raise Unsupported(
                "pushing a frame within a tunnel, on a network card", site.writer.span
            )
        site.writer.never(f"bpf_xdp_adjust_tail(ctx, (int)({size}) - (int)frame_length(ctx))")


def announce(site: Site, last: str, first: str, size: int) -> None:
    """Make the last link header name what now follows it."""
    header = site.header(last)
    start = size - header.fixed // 8
    for name, number in writable(site, last, first).writes or ():
        field = header.field(name)
        there = replace(field, offset=start * 8 + field.offset)
        put_value(site.writer, "data", there, constant(number, field.width))


def own_link(site: Site) -> str:
    """The node that the packet's own link header starts with."""
    return site.shape.own or site.pipeline.graph.entry(site.role).name


def _start(site: Site) -> str:
    """C text of the octet where that is."""
    moved = site.shape.own or site.shape.untagged
    return site.offset(own_link(site)) if moved else "0"


def _behind(site: Site) -> str:
    """C text of where the link node ends that pushes stand behind."""
    node = site.shape.behind
    return f"{site.offset(node)} + {site.header(node).fixed // 8}"


def link_paths(site: Site) -> list[tuple[str, int, str]]:
    """The last of the link nodes that stay in front of what was pushed, or of all else, as a packet
    of this role may have them; the bytes of all of them, and C text of whether it does. Exactly one
    of these holds."""
    graph, shape = site.pipeline.graph, site.shape
    found: dict[tuple[str, int], None] = {}
    todo: list[tuple[str, ...]] = [(own_link(site),)]
    while todo:
        chain = todo.pop(0)
        leaving = graph.leaving(chain[-1], site.role)
        kept = tuple(n for n in chain if n not in shape.untagged)
        if kept and _ends(site, chain[-1], {e.target for e in leaving}):
            found[kept[-1], sum(site.header(n).fixed // 8 for n in kept)] = None
        todo += [(*chain, e.target) for e in leaving if graph.node(e.target).header.link]
    sizes = [size for _, size in found]
    return [(last, size, _begins(site, last, size, sizes)) for last, size in found]


def _ends(site: Site, last: str, targets: set[str]) -> bool:
    """Whether the place of what was pushed, or the end of the link headers, is behind this one."""
    shape = site.shape
    if shape.behind:
        return last == shape.behind
    front = shape.fronts[0]
    if shape.pushed and site.header(front).link:
        return front in targets
    return any(not site.header(target).link for target in targets)


def _begins(site: Site, last: str, size: int, sizes: list[int]) -> str:
    """Others may have as many bytes: where the last of them ends tells them apart."""
    shape = site.shape
    plain = not (shape.own or shape.untagged or shape.behind)
    if shape.popped or (plain and not site.header(shape.fronts[0]).link):
        end = site.state("link")
    else:
        end = _behind(site) if shape.behind else site.offset(shape.fronts[0])
    test = f"{end} == {_past(_start(site), size)}"
    if sizes.count(size) < 2:
        return test
    return f"{test} && {site.offset(last)} + {site.header(last).fixed // 8} == {end}"


def _past(start: str, size: int) -> str:
    """C text of so many octets behind the start of the frame's link headers."""
    return str(int(start) + size) if start.isdigit() else f"{start} + {size}"


def save(site: Site, size: int, start: str = "0") -> list[tuple[int, int, str]]:
    """Read so many of the frame's octets into locals: (offset from `start`, octets, C name)."""
    w, saved = site.writer, []
    w.put("void *start = (void *)(long)ctx->data;")
    if start != "0":
        w.put(f"start = packet_at(start, {start});")
    w.never(f"start + {size} > (void *)(long)ctx->data_end")
    for at, piece in pieces(size):
        name = w.fresh("link")
        w.put(f"u{piece * 8} {name} = RAW{piece * 8}(start, {at});")
        saved.append((at, piece, name))
    return saved
