"""A capture file, whichever its format."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from ...lang.text.diagnostics import Diagnostic
from . import errors, gunzip, pcap, pcapng
from .links import as_frame
from .packets import Captured, Readable, Stream

STANDARD_INPUT = Path("-")
_PACKED = {
    gunzip.MAGIC: ("gzip", "gunzip"),
    b"\x28\xb5\x2f\xfd": ("zstd", "unzstd"),
    b"\xfd7zX": ("xz", "unxz"),
    b"\x04\x22\x4d\x18": ("lz4", "unlz4"),
    b"BZh": ("bzip2", "bunzip2"),
}


def read_capture(path: Path) -> Iterator[Captured]:
    """The packets of a pcap or pcapng file, gzip or not, one after the other, as Ethernet frames
    where they can be; `-` is standard input. Raises `Refused` where it cannot be read on, after
    the packets in front of that; `OSError`."""
    if path == STANDARD_INPUT:
        yield from read_packets("standard input", sys.stdin.buffer)
        return
    with path.open("rb") as file:
        yield from read_packets(str(path), file)


def read_packets(name: str, file: Readable) -> Iterator[Captured]:
    """The same of an open file. `name`: what diagnostics call it."""
    stream = Stream(name, file)
    magic = stream.maybe(4)
    if magic.startswith(gunzip.MAGIC):
        stream = Stream(f"{name} (unpacked)", gunzip.Gunzip(name, file, magic))
        magic = stream.maybe(4)
    yield from map(as_frame, _packets(stream, magic))


def _packets(stream: Stream, magic: bytes) -> Iterator[Captured]:
    if magic == pcapng.MAGIC:
        return pcapng.read_pcapng(stream)
    if magic in pcap.MAGIC:
        return pcap.read_pcap(stream, magic)
    for start, how in _PACKED.items():
        if magic.startswith(start):
            raise errors.refused(_compressed(stream.name, *how))
    raise errors.refused(_no_capture(stream.name, magic))


# ---- errors ---------------------------------------------------------------------------------


def _no_capture(name: str, start: bytes) -> Diagnostic:
    said = f"it begins with {start[:4].hex(' ')}" if start else "it is empty"
    help_ = "pcap begins with a1 b2 c3 d4 in either byte order, pcapng with 0a 0d 0d 0a"
    return Diagnostic("H0801", f"{name} is no capture: {said}", (), help_)


def _compressed(name: str, how: str, tool: str) -> Diagnostic:
    help_ = f"unpack it before: {tool} -c CAPTURE | helioc decode PIPELINE.hp -"
    return Diagnostic("H0802", f"{name} is compressed by {how}", (), help_)
