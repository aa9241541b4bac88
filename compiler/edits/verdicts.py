"""`pass`, `drop`, `default`, `send back`: the packet leaves with its own link header."""

from __future__ import annotations

from dataclasses import replace

from ..headers.clauses import clause
from ..headers.fields import pieces
from ..headers.frame import DATA, END, LENGTH, let_edges, packet_at
from ..headers.stores import put_value
from ..ir.expr import CTX, ST, ZERO, Call, Expr, Frame, Symbol, load
from ..ir.expr_builders import both, total
from ..ir.nodes import Action
from ..ir.types import BYTES, U32, raw
from ..ir.values import constant
from ..model.parse_graph import writable as announcing
from .appends import put_appended
from .context import EditContext
from .put_headers import put_headers, seal_headers
from .shape import constant_size, pushed_size, writable


def is_verdict(call: Expr, action: Action) -> Expr:
    return call.is_(Symbol(f"XDP_{action.upper()}"))


def finish(site: EditContext, what: str) -> None:
    """`pass`, `drop`, `default` or `send back`, with the pops and pushes so far."""
    w = site.writer
    if what == "drop":
        site.end("drop")
        return
    if what == "default" and (site.shape.touched or site.steers):
        with w.when(is_verdict(Call("default_verdict", ()), "drop")):
            finish(site, "drop")
        what = "pass"
    elif what == "default":
        w.returns(Call("default_action", ()))
        return
    shaped(site)
    if what == "send back":
        site.end("tx")
    elif site.steers and site.stage != "parser":
        event = site.events("verdict", "pass")
        w.returns(Call("steer", (CTX, ST, site.state("queue"), event)))
    else:
        site.end("pass")


def shaped(site: EditContext) -> None:
    """Make of the frame what it is to be, with its own link header."""
    w, shape = site.writer, site.shape
    if shape.appended:
        put_appended(site, lambda: _no_room(site))
    elif shape.pushed or (shape.touched and not site.head.scratch):
        _materialise(site)
    elif shape.touched:
        close = "close_of_copy" if site.copying else "close"
        closed = w.local(U32, "closed", site.call(site.helper(close, _close)))
        with w.when(closed.is_not(Symbol("XDP_PASS"))):  # it is counted
            w.returns(closed & 7)


def _no_room(site: EditContext) -> None:
    """The frame cannot grow: the hook sees it without what was appended."""
    site.writer.count(site.events("hook", "no_headroom"))
    bare = site.branch()
    bare.shape = replace(site.shape, appended=None, cut="")
    finish(bare, site.hooks["no_headroom"])


def _close(site: EditContext) -> None:
    """The body of a helper: XDP_PASS if all went well."""
    _materialise(site)
    site.writer.returns(Symbol("XDP_PASS"))


def _materialise(site: EditContext) -> None:
    """Write the pushes and close the gap of the pops, keeping the frame's own link header."""
    w, shape = site.writer, site.shape
    start = _start(site)
    if not (shape.pushed or shape.popped):
        w.assume_not(site.head.move(start))
        return
    front = "" if shape.behind else shape.fronts[0]
    pushed = w.let(U32, "pushed", pushed_size(site.shape))
    begins = w.let(U32, "from", site.offset(front) if front else _behind(site))
    extent = _extent(site, front, begins) if shape.pushed else ZERO
    stays = extent if shape.framed else ZERO
    first = shape.pushed[0].node if shape.pushed else front
    for last, size, here in link_paths(site):
        if not announcing(site.graph, last, first):
            continue  # the checker saw that no packet comes so
        with w.when(here):
            saved = save(site, size, start)
            w.assume_not(site.head.put(begins, stays, size, pushed, shape.pushed))
            trim(site, total([size, pushed, extent]))
            let_edges(w)
            w.assume_not(DATA + (size + constant_size(site.shape.pushed)) > END)
            put_saved(site, saved)
            if () in shape.popped and not shape.pushed:
                # perhaps nothing was removed: then it is named already
                with w.when(begins.is_not(start + size)):
                    announce(site, last, first, size)
            else:
                announce(site, last, first, size)
            put_headers(w, shape.pushed, size, extent)
            seal_headers(w, shape.pushed, size, extent)


