"""What the data path knows of ports and neighbours: rewritten only where it changed."""

from __future__ import annotations

import pytest
from helioc.runtime.kernel.handles import Map
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
