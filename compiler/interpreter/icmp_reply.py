"""`reply icmp`: the answer to a packet that cannot go on (RFC 792, RFC 1122 section 3.2.2)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ..model import Header
from ..sums import zero_checksum
from .build_packet import Heading, build
from .environment import Port, is_broadcast, is_multicast
from .octets import Value, checksum
from .parse_packet import Layer
from .rewrite import Rewriting

#: Type and code by hook event (RFC 792).
KINDS = {"ttl_expired": (11, 0), "too_big": (3, 4)}
_ERRORS = (3, 4, 5, 11, 12)
_ICMP = 1
_QUOTED = 8  # octets behind the header
_EXCHANGED = {"src": "dst", "dst": "src"}


def reply(packet: Rewriting, arrival: Port, event: str, mtu: int) -> bytes | None:
    """The frame that answers `packet` (without its pushes), or None if it must not be answered or,
    behind a pop to a link header, there is no way back. `mtu`: for `too_big` (RFC 1191)."""
    front = packet.front
    if front is None or event not in KINDS or not _answerable(packet, front, arrival):
        return None
    kind, code = KINDS[event]
    end = min(front.behind + _QUOTED, front.end)
    content = _icmp(kind, code, mtu, packet.frame[front.offset : end])
    network = Heading(
        front.name,
        front.header,
        {
            "tos": 0xC0,  # internetwork control (RFC 1812 section 4.3.2.5)
            "id": 0,
            "dont_fragment": 1,
            "ttl": 64,
            "protocol": _ICMP,
            "src": arrival.address,
            "dst": front.octets.number("src"),
        },
    )
    way = [*packet.popped, front]
    back = [
        _returned(packet, x, after.name, [y.header for y in way[:i]])
        for i, (x, after) in enumerate(pairwise(way))
    ]
    return _link_back(packet) + build([*back, network], content) + content


def _answerable(packet: Rewriting, front: Layer, arrival: Port) -> bool:
    ip = front.octets
    if packet.links[0].offset:
        return False
    source, target = ip.number("src"), ip.number("dst")
    if not source or not arrival.address or ip.number("fragment_offset"):
        return False
    if packet.frame[0] & 1:  # a link-layer broadcast or multicast
        return False
    if any(is_multicast(a) or is_broadcast(a) for a in (source, target)):
        return False
    carried = packet.frame[front.behind : front.end]
    return not (ip.number("protocol") == _ICMP and carried and carried[0] in _ERRORS)


def _icmp(kind: int, code: int, mtu: int, quoted: bytes) -> bytes:
    rest = (mtu & 0xFFFF).to_bytes(4, "big") + quoted
    start = bytes((kind, code))
    return start + checksum(start + bytes(2) + rest).to_bytes(2, "big") + rest


def _returned(packet: Rewriting, layer: Layer, following: str, outer: Sequence[Header]) -> Heading:
    """A popped header on the way back: what has no default stays, addresses are exchanged."""
    heading = packet.heading(layer.name, {}, following)
    header, octets = layer.header, layer.octets
    derived = {name for name, _ in heading.writes} | header.flags
    kept: dict[str, Value] = {"checksum": 0} if zero_checksum(header, outer) else {}
    for field in header.fields:
        if field.default is not None or field.part_of or field.name.startswith("_"):
            continue
        if field.name in derived or not field.width:
            continue
        value = octets.get(_EXCHANGED.get(field.name, field.name))
        if value is not None:
            kept[field.name] = value
    return Heading(layer.name, header, kept, heading.writes)


def _link_back(packet: Rewriting) -> bytes:
    """The link headers of arrival with the MAC addresses exchanged. They announce what comes
    first as they did: the same nodes stand behind them again."""
    links = packet.links
    first = links[0].octets.data
    return first[6:12] + first[:6] + first[12:] + b"".join(x.octets.data for x in links[1:])
