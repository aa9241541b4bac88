"""Entries of state tables, as they lie in the maps: see `manifest.State`."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ...lang.contract.manifest.manifest import (
    GENERATION,
    STATE_HEAD,
    STATE_LINES,
    TAGS_AT,
    State,
)
from ..kernel.handles import Map
from ..kernel.maps import BPF_F_LOCK

#: Word of struct control with the seed of the keys' hash.
SEED = 7


def new_seed() -> int:
    """Nobody outside knows it: keys come from packets."""
    return 1 + secrets.randbelow((1 << 32) - 1)


def read_entries(table: Map, state: State) -> Iterator[tuple[bytes, bytes]]:
    """Keys and entries, in no order. Raises BpfError."""
    if not state.in_place:
        yield from table.items()
        return
    size, key_end = state.line_size, GENERATION + state.key_size
    for sets in _sets(table):
        lines = sets[:, STATE_HEAD:].reshape(len(sets), STATE_LINES, size)
        for line in lines[_tags(sets) != 0]:
            data = line.tobytes()
            yield data[GENERATION:key_end], data[key_end:]


def count_entries(table: Map, state: State) -> int:
    """Raises BpfError."""
    if not state.in_place:
        return len(table.read_all()[0]) // state.key_size
    return sum(int(np.count_nonzero(_tags(sets))) for sets in _sets(table))


def remove_entries(table: Map, state: State) -> None:
    """All of them; no program may use the table meanwhile. Raises BpfError."""
    if not state.in_place:
        for key in list(table.keys()):
            table.delete(key)
        return
    first = 0
    for sets in _sets(table):
        for at in np.nonzero(_tags(sets).any(axis=1))[0]:
            table.update((first + int(at)).to_bytes(4, "little"), bytes(table.element_size))
        first += len(sets)


def _sets(table: Map) -> Iterator[npt.NDArray[Any]]:
    """The bytes of each set, as it was at one moment; of some sets at a time."""
    for _, values in table.read_parts(BPF_F_LOCK):
        yield np.frombuffer(values, np.uint8).reshape(-1, table.element_size)


def _tags(sets: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A number for each line of each set, 0 where it is empty."""
    tags = np.ascontiguousarray(sets[:, TAGS_AT : TAGS_AT + 2 * STATE_LINES])
    return tags.view("<u2")
