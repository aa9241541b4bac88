"""State tables, as the functions of the template keep them: `StateCall`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ....lang.contract.manifest.manifest import Slot, State
from ....lang.contract.world.states import States
from ...tables.layout import member_name
from ..expr import StateCall
from .memory import Pointer, Value, ones

_SECOND = 1_000_000_000


@dataclass
class _Entry:
    """`mark`: no other entry had it."""

    content: bytearray
    mark: int


class Entries:
    """Of all states of a unit. `clock` says what time it is."""

    def __init__(self, states: Iterable[State], clock: States) -> None:
        self._states, self._clock = {s.prefix: s for s in states}, clock
        self._entries: dict[tuple[str, bytes], _Entry] = {}
        self._marks = 0

    def ask(self, call: StateCall, arguments: list[Value]) -> int:
        state = self._states[call.state]
        pointers = [each for each in arguments if isinstance(each, Pointer)]
        numbers = [each for each in arguments if isinstance(each, int)]
        if call.slot:
            got, held = pointers
            return self._change(state, call, got, held, numbers)
        key, *rest = pointers
        place = state.prefix, key.read(state.key_size)
        match call.what:
            case "recall":
                return self._recall(state, place, numbers, *rest)
            case "remember" | "add":
                return self._remember(state, place, call.what == "add", numbers, *rest)
        self._entries.pop(place, None)
        return 0

    def held(self, state: str, held: Value) -> tuple[int, bool, bool]:
        """The mark of the entry that is bound, whether it is there still, and whether the state's
        meter is in packets."""
        assert isinstance(held, Pointer)
        mark = held.load(64)
        there = any(entry.mark == mark for entry in self._entries.values())
        return mark, there, self._states[state].packet_meter

    def _alive(self, state: State, place: tuple[str, bytes]) -> _Entry | None:
        found = self._entries.get(place)
        if found is None or not state.aging:
            return found
        seconds = state.ages
        if state.lifetime:
            seconds = int.from_bytes(_read(found, _slot(state, member_name(state.lifetime))), "big")
        seen = int.from_bytes(found.content[:8], "little")
        return None if 0 < seconds * _SECOND < self._clock.now - seen else found

    def _recall(
        self,
        state: State,
        place: tuple[str, bytes],
        length: list[int],
        got: Pointer,
        held: Pointer | None = None,
    ) -> int:
        """`length`: the packet's, if entries count."""
        found = self._alive(state, place)
        if found is None:
            return 0
        if state.idle:
            found.content[:8] = self._clock.now.to_bytes(8, "little")
        _count(state, found, *length)
        got.put(bytes(found.content))
        if held is not None:
            held.store(64, found.mark)
        return 1

    def _remember(
        self,
        state: State,
        place: tuple[str, bytes],
        if_absent: bool,
        length: list[int],
        entry: Pointer,
        got: Pointer | None = None,
        held: Pointer | None = None,
    ) -> int:
        known = self._alive(state, place)
        if known is None or not if_absent:
            content = bytearray(entry.read(state.entry_size))
            content[:8] = self._clock.now.to_bytes(8, "little")
            if known is not None:
                for slot in state.gives[len(state.given) :]:
                    _write(content, slot, int.from_bytes(_read(known, slot), "big"))
            if known is None or state.in_place or not self._repeats(known, content):
                self._marks += known is None
                self._entries[place] = _Entry(content, self._marks if known is None else known.mark)
        elif state.idle:
            known.content[:8] = self._clock.now.to_bytes(8, "little")
        _count(state, self._entries[place], *length)
        if got is not None and held is not None:
            got.put(bytes(self._entries[place].content))
            held.store(64, self._entries[place].mark)
        return int(known is None)

    def _repeats(self, known: _Entry, content: bytearray) -> bool:
        """Whether it says what is known, and so soon that the kernel's LRU map is not written."""
        seen, now = (int.from_bytes(each[:8], "little") for each in (known.content, content))
        return known.content[8:] == content[8:] and now - seen <= _SECOND

    def _change(
        self, state: State, call: StateCall, got: Pointer, held: Pointer, numbers: list[int]
    ) -> int:
        mark, slot = held.load(64), _slot(state, call.slot)
        entry = next((each for each in self._entries.values() if each.mark == mark), None)
        if entry is None:
            return 0
        most = ones(int(slot.type[1:])) if slot.type[0] == "u" else ones(8 * slot.size)
        now, done = int.from_bytes(_read(entry, slot), "big"), 1
        match call.what, numbers:
            case "exchange", [before, after]:
                now, done = (after, 1) if now == before else (now, 2)
            case "set", [by]:
                now = by
            case "plus", [by]:
                now = min(now + by, most)
            case "minus", [by]:
                now = max(now - by, 0)
            case "plus_wrapping", [by]:
                now = now + by & most
            case "minus_wrapping", [by]:
                now = now - by & most
            case "or", [by]:
                now |= by
            case "and", [by]:
                now &= by
            case "xor", [by]:
                now ^= by
        _write(entry.content, slot, now)
        got.put(bytes(entry.content))
        return done


def _slot(state: State, member: str) -> Slot:
    return next(slot for slot in state.gives if member_name(slot.name) == member)


def _count(state: State, entry: _Entry, length: int = 0) -> None:
    """It counts a packet."""
    for slot in state.gives[len(state.given) :]:
        more = length if slot.name == "bytes" else 1
        _write(entry.content, slot, int.from_bytes(_read(entry, slot), "big") + more)


def _write(content: bytearray, slot: Slot, value: int) -> None:
    content[slot.offset : slot.offset + slot.size] = value.to_bytes(slot.size, "big")


def _read(entry: _Entry, slot: Slot) -> bytes:
    return bytes(entry.content[slot.offset : slot.offset + slot.size])
