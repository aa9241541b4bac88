"""`copy {…}`: a function of its own makes what is to leave of the frame and sends it; behind that
the frame is made what it was. Pushes are collected in front of that, as those of a packet that a
later stage writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from ..ir import edits
from ..ir.expr import CTX, ZERO, Call, Expr, Name, not_
from ..ir.nodes import Do, Moved
from ..ir.types import U32
from .carry import address_kept, carried_over
from .context import EditContext
from .forward import bridge, forward

#: The numbers that a helper is called with.
A, B = Name("a", U32), Name("b", U32)


def leave(site: EditContext, way: edits.PacketEnd, most: int) -> None:
    """A copy of the packet, with the pushes so far, by this way; of `most` bytes, or (0) whole."""
    w, shape = site.writer, carried_over(site, site.shape)
    b: Expr = ZERO
    out: Callable[[EditContext], None]
    match way:
        case edits.Forward(port, via, family):
            b, shape, by = address_kept(site, shape, via, family, B)
            way = replace(way, port=A, via=by, resolved=None)
            out, moves = partial(forward, statement=way), True
        case edits.Bridge(port):
            out = partial(bridge, statement=replace(way, port=A))
            moves = shape.touched
        case _:
            raise AssertionError("H0531")
    made = replace(site, shape=shape, copying=True, shown=most, head=site.head.of_copies())
    name = made.helper(f"copy_{len(site.helpers) + 1}", out)
    if moves:
        w.assume_not(not_(Call("begin_copy", (CTX,))))
    w.put(Do(site.call(name, port, b)))
    w.assume_not(not_(Call("end_copy" if moves else "end_mirror", (CTX,))))
    w.put(Moved())
