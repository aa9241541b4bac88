"""Whether SQLite reads all of a write-ahead log: it ends at the first bad frame, and says nothing.

https://www.sqlite.org/fileformat2.html#walformat. A frame has the salts of its log's header; when
the log begins again from the front, the first salt grows by one and older frames stay behind.
"""

from __future__ import annotations

import struct

_HEAD, _FRAME = struct.Struct(">8I"), struct.Struct(">6I")
#: But for the last bit: whether checksums are of big-endian words.
_MAGIC = 0x377F0682
_WRAP = 1 << 32


def left_out(log: bytes, taken: int) -> str:
    """Why there was more in a log than the frames that SQLite takes; empty: there was not."""
    if not log:
        return ""
    if len(log) < _HEAD.size:
        return "it is cut in its header"
    magic, _, page, begun, salt, _, *sums = _HEAD.unpack_from(log)
    if magic & ~1 != _MAGIC or _sums(log[: _HEAD.size - 8], magic & 1, [0, 0]) != sums:
        return "its header is damaged"
    size = _FRAME.size + page
    end = _HEAD.size + taken * size
    if taken:
        sums = list(_FRAME.unpack_from(log, end - size)[4:])
    for at in range(end, len(log), size):
        frame = log[at : at + size].ljust(_FRAME.size, b"\0")
        _, _, of, _, *said = _FRAME.unpack_from(frame)
        # The one behind the last goes on where that ends: then its salts are damaged.
        goes_on = at == end and _sums(frame[:8] + frame[24:], magic & 1, sums) == said
        if goes_on or len(frame) < size or not 0 < (salt - of) % _WRAP <= begun:
            return (f"frames from byte {at:,} on are not whole: they are lost, or were not "
                    "acknowledged if power failed while they were written")  # fmt: skip
    return ""


def _sums(content: bytes, big: int, sums: list[int]) -> list[int]:
    """The checksum of what comes behind what has this one."""
    first, second = sums
    for one, other in struct.iter_unpack(">II" if big else "<II", content[: len(content) & ~7]):
        first = (first + one + second) % _WRAP
        second = (second + other + first) % _WRAP
    return [first, second]
