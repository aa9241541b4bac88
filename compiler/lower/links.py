"""`pop NODE`: a link header is taken out where it stands; what is in front of it moves up."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

from ..ir.expr import Expr, Frame, NotNull, load
from ..ir.nodes import MakePointer
from ..ir.types import BYTES, raw
from ..model import Assign, Packet, PopLink
from ..model.parse_graph import tells, untold
from .assigns import assign
from .fields import pieces
from .frame import packet_at
from .shape import Shape, Unsupported
from .site import Site, pointer_to
from .verdicts import own_link


def pop_link(site: Site, statement: PopLink) -> Shape:
    """At once: what the header says of what follows is written into the one in front, and all in
    front is moved by its octets. The frame starts so much later."""
    w, node = site.writer, statement.node
    if site.card:
        raise Unsupported("popping a link header on a network card", w.span)
    ways = _ways(site, node)
    _tell_in_front(site, statement, ways)
    start, octets = site.offset(own_link(site)), site.header(node).fixed // 8
    sizes = dict.fromkeys(sum(site.header(n).fixed // 8 for n in way) for way in ways)
    for size in sizes:
        alone = len(sizes) == 1
        with w.block() if alone else w.when(site.offset(node).is_(start + size)):
            _move(site, start, size, octets)
    site.shape = replace(site.shape, untagged=(*site.shape.untagged, node))
    for front in dict.fromkeys(n for way in ways for n in way):
        _find_again(site, front, octets)
    return site.shape


def _ways(site: Site, node: str) -> list[tuple[str, ...]]:
    """The link nodes that may stand in front of a leading one; no packet gets here that has one
    which cannot say what follows this: the checker saw to that."""
    graph, found = site.pipeline.graph, list[tuple[str, ...]]()
    todo: list[tuple[str, ...]] = [(own_link(site),)]
    while todo:
        way = todo.pop(0)
        for target in dict.fromkeys(e.target for e in graph.leaving(way[-1], site.role)):
            if target == node:
                left = tuple(n for n in way if n not in site.shape.untagged)
                if not untold(graph, left[-1], node):
                    found.append(left)
            elif site.header(target).link:
                todo.append((*way, target))
    return found


def _tell_in_front(site: Site, statement: PopLink, ways: list[tuple[str, ...]]) -> None:
    """Into the innermost of those in front that the packet has."""
    last = {way[-1] for way in ways}
    fronts = [n.name for n in reversed(site.pipeline.graph.nodes) if n.name in last]
    for name in (statement.node, *fronts):
        site.writer.put(MakePointer(site.pointer(name)))  # for all ways that the tests below open
    for i, front in enumerate(fronts):
        told = _told(site, front, statement)
        if i == len(fronts) - 1:
            with site.writer.otherwise() if i else nullcontext():
                assign(site.branch() if i else site, told)
            return
        with site.writer.either(i == 0, NotNull(site.pointer(front))):
            assign(site.branch({front}), told)


def _told(site: Site, front: str, statement: PopLink) -> Assign:
    """What the header says is what the one in front says."""
    fields = [site.header(front).field(name) for name in tells(site.pipeline.graph, front)]
    pair = ((front, statement.node, f) for f in fields)
    return Assign(
        tuple(
            (Packet(a, f.name, f.width, f.kind), Packet(b, f.name, f.width, f.kind))
            for a, b, f in pair
        ),
        statement.span,
    )


def _move(site: Site, start: Expr, size: int, octets: int) -> None:
    """The first `size` octets, by `octets`."""
    w = site.writer
    first = w.let(BYTES, "first", packet_at(Frame("data"), start))
    w.assume_not(first + (size + octets) > Frame("data_end"))
    moved = [
        (at, piece, w.local(raw(piece * 8), "link", load(first, at, piece * 8)))
        for at, piece in pieces(size)
    ]
    for at, piece, kept in moved:
        w.store(first, at + octets, piece * 8, kept)


def _find_again(site: Site, node: str, octets: int) -> None:
    """The pointer to a header that was moved, where it is kept."""
    w, pointer = site.writer, pointer_to(node)
    with w.only(memory=False), w.when(NotNull(pointer)):
        w.add(pointer, octets)
