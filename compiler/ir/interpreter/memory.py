"""What pointers lead to: the frame, records, local memory. Little-endian, as the kernel's."""

from __future__ import annotations

from dataclasses import dataclass, field

HEADROOM = 256 - 40  # bytes in front of a frame that the kernel gives, without its own notes
TAILROOM = 2048
SHORTEST = 14  # bytes that a frame keeps, whatever is cut off


class Fault(Exception):
    """The program did what no program may: a fault of the compiler."""


class NotInterpreted(Exception):
    """This interpreter does not know a function, or a kind of unit."""


@dataclass(eq=False)
class Region:
    """So many bytes, known to a person by a name."""

    name: str
    content: bytearray

    def within(self, at: int, size: int) -> None:
        """Raises `Fault` where some of the bytes are outside."""
        if not (at >= 0 and at + size <= len(self.content)):
            raise Fault(f"{self.name}: {size} bytes at {at} of {len(self.content)}")


@dataclass(frozen=True)
class Pointer:
    """To byte `at` of a region; it may be outside, as long as nothing is read there."""

    region: Region
    at: int = 0

    def __add__(self, offset: int) -> Pointer:
        return Pointer(self.region, self.at + offset)

    def read(self, size: int) -> bytes:
        self.region.within(self.at, size)
        return bytes(self.region.content[self.at : self.at + size])

    def put(self, data: bytes) -> None:
        self.region.within(self.at, len(data))
        self.region.content[self.at : self.at + len(data)] = data

    def load(self, bits: int, at: int = 0) -> int:
        return int.from_bytes((self + at).read(bits // 8), "little")

    def store(self, bits: int, value: int, at: int = 0) -> None:
        (self + at).put((value & ones(bits)).to_bytes(bits // 8, "little"))


#: A number, or a pointer; the null pointer is 0.
Value = int | Pointer


@dataclass(eq=False)
class _Window(Region):
    """The frame as it was until it was moved."""

    start: int = HEADROOM
    end: int = HEADROOM
    good: bool = True

    def within(self, at: int, size: int) -> None:
        if not self.good:
            raise Fault(f"a pointer to where the frame was before it was moved: byte {at}")
        if not (self.start <= at and at + size <= self.end):
            where = f"{size} bytes at {at - self.start} of {self.end - self.start}"
            raise Fault(f"outside the frame: {where}")


def _around(content: bytes) -> _Window:
    """A packet's bytes, with room in front of them and behind."""
    memory = bytearray(HEADROOM) + content + bytes(TAILROOM)
    return _Window("frame", memory, HEADROOM, HEADROOM + len(content))


@dataclass
class Frame:
    """A packet's bytes between room in front and room behind."""

    window: _Window = field(init=False)

    def __init__(self, content: bytes) -> None:
        self.window = _around(content)

    @property
    def data(self) -> Pointer:
        return Pointer(self.window, self.window.start)

    @property
    def end(self) -> Pointer:
        return Pointer(self.window, self.window.end)

    @property
    def length(self) -> int:
        return self.window.end - self.window.start

    @property
    def content(self) -> bytes:
        return self.data.read(self.length)

    def at(self, offset: int, size: int) -> Pointer | None:
        """So many bytes from byte `offset` on; None where they are not all there."""
        return self.data + offset if offset >= 0 and offset + size <= self.length else None

    def becomes(self, content: bytes) -> None:
        """These bytes in place of all. Pointers are good no more."""
        self.window.good = False
        self.window = _around(content)

    def moved(self, start: int = 0, end: int = 0) -> bool:
        """Whether its beginning and its end could be moved by so many bytes. Pointers are good no
        more, whether they could or not."""
        w, self.window.good = self.window, False
        first, last = w.start + start, w.end + end
        if first >= 0 and first + SHORTEST <= last <= len(w.content):
            w = _Window(w.name, w.content, first, last)
        else:
            w = _Window(w.name, w.content, w.start, w.end)
        self.window, fits = w, (w.start, w.end) == (first, last)
        if fits and end > 0:
            w.content[last - end : last] = bytes(end)
        return fits


def ones(bits: int) -> int:
    return (1 << bits) - 1


def swapped(value: int, bits: int) -> int:
    """A number of so many bits in the other order of bytes."""
    return int.from_bytes((value & ones(bits)).to_bytes(bits // 8, "little"), "big")


def signed(value: int) -> int:
    """What C's `int` makes of 32 bits."""
    value &= ones(32)
    return value - (1 << 32) if value >> 31 else value
