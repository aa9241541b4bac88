"""Looks at the rules of a loaded pipeline for events that are due, and tells of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...lang.contract.manifest.manifest import Manifest
from ...lang.contract.world.emitted import encode
from ...lang.contract.world.rule_events import Bucket, values_of
from ..base.rule_memory import DUE, RAISED, memory_of, raising
from ..loading.reader import Reader
from ..rules.bulk import rows
from ..rules.event_columns import Array, Due, KindColumns
from ..rules.moment import slots_at
from ..rules.transaction import NEXT
from .source import SLICE, Raised

#: Cells that are looked at in one go: that holds the interpreter for 1 ms.
CELLS = 2048

Tell = Callable[[Sequence[Raised]], None]


class RuleSource:
    """The only one who tells of a pipeline's rules. Close it."""

    def __init__(self, name: str, about: Mapping[str, Any], manifest: Manifest) -> None:
        """Raises `Refused`, BpfError."""
        self.name = name
        self.build = about["incarnation"], about["release"]
        assert manifest.events is not None
        self._events = {kind.name: kind for kind in manifest.events.kinds}
        self._at = {name: at for at, name in enumerate(self._events)}
        self._buckets = {kind.name: Bucket(kind.rate) for kind in self._events.values()}
        self._reader = Reader(name, about["release"])
        try:
            reader, revision = self._reader, self._reader.revision
            memory = memory_of(
                name, about, manifest, lambda kind: reader.live(manifest.rule(kind), revision)
            )
            self._memory, self._counts = memory, memory.events
            self._kinds = [
                KindColumns(manifest, kind, memory.kinds[kind.name]) for kind in raising(manifest)
            ]
            self._control = np.frombuffer(reader.map("control").mmap(), "<u8")
        except BaseException:
            self._reader.close()
            raise

    @property
    def whole(self) -> bool:
        """Else what was told of is lost: begin anew."""
        return self._memory.whole

    def look(self, tell: Tell) -> Iterator[None]:
        """At all rules, in slices, and between two of them others may go on. An event beyond the
        limit of its kind stays due: none is left out."""
        due = np.zeros(len(self._counts), np.uint64)
        for kind in self._kinds:
            for start in range(1, kind.kind.cells, CELLS):
                if not self.whole:
                    return
                if start == 1:
                    kind.begin(int(self._control[NEXT]))
                yield from self._slice(kind, start, tell, due)
                yield
        if self.whole:
            self._counts[:, DUE] = due

    def _slice(self, kind: KindColumns, start: int, tell: Tell, left: Array) -> Iterator[None]:
        cells = np.frombuffer(self._reader.map(f"{kind.kind.prefix}_cells").mmap(), "<u8")
        end = min(start + CELLS, kind.kind.cells)

        def slots() -> Array:  # the first of what `slots_at` gets is no rule's
            return slots_at(cells[start - 1 : end].copy(), int(self._control[0]))[1:]

        table = self._reader.map(f"{kind.kind.prefix}_images")
        images, counters = rows(table.mmap(), table.spec.stride), self._reader.counters(kind.kind)
        now = time.monotonic_ns()
        for due in kind.look(start, slots, images, counters, now, now):
            if not self._reader.in_force:
                return  # packets are counted elsewhere by now
            at = self._at[due.raised.event]
            told = 0
            while self.whole and (found := self._made(kind, due, told, images, now)):
                tell(found)
                told += len(found)
                kind.mark(due, told)  # who is killed in front of this tells of these again
                self._counts[at, RAISED] += np.uint64(len(found))
                yield
            left[at] += np.uint64(len(due.cells) - told)

    def _made(
        self, kind: KindColumns, due: Due, first: int, images: Array, looked: int
    ) -> list[Raised]:
        """The next ones, within the limit. Their time is that of the look."""
        event, found = self._events[due.raised.event], list[Raised]()
        now = time.monotonic_ns()
        clock = time.time_ns() - now + looked
        for row in range(first, min(first + SLICE, len(due.cells))):
            rule = kind.rule_of(images[due.slots[row]].data, int(due.sequences[row]))
            if rule is None or not self._buckets[event.name].take(now):
                break
            values = values_of(due.raised.fields, rule, *due.counts[row].tolist())
            found.append(Raised(self.name, self.build[0], clock, encode(event, looked, values)))
        return found

    def close(self) -> None:
        """May be called again."""
        self._reader.close()
