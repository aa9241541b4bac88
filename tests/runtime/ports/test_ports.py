"""What the data path knows of ports and neighbours: rewritten only where it changed."""

from __future__ import annotations

import pytest
from helioc.runtime.kernel.handles import Map, MapSpec, MapType
from helioc.runtime.kernel.map_spec import BPF_F_MMAPABLE
from helioc.runtime.ports import ports
from helioc.runtime.ports.ports import sync_map
from tinybpf import word


def test_only_what_differs_is_rewritten(table: Map, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the memory of what was deleted is not used again before packets are done with it."""
    did: list[object] = []
    update, delete = table.update, table.delete

    def updated(key: bytes, value: bytes) -> None:
        did.append(("update", key))
        update(key, value)

    def deleted(key: bytes) -> bool:
        did.append(("delete", key))
        return delete(key)

    monkeypatch.setattr(table, "update", updated)
    monkeypatch.setattr(table, "delete", deleted)
    monkeypatch.setattr(ports, "online_cpus_grace", lambda: did.append("grace"))
    expected = {word(1): word(10), word(2): word(20), word(3): word(30)}
    sync_map(table, expected)
    assert "grace" not in did and len(did) == 3
    did.clear()
    sync_map(table, expected)
    assert not did
    sync_map(table, {word(1): word(10), word(2): word(21), word(4): word(40)})
    assert {*did[:2]} == {("delete", word(2)), ("delete", word(3))}
    assert did[2] == "grace"
    assert {*did[3:]} == {("update", word(2)), ("update", word(4))}
    assert dict(table.items()) == {word(1): word(10), word(2): word(21), word(4): word(40)}


def test_no_address_of_the_host_is_taken_for_another(table: Map) -> None:
    """The bit of its hash is clear while it is there. In bundles of earlier releases `control` has
    8 words, and no such bits."""
    host = [bytes([10, 0, 0, n]) for n in range(4)]
    host6 = [bytes.fromhex("fd00") + bytes(13) + bytes([n]) for n in range(4)]
    for words in (8, 72):
        with (
            Map.create(
                MapSpec(MapType.ARRAY, 4, 8 * words, 1, BPF_F_MMAPABLE, "control")
            ) as control,
            Map.create(MapSpec(MapType.HASH, 16, 1, 8, name="local6")) as local6,
            Map.create(MapSpec(MapType.HASH, 4, 1, 8, name="local")) as local,
        ):
            maps = {"control": control, "local": local, "local6": local6}
            for addresses in (), host, [*host6, *host[2:]], host6[:1]:
                ports.write_local(maps, addresses)
                assert {*local.keys(), *local6.keys()} == {*addresses}
                with control.mmap().cast("Q") as memory:
                    assert not any(memory[:8])
                    clear = sum((~word & (1 << 64) - 1).bit_count() for word in memory[8:])
                assert clear == len({*map(_hash, addresses)}) * (words > 8)


def _hash(address: bytes) -> int:
    word = int.from_bytes(address[:8], "little") ^ int.from_bytes(address[8:], "little")
    return word * 0x9E3779B97F4A7C15 % (1 << 64) >> 52
