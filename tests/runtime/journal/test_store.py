"""The store by itself: what it keeps of pipelines, and what it forgets."""

from __future__ import annotations

import os
from pathlib import Path

from helioc.runtime.journal.journal import Journal
from helioc.runtime.journal.log import open_new
from helioc.runtime.journal.store import Snapshot, Store, Written
from journal_world import fold, keyed, the, write


def test_it_is_all_there_after_a_restart(store: Store) -> None:
    pipeline = store.begin("edge", '{"digest": ""}', b"object")
    (begun,) = store.begun()
    assert begun.name == "edge" and not store.pipelines(), "nobody has said that it is in force"
    store.fold(pipeline, 1, Snapshot(7, [b"some ", b"rules"], "{}", keyed(3)), 10)
    store.close()
    again = Store(store.directory)
    kept = the(again)
    assert (kept.name, kept.object, kept.revision, kept.number) == ("edge", b"object", 7, 1)
    assert again.snapshot(kept) == b"some rules"
    assert [e.key for e in again.answers(pipeline)] == ["k1", "k3"]
    again.close()


def test_the_last_answers_are_kept(store: Store) -> None:
    pipeline = store.begin("edge", "", b"")
    store.fold(pipeline, 1, Snapshot(100, [b""], "{}", keyed(100)), 30)
    assert [e.revision for e in store.answers(pipeline)] == list(range(41, 100, 2))


def test_an_unloaded_pipeline_leaves_nothing(store: Store) -> None:
    journal = Journal(store, store.begin("edge", "", b""), 0)
    write(journal, 10)
    fold(journal)
    write(journal, 10, 11)
    journal.close()
    store.remove("edge")
    assert not store.pipelines()
    assert not [path.name for path in store.directory.glob("*-*-*")]


def test_a_pipeline_has_nothing_of_another_that_had_its_name(store: Store) -> None:
    """That one's rules would be made in it."""
    journal = Journal(store, store.begin("edge", "", b""), 0)
    fold(journal, 0)
    write(journal, 10)
    journal.close()
    again = Journal(store, store.begin("edge", "", b"another"), 0)
    fold(again, 0)
    assert store.written(the(store)) == Written([], 1)
    again.close()


def test_what_was_kept_stays_until_another_is_in_force(store: Store) -> None:
    """A load that is refused, or killed, replaces nothing."""
    journal = Journal(store, store.begin("edge", "", b"old"), 0)
    fold(journal, 0)
    write(journal, 10)
    journal.close()
    for _ in range(2):
        store.begin("edge", "", b"refused")
        assert the(store).object == b"old" and len(store.begun()) == 1
    store.give_up("edge")
    assert len(store.written(the(store)).entries) == 10 and not store.begun()
    again = Journal(store, store.begin("edge", "", b"new"), 0)
    fold(again, 0)
    assert the(store).object == b"new" and not store.begun()
    assert store.written(the(store)) == Written([], 1)
    again.close()
    assert {path.name for path in store.directory.glob("*-[0-9]*-*")} == {
        f"{file}-{the(store).id}-1" for file in ("log", "rules")
    }


def test_a_new_log_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"of who was here before")
    os.close(open_new(path))
    assert path.read_bytes() == b""


def test_foreign_files_are_no_hindrance(store: Store) -> None:
    for name in ("log-1-2-old", "log-x-1", "rules-1-", "log-99-7", "rules-99-1~"):
        (store.directory / name).write_bytes(b"")
    store.remove("edge")
    left = {path.name for path in store.directory.glob("[lr]*-*")}
    assert left == {"log-1-2-old", "log-x-1", "rules-1-"}
