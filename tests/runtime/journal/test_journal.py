"""A pipeline's journal: snapshots take the place of what led to them, and what is lost is said."""

from __future__ import annotations

import os
from errno import ENOSPC
from pathlib import Path
from typing import Any

import pytest
from helioc.lang.diagnostics import Refused
from helioc.runtime.agent.outcome import Outcome
from helioc.runtime.journal.journal import Journal
from helioc.runtime.journal.log import IES, NOTE
from helioc.runtime.journal.store import Snapshot, Store, Written
from journal_world import fold, the, write


def test_a_snapshot_takes_the_place_of_what_led_to_it(store: Store) -> None:
    journal = Journal(store, store.begin("edge", "", b""), 0)
    write(journal, 10)
    assert not journal.clean
    fold(journal)
    assert journal.clean
    write(journal, 5, 11)
    journal.acknowledged()
    kept = the(store)
    found = store.written(kept)
    assert [e.revision for e in found.entries] == list(range(11, 16))
    again = Journal(store, kept.id, found.number, found.entries, found.size)
    assert list(again.answered()) == [f"k{i}" for i in range(1, 16, 2)]
    again.close()
    journal.close()
    names = sorted(path.name for path in store.directory.glob("*-[0-9]*-*"))
    assert names == [f"log-{kept.id}-1", f"rules-{kept.id}-1"]


def test_a_snapshot_that_cannot_be_written_costs_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(store, store.begin("edge", "", b""), 0)
    fold(journal, 0)
    write(journal, 10)

    def fails(*_: object) -> bytes:
        raise Refused([])

    with monkeypatch.context() as patched:
        patched.setattr(store, "_write", fails)
        with pytest.raises(Refused):
            fold(journal)
    write(journal, 5, 11)
    found = store.written(the(store))
    assert [e.revision for e in found.entries] == list(range(1, 16)) and found.number == 2
    fold(journal, 15)
    assert store.written(the(store)) == Written([], 3)
    assert len(store.answers(the(store).id)) == 8
    journal.close()


def test_what_could_not_be_written_is_not_answered(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not after a snapshot, either: who asks again is to have it made."""
    journal = Journal(store, store.begin("edge", "", b""), 0)
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", lambda *_: (_ for _ in ()).throw(OSError(ENOSPC, "full")))
        with pytest.raises(Refused, match="H0780"):
            journal.request(b"x", False, "key", b"digest", Outcome(1, (), 0, 0, 0))
    assert [found.code for found in journal.findings] == ["H0780"]
    fold(journal)
    assert not store.answers(the(store).id) and not journal.answered()
    write(journal, 1)
    assert not journal.findings
    journal.close()


def test_nothing_is_left_of_a_log_that_is_not_taken(store: Store) -> None:
    journal = Journal(store, store.begin("edge", "", b""), 0)
    opened = len(os.listdir("/proc/self/fd"))
    with pytest.raises(Refused), journal.open_next():
        raise Refused([])
    assert len(os.listdir("/proc/self/fd")) == opened
    assert not store.log_path(journal.pipeline, 1).exists()
    journal.close()


def test_answers_may_come_first(tmp_path: Path) -> None:
    store = Store(tmp_path / "state", "before")
    journal = Journal(store, store.begin("edge", "", b""), 0)
    write(journal, 1)
    journal.acknowledged()
    assert journal.log.pending
    journal.log.durable()
    assert not journal.log.pending
    journal.close()
    store.close()


def test_two_agents_do_not_share_it(store: Store) -> None:
    with pytest.raises(Refused, match="H0782"):
        Store(store.directory)


def test_a_damaged_journal_is_said(store: Store) -> None:
    pipeline = store.begin("edge", "", bytes(100_000))
    store.fold(pipeline, 1, Snapshot(7, [b"rules"], "{}"), 10)
    rules = store.directory / f"rules-{pipeline}-1"
    rules.write_bytes(b"rulez")
    with pytest.raises(Refused, match="H0781"):
        store.snapshot(the(store))
    rules.unlink()
    with pytest.raises(Refused, match="H0781"):
        store.snapshot(the(store))
    store.close()
    path = store.directory / "journal.db"
    content = bytearray(path.read_bytes())
    content[4096:40_000] = bytes(40_000 - 4096)
    path.write_bytes(content)
    with pytest.raises(Refused, match="H0781"):
        Store(store.directory)
    path.write_bytes(b"no database" * 1000)
    with pytest.raises(Refused, match="H0781"):
        Store(store.directory)
    rules.write_bytes(b"rules")
    for lost in (lambda: path.write_bytes(b""), path.unlink):
        lost()
        with pytest.raises(Refused, match="H0781"):
            Store(store.directory)


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Refused, match="H0780"):
        Store(tmp_path / "file" / "state")


def test_a_note_that_is_owed_comes_before_the_next_request(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says what numbers interfaces have, by which that would be read."""
    journal = Journal(store, store.begin("edge", "", b""), 0)
    fold(journal, 0)
    pipeline: Any = object()  # of which the journal asks no more than this
    monkeypatch.setattr("helioc.runtime.journal.journal.ifindexes_of", lambda _: {"1": 7})
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", lambda *_: (_ for _ in ()).throw(OSError(ENOSPC, "full")))
        journal.note(1, pipeline)
        assert [found.code for found in journal.findings] == ["H0780"]
        with pytest.raises(Refused, match="H0780"):
            write(journal, 1, 2)
    write(journal, 1, 2)
    found = store.written(the(store)).entries
    assert [(e.revision, e.form) for e in found] == [(1, NOTE), (2, IES)]
    assert not journal.findings
    journal.close()


# ---- logs that are gone ---------------------------------------------------------------------


def test_a_log_that_is_gone_is_said(store: Store) -> None:
    journal = Journal(store, store.begin("edge", "", b""), 0)
    fold(journal, 0)
    assert not store.written(the(store)).lost, "it is there though nothing was written"
    write(journal, 5)
    journal.close()
    log_path = store.log_path(journal.pipeline, 1)
    log_path.unlink()
    lost = store.written(the(store))
    assert not lost.entries and lost.lost == f"`{log_path}` is gone"


def test_what_comes_before_a_log_that_is_gone_is_kept(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(store, store.begin("edge", "", b""), 0)
    fold(journal, 0)
    with monkeypatch.context() as patched:
        patched.setattr(store, "_write", lambda *_: (_ for _ in ()).throw(Refused([])))
        for first in (1, 6, 11):
            write(journal, 5, first)
            with pytest.raises(Refused):
                fold(journal)
    journal.close()
    assert len(store.written(the(store)).entries) == 15
    store.log_path(journal.pipeline, 2).unlink()
    found = store.written(the(store))
    assert [e.revision for e in found.entries] == [1, 2, 3, 4, 5] and found.number == 4
    assert found.lost.endswith("log-1-2` is gone")
