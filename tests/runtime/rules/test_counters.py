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

ROW, ROWS = 24, 4
PLAIN = kind("PLAIN", 1, 4, counts_at=0)  # 5 cells
SIZED = kind("SIZED", 2, 3, counts_at=5, counts=("packets", "sizes"))  # 4 cells of 4 elements


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
    first = 5 + 2 * 4
    assert found == [rows + ROWS * (10 * at + i) for at in range(first, first + 4) for i in (0, 1)]


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

    counters.carry(np.array([2]), np.arange(1, 1 + 2 * each, dtype=np.uint64).reshape(1, -1))
    for (row, at), was in before.items():
        n = 2 * (at - mine.start) + 1
        now = ((n, n + 1) if row == 0 else (0, 0)) if at in mine else was
        assert element(counts, row, at) == now


def test_a_kind_that_does_not_count(counts: Map) -> None:
    assert counters_of(linx(), kind("K", 1, 4, counts=()), {"counts": counts}) is None
