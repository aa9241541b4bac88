"""A pipeline's journal: snapshots take the place of what led to them, and what is lost is said."""

from __future__ import annotations

import fcntl
import os
import threading
from contextlib import closing
from errno import ENOSPC
from pathlib import Path
from typing import Any

import pytest
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.base import file_lock
from helioc.runtime.base.outcome import Outcome
from helioc.runtime.journal.journal import Journal
from helioc.runtime.journal.records import IES, NOTE
from helioc.runtime.journal.state_list import Acknowledge
from helioc.runtime.journal.store import Store
from journal_world import begin, fold, the, write


def test_a_snapshot_takes_the_place_of_what_led_to_it(store: Store) -> None:
    journal = begin(store)
    write(journal, 10)
    assert not journal.clean
    fold(journal)
    assert journal.clean
    write(journal, 5, 11)
    journal.acknowledged()
    kept = the(store)
    found = store.written(kept)
    assert [e.revision for e in found.entries] == list(range(11, 16))
    again = Journal(store, kept.id, found)
    assert list(again.answered()) == [f"k{i}" for i in range(1, 16, 2)]
    again.close()
    journal.close()
    names = sorted(path.name for path in store.directory.glob("*-[0-9]*-*"))
    id_ = kept.id
    assert kept.build is not None and names == [
        f"answers-{id_}-2", kept.build.file.name, f"requests-{id_}-2", f"snapshot-{id_}-2"
    ]  # fmt: skip


def test_a_snapshot_that_cannot_be_written_costs_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = begin(store)
    write(journal, 10)

    with monkeypatch.context() as patched:
        patched.setattr("helioc.runtime.journal.pipelines.write_whole", fails)
        with pytest.raises(Refused):
            fold(journal)
    write(journal, 5, 11)
    found = store.written(the(store))
    assert [e.revision for e in found.entries] == list(range(1, 16)) and found.head.number == 2
    fold(journal, 15)
    assert not store.written(the(store)).entries and the(store).number == 3
    assert len(store.answers(the(store).id)) == 8
    journal.close()


@pytest.mark.parametrize("acknowledge", ["before", "after"])
def test_requests_that_wait_for_the_disk_wake_nobody(
    acknowledge: Acknowledge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("helioc.runtime.journal.journal._MANY", 10)
    with closing(Store(tmp_path / "state", acknowledge)) as store, closing(begin(store)) as journal:
        write(journal, 10)
        assert journal.wants_care(()) == (acknowledge == "before")
        write(journal, 1, 11)
        assert journal.wants_care(()), "a snapshot is due"


def test_what_could_not_be_written_is_not_answered(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not after a snapshot, either: who asks again is to have it made."""
    journal = begin(store)
    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", lambda *_: (_ for _ in ()).throw(OSError(ENOSPC, "full")))
        with pytest.raises(Refused, match="H0780"):
            journal.request(b"x", False, "key", b"digest", Outcome(1, (), 0, 0, 0))
    assert [found.code for found in journal.findings] == ["H0780"]
    fold(journal)
    assert not store.answers(the(store).id) and not journal.answered()
    write(journal, 1)
    assert not journal.findings
    journal.close()


def test_nothing_is_left_of_a_log_that_is_not_taken(store: Store) -> None:
    journal = begin(store)
    opened = len(os.listdir("/proc/self/fd"))
    with pytest.raises(Refused), journal.open_next():
        raise Refused([])
    assert len(os.listdir("/proc/self/fd")) == opened
    assert not store.log_path(journal.pipeline, 2).exists()
    journal.close()


def test_answers_may_come_first(tmp_path: Path) -> None:
    store = Store(tmp_path / "state", "before")
    journal = begin(store)
    write(journal, 1)
    journal.acknowledged()
    assert journal.log.pending
    journal.log.durable()
    assert not journal.log.pending
    journal.close()
    store.close()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who comes second does not wait."""
    monkeypatch.setattr(file_lock, "PATIENCE", 0.0)


@pytest.mark.usefixtures("impatient")
def test_two_agents_do_not_share_it(store: Store) -> None:
    for _ in range(2):
        with pytest.raises(Refused, match="H0782"):
            Store(store.directory)
        (store.directory / "lock").unlink()  # somebody takes it for a leftover
    with pytest.raises(Refused, match="H0782"):
        Store(store.directory)


def test_an_agent_waits_for_one_that_is_ending(store: Store) -> None:
    """The kernel lets go of a killed process' locks once it has taken its memory back."""
    ending = threading.Timer(0.1, store.close)
    ending.start()
    Store(store.directory).close()
    ending.join()


@pytest.mark.usefixtures("impatient")
def test_an_agent_of_a_release_before_does_not_share_it(tmp_path: Path) -> None:
    """It locks the file."""
    with open(tmp_path / "lock", "w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(Refused, match="H0782"):
            Store(tmp_path)
    Store(tmp_path).close()


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Refused, match="H0780"):
        Store(tmp_path / "file" / "state")


def test_a_note_that_is_owed_comes_before_the_next_request(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says what numbers interfaces have, by which that would be read."""
    journal = begin(store)
    pipeline: Any = object()  # of which the journal asks no more than this
    monkeypatch.setattr("helioc.runtime.journal.journal.ifindexes_of", lambda _: {"1": 7})
    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", lambda *_: (_ for _ in ()).throw(OSError(ENOSPC, "full")))
        journal.note(1, pipeline)
        assert [found.code for found in journal.findings] == ["H0780"]
        with pytest.raises(Refused, match="H0780"):
            write(journal, 1, 2)
    write(journal, 1, 2)
    found = store.written(the(store)).entries
    assert [(e.revision, e.form) for e in found] == [(1, NOTE), (2, IES)]
    assert not journal.findings
    journal.close()


def test_what_comes_before_a_log_that_is_gone_is_kept(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = begin(store)
    with monkeypatch.context() as patched:
        patched.setattr("helioc.runtime.journal.pipelines.write_whole", fails)
        for first in (1, 6, 11):  # by three agents
            write(journal, 5, first)
            with pytest.raises(Refused):
                fold(journal, first + 4)
            journal.close()
            journal = Journal(store, journal.pipeline, store.written(the(store)))
    journal.close()
    assert len(store.written(the(store)).entries) == 15
    gone = store.log_path(journal.pipeline, 2)
    gone.unlink()
    found = store.written(the(store))
    assert [e.revision for e in found.entries] == [1, 2, 3, 4, 5] and found.head.number == 4
    assert found.lost == "it is gone" and found.file == gone.name


def fails(*_: object) -> None:
    raise Refused([])


def test_the_list_knows_how_long_a_log_is(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = begin(store)
    write(journal, 3)
    assert not journal.confirmable and journal.confirmable, "of one that was left alone"
    write(journal, 3, 4)
    assert not journal.confirmable
    with monkeypatch.context() as patched:
        patched.setattr("helioc.runtime.journal.journal._LATE", 0.0)
        write(journal, 1, 7)
        assert journal.confirmable, "and of one that never is"
    journal.confirm(1, journal.log.mark)
    assert the(store).length == journal.log.mark.size and the(store).last == 7
    assert not journal.confirmable and not journal.log.pending
    journal.close()
