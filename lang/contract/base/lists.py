"""Elements that hold several values: `ip6[8]`.

Everywhere but in a request such a value is one number, of as many bytes as its record has: room
for `most` values, each of a power of two bytes in network order and 0 where there is none, then
how many there are (one byte) and seven bytes of 0.
"""

from __future__ import annotations

from collections.abc import Sequence

_TAIL = 8
#: Bytes of a run of bytes, or of a name.
LONGEST_RUN = 64


def bytes_of(width: int, most: int = 0) -> int:
    """Bytes of a value of `width` bits (of up to `most` such values, if not 0) in a record or an
    image."""
    size = next(size for size in (1, 2, 4, 8, 16, width // 8) if size * 8 >= width)
    return size * most + _TAIL if most else size


def packed(values: Sequence[int], width: int, most: int) -> int:
    """The number that stands for a list."""
    size = bytes_of(width)
    data = b"".join(value.to_bytes(size, "big") for value in values).ljust(size * most, b"\0")
    return int.from_bytes(data + bytes([len(values)]).ljust(_TAIL, b"\0"), "big")


def unpacked(number: int, width: int, most: int) -> list[int]:
    """The list that a number stands for."""
    size = bytes_of(width)
    data = number.to_bytes(size * most + _TAIL, "big")
    starts = range(0, data[size * most] * size, size)
    return [int.from_bytes(data[at : at + size], "big") for at in starts]