def _extent(site: EditContext, front: str, begins: Expr) -> Expr:
    """How many bytes of the frame stay behind the pushes."""
    header = site.header(front) if front else None
    if header is not None and header.extent is not None:
        found = clause(site, header.extent, site.node(front), header).host()
    else:
        found = LENGTH - begins
    return site.writer.let(U32, "extent", found)


def trim(site: EditContext, size: Expr) -> None:
    """A frame within a tunnel has no length of its own: it ends where the packet does, without
    padding. `size`: the bytes that are left then."""
    if site.shape.framed and site.head.trims:
        site.writer.assume_not(site.head.set_length(size))


def announce(site: EditContext, last: str, first: str, size: int) -> None:
    """Make the last link header name what now follows it."""
    header = site.header(last)
    start = size - header.fixed // 8
    for name, known in writable(site.graph, last, first).writes or ():
        field = header.field(name)
        there = replace(field, offset=start * 8 + field.offset)
        put_value(site.writer, DATA, there, constant(known, field.width))


def own_link(site: EditContext) -> str:
    """The node that the packet's own link header starts with."""
    return site.shape.own or site.graph.entry(site.role).name


def _start(site: EditContext) -> Expr:
    """The byte where that is."""
    moved = site.shape.own or site.shape.untagged
    return site.offset(own_link(site)) if moved else ZERO


def _behind(site: EditContext) -> Expr:
    """Where the link node ends that pushes stand behind."""
    node = site.shape.behind
    return site.offset(node) + site.header(node).fixed // 8


def link_paths(site: EditContext) -> list[tuple[str, int, Expr]]:
    """The last of the link nodes that stay in front of what was pushed, or of all else, as a packet
    of this role may have them; the bytes of all of them, and whether it does. Exactly one
    of these holds."""
    graph, shape = site.graph, site.shape
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


def _ends(site: EditContext, last: str, targets: set[str]) -> bool:
    """Whether the place of what was pushed, or the end of the link headers, is behind this one."""
    shape = site.shape
    if shape.behind:
        return last == shape.behind
    front = shape.fronts[0]
    if shape.pushed and site.header(front).link:
        return front in targets
    return any(not site.header(target).link for target in targets)


def _begins(site: EditContext, last: str, size: int, sizes: list[int]) -> Expr:
    """Others may have as many bytes: where the last of them ends tells them apart."""
    shape = site.shape
    plain = not (shape.own or shape.untagged or shape.behind)
    end: Expr
    if shape.popped or (plain and not site.header(shape.fronts[0]).link):
        end = site.state("link")
    else:
        end = _behind(site) if shape.behind else site.offset(shape.fronts[0])
    test = end.is_(_start(site) + size)
    if sizes.count(size) < 2:
        return test
    return both((test, (site.offset(last) + site.header(last).fixed // 8).is_(end)))


Saved = list[tuple[int, int, Expr]]


def save(site: EditContext, size: int, start: Expr = ZERO) -> Saved:
    """Read so many of the frame's bytes into locals: (offset from `start`, bytes, the local)."""
    w = site.writer
    begin = w.let(BYTES, "start", Frame("data"))
    if start != ZERO:
        w.set(begin, packet_at(begin, start))
    w.assume_not(begin + size > Frame("data_end"))
    return [
        (at, piece, w.local(raw(piece * 8), "link", load(begin, at, piece * 8)))
        for at, piece in pieces(size)
    ]


def put_saved(site: EditContext, saved: Saved) -> None:
    """Write them at DATA."""
    for at, piece, kept in saved:
        site.writer.store(DATA, at, piece * 8, kept)
