"""Counters of rules and of events, summed over the CPUs; and those of builds before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ...lang.contract.manifest.manifest import COUNTS_SIZE, Manifest, RuleKind
from ..kernel import libbpf
from ..kernel.handles import BpfError, Map
from ..kernel.system import ENOTSUPP

_ENOENT = -2  # of a batch: that was the end
_FEW = 32  # elements that are better read one by one
_UNKNOWN = 8  # the word of packets whose sizes are not known

Words = npt.NDArray[np.uint64]
Cells = npt.NDArray[np.integer]


class Counters(Protocol):
    """Of a kind's rules, by cell."""

    def sums(self, cells: Cells) -> Words:
        """[cell, word]: packets, bytes; if the kind counts sizes packets by size, and those of
        which none is known. With what builds before this one counted."""

    def carry(self, cells: Cells, sums: Words) -> None:
        """These are what builds before this one counted, whether by size or not."""

    def move(self, cells: Cells, to: Cells) -> None:
        """What these counted counts in other cells, of other places, beside what packets count
        there."""

    def clear(self, cells: Cells) -> None:
        """Let them begin at 0. No packet counts by these cells."""


def counters_of(manifest: Manifest, kind: RuleKind, maps: Mapping[str, Map]) -> Counters | None:
    """None of a kind that does not count."""
    if not kind.counts:
        return None
    if kind.counts_at is not None:
        return FlatCounters(maps["counts"], manifest.counts, kind)
    name = f"{kind.prefix}_counts"
    return PerCpuCounters(maps[name], maps.get(before_of(name)))


class FlatCounters:
    """In rows of the map `counts`: see the manifest."""

    def __init__(self, counts: Map, row: int, kind: RuleKind) -> None:
        assert kind.counts_at is not None
        each, self._places = COUNTS_SIZE * kind.counts_each, kind.places
        self._width = _UNKNOWN + 1 if "sizes" in kind.counts else 2
        #: [row, place, word], in the map itself.
        self.words = np.ndarray(
            (counts.spec.max_entries // row, kind.places, each // 8), np.dtype("<u8"),
            counts.mmap(),
            COUNTS_SIZE * kind.counts_at, (COUNTS_SIZE * row, each, 8),
        )  # fmt: skip

    def sums(self, cells: Cells) -> Words:
        places = cells % self._places
        total: Words = self.words[0][places]
        for row in self.words[1:]:
            total += row[places]
        return total[:, : self._width]

    def carry(self, cells: Cells, sums: Words) -> None:
        some, places = min(sums.shape[1], self._width), cells % self._places
        self.words[0][places, :some] = sums[:, :some]
        if self._width > some:
            self.words[0][places, _UNKNOWN] = sums[:, 0]

    def move(self, cells: Cells, to: Cells) -> None:
        np.add.at(self.words[0], to, self.words[:, cells].sum(axis=0, dtype=np.uint64))

    def clear(self, cells: Cells) -> None:
        self.words[:, cells % self._places] = 0


class PerCpuCounters:
    """In a map of the kind's own, of a value for each CPU (layout 1). Of what builds before
    counted it knows no sizes."""

    def __init__(self, counts: Map, before: Map | None) -> None:
        self._counts, self._width = counts, counts.spec.stride // 8
        self._before: Words | None = None
        if before is not None:
            self._before = np.frombuffer(before.mmap(), "<u8").reshape(-1, COUNTS_SIZE // 8)

    def sums(self, cells: Cells) -> Words:
        total = self._of_this_build(cells)
        if self._width > 2:
            total = np.hstack((total, np.zeros((len(cells), 1), np.uint64)))
        if self._before is not None:
            total[:, :2] += self._before[cells]
            total[:, _UNKNOWN:] += self._before[cells, :1]
        return total

    def carry(self, cells: Cells, sums: Words) -> None:
        assert self._before is not None
        self._before[cells] = sums[:, :2]

    def move(self, cells: Cells, to: Cells) -> None:
        """Lost where no build before this one counted: a map by CPU has no place for it."""
        if self._before is not None:
            np.add.at(self._before, to, self.sums(cells)[:, :2])

    def clear(self, cells: Cells) -> None:
        keys = cells.astype("<u4").tobytes()
        if self._before is not None:
            self._before[cells] = 0
        self._counts.update_batch(keys, bytes(self._counts.element_size * len(cells)))

    def _of_this_build(self, cells: Cells) -> Words:
        if not len(cells):
            return np.zeros((0, self._width), np.uint64)
        if len(cells) >= _FEW:
            return read_sums(self._counts, int(cells.max()) + 1)[cells]
        each = [self._counts.lookup_per_cpu(int(cell).to_bytes(4, "little")) for cell in cells]
        found = np.frombuffer(b"".join(b"".join(e or ()) for e in each), "<u8")
        few: Words = found.reshape(len(cells), -1, self._width).sum(axis=1)
        return few


def before_of(name: str) -> str:
    """The map with what the map `name` of builds before held: `loading/carry_counters.py`."""
    return f"{name.removesuffix('_counts')}_before"


def read_sums(counters: Map, count: int) -> Words:
    """The first `count` elements of an array of u64s, summed over the CPUs if it is per CPU:
    [element, word]. One system call, but on kernels before 5.13 one for each element."""
    keys, values = bytearray(4 * count), bytearray(counters.element_size * count)
    cursor = libbpf.buffer_type(8)()
    result, done = libbpf.lookup_batch(counters.fileno(), None, cursor, keys, values, count)
    if result == -ENOTSUPP:  # no batches of per-CPU arrays
        keys_of = (number.to_bytes(4, "little") for number in range(count))
        values = bytearray().join(counters.lookup(key) or b"" for key in keys_of)
        result, done = 0, count
    if result not in (0, _ENOENT):
        raise BpfError(f"read map `{counters.name}`", -result)
    words = counters.spec.stride // 8
    found = np.frombuffer(values, dtype="<u8").reshape(count, -1, words)
    total: Words = found[:done].sum(axis=1, dtype=np.uint64)
    return total
