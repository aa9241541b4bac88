"""The block format: draft-ietf-opsawg-pcapng. Blocks other than packets and interfaces are
skipped."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from . import errors
from .packets import LARGEST_PACKET, Captured, Order, Stream

MAGIC = b"\x0a\x0d\x0d\x0a"  # also the type of a section's header, in either byte order
_ORDER_MAGIC = 0x1A2B3C4D
_LARGEST_BLOCK = 16 << 20
_SECTION, _INTERFACE, _OLD_PACKET, _SIMPLE_PACKET, _PACKET = 0x0A0D0D0A, 1, 2, 3, 6
_NAME, _RESOLUTION, _OFFSET = 2, 9, 14  # if_name, if_tsresol, if_tsoffset


@dataclass(frozen=True)
class _Interface:
    """`units`: of time, in a second; `offset`: seconds to be added."""

    link: int
    snaplen: int
    name: str = ""
    units: int = 1_000_000
    offset: int = 0


def read_pcapng(stream: Stream) -> Iterator[Captured]:
    """The packets of all sections, of whatever link type. The first block's type has been read.
    Raises `Refused` at damage."""
    for number, packet in enumerate(_Reader(stream).packets(), start=1):
        yield packet._replace(number=number)


class _Reader:
    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._start = 0  # of the block at hand
        self._order: Order = "<"
        self._interfaces: list[_Interface] = []

    def packets(self) -> Iterator[Captured]:
        kind = MAGIC
        while kind:
            if len(kind) < 4:
                raise errors.refused(errors.cut_off(self._stream.name, self._start, "a block"))
            number = _SECTION if kind == MAGIC else self._number(kind)
            body = self._body(number)
            if number == _SECTION:
                self._interfaces = []
            elif number == _INTERFACE:
                self._interfaces.append(self._interface(body))
            elif number in (_PACKET, _OLD_PACKET, _SIMPLE_PACKET):
                yield self._packet(number, body)
            self._start = self._stream.at
            kind = self._stream.maybe(4)

    def _number(self, data: bytes, at: int = 0) -> int:
        found: tuple[int] = struct.unpack_from(self._order + "I", data, at)
        return found[0]

    def _take(self, count: int) -> bytes:
        return self._stream.take(count, "a block", since=self._start)

    def _damaged(self, what: str) -> Exception:
        return errors.refused(errors.damaged(self._stream.name, self._start, what))

    def _body(self, kind: int) -> bytes:
        """What stands between a block's lengths (of a section's header: behind its magic)."""
        raw, read = self._take(4), 8
        if kind == _SECTION:
            magic, read = self._take(4), 12
            if magic not in (_ORDER_MAGIC.to_bytes(4, "big"), _ORDER_MAGIC.to_bytes(4, "little")):
                raise self._damaged(f"{magic.hex(' ')} is no byte order")
            self._order = ">" if magic[0] == 0x1A else "<"
        length = self._number(raw)
        if length % 4 or not read + 4 <= length <= _LARGEST_BLOCK:
            raise self._damaged(f"a block of {length:,} bytes")
        body = self._take(length - read - 4)
        again = self._number(self._take(4))
        if again != length:
            raise self._damaged(f"a block says {length:,} bytes in front and {again:,} behind")
        return body

    # ---- interfaces -------------------------------------------------------------------------

    def _interface(self, body: bytes) -> _Interface:
        if len(body) < 8:
            raise self._damaged("an interface without link type")
        link, _, snaplen = struct.unpack_from(self._order + "HHI", body)
        options = dict(self._options(body[8:]))
        name = options.get(_NAME, b"").rstrip(b"\0").decode(errors="replace")
        resolution = options.get(_RESOLUTION, b"\x06")[:1] or b"\x06"
        power, base = resolution[0] & 0x7F, 2 if resolution[0] & 0x80 else 10
        offset = options.get(_OFFSET, b"")
        seconds = struct.unpack(self._order + "q", offset)[0] if len(offset) == 8 else 0
        return _Interface(link, snaplen, name, base**power, seconds)

    def _options(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        at = 0
        while at + 4 <= len(data):
            code, length = struct.unpack_from(self._order + "HH", data, at)
            if code == 0:
                return
            if at + 4 + length > len(data):
                raise self._damaged("an option that is longer than its block")
            yield code, data[at + 4 : at + 4 + length]
            at += 4 + (length + 3) // 4 * 4

    # ---- packets ----------------------------------------------------------------------------

    def _packet(self, kind: int, body: bytes) -> Captured:
        if kind == _SIMPLE_PACKET:
            return self._simple(body)
        if len(body) < 20:
            raise self._damaged("a packet's block is too short")
        form = "5I" if kind == _PACKET else "HH4I"
        interface, *_, high, low, kept, length = struct.unpack_from(self._order + form, body)
        found = self._of(interface)
        if kept > min(len(body) - 20, LARGEST_PACKET):
            raise self._damaged(f"a packet of {kept:,} bytes in a block of {len(body) + 12:,}")
        ticks = high << 32 | low
        time = found.offset * 1_000_000_000 + ticks * 1_000_000_000 // found.units
        data = body[20 : 20 + kept]
        return Captured(0, data, max(length, kept), found.link, found.name, time)

    def _simple(self, body: bytes) -> Captured:
        if len(body) < 4:
            raise self._damaged("a packet's block is too short")
        length, found = self._number(body), self._of(0)
        kept = min(length, found.snaplen or length)
        if kept > min(len(body) - 4, LARGEST_PACKET):
            raise self._damaged(f"a packet of {kept:,} bytes in a block of {len(body) + 12:,}")
        return Captured(0, body[4 : 4 + kept], length, found.link, found.name)

    def _of(self, number: int) -> _Interface:
        if number >= len(self._interfaces):
            raise self._damaged(f"a packet of interface {number}, which was not described")
        return self._interfaces[number]
