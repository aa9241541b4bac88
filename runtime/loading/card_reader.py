"""Reads the counters and rules of a pipeline on a card: `Reader` for the card's maps."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Collection
from functools import partial

import numpy as np

from ...lang.contract.manifest.manifest import Counter, RuleKind
from ..rules.moment import Moment, Rules
from .card_images import REVISION, slots_at, stride_of
from .reader import Array, Reader
from .releases import on_card, pick


def reader_of(name: str = "", everywhere: bool = True) -> Reader:
    """Of a pipeline that is loaded, `everywhere`: also in another network namespace. Raises
    `Refused`."""
    name = pick(name, everywhere)
    return CardReader(name) if on_card(name) else Reader(name)


class CardReader(Reader):
    """Reads only. A card takes a request rule by rule: here each is in force as a whole."""

    def events(self) -> list[tuple[Counter, int]]:
        events, found = self.map("events"), []
        for counter in self.manifest.counters:
            data = events.lookup(counter.index.to_bytes(4, "little")) or bytes(8)
            found.append((counter, int.from_bytes(data, "little")))
        return found

    def snapshot(self, kinds: Collection[str] = ()) -> Moment:
        return self._snapshot(self.revision, self._memory, kinds)

    def snapshot_in(self, descriptor: int, kinds: Collection[str] = ()) -> Moment:
        """Of a memory file of `CardWriter.copies`."""
        data, at = memoryview(mmap.mmap(descriptor, 0, prot=mmap.PROT_READ)), 8
        copies: dict[str, memoryview] = {}
        for kind in self.manifest.rules:
            for name, size in ("cells", 8), ("images", 2 * stride_of(kind)):
                copies[f"{kind.prefix}_{name}"] = data[at : at + size * kind.cells]
                at += size * kind.cells
        revision = int.from_bytes(data[:8], "little")
        return self._snapshot(revision, copies.__getitem__, kinds)

    def _snapshot(
        self, revision: int, memory: Callable[[str], memoryview], kinds: Collection[str]
    ) -> Moment:
        read = partial(self._rules_in, memory, revision)
        return Moment(self.manifest, revision, self.port_numbers, read, kinds).detach()

    def _rules_in(
        self, memory: Callable[[str], memoryview], revision: int, kind: RuleKind
    ) -> Rules:
        words, images = _arrays(memory, kind)
        slots = slots_at(kind, words, images, revision)
        live = np.flatnonzero(slots)
        count = partial(self.tallies, kind) if kind.counts else None
        return Rules(self.manifest, kind, live, slots[live], images, count)

    @property
    def revision(self) -> int:
        return int.from_bytes(self.map(REVISION).lookup(bytes(4)) or b"", "little")

    def _slots(self, kind: RuleKind, revision: int) -> Array:
        return slots_at(kind, *_arrays(self._memory, kind), revision)

    def tallies(self, kind: RuleKind, cells: Array) -> Array:
        counts = self.map(f"{kind.prefix}_counts")
        each = [counts.lookup(int(cell).to_bytes(4, "little")) or bytes(16) for cell in cells]
        words: Array = np.frombuffer(b"".join(each), "<u8").reshape(len(cells), 2)
        return words


def _arrays(memory: Callable[[str], memoryview], kind: RuleKind) -> tuple[Array, Array]:
    """Words and images, [slot, byte]."""
    words = np.frombuffer(memory(f"{kind.prefix}_cells"), "<u8")
    images = np.frombuffer(memory(f"{kind.prefix}_images"), np.uint8)
    return words, images.reshape(-1, stride_of(kind))
