"""Maps against the real kernel: elements, batches, memory, and refusals in words."""

from __future__ import annotations

import struct
from concurrent.futures import ThreadPoolExecutor
from errno import E2BIG, EEXIST, ENOENT

import numpy as np
import pytest
from helioc.runtime.kernel import libbpf
from helioc.runtime.kernel.handles import BpfError, Map, MapSpec, MapType, Object
from helioc.runtime.kernel.map_spec import BPF_F_MMAPABLE
from helioc.runtime.kernel.maps import BPF_EXIST, BPF_NOEXIST
from tinybpf import ALL_ONES, DROP, PACKET, PASS, build, word

pytestmark = pytest.mark.usefixtures("kernel")


def test_elements_are_written_read_and_deleted(table: Map) -> None:
    assert table.lookup(word(1)) is None
    table.update(word(1), b"abcd")
    table.update(word(2), b"ef\0h")
    assert table.lookup(word(2)) == b"ef\0h"
    assert sorted(table.keys()) == [word(1), word(2)]
    assert table.delete(word(1)) and not table.delete(word(1))
    assert list(table.items()) == [(word(2), b"ef\0h")]


def test_flags_and_capacity_are_errors_in_words(table: Map) -> None:
    with pytest.raises(BpfError, match="write map `table`.*there is no such key") as error:
        table.update(word(1), word(1), BPF_EXIST)
    assert error.value.errno == ENOENT
    table.update(word(1), word(1))
    with pytest.raises(BpfError, match="the key is there already") as error:
        table.update(word(1), word(1), BPF_NOEXIST)
    assert error.value.errno == EEXIST
    with pytest.raises(BpfError, match="its capacity is 8") as error:
        for number in range(9):
            table.update(word(number), word(0))
    assert error.value.errno == E2BIG


def test_wrong_sizes_never_reach_the_kernel(table: Map) -> None:
    for attempt in (
        lambda: table.update(b"abc", word(1)),
        lambda: table.update(word(1), b"abcde"),
        lambda: table.lookup(b""),
        lambda: table.delete(b"abcdefgh"),
        lambda: table.update_batch(word(1) + b"a", word(1)),
        lambda: table.update_batch(word(1), word(1) * 2),
        lambda: table.delete_batch(b"abcde"),
    ):
        with pytest.raises(ValueError, match="4-byte keys and 4-byte elements"):
            attempt()


def test_a_closed_map_is_not_someone_elses_descriptor(table: Map) -> None:
    table.close()
    with Map.create(MapSpec(MapType.HASH, 4, 4, 8)) as other:
        with pytest.raises(BpfError, match="Bad file descriptor"):
            table.update(word(1), word(1))
        assert list(other.keys()) == []


def test_the_key_just_yielded_may_be_deleted(table: Map) -> None:
    for number in range(8):
        table.update(word(number), word(number))
    seen = [key for key in table.keys() if table.delete(key)]  # noqa: SIM118 - no mapping
    assert len(seen) == 8 and list(table.keys()) == []


