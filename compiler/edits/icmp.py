"""`reply icmp` (RFC 792, RFC 1122 section 3.2.2, RFC 1191; RFC 4443): the way back is the way it
came."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from ..headers.context import place_of
from ..headers.fields import field_value
from ..headers.frame import DATA, END, LENGTH, let_edges, packet_at, signed
from ..headers.groups import group_pointer
from ..ir.expr import CTX, ZERO, Address, Call, Cast, Expr, Name, element, load, not_, number
from ..ir.expr_builders import bits_joined, both, choose, either, total
from ..ir.types import BYTES, U8, U32, Int, is_network, raw
from ..ir.values import Value, constant
from ..model import Header
from ..model.checksums import zero_checksum
from ..model.header_sizes import computed_from
from ..model.parse_graph import writable as announcing
from .carry import Room
from .context import EditContext
from .header_out import HeaderOut
from .ip import VERSIONS, Version
from .padding import padded
from .put_headers import put_headers, seal_headers
from .shape import constant_size, writable
from .verdicts import Saved, link_paths, put_saved, save

TYPE_CODE, MTU = Name("a"), Name("b")
IPV4_HEADER = 20  # bytes without options


def reply(site: EditContext, event: str, front: str, mtu: Expr) -> None:
    """Answer the sender of `front`, an IP node; `mtu` is the next hop's. The answer is a function
    of its own, for each shape of packet one: it is long and seldom run."""
    kind, code = VERSIONS[site.header(front).protocol].errors[event]
    name = site.helper(f"reply_to_{front}", lambda inner: _reply(inner, front))
    site.writer.returns(site.call(name, number(kind << 8 | code), mtu) & 7)


def _reply(site: EditContext, front: str) -> None:
    """The body: `a` is ICMP type and code, `b` the next hop's MTU."""
    w, popped = site.writer, site.shape.popped or ((),)
    back = [way for way in popped if _leads_back(site, way)]
    if not back:
        site.end("drop")
        return
    x, version = site.node(front), VERSIONS[site.header(front).protocol]
    family, bits = ("", 32) if version.protocol == "ipv4" else ("6", 128)
    about = (CTX, x, site.offset(front), TYPE_CODE) if family else (CTX, x)
    may, address = Call(f"may_answer{family}", about), Call(f"arrival_address{family}", (CTX,))
    with w.when(either((not_(may), not_(address)))):
        site.end("drop")
    sender = w.let(raw(bits), "sender", load(x, version.source, bits))
    quoted = w.let(U32, "quoted", site.head.quote(family, x))
    where = w.let(U32, "where", site.offset(front))
    every = list(dict.fromkeys(node for way in popped for node in way))
    absent = Name("absent")
    if len(popped) > 1:  # a bit for each that was not popped
        w.let(U32, absent.name, _absent(site, every))
    if len(back) < len(popped):
        with w.when(both(absent.is_not(_lacking(every, way)) for way in back)):
            site.end("drop")
    with w.unless(Call("take_answer", ())):
        site.drop("icmp limit")
    for way in back:
        with w.block() if len(popped) == 1 else w.when(absent.is_(_lacking(every, way))):
            _answer_by(site.branch(), version, way, _Quote(sender, quoted, where))
    w.internal()


@dataclass(frozen=True)
class _Quote:
    """Who sent the packet, how many bytes of it are quoted, and where its IP header starts."""

    sender: Name
    size: Name
    where: Name


def _absent(site: EditContext, nodes: list[str]) -> Expr:
    """A number that has a bit for each node that was not popped. No branches: each would double the
    ways that the verifier follows."""
    kept = site.shape.perhaps_gone(site.graph, site.role)
    bits = []
    for i, node in enumerate(nodes):
        at = place_of(node)
        bit = at >> 15
        if node in kept:
            bit = bit | Cast(U32, at - site.state("link")) >> 31
        bits.append(Cast(U32, bit) << i)
    return bits_joined(bits)


def _lacking(nodes: list[str], way: tuple[str, ...]) -> int:
    """That number of a packet that has none but these."""
    return sum(1 << i for i, node in enumerate(nodes) if node not in way)


def _leads_back(site: EditContext, way: tuple[str, ...]) -> bool:
    """Whether each popped header can announce the next as it has to on the way back, and none is a
    list of where the packet goes."""
    if any(site.header(node).arrays for node in way):
        return False
    pairs = pairwise((*way, site.shape.fronts[0]))
    return all(announcing(site.graph, node, after) for node, after in pairs)


