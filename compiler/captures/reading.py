"""A capture file, whichever its format."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from . import faults, gunzip, pcap, pcapng
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
            raise faults.refused(faults.compressed(stream.name, *how))
    raise faults.refused(faults.no_capture(stream.name, magic))
