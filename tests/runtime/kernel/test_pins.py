"""Names in bpffs: what they keep alive, and what is checked before it is reused."""

from __future__ import annotations

from errno import ENOTDIR, EPERM
from pathlib import Path

import pytest
from helioc.runtime.base.errors import of_kernel
from helioc.runtime.kernel import pins as module
from helioc.runtime.kernel.handles import (
    BpfError,
    IncompatibleMap,
    Link,
    Map,
    MapSpec,
    MapType,
    Object,
    Pin,
    Program,
    ensure_bpffs,
)
from helioc.runtime.kernel.pins import remove_directory
from tinybpf import PACKET, PASS, SMALL, build, word

pytestmark = pytest.mark.usefixtures("kernel")


def test_a_pin_keeps_what_its_owner_gave_up(table: Map, pins: Path) -> None:
    table.update(word(1), word(2))
    with table.pin(pins / "table") as pin:
        table.close()
        with Map.open_pinned(pins / "table", table.spec) as again:
            assert again.lookup(word(1)) == word(2)
        assert pin.path.exists()
    assert not pin.path.exists()
    pin.remove()
    with pytest.raises(BpfError, match="nothing is pinned there"):
        Map.open_pinned(pins / "table")


def test_a_kept_pin_outlives_the_block(table: Map, pins: Path) -> None:
    with Pin.create(table, pins / "table") as pin:
        pin.keep()
    assert pin.path.exists()
    pin.remove()


def test_a_pin_is_replaced_in_one_step(table: Map, small: Object, pins: Path) -> None:
    with table.pin(pins / "it"):
        with pytest.raises(BpfError, match="pin at .*File exists"):
            small.maps()["rules"].pin(pins / "it")
        small.maps()["rules"].pin(pins / "it", replace=True)
        assert [path.name for path in pins.iterdir()] == ["it"]
        with Map.open_pinned(pins / "it") as now:
            assert now.id == small.maps()["rules"].id


def test_pins_are_refused_in_words(table: Map, pins: Path, tmp_path: Path) -> None:
    with pytest.raises(BpfError, match="may not contain a dot") as error:
        table.pin(pins / "a.b")
    assert error.value.errno == EPERM
    with pytest.raises(BpfError, match="is not in a bpf file system: mount -t bpf") as error:
        table.pin(tmp_path / "table")
    assert error.value.errno == ENOTDIR and of_kernel(error.value, "pin it").code == "H0721"
    with pytest.raises(BpfError, match="directory .* does not exist"):
        table.pin(pins / "absent" / "table")


def test_a_pin_of_another_kind_is_refused(small: Object, pins: Path) -> None:
    with small.maps()["rules"].pin(pins / "rules"), small.programs()["entry"].pin(pins / "entry"):
        with pytest.raises(BpfError, match="open a BPF prog.*this is bpf-map"):
            Program.open_pinned(pins / "rules")
        with pytest.raises(BpfError, match="open a BPF map.*this is bpf-prog"):
            Map.open_pinned(pins / "entry")
        with pytest.raises(BpfError, match="open a BPF link.*this is bpf-prog"):
            Link.open_pinned(pins / "entry")


def test_directories_are_made_in_bpffs_only(pins: Path, tmp_path: Path) -> None:
    assert ensure_bpffs(pins / "one" / "two").is_dir()
    assert ensure_bpffs(pins / "one" / "two").is_dir()
    remove_directory(pins / "one")
    remove_directory(pins / "one")
    with pytest.raises(BpfError, match="not in a bpf file system.*mount -t bpf") as error:
        ensure_bpffs(tmp_path / "one")
    assert error.value.errno == ENOTDIR
    with pytest.raises(BpfError, match="may not contain a dot"):
        ensure_bpffs(pins / "a.b")
    assert list(pins.iterdir()) == []


@pytest.mark.parametrize("step", ["filesystem_magic", "give_to_owner"])
def test_a_parent_that_another_removes_is_made_again(
    step: str, pins: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`unload` of the only other pipeline removes the directory that would hold both."""
    shared, real, removed = pins / "shared", getattr(module, step), False
    if step == "filesystem_magic":
        shared.mkdir()

    def meanwhile(path: Path | str) -> object:
        nonlocal removed
        if not removed:
            shared.rmdir()
            removed = True
        return real(path)

    monkeypatch.setattr(module, step, meanwhile)
    assert ensure_bpffs(shared / "one" / "two").is_dir()
    assert removed
    remove_directory(shared)


def test_maps_are_reused_when_they_fit(small: Object) -> None:
    rules, ports = small.maps()["rules"], small.maps()["ports"]
    rules.update(word(7), word(1))
    with Object.open(build(SMALL), name="second") as second:
        second.reuse("rules", rules)
        second.reuse("ports", ports)
        second.load()
        assert second.maps()["rules"].id == rules.id and second.maps()["ports"].id == ports.id
        verdict = second.programs()["a_name_longer_than_the_kernel_keeps"].test_run(PACKET).retval
        assert verdict == PASS


def test_a_map_that_does_not_fit_is_refused_with_every_difference(table: Map, pins: Path) -> None:
    with Object.open(build(SMALL), name="second") as second:
        with pytest.raises(IncompatibleMap) as error:
            second.reuse("cells", table)
        assert error.value.differences == [
            "type HASH instead of ARRAY",
            "value_size 4 instead of 8",
            "max_entries 8 instead of 4",
            "flags 0x0 instead of 0x400",
        ]
        assert str(error.value).startswith("reuse map `cells`: it has type HASH instead of ARRAY, ")
    with table.pin(pins / "t"), pytest.raises(IncompatibleMap, match="max_entries 8 instead of 9"):
        Map.open_pinned(pins / "t", MapSpec(MapType.HASH, 4, 4, 9))