def _answer_by(site: EditContext, version: Version, way: tuple[str, ...], quote: _Quote) -> None:
    w = site.writer
    link = w.let(U32, "link", site.state("link"))
    sizes = _at_once(sorted({size for _, size, _ in link_paths(site)}))
    for size in sizes:
        with w.block() if len(sizes) == 1 else w.when(link <= size):
            room = Room(site.kept)
            with w.block("keep_link"):
                saved = _saved(site, size, room)
            back = _back(site, way, room)
            # bytes of the tunnel headers that go back
            again = w.let(U32, "again", total(h.size() for h in back))
            surplus = signed(quote.where + quote.size) - signed(LENGTH)
            start = signed(quote.where) - signed(link) - version.added - signed(again)
            w.assume_not(either((site.head.move_end(surplus), site.head.move(start))))
            let_edges(w)
            with w.block("put_link"):
                w.assume_not(DATA + size > END)
                put_saved(site, saved)
                w.do("swap_macs", DATA)
            _write(site, version, back, link, again, quote)


def _at_once(sizes: list[int]) -> list[int]:
    """Of the sizes that link headers have, in rising order, those that others are copied with: as
    many bytes are there, since an IP header follows."""
    found: list[int] = []
    least = 0
    for size in sizes:
        if found and size <= least + IPV4_HEADER:
            found[-1] = size
        else:
            found.append(size)
            least = size
    return found


def _saved(site: EditContext, size: int, room: Room) -> Saved:
    """The frame's link headers, kept elsewhere than on the stack."""
    return [
        (at, piece, _put_aside(site, piece, kept, room)) for at, piece, kept in save(site, size)
    ]


def _write(
    site: EditContext,
    version: Version,
    back: tuple[HeaderOut, ...],
    link: Expr,
    again: Expr,
    quote: _Quote,
) -> None:
    """Tunnel headers and error, behind link headers of so many bytes that go back."""
    w, family = site.writer, "" if version.protocol == "ipv4" else "6"
    behind = w.let(U32, "behind", version.added + quote.size)
    if back:
        first = w.let(BYTES, "first", packet_at(DATA, link))
        w.assume_not(first + constant_size(back) > END)
        put_headers(w, back, 0, behind, first)
    arguments = CTX, link + again, quote.sender, quote.size, TYPE_CODE, MTU
    w.assume_not(not_(Call(f"put_icmp{family}", arguments)))
    seal_headers(w, back, link, behind)
    site.end("tx")


def _back(site: EditContext, popped: tuple[str, ...], room: Room) -> tuple[HeaderOut, ...]:
    """The popped headers as they go back: source and destination exchanged, the rest as a push
    would write it, but what has no default stays as it came."""
    out: list[HeaderOut] = []
    following = (*popped, site.shape.fronts[0])[1:]
    for node, after in zip(popped, following, strict=True):
        header = site.header(node)
        edge = writable(site.graph, node, after)
        with site.writer.block(f"keep_{node}"):
            given = _exchanged(site, node, header, {name for name, _ in edge.writes or ()}, room)
        if zero_checksum(header, [h.header for h in out]):
            given["checksum"] = constant(0, 16)
        written = HeaderOut(node, header, given, edge.writes or ())
        out.append(padded(site.writer, written))
    return tuple(out)


def _exchanged(
    site: EditContext, node: str, header: Header, written: set[str], room: Room
) -> dict[str, Value]:
    """What the header's fields have to hold, taken from where they are written over."""
    pointer = site.removed(node)
    given: dict[str, Value] = {}
    follows = header.flags | computed_from(header)
    for f in header.fields:
        if f.default is not None or f.name in written or not f.width or f.part_of:
            continue
        if f.name in follows or f.name.startswith("_"):
            continue
        assert f.width <= 128, "H0345"
        base, has = pointer, None
        if f.group is not None:
            base = group_pointer(site, header, f.group, pointer)
            has = Cast(U8, _put_aside(site, 1, base.is_not(0), room))
        v = field_value(base, header.opposite(f))
        read = v.expr if has is None else choose(has, v.expr, ZERO)
        kept = _put_aside(site, v.size, read, room)
        given[f.name] = Value(kept if v.raw else Cast(v.stored, kept), v.width, has)
    return given


def _put_aside(site: EditContext, size: int, value: Expr, room: Room) -> Expr:
    """Where a number is found afterwards: not on the stack, which has few bytes left."""
    place, bits = Address(element(site.words, room.take(size))), size * 8
    if bits > 8 and not is_network(value.type):  # its bytes, as they stand in memory
        value = Cast(raw(bits), Cast(Int(bits), value))
    site.writer.store(place, 0, bits, value)
    return load(place, 0, bits)
