"""Headers written one behind the other: stores, derived lengths, checksums."""

from __future__ import annotations

from ..headers.frame import DATA, END, place_behind
from ..ir.builder import Builder
from ..ir.expr import CTX, ONE, ZERO, Call, Expr, Operand, Symbol, not_, number
from ..ir.expr_builders import both, choose, total
from ..ir.types import BYTES, raw
from ..model import TAIL, Derived, Header
from ..model.checksums import UPPER_LAYER, nearest_network
from .arrays import put_array
from .header_out import HeaderOut
from .header_stores import stores
from .padding import put_padding

#: `put_…` that C has for something else: no block is called so.
OTHERS = {"icmp", "icmp6", "icmp_at", "link", "macs"}


def put_headers(
    w: Builder, headers: tuple[HeaderOut, ...], start: int, extent: Expr, begin: Expr = DATA
) -> None:
    """Write headers one behind the other from byte `start` behind `begin`. `extent`: the bytes that
    follow the last one. The caller has checked all up to the fixed part of the first variable
    one."""
    constant_so_far = True
    base: Expr = number(start)
    for i, out in enumerate(headers):
        with w.block(f"put_{out.node}{'_header' * (out.node in OTHERS)}"):
            pointer = w.local(BYTES, out.node, place_behind(begin, base))
            if not constant_so_far:
                w.assume_not(pointer + out.header.fixed // 8 > END)
            constant_so_far = constant_so_far and not out.variable
            payload = total([extent, *(h.size() for h in headers[i + 1 :])])
            _put_header(w, out, pointer, payload, constant_so_far)
        base = total([base, out.size()])


def _put_header(w: Builder, out: HeaderOut, pointer: Expr, payload: Expr, checked: bool) -> None:
    """`checked`: all of it is known to be in the frame."""
    fixed = stores(out, None, payload)
    for s in fixed:
        s.put(w, pointer)
    for f in out.header.fields:
        if out.own_sum(f):
            words = total(word for s in fixed for word in s.words())
            w.store(pointer, f.offset // 8, 16, Call("fold", (words,), raw(16)))
    at: Expr = number(out.header.fixed // 8)
    for group in out.header.groups:
        condition = out.condition(group.name)
        if condition == ZERO:
            continue
        if group.name == TAIL:
            at = put_padding(w, out, pointer, at)
        size = group.width // 8
        if out.array is not None and group.count is not None:
            put_array(w, out.array, w.local(BYTES, "group", place_behind(pointer, at)), size)
            at = at + out.array.count * size
            continue
        with w.block() if condition == ONE else w.when(condition):
            where = place_behind(pointer, at)
            if not checked:
                where = w.local(BYTES, "group", where)
                w.assume_not(where + size > END)
            for s in stores(out, group.name, payload):
                s.put(w, where)
        at = at + choose(condition, size, 0)
    if not out.header.tail:
        put_padding(w, out, pointer, at)


OF_IPV6 = Symbol("OF_IPV6")


def network_place(header: Header, at: Expr, routed: Expr | None = None) -> Expr:
    """Where an IP header starts, as `seal` asks. `routed`: of how many bytes behind that a segment
    routing header does."""
    if header.protocol != "ipv6":
        return at
    return at | OF_IPV6 if routed is None else at | OF_IPV6 | routed >> 3 << 24


def seal_headers(
    w: Builder, headers: tuple[HeaderOut, ...], start: Operand, extent: Operand
) -> None:
    """Checksums over more than their header, innermost first: the last thing to be done to a frame
    whose `headers` start at byte `start` and are followed by `extent` bytes."""
    sizes = [h.size() for h in headers]
    places = [total([start, *sizes[:i]]) for i in range(len(headers))]
    for i, out in reversed(list(enumerate(headers))):
        network = nearest_network([h.header for h in headers[:i]])
        for f in out.sealed():
            assert isinstance(f.default, Derived)
            over, covered = f.default.over, list[Operand]()
            if "header" in over:
                covered.append(sizes[i])
            if "payload" in over:
                covered += [*sizes[i + 1 :], extent]
            at = places[i] if "header" in over else total([places[i], sizes[i]])
            pseudo: Expr = ZERO
            if "pseudo" in over and network is not None:
                pseudo = _pseudo(headers, places, sizes, network, i)
            field = total([places[i], out.offset_of(f)])
            sealed = Call("seal", (CTX, pseudo, at, total(covered), field))
            present = ONE if f.group is None else out.condition(f.group)
            w.assume_not(not_(sealed) if present == ONE else both((present, not_(sealed))))


def _pseudo(
    headers: tuple[HeaderOut, ...], places: list[Expr], sizes: list[Expr], network: int, i: int
) -> Expr:
    """What `seal` asks of the pseudo header of header i, whose IP header is `network`."""
    upper = UPPER_LAYER.get(headers[i].header.protocol, 0)
    between = [h.header.protocol for h in headers[network:i]]
    routing = between.index("srh") if "srh" in between else 0
    routed = total(sizes[network : network + routing]) if routing else None
    return network_place(headers[network].header, places[network], routed) | upper << 16
