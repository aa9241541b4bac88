"""Arrays of registers, as they lie in the maps: see `manifest.State`. Their entries are those that
are not 0; `lines` of a part has their numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ...lang.contract.manifest.manifest import MOST_COUNTED, State
from ..kernel.handles import Map

Array = npt.NDArray[Any]


def read_values(table: Map, state: State) -> Iterator[tuple[int, Array]]:
    """What registers hold, some thousands at a time, each time with the number of the first. Raises
    BpfError."""
    first = 0
    for _, data in table.read_parts():
        values = _in_range(state, data)
        yield first, values
        first += len(values)


def read_value(table: Map, state: State, key: bytes) -> tuple[int, Array] | None:
    """Of one key; None where there is no such register. Raises BpfError."""
    indexes = [int.from_bytes(key[s.offset : s.offset + s.size], "big") for s in state.match]
    number = 0
    for index, length in zip(indexes, state.shape, strict=True):
        if index >= length:
            return None
        number = number * length + index
    return number, _in_range(state, table.lookup(number.to_bytes(4, "little")) or bytes(8))


def rows_of(state: State, numbers: Array, values: Array) -> tuple[Array, Array, Array]:
    """Keys, entries and numbers, a row of bytes for each register."""
    keys = np.zeros((len(numbers), state.key_size), np.uint8)
    for slot, index in zip(state.match, np.unravel_index(numbers, state.shape), strict=True):
        keys[:, slot.offset : slot.offset + slot.size] = _bytes(index, ">u4", slot.size)
    entries = np.zeros((len(numbers), state.entry_size), np.uint8)
    (slot,) = state.gives
    entries[:, slot.offset : slot.offset + slot.size] = _bytes(values, ">u8", slot.size)
    return keys, entries, _bytes(numbers, "<u4", 4)


def clear(table: Map, numbers: Array) -> int:
    """Make these 0, whatever packets add meanwhile. `numbers`: as `lines` has them. Returns how
    many. Raises BpfError."""
    keys = np.ascontiguousarray(numbers).tobytes()
    return table.update_batch(keys, bytes(8 * len(numbers)))


def _in_range(state: State, data: bytes | memoryview) -> Array:
    """The numbers that packets read, of what lies in the map."""
    held = np.frombuffer(data, "<i8")
    if state.register_bits > MOST_COUNTED:
        return held.view(np.uint64)
    read: Array = np.clip(held, 0, (1 << state.register_bits) - 1).astype(np.uint64)
    return read


def _bytes(numbers: Array, type_: str, size: int) -> Array:
    return numbers.astype(type_).view(np.uint8).reshape(-1, size)
