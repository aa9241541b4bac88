"""The classic capture format: draft-ietf-opsawg-pcap."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

from ...lang.text.diagnostics import Diagnostic
from . import errors
from .links import READABLE, link_name
from .packets import ETHERNET, LARGEST_PACKET, Captured, Order, Stream

#: The first four bytes: byte order, and nanoseconds in a unit of a time's fraction.
MAGIC: dict[bytes, tuple[Order, int]] = {
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\x3c\x4d": (">", 1),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
}
_SECOND = 1_000_000_000


def read_pcap(stream: Stream, magic: bytes) -> Iterator[Captured]:
    """The packets behind the magic number. Raises `Refused` at damage, and of a link type of which
    no packet can be read as an Ethernet frame."""
    order, unit = MAGIC[magic]
    head = stream.take(20, "the file's header", since=0)
    (link,) = struct.unpack_from(order + "I", head, 16)
    link &= 0xFFFF  # above it is what is known of a frame check sequence
    if link not in READABLE:
        raise errors.refused(_foreign_link(stream.name, link))
    record = struct.Struct(order + "4I")
    number = 0
    while True:
        number, start = number + 1, stream.at
        head = stream.maybe(record.size)
        if not head:
            return
        what = f"packet {number}"
        if len(head) < record.size:
            raise errors.refused(errors.cut_off(stream.name, start, what))
        seconds, fraction, kept, length = record.unpack(head)
        if kept > LARGEST_PACKET:
            words = f"{what} would have {kept:,} bytes"
            raise errors.refused(errors.damaged(stream.name, start, words))
        data = stream.take(kept, what, since=start)
        time = seconds * _SECOND + fraction * unit
        yield Captured(number, data, max(length, kept), link, time=time)


class PcapWriter:
    """Writes Ethernet frames, with times in nanoseconds."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, LARGEST_PACKET, ETHERNET))

    def write(self, frame: bytes, time: int | None = None, length: int | None = None) -> None:
        """`length`: bytes that it has on the wire, where `frame` is only its beginning."""
        seconds, rest = divmod(time or 0, _SECOND)
        on_wire = len(frame) if length is None else length
        head = struct.pack("<4I", seconds & 0xFFFFFFFF, rest, len(frame), on_wire)
        self._file.write(head + frame)


# ---- errors ---------------------------------------------------------------------------------


def _foreign_link(name: str, link: int) -> Diagnostic:
    title = f"the packets of {name} are neither Ethernet frames nor IP packets: {link_name(link)}"
    help_ = "capture on an Ethernet or tun interface, or on `any`"
    return Diagnostic("H0805", title, (), help_)
