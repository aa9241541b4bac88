"""How the ends of a frame are moved, how much of it must fit a link, and whether there is a scratch
record: in this alone the edits of one target differ from those of another."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ..headers.frame import LENGTH, signed
from ..ir.expr import CTX, Call, Expr
from ..ir.unit import Unit
from .header_out import HeaderOut

Headers = tuple[HeaderOut, ...]

ETHERNET = 14


class Head:
    """XDP and the card: nothing but the frame is there. `hooks`: what is done at events, whatever
    the pipeline says. `scratch`: functions find a packet's headers by the scratch record."""

    hooks: Mapping[str, str] = MappingProxyType({})
    scratch = True

    def refuse(self, unit: Unit) -> None:
        """Raises `Unsupported` where the target does not do all that the unit says."""

    def move(self, by: Expr, pushed: Headers = ()) -> Expr:
        """The frame starts so many bytes later, with headers that are pushed; not 0 if it cannot.
        All in front of what stays is then written."""
        return Call("bpf_xdp_adjust_head", (CTX, by))

    def move_end(self, by: Expr) -> Expr:
        """The frame ends so many bytes later; not 0 if it cannot."""
        return Call("bpf_xdp_adjust_tail", (CTX, by))

    def set_length(self, size: Expr) -> Expr:
        """The frame has so many bytes from now on; not 0 if it cannot."""
        return self.move_end(signed(size) - signed(LENGTH))

    def room(self, begins: Expr, pushed: Expr, headers: Headers, tag: Expr) -> Expr:
        """What stays begins at a byte of the frame: in front of it is room for the headers, of so
        many bytes, and a link header, and a tag if that is not 0. 0 if there is none."""
        return Call("move_begin", (CTX, signed(begins) - ETHERNET - signed(pushed), tag))

    def extent(self, at: Expr, extent: Expr) -> Expr:
        """How many bytes a link takes at once of a packet of that extent, at a byte of the
        frame."""
        return extent
