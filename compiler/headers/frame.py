"""The bytes of the frame as it is now, and a function's pointers to where they begin and end."""

from __future__ import annotations

from ..ir.builder import Builder
from ..ir.expr import CTX, Call, Cast, Expr, Frame, Name, Number
from ..ir.types import BYTES, U32, U64

DATA, END = Name("data", BYTES), Name("end", BYTES)
LENGTH = Call("frame_length", (CTX,), U64)


def let_edges(w: Builder) -> None:
    """Let the block know DATA and END as they are now."""
    w.let(BYTES, DATA.name, Frame("data"))
    w.let(BYTES, END.name, Frame("data_end"))


def packet_at(base: Expr, at: Expr) -> Expr:
    """A place in the packet, within bounds that the verifier sees."""
    return Call("packet_at", (base, at), BYTES)


def place_behind(begin: Expr, at: Expr) -> Expr:
    """The same among headers that are put, so many bytes behind a pointer."""
    return begin + at if isinstance(at, Number) else Call("pushed_at", (begin, at), BYTES)


def signed(size: Expr) -> Expr:
    """A number of bytes as one that may be less than 0."""
    return size if isinstance(size, Number) else Cast(U32, size, signed=True)
