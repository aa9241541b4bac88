"""Packets of a capture as Ethernet frames: what Linux cooked and raw IP captures do not have is
made, and an IPv4 length that segmentation offload left open is filled in."""

from __future__ import annotations

from typing import NamedTuple

from ..interpret.header_view import updated
from .packets import ETHERNET, Captured

_IPV4, _IPV6, _TAGS = 0x0800, 0x86DD, (0x8100, 0x88A8)
_RAW = {12: 0, 14: 0, 101: 0, 228: _IPV4, 229: _IPV6}  # LINKTYPE_RAW as files have it, IPV4, IPV6
_SLL, _SLL2 = 113, 276
_LEAST_TYPE = 0x0600  # below are lengths (IEEE 802.3), and numbers of Linux's own
#: ARPHRD types of which a cooked header's protocol is an Ethernet type: Ethernet, PPP, tunnels,
#: loopback, GRE, none (tun).
_ETHERNET_TYPES = {1, 512, 768, 769, 772, 776, 778, 823, 65534}
#: By a cooked header's packet type: a broadcast, a multicast. Other destinations are not recorded.
_DESTINATIONS = {1: b"\xff" * 6, 2: b"\x01" + bytes(5)}

READABLE = {ETHERNET, _SLL, _SLL2, *_RAW}


class _Link(NamedTuple):
    """What a packet's link header says. `size`: its bytes; `type`: Ethernet type of what follows;
    `device`: ARPHRD type, where the type is to be understood by it."""

    size: int
    type: int
    device: int | None = None
    packet_type: int = 0
    source: bytes = bytes(6)

    @property
    def words(self) -> str:
        of = "" if self.device is None else f" of device type {self.device}"
        return f"protocol {self.type:#06x}{of}"

    @property
    def is_ethernet_type(self) -> bool:
        return self.type >= _LEAST_TYPE and self.device in (None, *_ETHERNET_TYPES)


def as_frame(packet: Captured) -> Captured:
    """The packet as it would have come by Ethernet, `notes` saying what was made. One that cannot
    be such a frame keeps its link type, and a note says why."""
    made = _with_ethernet(packet)
    return _with_total_length(made) if made.link == ETHERNET else made


def _with_ethernet(packet: Captured) -> Captured:
    link = _read_link(packet.link, packet.data)
    if link is None:
        return packet
    if not link.is_ethernet_type:
        return packet._replace(notes=(link.words,))
    destination = _DESTINATIONS.get(link.packet_type, bytes(6))
    header = destination + link.source + link.type.to_bytes(2, "big")
    return packet._replace(
        data=header + packet.data[link.size :],
        length=packet.length - link.size + len(header),
        link=ETHERNET,
        notes=(f"Ethernet header made for {link_name(packet.link)}",),
    )


def _read_link(link: int, data: bytes) -> _Link | None:
    """None of one that is not known, or not whole; draft-ietf-opsawg-pcaplinktype."""
    if link in _RAW and data:
        version = data[0] >> 4
        return _Link(0, _RAW[link] or {4: _IPV4, 6: _IPV6}.get(version, version))
    if link == _SLL and len(data) >= 16:
        packet_type, device, size, type_ = (_word(data, at) for at in (0, 2, 4, 14))
        source = data[6:12] if size == 6 else bytes(6)
        return _Link(16, type_, device, packet_type, source)
    if link == _SLL2 and len(data) >= 20:
        source = data[12:18] if data[11] == 6 else bytes(6)
        return _Link(20, _word(data, 0), _word(data, 8), data[10], source)
    return None


def _with_total_length(packet: Captured) -> Captured:
    """An IPv4 total length of 0 is what a host captures of what its card, or the kernel behind the
    capture, is yet to segment (TSO): then the header reaches to the frame's end. As long as 16 bits
    can say it. The checksum stays right, or as wrong as it was (RFC 1624)."""
    data, at = packet.data, 12
    while _word(data, at) in _TAGS:
        at += 4
    start = at + 2
    length = packet.length - start
    if _word(data, at) != _IPV4 or len(data) < start + 20 or data[start] >> 4 != 4:
        return packet
    if _word(data, start + 2) or not 20 <= length <= 0xFFFF:
        return packet
    said = length.to_bytes(2, "big")
    checksum = updated(_word(data, start + 10), bytes(2), said).to_bytes(2, "big")
    filled = data[: start + 2] + said + data[start + 4 : start + 10] + checksum
    note = f"IPv4 total length 0 read as {length}"
    return packet._replace(data=filled + data[start + 12 :], notes=(*packet.notes, note))


def _word(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 2], "big")


LINK_TYPES = {
    0: "BSD loopback",
    12: "raw IP",
    14: "raw IP",
    101: "raw IP",
    105: "IEEE 802.11",
    113: "Linux cooked",
    127: "radiotap",
    220: "USB",
    228: "raw IPv4",
    229: "raw IPv6",
    276: "Linux cooked, version 2",
}


def link_name(link: int) -> str:
    known = LINK_TYPES.get(link)
    return f"link type {link} ({known})" if known else f"link type {link}"
