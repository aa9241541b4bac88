"""Values as C texts: numbers, and fields where a pointer says that their header starts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...lang.contract.base.lists import octets_of
from ..model import Field

SWAP = {2: "bpf_ntohs", 4: "bpf_ntohl", 8: "bpf_be64_to_cpu", 16: "swap128"}
_WORD = (1 << 64) - 1


@dataclass(frozen=True)
class Value:
    """A C expression of `width` bits; `raw`: whole octets as they stand in the packet, not yet in
    host order. `given`: a C condition under which there is a value at all ("" for always)."""

    text: str
    width: int
    raw: bool = False
    given: str = ""

    @property
    def octets(self) -> int:
        return octets_of(self.width)

    def host(self) -> str:
        return f"{SWAP[self.octets]}({self.text})" if self.raw and self.octets > 1 else self.text

    def network_of(self, octets: int) -> str:
        """As a number of `octets` octets stands in a packet."""
        if self.raw and self.width == octets * 8:
            return self.text
        return f"{SWAP[octets]}({self.host()})" if octets > 1 else self.host()

    def network(self) -> str:
        """As it must stand in a packet of `octets` octets."""
        if self.raw or self.octets == 1:
            return self.text
        return f"{SWAP[self.octets]}({self.text})"


def constant(number: int, width: int) -> Value:
    """A number as C writes it: none has more than 64 bits, so an IPv6 address is made of two."""
    if number >> 64:
        return Value(f"((u128){number >> 64:#x}ULL << 64 | {number & _WORD:#x}ULL)", width)
    return Value(str(number) if number < 256 else f"{number:#x}", width)


def field_value(pointer: str, f: Field, base: int = 0) -> Value:
    """A field of the fixed part (or, with `base`, of a group that starts there)."""
    start = base * 8 + f.offset
    first, last = start // 8, (start + f.width - 1) // 8
    size, shift = last - first + 1, (last + 1) * 8 - (start + f.width)
    if size in (1, *SWAP) and f.width == size * 8:
        return Value(f"RAW{f.width}({pointer}, {first})", f.width, raw=size > 1)
    text = container(pointer, first, size)
    if f.width == size * 8:  # octets that no integer of C has
        return Value(text, f.width)
    if shift:
        text = f"({text} >> {shift})"
    return Value(f"({text} & {(1 << f.width) - 1:#x})", f.width)


def pieces(octets: int, at: int = 0, most: int = 8) -> Iterator[tuple[int, int]]:
    """(octet, octets) of the integers that so many octets are moved by: none has more than `most`,
    or lies across such a word of an array in which they start at octet `at`."""
    done = 0
    while done < octets:
        left, room = octets - done, most - (at + done) % most
        size = next(n for n in (16, 8, 4, 2, 1) if n <= min(left, room))
        yield done, size
        done += size


def container(pointer: str, first: int, size: int) -> str:
    """`size` octets at `first` as a number in host order."""
    parts = []
    for at, piece in pieces(size):
        text = f"RAW{piece * 8}({pointer}, {first + at})"
        text = f"{SWAP[piece]}({text})" if piece > 1 else text
        left = (size - at - piece) * 8
        wide = "u128" if size > 8 else "u64"
        parts.append(f"(({wide}){text} << {left})" if left else text)
    return parts[0] if len(parts) == 1 else f"({' | '.join(parts)})"
