"""How the ends of a frame are moved, how much of it must fit a link, and whether there is a scratch
record: in this alone the edits of one target differ from those of another."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ..headers.frame import LENGTH, signed
from ..ir.expr import CTX, Call, Expr
from .header_out import HeaderOut

Headers = tuple[HeaderOut, ...]

ETHERNET = 14


class Head:
    """XDP and the card: nothing but the frame is there. `hooks`: what is done at events, whatever
    the pipeline says. `scratch`: functions find a packet's headers by the scratch record. `trims`:
    bytes that are not to stay are cut off behind `put` and `room`, which else do that. `partial`:
    the kernel may have to complete a checksum of TCP or UDP, as a packet leaves."""

    hooks: Mapping[str, str] = MappingProxyType({})
    scratch = True
    trims = True
    partial = False

    def of_copies(self) -> Head:
        """The same for copies of a packet that goes on: what is done can be undone."""
        return self

    def move(self, by: Expr) -> Expr:
        """The frame starts so many bytes later; not 0 if it cannot."""
        return Call("bpf_xdp_adjust_head", (CTX, by))

    def put(self, begins: Expr, stays: Expr, link: int, pushed: Expr, headers: Headers) -> Expr:
        """What stays, of so many bytes (0: all), begins at a byte of the frame: in front of it is
        room for so many bytes of link headers and of headers that are pushed. Not 0 if there is
        none."""
        return self.move(signed(begins) - link - signed(pushed))

    def move_end(self, by: Expr) -> Expr:
        """The frame ends so many bytes later; not 0 if it cannot."""
        return Call("bpf_xdp_adjust_tail", (CTX, by))

    def set_length(self, size: Expr) -> Expr:
        """The frame has so many bytes from now on; not 0 if it cannot."""
        return self.move_end(signed(size) - signed(LENGTH))

    def room(self, begins: Expr, stays: Expr, pushed: Expr, headers: Headers, tag: Expr) -> Expr:
        """What stays, of so many bytes (0: all), begins at a byte of the frame: in front of it is
        room for the headers, of so many bytes, and a link header, and a tag if that is not 0. 0 if
        there is none."""
        return Call("move_begin", (CTX, signed(begins) - ETHERNET - signed(pushed), tag))

    def extent(self, at: Expr, extent: Expr, framed: bool) -> Expr:
        """How many bytes a link takes at once of a packet of that extent, at a byte of the frame;
        `framed`: that begins with a link header."""
        return extent

    def quote(self, family: str, ip: Expr) -> Expr:
        """How many bytes an ICMP error quotes of the packet whose IP header is there ("6": of
        IPv6)."""
        return Call(f"quote{family}", (ip,))
