"""What packets leave behind for later ones, as the interpreters keep it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..base.colours import Colour
from .environment import Limit
from .meters import Metered
from .moment import SECOND, Moment


class Kept(NamedTuple):
    """An entry of a state: what it holds, when it was remembered (`idle`: or recalled) last, in ns,
    and a number that no other entry had."""

    values: tuple[int, ...]
    seen: int
    mark: int


#: Seconds after which an entry with these values is forgotten; 0: never.
Lasts = Callable[[tuple[int, ...]], int]


class States:
    """What packets left behind: entries of the state tables by key, what rules' meters lack and
    what rules counted, registers, and how far ICMP errors are ahead of their limit. `moment` is the
    clock. Here nothing gives way to new entries: when a table is full is the kernel's to know."""

    def __init__(self) -> None:
        self.moment = Moment()
        self._due = 0  # ns: when the next ICMP error would come if all came evenly
        self._entries: dict[str, dict[tuple[int, ...], Kept]] = {}
        self._before: list[tuple[str, tuple[int, ...], Kept | None]] = []
        self._due_before = 0
        #: By rule kind and sequence, or by state and mark.
        self._meters: dict[tuple[str, int], Metered] = {}
        self._meters_before: list[tuple[tuple[str, int], Metered]] = []
        self._counts: dict[tuple[str, int], tuple[int, int]] = {}  # packets and bytes, likewise
        self._counts_before: list[tuple[tuple[str, int], tuple[int, int]]] = []
        self._registers: dict[tuple[str, int], int] = {}  # by array and number
        self._registers_before: list[tuple[tuple[str, int], int]] = []
        self._marks = 0
        #: By event, and source: when its bucket of tokens will be full, in ns.
        self._full: dict[tuple[object, ...], int] = {}
        self._full_before: dict[tuple[object, ...], int] = {}

    @property
    def now(self) -> int:
        """In ns."""
        return self.moment.now

    def wait(self, ns: int) -> None:
        """Time goes on."""
        self.moment = self.moment.later(ns)

    def begin(self) -> None:
        """A packet begins: `undo` leads back here."""
        self._before.clear()
        self._meters_before.clear()
        self._counts_before.clear()
        self._registers_before.clear()
        self._due_before = self._due
        self._full_before = dict(self._full)

    def undo(self) -> None:
        """Nothing that the packet did is left."""
        self._due = self._due_before
        self._full = self._full_before
        for rule, meter in reversed(self._meters_before):
            self._meters[rule] = meter
        for rule, counts in reversed(self._counts_before):
            self._counts[rule] = counts
        for register, value in reversed(self._registers_before):
            self._registers[register] = value
        for state, key, entry in reversed(self._before):
            self._entries[state].pop(key, None)
            if entry is not None:
                self._entries[state][key] = entry

    def remember(
        self,
        state: str,
        key: tuple[int, ...],
        values: tuple[int, ...],
        lasts: Lasts,
        lazily: bool = False,
    ) -> Kept:
        """The entry of that key becomes this; one that is too old makes room for another. `lazily`:
        one that holds these values, and was remembered a second ago or less, stays as it is."""
        known = self.recall(state, key, lasts)
        if lazily and known and known.values == values and self.now - known.seen <= SECOND:
            return known
        self._marks += known is None
        made = Kept(values, self.now, self._marks if known is None else known.mark)
        self._put(state, key, made)
        return made

    def recall(
        self, state: str, key: tuple[int, ...], lasts: Lasts, idle: bool = False
    ) -> Kept | None:
        """The entry of that key, if it is not too old. `idle`: it stays as long again."""
        found = self._entries.get(state, {}).get(key)
        if found is None or 0 < lasts(found.values) * SECOND < self.now - found.seen:
            return None
        if idle:
            found = found._replace(seen=self.now)
            self._put(state, key, found)
        return found

    def forget(self, state: str, key: tuple[int, ...]) -> None:
        if key in self._entries.get(state, {}):
            self._put(state, key, None)

    def change(
        self,
        state: str,
        key: tuple[int, ...],
        mark: int,
        slot: int,
        to: Callable[[int], int],
    ) -> Kept | None:
        """The entry with this mark, with slot number `slot` changed; None if it is gone."""
        found = self._entries.get(state, {}).get(key)
        if found is None or found.mark != mark:
            return None
        values = (*found.values[:slot], to(found.values[slot]), *found.values[slot + 1 :])
        made = found._replace(values=values)
        self._put(state, key, made)
        return made

    def _put(self, state: str, key: tuple[int, ...], entry: Kept | None) -> None:
        entries = self._entries.setdefault(state, {})
        self._before.append((state, key, entries.pop(key, None)))
        if entry is not None:
            entries[key] = entry

    def register(self, registers: str, number: int) -> int:
        """What a register of an array holds."""
        return self._registers.get((registers, number), 0)

    def set_register(self, registers: str, number: int, value: int) -> None:
        place = registers, number
        self._registers_before.append((place, self.register(*place)))
        self._registers[place] = value

    def count(self, kind: str, sequence: int, length: int) -> None:
        """A rule counts a packet."""
        packets, octets = before = self.counted(kind, sequence)
        self._counts_before.append(((kind, sequence), before))
        self._counts[kind, sequence] = packets + 1, octets + length

    def counted(self, kind: str, sequence: int) -> tuple[int, int]:
        """The packets and bytes that a rule counted so far."""
        return self._counts.get((kind, sequence), (0, 0))

    def colour(
        self, of: tuple[str, int], values: Sequence[int], length: int, unit: int, given: Colour
    ) -> Colour:
        """What a meter says of a packet now: see `Metered`. `of`: a rule's kind and sequence, or an
        entry's state and mark."""
        before = self._meters.get(of, Metered())
        self._meters_before.append((of, before))
        colour, self._meters[of] = before.takes(values, length, self.now, unit, given)
        return colour

    def holds(self, state: str, key: tuple[int, ...], mark: int) -> bool:
        """Whether the entry with this mark is there still."""
        found = self._entries.get(state, {}).get(key)
        return found is not None and found.mark == mark

    def may_answer(self, limit: Limit) -> bool:
        """Whether another ICMP error may be sent now; if so it counts as sent."""
        due = max(self._due, self.now)
        if due - self.now > (limit.burst - 1) * limit.interval:
            return False
        self._due = due + limit.interval
        return True

    def may_emit(self, limits: Sequence[tuple[tuple[object, ...], int]]) -> bool:
        """Whether one more event is within all of these limits, each with the name of its bucket
        and so many a second; if so it counts in each."""
        now = self.now
        full = {bucket: max(self._full.get(bucket, 0), now) for bucket, _ in limits}
        if any(full[bucket] - now > (rate - 1) * (10**9 // rate) for bucket, rate in limits):
            return False
        self._full |= {bucket: full[bucket] + 10**9 // rate for bucket, rate in limits}
        return True

    def fill_buckets(self) -> None:
        """No event was raised yet."""
        self._full.clear()
