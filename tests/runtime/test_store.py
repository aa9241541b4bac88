"""The journal by itself: what it keeps, folds and forgets, and what it says of a bad disk."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from helioc.lang.diagnostics import Refused
from helioc.runtime.store import IES, NOTE, PACKED, Entry, Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "state")
    yield made
    made.close()


def fill(store: Store, count: int, keys: bool = True) -> int:
    """A pipeline in force at revision 0, and so many requests of it."""
    pipeline = store.begin("edge", '{"digest": ""}', b"object")
    store.fold(pipeline, 0, [b"rules"], "{}", 10)
    for i in range(1, count + 1):
        key = f"k{i}" if keys and i % 2 else None
        store.append(pipeline, Entry(i, IES, b"request %d" % i, key, b"d" if key else None, "[]"))
    return pipeline


def test_it_is_all_there_after_a_restart(store: Store) -> None:
    pipeline = fill(store, 100)
    store.append(pipeline, Entry(101, NOTE, b"{}"))
    store.append(pipeline, Entry(102, PACKED, bytes(100_000)))
    store.close()
    again = Store(store.directory)
    (kept,) = again.pipelines()
    assert (kept.name, kept.object, kept.revision) == ("edge", b"object", 0)
    assert again.snapshot(kept) == b"rules"
    found = again.entries(kept.id, kept.revision)
    assert [e.revision for e in found] == list(range(1, 103))
    assert found[41].content == b"request 42" and found[-1].content == bytes(100_000)
    again.close()


def test_a_snapshot_takes_the_place_of_what_led_to_it(store: Store) -> None:
    pipeline = fill(store, 1000)
    store.append(pipeline, Entry(1001, PACKED, bytes(100_000), "bulk", b"d", "[]"))
    store.append(pipeline, Entry(1002, IES, b"later"))
    store.fold(pipeline, 1001, [b"all ", b"rules"], '{"a": 1}', 100)
    (kept,) = store.pipelines()
    assert (store.snapshot(kept), kept.config, kept.revision) == (b"all rules", '{"a": 1}', 1001)
    assert store.entries(pipeline, kept.revision) == [Entry(1002, IES, b"later")]
    keyed = store.keyed(pipeline, 1000)
    assert [e.revision for e in keyed] == [*range(803, 1001, 2), 1001], "the last 100 keys"
    assert {e.content for e in store.entries(pipeline, 0)} == {None, b"later"}
    assert sorted(p.name for p in store.directory.glob("*-*-*")) == [f"rules-{pipeline}-1001"]


def test_what_could_not_be_made_is_withdrawn(store: Store) -> None:
    pipeline = fill(store, 2)
    store.withdraw(pipeline, 2)
    store.append(pipeline, Entry(2, IES, b"another"))
    assert [e.content for e in store.entries(pipeline)] == [b"request 1", b"another"]


def test_an_unloaded_pipeline_leaves_nothing(store: Store) -> None:
    pipeline = fill(store, 10)
    store.append(pipeline, Entry(11, PACKED, bytes(100_000)))
    store.remove("edge")
    assert not store.pipelines() and not store.entries(pipeline)
    assert not list(store.directory.glob("*-*-*"))


def test_many_share_the_waiting(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline, real, syncs = fill(store, 0), os.fdatasync, []
    store.durable()

    def slow(descriptor: int) -> None:
        syncs.append(descriptor)
        real(descriptor)
        threading.Event().wait(0.02)

    monkeypatch.setattr(os, "fdatasync", slow)

    def one(number: int) -> None:
        store.append(pipeline, Entry(number, IES, b"x"))
        store.acknowledged()

    threads = [threading.Thread(target=one, args=(i,)) for i in range(1, 17)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 1 <= len(syncs) <= 4 and not store.pending


def test_answers_may_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path / "state", "before")
    pipeline = fill(store, 0)
    store.append(pipeline, Entry(1, IES, b"x"))
    store.acknowledged()
    assert store.pending
    store.durable()
    assert not store.pending
    store.close()


def test_the_log_stays_small(store: Store) -> None:
    pipeline = fill(store, 3000)
    wal = store.directory / "journal.db-wal"
    assert wal.stat().st_size > 1 << 20
    store.checkpoint(1 << 20)
    assert wal.stat().st_size <= 1 << 20
    assert len(store.entries(pipeline)) == 3000


def test_two_agents_do_not_share_it(store: Store) -> None:
    with pytest.raises(Refused, match="H0782"):
        Store(store.directory)


def test_a_damaged_journal_is_said(store: Store) -> None:
    pipeline = fill(store, 2000)
    store.append(pipeline, Entry(2001, PACKED, bytes(100_000)))
    store.close()
    packed = store.directory / f"packed-{pipeline}-2001"
    packed.write_bytes(bytes(99_999) + b"x")
    again = Store(store.directory)
    with pytest.raises(Refused, match="H0781"):
        again.entries(pipeline)
    (store.directory / f"rules-{pipeline}-0").unlink()
    with pytest.raises(Refused, match="H0781"):
        again.snapshot(again.pipelines()[0])
    again.close()
    path = store.directory / "journal.db"
    content = bytearray(path.read_bytes())
    content[20_000:40_000] = bytes(20_000)
    path.write_bytes(content)
    with pytest.raises(Refused, match="H0781"):
        Store(store.directory)
    path.write_bytes(b"no database" * 1000)
    with pytest.raises(Refused, match="H0781"):
        Store(store.directory)


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Refused, match="H0780"):
        Store(tmp_path / "file" / "state")


@pytest.fixture
def small_disk(kernel: None, tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MiB."""
    at = tmp_path / "disk"
    at.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", at], check=True)
    yield at
    subprocess.run(["umount", at], check=True)


def test_a_full_disk_refuses_and_recovers(small_disk: Path) -> None:
    store = Store(small_disk / "state")
    pipeline = fill(store, 10)
    (small_disk / "filler").write_bytes(bytes(1_400_000))
    revision = 10
    with pytest.raises(Refused, match="H0780.*full"):
        for revision in range(11, 2000):
            store.append(pipeline, Entry(revision, IES, bytes(3000)))
    assert [e.revision for e in store.entries(pipeline)] == list(range(1, revision))
    with pytest.raises(Refused, match="H0780"):
        store.append(pipeline, Entry(revision, PACKED, bytes(600_000)))
    (small_disk / "filler").unlink()
    store.append(pipeline, Entry(revision, IES, bytes(3000)))
    store.durable()
    store.close()
    again = Store(small_disk / "state")
    assert [e.revision for e in again.entries(pipeline)] == list(range(1, revision + 1))
    again.close()


def test_a_failing_disk_ends_all_writing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = fill(store, 1)

    def fails(_: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fdatasync", fails)
        with pytest.raises(Refused, match="H0783"):
            store.durable()
    with pytest.raises(Refused, match="H0780"):
        store.append(pipeline, Entry(2, IES, b"x"))
