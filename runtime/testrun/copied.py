"""Copies that programs made of a packet: what is built for test runs writes them into a map."""

from __future__ import annotations

from ..kernel.handles import Map

#: Bytes in front of a frame: the number of the port (in the first entry: of copies), its length.
_HEAD = 8


class Copied:
    """The map `copies` of templates/tc.bpf.h."""

    def __init__(self, copies: Map) -> None:
        self._map = copies

    def begin(self) -> None:
        """Of the next packet there are none yet."""
        if self._numbers(0)[0]:
            self._map.update(bytes(4), bytes(self._map.element_size))

    def read(self) -> tuple[tuple[int, bytes], ...]:
        """Port and frame of each, in order."""
        count, _ = self._numbers(0)
        return tuple(self._copy(at) for at in range(1, count + 1))

    def _copy(self, at: int) -> tuple[int, bytes]:
        port, length = self._numbers(at)
        return port, self._element(at)[_HEAD : _HEAD + length]

    def _numbers(self, at: int) -> tuple[int, int]:
        element = self._element(at)
        return int.from_bytes(element[:4], "little"), int.from_bytes(element[4:_HEAD], "little")

    def _element(self, at: int) -> bytes:
        found = self._map.lookup(at.to_bytes(4, "little"))
        assert found is not None, "more copies than a test run keeps"
        return found