@pytest.mark.parametrize("kind", [MapType.HASH, MapType.LRU_HASH, MapType.PERCPU_HASH])
def test_batches_take_and_give_numpy_columns(kind: MapType) -> None:
    count = 10_000
    with Map.create(MapSpec(kind, 8, 8, 4 * count, name="batch")) as made:
        copies = made.element_size // 8
        keys = np.arange(count, dtype="<u8")
        values = np.repeat(keys * 3, copies)
        assert made.update_batch(keys.data, values.data) == count
        some_keys, some = made.read_all()
        found = np.frombuffer(some_keys, "<u8")
        assert sorted(found) == list(range(count))
        assert (np.frombuffer(some, "<u8").reshape(-1, copies) == found[:, None] * 3).all()
        assert made.delete_batch(keys[: count // 2].tobytes()) == count // 2
        assert len(made.read_all()[0]) == 8 * (count - count // 2)


def test_batch_delete_passes_over_missing_keys(table: Map) -> None:
    table.update_batch(word(1) + word(3) + word(5), word(0) * 3)
    asked = b"".join(word(number) for number in (0, 1, 2, 3, 4, 9))
    assert table.delete_batch(memoryview(asked)) == 2
    assert list(table.keys()) == [word(5)]
    assert table.delete_batch(b"") == 0 and table.update_batch(b"", b"") == 0


def test_a_batch_that_does_not_fit_says_how_far_it_came(table: Map) -> None:
    keys = b"".join(word(number) for number in range(12))
    with pytest.raises(BpfError, match="its capacity is 8") as error:
        table.update_batch(keys, bytes(48))
    assert error.value.done == 8 == len(list(table.keys()))


def test_maps_without_batches_are_written_one_by_one(small: Object) -> None:
    stages, dropper = small.maps()["stages"], small.programs()["dropper"]
    assert stages.update_batch(word(0) + word(1), word(dropper.fileno()) * 2) == 2
    assert stages.read_all() == (word(0) + word(1), word(dropper.id) * 2)
    assert stages.delete_batch(word(0) + word(1)) == 2
    assert stages.delete_batch(word(0)) == 0


def test_prefixes_are_walked_and_read() -> None:
    trie = MapSpec(MapType.LPM_TRIE, 8, 4, 16, flags=1, name="trie")
    with Map.create(trie) as made:
        keys = [struct.pack("<I4B", bits, 10, 1, 2, 3) for bits in (8, 16, 32)]
        made.update_batch(b"".join(keys), word(8) + word(16) + word(32))
        assert made.lookup(struct.pack("<I4B", 32, 10, 1, 9, 9)) == word(16)
        assert {value for _, value in made.items()} == {word(8), word(16), word(32)}
        assert len(set(made.keys())) == 3


def test_per_cpu_values_come_apart(small: Object) -> None:
    counters, cpus = small.maps()["counters"], libbpf.possible_cpus()
    assert counters.spec.stride == 8 and counters.element_size == 8 * cpus
    small.programs()["entry"].test_run(PACKET, repeat=7)
    values = counters.lookup_per_cpu(word(0))
    assert values is not None and len(values) == cpus
    assert sum(int.from_bytes(value, "little") for value in values) == 7
    counters.update(word(0), bytes(counters.element_size))
    assert counters.lookup_per_cpu(word(0)) == [word(0)] * cpus


def test_an_mmapped_cell_is_seen_by_programs_at_once(small: Object) -> None:
    cells, entry = small.maps()["cells"], small.programs()["entry"]
    view = cells.mmap().cast("Q")
    view[0] = 2**64 - 1
    assert entry.test_run(PACKET).retval == DROP and cells.lookup(word(0)) == ALL_ONES
    view[0] = 5
    assert entry.test_run(PACKET).retval == PASS
    cells.update(word(3), ALL_ONES)
    assert view[3] == 2**64 - 1 and len(view) == 4


def test_values_in_memory_are_a_stride_apart() -> None:
    with Map.create(MapSpec(MapType.ARRAY, 4, 12, 1000, BPF_F_MMAPABLE, "records")) as made:
        made.update(word(999), b"abcdefghijkl")
        view = made.mmap()
        assert len(view) == 16_000 and made.spec.stride == 16
        assert bytes(view[999 * 16 : 999 * 16 + 12]) == b"abcdefghijkl"


def test_a_column_over_a_map_outlives_its_owner_without_harm() -> None:
    made = Map.create(MapSpec(MapType.ARRAY, 4, 8, 512, BPF_F_MMAPABLE, "cells"))
    column = np.frombuffer(made.mmap(), "<u8")
    made.close()
    column[511] = 7
    assert column.sum() == 7
    del column


def test_only_mmapable_maps_are_mmapped(table: Map) -> None:
    with pytest.raises(BpfError, match="mmap map `table`.*it is no BPF_F_MMAPABLE array"):
        table.mmap()


def test_a_store_is_never_torn() -> None:
    """A program that compares the halves of the cell while Python stores: one store, or it sees."""
    source = """
struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 1); __uint(map_flags, 1024);
         __type(key, __u32); __type(value, __u64); } cells SEC(".maps");
SEC("xdp") int watch(struct xdp_md *ctx)
{
    volatile __u64 *cell = bpf_map_lookup_elem(&cells, &(__u32){0});
    if (!cell) return XDP_ABORTED;
    for (int i = 0; i < 4096; i++) {
        __u64 seen = *cell;
        if ((__u32)seen != (__u32)(seen >> 32)) return XDP_DROP;
    }
    return XDP_PASS;
}"""
    with Object.open(build(source), name="torn") as opened, ThreadPoolExecutor(1) as pool:
        opened.load()
        view = opened.maps()["cells"].mmap().cast("Q")
        watch = opened.programs()["watch"]
        runs = pool.submit(lambda: [watch.test_run(PACKET, repeat=500).retval for _ in range(20)])
        stores = 0
        while not runs.done():
            view[0] = 0 if stores & 1 else 2**64 - 1
            stores += 1
        assert set(runs.result()) == {PASS} and stores > 100


def test_maps_are_found_by_id(table: Map) -> None:
    with Map.open_id(table.id) as again:
        again.update(word(4), word(5))
    assert table.lookup(word(4)) == word(5)


def test_a_map_that_the_kernel_will_not_make_is_an_error() -> None:
    with pytest.raises(BpfError, match="create map `none`: Invalid argument"):
        Map.create(MapSpec(MapType.HASH, 4, 4, 0, name="none"))
