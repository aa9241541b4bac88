"""Objects in a process of their own: all the same, and damage ends nobody else."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from errno import EACCES

import pytest
from broken_objects import mutated, pointing_nowhere
from helioc.runtime.kernel.handles import BpfError, IncompatibleMap, Map, MapSpec, MapType, Object
from tinybpf import PACKET, SMALL, build

pytestmark = pytest.mark.usefixtures("kernel")

#: Damaged objects: `make nightly` has thousands.
MANY = int(os.environ.get("HELIO_OBJECTS", "30"))
REFUSED = """
SEC("xdp") int good(struct xdp_md *ctx) { return XDP_PASS; }
SEC("xdp") int greedy(struct xdp_md *ctx) { return *(char *)(long)ctx->data; }
"""


@pytest.fixture(autouse=True)
def isolated(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(Object, "isolated", True)
    opened = descriptors()
    yield
    assert descriptors() == opened


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_an_object_is_what_it_is_in_our_own_process() -> None:
    with (
        Map.create(MapSpec(MapType.HASH, 4, 4, 16, 0, "rules")) as rules,
        Object.open(build(SMALL), name="small") as opened,
    ):
        assert opened.map_specs()["cells"] == MapSpec(MapType.ARRAY, 4, 8, 4, 1024, "cells")
        opened.reuse("rules", rules)
        opened.set_max_entries("counters", 7)
        opened.skip("dropper")
        opened.load()
        assert list(opened.programs()) == [n for n in opened.program_names() if n != "dropper"]
        assert opened.maps()["rules"].id == rules.id
        assert opened.maps()["counters"].spec.max_entries == 7
        entry = opened.programs()["entry"]
        opened.maps()["cells"].update(bytes(4), b"\xff" * 8)
        assert entry.test_run(PACKET).retval == 1, "it sees what we write"
        with pytest.raises(ValueError, match="loaded or closed"):
            opened.load()


def test_its_errors_are_those_of_our_own_process() -> None:
    with Object.open(build(SMALL), name="small") as opened:
        with pytest.raises(
            BpfError, match="find map `rool` in object `small`.*it has cells, count"
        ):
            opened.set_max_entries("rool", 5)
        with (
            Map.create(MapSpec(MapType.HASH, 4, 8, 16, 0, "rules")) as other,
            pytest.raises(IncompatibleMap, match="value_size 8 instead of 4"),
        ):
            opened.reuse("rules", other)
    with Object.open(build(REFUSED), name="refused") as opened:
        with pytest.raises(BpfError) as error:
            opened.load()
        assert error.value.program == "greedy" and error.value.errno == EACCES
        assert "side of the packet" in error.value.log and not error.value.damaged
    with pytest.raises(BpfError) as error:
        Object.open(b"no object")
    assert error.value.damaged


def test_an_object_that_ends_libbpf_ends_nobody_else() -> None:
    with pytest.raises(BpfError) as error:
        Object.open(pointing_nowhere(build(SMALL)), name="small")
    assert error.value.damaged and error.value.log == "libbpf crashed on it (SIGSEGV)"


def test_whatever_is_wrong_with_an_object_is_told() -> None:
    elf, became = build(SMALL), Counter[str]()
    for seed in range(MANY):
        try:
            with Object.open(mutated(elf, seed), name="small") as opened:
                opened.map_specs()
                opened.load()
            became["loaded"] += 1
        except BpfError as error:
            assert str(error)
            ended = "crashed on it" in error.log
            became["ended" if ended else "damaged" if error.damaged else "refused"] += 1
    assert became.total() == MANY and became["damaged"] and became["loaded"], became
