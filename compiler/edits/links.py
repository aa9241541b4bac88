"""`pop NODE`: a link header is taken out where it stands; what is in front of it moves up."""

from __future__ import annotations

from contextlib import nullcontext

from ..headers.context import pointer_to
from ..headers.fields import field_value, pieces
from ..headers.frame import packet_at
from ..headers.outline import without_link
from ..ir.edits import SetField
from ..ir.expr import Expr, Frame, NotNull, load
from ..ir.nodes import MakePointer
from ..ir.types import BYTES, raw
from ..model.parse_graph import missing_selector, selector_fields
from .assigns import set_field
from .context import EditContext
from .shape import Shape
from .verdicts import own_link


def pop_link(site: EditContext, node: str) -> Shape:
    """At once: what the header says of what follows is written into the one in front, and all in
    front is moved by its bytes. The frame starts so much later."""
    w = site.writer
    ways = _ways(site, node)
    _write_in_front(site, node, ways)
    start, by = site.offset(own_link(site)), site.header(node).fixed // 8
    sizes = dict.fromkeys(sum(site.header(n).fixed // 8 for n in way) for way in ways)
    for size in sizes:
        alone = len(sizes) == 1
        with w.block() if alone else w.when(site.offset(node).is_(start + size)):
            _move(site, start, size, by)
    site.shape = without_link(site.shape, node)
    for front in dict.fromkeys(n for way in ways for n in way):
        _find_again(site, front, by)
    return site.shape


def _ways(site: EditContext, node: str) -> list[tuple[str, ...]]:
    """The link nodes that may stand in front of a leading one; no packet gets here that has one
    which cannot say what follows this: the checker saw to that."""
    graph, found = site.graph, list[tuple[str, ...]]()
    todo: list[tuple[str, ...]] = [(own_link(site),)]
    while todo:
        way = todo.pop(0)
        for target in dict.fromkeys(e.target for e in graph.leaving(way[-1], site.role)):
            if target == node:
                left = tuple(n for n in way if n not in site.shape.untagged)
                if not missing_selector(graph, left[-1], node):
                    found.append(left)
            elif site.header(target).link:
                todo.append((*way, target))
    return found


def _write_in_front(site: EditContext, node: str, ways: list[tuple[str, ...]]) -> None:
    """Into the innermost of those in front that the packet has."""
    last = {way[-1] for way in ways}
    fronts = [n.name for n in reversed(site.graph.nodes) if n.name in last]
    for name in (node, *fronts):
        site.writer.put(MakePointer(site.pointer(name)))  # for all ways that the tests below open
    for i, front in enumerate(fronts):
        if i == len(fronts) - 1:
            with site.writer.otherwise() if i else nullcontext():
                _write(site.branch() if i else site, front, node)
            return
        with site.writer.either(i == 0, NotNull(site.pointer(front))):
            _write(site.branch({front}), front, node)


def _write(site: EditContext, front: str, node: str) -> None:
    """What the header says of what follows, the one in front says."""
    header, names = site.header(node), selector_fields(site.graph, front)
    pointer = site.node(node)
    values = [site.captured(field_value(pointer, header.field(name)), name) for name in names]
    for name, value in zip(names, values, strict=True):
        set_field(site, SetField(front, name, value))


def _move(site: EditContext, start: Expr, size: int, by: int) -> None:
    """Move the first `size` bytes by `by` bytes."""
    w = site.writer
    first = w.let(BYTES, "first", packet_at(Frame("data"), start))
    w.assume_not(first + (size + by) > Frame("data_end"))
    moved = [
        (at, piece, w.local(raw(piece * 8), "link", load(first, at, piece * 8)))
        for at, piece in pieces(size)
    ]
    for at, piece, kept in moved:
        w.store(first, at + by, piece * 8, kept)


def _find_again(site: EditContext, node: str, by: int) -> None:
    """The pointer to a header that was moved, where it is kept."""
    w, pointer = site.writer, pointer_to(node)
    with w.only(memory=False), w.when(NotNull(pointer)):
        w.add(pointer, by)
