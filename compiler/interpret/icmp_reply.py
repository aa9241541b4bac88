"""`reply icmp`: the answer to a packet that cannot go on (RFC 792, RFC 1122 section 3.2.2; RFC
4443)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ...lang.contract.world.environment import (
    Environment,
    Port,
    is_broadcast,
    is_group,
    is_multicast,
)
from ..model import Header
from ..model.checksums import zero_checksum
from ..model.header_sizes import computed_from
from ..model.parse_graph import writable
from .build_packet import Heading, build
from .header_view import Value, checksum
from .parse_packet import Layer
from .rewrite import Rewriting

#: Type and code by hook event, or by the error that a stage says (RFC 792, RFC 1812 section
#: 5.2.7.1).
KINDS = {"ttl_expired": (11, 0), "too_big": (3, 4), "no_route": (3, 0), "host_unreachable": (3, 1),
         "port_unreachable": (3, 3), "admin_prohibited": (3, 13)}  # fmt: skip
#: The same of RFC 4443.
KINDS6 = {"ttl_expired": (3, 0), "too_big": (2, 0), "no_route": (1, 0), "admin_prohibited": (1, 1),
          "host_unreachable": (1, 3), "port_unreachable": (1, 4)}  # fmt: skip
_ERRORS = (3, 4, 5, 11, 12)
_ICMP, _ICMP6 = 1, 58
_QUOTED = 8  # bytes behind the header
_TOO_BIG6, _REDIRECT6 = 2, 137
_MIN_MTU6 = 1280
_HEADERS6 = 40 + 8  # IPv6 and ICMPv6
_MOST_EXTENSIONS = 8
_SKIPPED = (0, 43, 60)  # hop-by-hop, routing, destination options
_FRAGMENT, _AUTHENTICATION = 44, 51


@dataclass(frozen=True)
class _Answer:
    """The IP header of the error, and what follows it."""

    network: Heading
    content: bytes


def reply(
    packet: Rewriting, arrival: Port, event: str, mtu: int, environment: Environment
) -> bytes | None:
    """The frame that answers `packet` (without its pushes), or None if it must not be answered or
    there is no way back: behind a pop of a link header, or to one, or where a popped header has an
    array (segments say where a packet goes, not where it came from) or announced the next by an
    edge that cannot be written. `mtu`: for `too_big` (RFC 1191, 8201)."""
    front = packet.front
    if event not in KINDS or packet.links[0].offset or packet.untagged:
        return None
    if front is None or _is_from_here(front, environment):
        return None
    if packet.frame[0] & 1:  # a link-layer broadcast or multicast
        return None
    make = _answer if front.header.protocol == "ipv4" else _answer6
    answer = make(packet, front, arrival, event, mtu)
    if answer is None:
        return None
    if any(layer.header.arrays for layer in packet.popped):
        return None
    way = [*packet.popped, front]
    if not all(writable(packet.graph, x.name, after.name) for x, after in pairwise(way)):
        return None
    back = [
        _returned(packet, x, after.name, [y.header for y in way[:i]])
        for i, (x, after) in enumerate(pairwise(way))
    ]
    headers = build([*back, answer.network], answer.content)
    return _link_back(packet) + headers + answer.content


def _is_from_here(front: Layer, environment: Environment) -> bool:
    """Whether the sender poses as this host, or as a broadcast to one of its networks."""
    kind = "ip4" if front.header.protocol == "ipv4" else "ip6"
    return environment.is_local(front.view.number("src"), kind)


# ---- IPv4 -----------------------------------------------------------------------------------


def _answer(packet: Rewriting, front: Layer, arrival: Port, event: str, mtu: int) -> _Answer | None:
    if not _answerable(packet, front, arrival):
        return None
    kind, code = KINDS[event]
    end = min(front.behind + _QUOTED, front.end)
    rest = (mtu & 0xFFFF).to_bytes(4, "big") + packet.frame[front.offset : end]
    start = bytes((kind, code))
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
            "dst": front.view.number("src"),
        },
    )
    return _Answer(network, start + checksum(start + bytes(2) + rest).to_bytes(2, "big") + rest)


def _answerable(packet: Rewriting, front: Layer, arrival: Port) -> bool:
    ip = front.view
    if packet.links[0].offset:
        return False
    source, target = ip.number("src"), ip.number("dst")
    if not arrival.address or ip.number("fragment_offset"):
        return False
    if source >> 24 in (0, 127) or source >> 29 == 7:  # this network, loopback, classes D and E
        return False
    if is_multicast(target) or is_broadcast(target):
        return False
    carried = packet.frame[front.behind : front.end]
    if ip.number("protocol") == _ICMP and carried:
        packet.ask(front.behind + 1, front.name)
    return not (ip.number("protocol") == _ICMP and carried and carried[0] in _ERRORS)


# ---- IPv6 -----------------------------------------------------------------------------------


def _answer6(
    packet: Rewriting, front: Layer, arrival: Port, event: str, mtu: int
) -> _Answer | None:
    kind, code = KINDS6[event]
    source, target = front.view.number("src"), front.view.number("dst")
    if not arrival.address6 or is_group("ip6", source) or is_confined_address(source):
        return None
    if is_group("ip6", target) and kind != _TOO_BIG6:
        return None
    if _carries_error(packet, front):
        return None
    reported = max(mtu, _MIN_MTU6) if kind == _TOO_BIG6 else 0
    end = min(front.end, front.offset + _MIN_MTU6 - _HEADERS6)
    rest = reported.to_bytes(4, "big") + packet.frame[front.offset : end]
    addresses = arrival.address6.to_bytes(16, "big") + source.to_bytes(16, "big")
    start = bytes((kind, code))
    pseudo = addresses + (4 + len(rest)).to_bytes(4, "big") + _ICMP6.to_bytes(4, "big")
    total = checksum(pseudo + start + bytes(2) + rest)
    network = Heading(
        front.name,
        front.header,
        {
            "traffic_class": 0,
            "flow_label": 0,
            "hop_limit": 64,
            "next_header": _ICMP6,
            "src": arrival.address6,
            "dst": source,
        },
    )
    return _Answer(network, start + total.to_bytes(2, "big") + rest)


def _carries_error(packet: Rewriting, front: Layer) -> bool:
    """Whether the packet carries an ICMPv6 error or a redirect (RFC 4443 section 2.4 (e))."""
    frame = packet.frame
    next_header, at = front.view.number("next_header"), front.offset + 40
    for _ in range(_MOST_EXTENSIONS):
        header = frame[at : at + 8]
        if next_header == _ICMP6 or len(header) < 8:
            break
        if next_header in (*_SKIPPED, _FRAGMENT, _AUTHENTICATION):
            packet.ask(at + 8, front.name)
        if next_header == _FRAGMENT and not int.from_bytes(header[2:4], "big") >> 3:
            at += 8
        elif next_header in _SKIPPED:
            at += (header[1] + 1) * 8
        elif next_header == _AUTHENTICATION:  # RFC 4302 section 2.2
            at += (header[1] + 2) * 4
        else:
            break
        next_header = header[0]
    if next_header != _ICMP6 or at >= front.end:
        return False
    packet.ask(at + 1, front.name)
    return frame[at] < 128 or frame[at] == _REDIRECT6


def is_confined(front: Layer) -> bool:
    """Whether a packet must not leave its link: by either address, or as a multicast of no wider
    scope or a broadcast to it (RFC 1122 section 3.2.1.3, RFC 3927 section 2.7, RFC 5771 section 4,
    RFC 1812 section 5.3.5.1; RFC 4291 section 2.7)."""
    source, target = (front.view.number(name) for name in ("src", "dst"))
    if front.header.protocol == "ipv4":
        to_link = target >> 8 == 0xE00000 or target == 0xFFFFFFFF
        return to_link or any(a >> 24 == 127 or a >> 16 == 0xA9FE for a in (source, target))
    to_link = target >> 120 == 0xFF and target >> 112 & 0xF <= 2
    return to_link or is_confined_address(source) or is_confined_address(target)


def is_confined_address(address: int) -> bool:
    """fe80::/10, :: or ::1 (RFC 4291 sections 2.5.2, 2.5.3, 2.5.6)."""
    return address >> 118 == 0xFE80 >> 6 or address < 2


# ---- the way back ---------------------------------------------------------------------------


def _returned(packet: Rewriting, layer: Layer, following: str, outer: Sequence[Header]) -> Heading:
    """A popped header on the way back: what has no default stays, addresses are exchanged."""
    heading = packet.heading(layer.name, {}, following)
    header, view = layer.header, layer.view
    derived = {name for name, _ in heading.writes} | header.flags | computed_from(header)
    kept: dict[str, Value] = {"checksum": 0} if zero_checksum(header, outer) else {}
    for field in header.fields:
        if field.default is not None or field.part_of or field.name.startswith("_"):
            continue
        if field.name in derived or not field.width:
            continue
        value = view.get_field(header.opposite(field))
        if value is not None:
            kept[field.name] = value
    return Heading(layer.name, header, kept, heading.writes)


def _link_back(packet: Rewriting) -> bytes:
    """The link headers of arrival with the MAC addresses exchanged. They announce what comes
    first as they did: the same nodes stand behind them again."""
    links = packet.links
    first = links[0].view.data
    return first[6:12] + first[:6] + first[12:] + b"".join(x.view.data for x in links[1:])
