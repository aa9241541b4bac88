"""SCHED_CLS: a program at tc is given an skb, whose metadata has to stay true; templates/tc.bpf.h
does that. What it does not do is said in docs/tc.md, and refused in `compiler/tc_limits.py`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from types import MappingProxyType

from ..edits.head import ETHERNET, Head, Headers
from ..ir.expr import CTX, ZERO, Call, Expr, Symbol, not_, number
from ..ir.types import U32
from ..model import Header

#: As what the kernel segments: see templates/tc.bpf.h.
_KNOWN = MappingProxyType(
    {"ipv4": "AS_IPV4", "ipv6": "AS_IPV6", "gre": "AS_GRE", "udp": "AS_UDP", "ethernet": "AS_FRAME"}
)
#: Headers that kernels put around packets which stand for segments, outermost first.
_SEGMENTED = frozenset(
    {
        ("ipv4",), ("ipv6",), ("ipv6", "srh"),
        ("ipv4", "gre"), ("ipv6", "gre"),
        ("ipv4", "udp", "vxlan"), ("ipv6", "udp", "vxlan"),
        ("ipv4", "udp", "geneve"), ("ipv6", "udp", "geneve"),
    }
)  # fmt: skip


class SkbHead(Head):
    """Where a frame cannot be made it may be half done, so no hook sees it."""

    hooks = MappingProxyType({"no_headroom": "drop"})
    trims = False
    partial = True

    def of_copies(self) -> Head:
        return _CopyHead()

    def move(self, by: Expr) -> Expr:
        return Call("move_head", (CTX, by))

    def move_end(self, by: Expr) -> Expr:
        return Call("move_end", (CTX, by))

    def put(self, begins: Expr, stays: Expr, link: int, pushed: Expr, headers: Headers) -> Expr:
        return not_(Call("set_front", (CTX, begins, pushed + link, stays, _flags(headers))))

    def room(self, begins: Expr, stays: Expr, pushed: Expr, headers: Headers, tag: Expr) -> Expr:
        return Call("set_front", (CTX, begins, pushed + ETHERNET, stays, _flags(headers)))

    def extent(self, at: Expr, extent: Expr, framed: bool) -> Expr:
        return Call("segment_extent", (CTX, at, extent, number(int(framed))), U32)

    def quote(self, family: str, ip: Expr) -> Expr:
        return super().quote(family, ip) if family else Call("quote_upper", (CTX, ip))


class _CopyHead(SkbHead):
    def move(self, by: Expr) -> Expr:
        return Call("move_copied_head", (CTX, by))

    def put(self, begins: Expr, stays: Expr, link: int, pushed: Expr, headers: Headers) -> Expr:
        return not_(self._front(begins, pushed + link, stays, headers))

    def room(self, begins: Expr, stays: Expr, pushed: Expr, headers: Headers, tag: Expr) -> Expr:
        return self._front(begins, pushed + ETHERNET, stays, headers)

    def _front(self, begins: Expr, front: Expr, stays: Expr, headers: Headers) -> Expr:
        return Call("set_copied_front", (CTX, begins, front, stays, _flags(headers)))


def _flags(pushed: Headers) -> Expr:
    """What the kernel is to know of headers that are pushed."""
    headers = [h.header for h in pushed]
    names = ["WHOLE"] if any(h.sealed() for h in pushed) else []
    if names or any("sequence" in h.given for h in pushed) or not segmented(headers):
        names.append("NO_SEGMENTS")
    else:
        names += [_KNOWN[h.protocol] for h in headers if h.protocol in _KNOWN]
    return reduce(or_, map(Symbol, names)) if names else ZERO


def segmented(headers: Sequence[Header]) -> bool:
    """Whether the kernel can make segments of a packet with these headers around it, but for sums
    and sequence numbers: it writes the lengths of IP and UDP into each, and all else as it stands.
    """
    protocols = tuple(h.protocol for h in headers if h.protocol != "vlan")
    if protocols[-1:] == ("ethernet",):
        protocols = protocols[:-1]
    return not protocols or protocols in _SEGMENTED
