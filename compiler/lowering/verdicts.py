"""`pass`, `drop`, `default`, `send back`: the packet leaves with its own link header."""

from __future__ import annotations

from dataclasses import replace

from ..graph import writable as announcing
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
    if shape.own:
        if shape.pushed:
            raise Unsupported(f"pushing behind {shape.own}, which was popped to", w.span)
        w.never(f"bpf_xdp_adjust_head(ctx, {site.offset(shape.own)})")
        return
    if site.card and any(header.sealed() for header in shape.pushed):
        raise Unsupported("a checksum over the payload of a packet", w.span)
    front = shape.fronts[0]
    w.put(f"u32 pushed = {pushed_size(site)}, from = {site.offset(front)};")
    if shape.pushed:
        header = site.header(front)
        if header.extent is not None:
            w.put(f"u32 extent = {value(site, header.extent, (site.node(front), header)).host()};")
        else:
            w.put("u32 extent = frame_length(ctx) - from;")
    first = shape.pushed[0].node if shape.pushed else front
    for nodes, size, here in link_paths(site):
        if not announcing(site.pipeline.graph, nodes[-1], first):
            continue  # the checker saw that no packet comes so
        with w.nest(f"if ({here}) {{"):
            saved = save(site, size)
            w.never(f"bpf_xdp_adjust_head(ctx, (int)from - {size} - (int)pushed)")
            w.put("void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;")
            w.never(f"data + {size + constant_size(site.shape.pushed)} > end")
            w.put(*(f"PUT{n * 8}(data, {at}, {name});" for at, n, name in saved))
            if () in shape.popped and not shape.pushed:
                # perhaps nothing was removed: then it is named already
                with w.nest(f"if (from != {size}) {{"):
                    announce(site, nodes[-1], first, size)
            else:
                announce(site, nodes[-1], first, size)
            put_headers(w, shape.pushed, size, "extent")
            seal_headers(w, shape.pushed, size, "extent")


def announce(site: Site, last: str, first: str, size: int) -> None:
    """Make the last link header name what now follows it."""
    header = site.header(last)
    start = size - header.fixed // 8
    for name, number in writable(site, last, first).writes or ():
        field = header.field(name)
        there = replace(field, offset=start * 8 + field.offset)
        put_value(site.writer, "data", there, constant(number, field.width))


def link_paths(site: Site) -> list[tuple[tuple[str, ...], int, str]]:
    """The chains of link nodes that a packet of this role with more than those may begin with,
    their octets, and C text of whether it does."""
    graph = site.pipeline.graph
    found: list[tuple[tuple[str, ...], int]] = []
    todo: list[tuple[str, ...]] = [(graph.entry(site.role).name,)]
    while todo:
        chain = todo.pop(0)
        leaving = graph.leaving(chain[-1], site.role)
        if any(not graph.node(e.target).header.link for e in leaving):
            found.append((chain, sum(site.header(n).fixed // 8 for n in chain)))
        todo += [(*chain, e.target) for e in leaving if graph.node(e.target).header.link]
    sizes = [size for _, size in found]
    return [(chain, size, _begins(site, chain, size, sizes)) for chain, size in found]


def _begins(site: Site, chain: tuple[str, ...], size: int, sizes: list[int]) -> str:
    """Another chain may have as many octets: its last node tells them apart."""
    last = f" && there({site.pointer(chain[-1])})" if sizes.count(size) > 1 else ""
    return f"{site.state('link')} == {size}{last}"


def save(site: Site, size: int) -> list[tuple[int, int, str]]:
    """Read the frame's first octets into locals: (offset, octets, C name)."""
    w, saved = site.writer, []
    w.put("void *start = (void *)(long)ctx->data;")
    w.never(f"start + {size} > (void *)(long)ctx->data_end")
    for at, piece in pieces(size):
        name = w.fresh("link")
        w.put(f"u{piece * 8} {name} = RAW{piece * 8}(start, {at});")
        saved.append((at, piece, name))
    return saved
