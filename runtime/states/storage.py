"""Entries of state tables, as they lie in the maps: see `manifest.State`."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...lang.contract.manifest.manifest import (
    GENERATION,
    SEEN,
    STATE_HEAD,
    STATE_LINES,
    TAGS_AT,
    State,
)
from ..kernel.handles import Map
from ..kernel.maps import BPF_F_LOCK
from . import registers

#: Word of struct control with the seed of the keys' hash.
SEED = 7
#: Bytes in front of a line in `Part.lines`: the numbers of its set and of it in there, u32 each.
PLACE = 8

Array = npt.NDArray[Any]


class Part(NamedTuple):
    """Some entries, a row of bytes each: keys, and entries. `lines`: of a state that is changed in
    place, where each lies and its line, as it was at one moment; of an array of registers their
    numbers; otherwise empty."""

    keys: Array
    entries: Array
    lines: Array

    def only(self, rows: Array) -> Part:
        """Those that `rows` says, by number or by truth."""
        return Part(self.keys[rows], self.entries[rows], self.lines[rows])


def new_seed() -> int:
    """Nobody outside knows it: keys come from packets."""
    return 1 + secrets.randbelow((1 << 32) - 1)


def read_parts(table: Map, state: State) -> Iterator[Part]:
    """All entries, some thousands at a time, in no order. One that stays while this goes on is
    there once; of those that come and go meanwhile any may be. Raises BpfError."""
    if state.shape:
        for first, values in registers.read_values(table, state):
            there = np.nonzero(values)[0]
            yield Part(*registers.rows_of(state, first + there, values[there]))
        return
    if not state.in_place:
        for keys, entries in table.read_parts():
            yield _part(state, keys, entries)
        return
    first = 0
    for sets in _sets(table):
        yield _lines(state, sets, first)
        first += len(sets)


def read_entries(table: Map, state: State) -> Iterator[tuple[bytes, bytes]]:
    """Keys and entries, in no order. Raises BpfError."""
    for part in read_parts(table, state):
        for key, entry in zip(part.keys, part.entries, strict=True):
            yield key.tobytes(), entry.tobytes()


def read_key(table: Map, state: State, key: bytes, seed: int) -> Part:
    """The entry of one key; none where there is none. `seed`: as struct control has it. Raises
    BpfError."""
    if state.shape:
        number, values = registers.read_value(table, state, key) or (0, np.zeros(0, np.uint64))
        return Part(*registers.rows_of(state, np.arange(number, number + len(values)), values))
    if not state.in_place:
        entry = table.lookup(key)
        return _part(state, key if entry is not None else b"", entry or b"")
    number = state_hash(key, seed) & (state.sets - 1)
    found = table.lookup(number.to_bytes(4, "little"), BPF_F_LOCK) or bytes(table.element_size)
    part = _lines(state, np.frombuffer(found, np.uint8)[np.newaxis], number)
    return part.only((part.keys == np.frombuffer(key, np.uint8)).all(axis=1))


def count_entries(table: Map, state: State) -> int:
    """Raises BpfError."""
    if state.shape:
        return sum(len(part.keys) for part in read_parts(table, state))
    if not state.in_place:
        return sum(len(keys) // state.key_size for keys, _ in table.read_parts())
    return sum(int(np.count_nonzero(_tags(sets))) for sets in _sets(table))


def remove_entries(table: Map, state: State) -> None:
    """All of them; no program may use the table meanwhile. Raises BpfError."""
    if state.shape:
        for part in read_parts(table, state):
            registers.clear(table, part.lines)
        return
    if not state.in_place:
        for key in list(table.keys()):
            table.delete(key)
        return
    first = 0
    for sets in _sets(table):
        for at in np.nonzero(_tags(sets).any(axis=1))[0]:
            table.update((first + int(at)).to_bytes(4, "little"), bytes(table.element_size))
        first += len(sets)


def are_old(state: State, entries: Array, now: int) -> Array:
    """Which of these entries no packet finds any more, by row, as the function NAME_is_old says it.
    `now`: nanoseconds of CLOCK_MONOTONIC."""
    if not state.aging:
        return np.zeros(len(entries), np.bool_)
    if state.lifetime:
        slot = next(s for s in state.gives if s.name == state.lifetime)
        seconds = words_of(entries[:, slot.offset : slot.offset + slot.size])[-1]
    else:
        seconds = np.full(len(entries), state.ages, np.uint64)
    left: Array = seconds * np.uint64(1_000_000_000) - (np.uint64(now) - seen_of(entries))
    old: Array = (left & (np.uint64(0) - seconds)) >> np.uint64(63) != 0
    return old


def seen_of(entries: Array) -> Array:
    """When each was last written: nanoseconds of CLOCK_MONOTONIC."""
    return np.ascontiguousarray(entries[:, :SEEN]).view("<u8")[:, 0]


def words_of(data: Array) -> list[Array]:
    """Numbers in network order, a row each, as native words of 64 bits: the upper ones first."""
    size = -data.shape[1] % 8 + data.shape[1]
    padded = np.zeros((len(data), size), np.uint8)
    padded[:, size - data.shape[1] :] = data
    words = padded.view(">u8").astype(np.uint64)
    return [words[:, at] for at in range(words.shape[1])]


def state_hash(key: bytes, seed: int) -> int:
    """The lower half of what the function state_hash says: Linux's jhash2 of the key's words."""
    words = [int.from_bytes(key[at : at + 4], "little") for at in range(0, len(key), 4)]
    a = b = c = (0xDEADBEEF + (len(words) << 2) + seed) & _U32
    while len(words) > 3:
        a, b, c = (a + words[0]) & _U32, (b + words[1]) & _U32, (c + words[2]) & _U32
        a = (a - c & _U32) ^ _rol(c, 4)
        c = c + b & _U32
        b = (b - a & _U32) ^ _rol(a, 6)
        a = a + c & _U32
        c = (c - b & _U32) ^ _rol(b, 8)
        b = b + a & _U32
        a = (a - c & _U32) ^ _rol(c, 16)
        c = c + b & _U32
        b = (b - a & _U32) ^ _rol(a, 19)
        a = a + c & _U32
        c = (c - b & _U32) ^ _rol(b, 4)
        b = b + a & _U32
        words = words[3:]
    if not words:
        return c
    rest = [*words, 0, 0]
    a, b, c = (a + rest[0]) & _U32, (b + rest[1]) & _U32, (c + rest[2]) & _U32
    c = (c ^ b) - _rol(b, 14) & _U32
    a = (a ^ c) - _rol(c, 11) & _U32
    b = (b ^ a) - _rol(a, 25) & _U32
    c = (c ^ b) - _rol(b, 16) & _U32
    a = (a ^ c) - _rol(c, 4) & _U32
    b = (b ^ a) - _rol(a, 14) & _U32
    return (c ^ b) - _rol(b, 24) & _U32


_U32 = (1 << 32) - 1


def _rol(word: int, bits: int) -> int:
    return (word << bits | word >> 32 - bits) & _U32


def _part(state: State, keys: bytes | memoryview, entries: bytes | memoryview) -> Part:
    """Of a kernel's hash map."""
    found = np.frombuffer(keys, np.uint8).reshape(-1, state.key_size)
    held = np.frombuffer(entries, np.uint8).reshape(-1, state.entry_size)
    return Part(found, held, np.zeros((len(found), 0), np.uint8))


def _lines(state: State, sets: Array, first: int) -> Part:
    """The lines in use of sets, of which `first` is the number of the first one."""
    which, line = np.nonzero(_tags(sets))
    size, key_end = state.line_size, PLACE + GENERATION + state.key_size
    found = np.empty((len(which), PLACE + size), np.uint8)
    places = np.stack((which + first, line), axis=1).astype("<u4")
    found[:, :PLACE] = places.view(np.uint8).reshape(-1, PLACE)
    found[:, PLACE:] = sets[:, STATE_HEAD:].reshape(len(sets), STATE_LINES, size)[which, line]
    entries = found[:, key_end : key_end + state.entry_size]
    return Part(found[:, PLACE + GENERATION : key_end], entries, found)


def _sets(table: Map) -> Iterator[Array]:
    """The bytes of each set, as it was at one moment; of some sets at a time."""
    for _, values in table.read_parts(BPF_F_LOCK):
        yield np.frombuffer(values, np.uint8).reshape(-1, table.element_size)


def _tags(sets: Array) -> Array:
    """A number for each line of each set, 0 where it is empty."""
    tags = np.ascontiguousarray(sets[:, TAGS_AT : TAGS_AT + 2 * STATE_LINES])
    return tags.view("<u2")
