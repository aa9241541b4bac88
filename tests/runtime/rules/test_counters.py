"""Counters of rules: where they lie in the map `counts`, as the manifest says."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np
import pytest
from helioc.lang.contract.manifest.manifest import COUNTS_SIZE, Manifest, RuleKind
from helioc.runtime.kernel.handles import Map, MapSpec, MapType
from helioc.runtime.kernel.map_spec import BPF_F_MMAPABLE
from helioc.runtime.rules.counters import Counters, counters_of
from linx_manifest import kind, linx

ROW, ROWS = 32, 4
PLAIN = kind("PLAIN", 1, 4, counts_at=0)  # 5 cells
SIZED = kind("SIZED", 2, 3, counts_at=5, counts=("packets", "sizes"))  # 4 cells of 5 elements


@pytest.fixture
def counts(kernel: None) -> Iterator[Map]:
    spec = MapSpec(MapType.ARRAY, 4, COUNTS_SIZE, ROW * ROWS, BPF_F_MMAPABLE, "counts")
    with Map.create(spec) as made:
        yield made


def of(counts: Map, rule: RuleKind) -> Counters:
    manifest: Manifest = linx((PLAIN, SIZED), counts=ROW)
    found = counters_of(manifest, rule, {"counts": counts})
    assert found is not None
    return found


def fill(counts: Map) -> None:
    """Each word is its row, element and half."""
    for row in range(ROWS):
        for at in range(ROW):
            words = struct.pack("<QQ", 1000 * row + 10 * at, 1000 * row + 10 * at + 1)
            counts.update((row * ROW + at).to_bytes(4, "little"), words)


def element(counts: Map, row: int, at: int) -> tuple[int, int]:
    data = counts.lookup((row * ROW + at).to_bytes(4, "little"))
    assert data is not None
    packets, byte_count = struct.unpack("<QQ", data)
    return packets, byte_count


def test_sums_are_over_all_rows(counts: Map) -> None:
    fill(counts)
    rows = 1000 * sum(range(ROWS))
    found = of(counts, PLAIN).sums(np.array([3, 1])).tolist()
    assert found == [[rows + ROWS * 30, rows + ROWS * 31], [rows + ROWS * 10, rows + ROWS * 11]]
    (found,) = of(counts, SIZED).sums(np.array([2])).tolist()
    first = 5 + 2 * 5
    words = [rows + ROWS * (10 * at + i) for at in range(first, first + 5) for i in (0, 1)]
    assert found == words[:-1]


@pytest.mark.parametrize("rule", [PLAIN, SIZED])
def test_only_the_cells_that_are_named_change(counts: Map, rule: RuleKind) -> None:
    fill(counts)
    counters, each = of(counts, rule), rule.counts_each
    assert rule.counts_at is not None
    mine = range(rule.counts_at + 2 * each, rule.counts_at + 3 * each)
    before = {(row, at): element(counts, row, at) for row in range(ROWS) for at in range(ROW)}

    counters.clear(np.array([2]))
    for (row, at), was in before.items():
        assert element(counts, row, at) == ((0, 0) if at in mine else was)

    width = counters.sums(np.array([2])).shape[1]
    counters.carry(np.array([2]), np.arange(1, 1 + width, dtype=np.uint64).reshape(1, -1))
    for (row, at), was in before.items():
        n = 2 * (at - mine.start) + 1
        carried = tuple(x if x <= width else 0 for x in (n, n + 1))
        assert element(counts, row, at) == (
            (carried if row == 0 else (0, 0)) if at in mine else was
        )


def test_packets_whose_sizes_nobody_knows_are_told(counts: Map) -> None:
    """Carried from a kind that did not count sizes, and to one that does not."""
    cells, sized, plain = np.array([1, 2]), of(counts, SIZED), of(counts, PLAIN)
    sized.carry(cells, np.array([[7, 700], [9, 900]], np.uint64))
    assert sized.sums(cells).tolist() == [[7, 700, *[0] * 6, 7], [9, 900, *[0] * 6, 9]]
    plain.carry(cells, sized.sums(cells))
    assert plain.sums(cells).tolist() == [[7, 700], [9, 900]]


def test_a_kind_that_does_not_count(counts: Map) -> None:
    assert counters_of(linx(), kind("K", 1, 4, counts=()), {"counts": counts}) is None


@pytest.mark.parametrize("rule", [PLAIN, SIZED])
def test_what_was_counted_moves_to_another_cell(counts: Map, rule: RuleKind) -> None:
    fill(counts)
    counters = of(counts, rule)
    before = counters.sums(np.arange(4))
    counters.move(np.array([2, 1]), np.array([3, 3]))
    counters.clear(np.array([1, 2]))
    after = counters.sums(np.arange(4))
    assert (after[3] == before[1] + before[2] + before[3]).all()
    assert not after[1:3].any()
    assert (after[0] == before[0]).all()
