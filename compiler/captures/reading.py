"""A capture file, whichever its format."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from . import faults, pcap, pcapng
from .packets import Captured, Stream

_PACKED = {
    b"\x1f\x8b": ("gzip", "gunzip"),
    b"\x28\xb5\x2f\xfd": ("zstd", "unzstd"),
    b"\xfd7zX": ("xz", "unxz"),
    b"\x04\x22\x4d\x18": ("lz4", "unlz4"),
    b"BZh": ("bzip2", "bunzip2"),
}


def read_capture(path: Path) -> Iterator[Captured]:
    """The packets of a pcap or pcapng file, one after the other. Raises `Refused` where it cannot
    be read on, after the packets in front of that; `OSError`."""
    with path.open("rb") as file:
        yield from read_packets(str(path), file)


def read_packets(name: str, file: BinaryIO) -> Iterator[Captured]:
    """The same of an open file. `name`: what diagnostics call it."""
    stream = Stream(name, file)
    magic = stream.maybe(4)
    for start, how in _PACKED.items():
        if magic.startswith(start):
            raise faults.refused(faults.compressed(name, *how))
    if magic == pcapng.MAGIC:
        yield from pcapng.read_pcapng(stream)
    elif magic in pcap.MAGIC:
        yield from pcap.read_pcap(stream, magic)
    else:
        raise faults.refused(faults.no_capture(name, magic))
