"""The store by itself: what it keeps of pipelines, and what it forgets."""

from __future__ import annotations

import os
import socket
import stat
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.journal.heads import HEADS
from helioc.runtime.journal.journal import Journal
from helioc.runtime.journal.ledger import Ledger
from helioc.runtime.journal.pipelines import Snapshot
from helioc.runtime.journal.store import Store
from journal_world import begin, build, fold, the, write


def test_it_is_all_there_after_a_restart(store: Store) -> None:
    pipeline = store.begin("edge", build())
    (begun,) = store.begun()
    assert begun.name == "edge" and not store.pipelines(), "nobody has said that it is in force"
    journal = Journal(store, pipeline)
    fold(journal, 7)
    write(journal, 3, 8)
    fold(journal, 11)
    journal.close()
    store.close()
    again = Store(store.directory)
    kept = the(again)
    assert (kept.name, kept.revision, kept.number) == ("edge", 11, 2)
    assert again.build(kept) == build() and again.snapshot(kept) == b"rules"
    assert [e.key for e in again.answers(pipeline)] == ["k9"]
    assert not again.losses and not again.notes
    again.close()


def test_nobody_else_writes_the_directory(tmp_path: Path) -> None:
    for mode, said in ((0o777, ["H0797"]), (0o755, [])):
        tmp_path.chmod(mode)
        store = Store(tmp_path)
        assert [note.code for _, note in store.notes] == said
        assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755
        assert {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()} == {0o600}
        store.close()
    os.chown(tmp_path, 4711, 4711)
    with pytest.raises(Refused, match="H0797.*user 4711"):
        Store(tmp_path)
    os.chown(tmp_path, os.geteuid(), os.getegid())
    Store(tmp_path).close()


def test_the_last_answers_are_kept(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("helioc.runtime.journal.journal.KEYS", 30)
    journal = begin(store)
    for first in range(1, 400, 20):  # more than files are kept
        write(journal, 20, first)
        fold(journal, first + 19)
    assert list(journal.answered()) == [f"k{number}" for number in range(341, 400, 2)]
    assert len(list(store.directory.glob("answers-*"))) <= 8
    journal.close()


def test_what_others_write_takes_no_log_that_has_just_begun(store: Store) -> None:
    """The list names a pipeline's first log when its first snapshot is there, not before."""
    other = begin(store, "other")
    journal = Journal(store, store.begin("edge", build()))
    with journal.open_next() as descriptor:
        fold(other)
        made = journal.turn_over(descriptor, 0, [b"rules"], "{}")
        write(other, 3, 11)
        fold(other, 13)
    journal.fold(made)
    write(journal, 3)
    for each in (journal, other, store):
        each.close()
    again = Store(store.directory)
    kept, _ = again.pipelines()
    assert not again.losses and len(again.written(kept).entries) == 3
    again.close()


def test_what_others_write_takes_no_log_of_intents(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who writes at that moment waits until the list names it."""
    other, ledger, real = begin(store, "other"), Ledger(store), Journal.turn_over

    def turn_over(self: Journal, *more: Any) -> Snapshot:
        beside = threading.Thread(target=fold, args=(other,))
        if self is not other:
            monkeypatch.undo()
            beside.start()
            beside.join(0.2)
            besides.append(beside)
        return real(self, *more)

    besides = list[threading.Thread]()
    monkeypatch.setattr(Journal, "turn_over", turn_over)
    ledger.put({1: "one"})
    besides[0].join()
    ledger.put({2: "two"})
    for each in (other, store):
        each.close()
    again = Store(store.directory)
    assert not again.losses and Ledger(again).texts == {1: "one", 2: "two"}
    again.close()


def test_an_unloaded_pipeline_leaves_nothing(store: Store) -> None:
    journal = begin(store)
    write(journal, 10)
    fold(journal)
    write(journal, 10, 11)
    journal.close()
    store.remove("edge")
    assert not store.pipelines()
    assert not [path.name for path in store.directory.glob("*-*-*")]


def test_a_snapshot_of_what_was_unloaded_meanwhile_is_none(store: Store) -> None:
    journal = begin(store)
    with journal.open_next() as descriptor:
        made = journal.turn_over(descriptor, 0, [b"rules"], "{}")
    store.remove("edge")
    journal.fold(made)
    journal.close()
    assert not store.pipelines() and not list(store.directory.glob("snapshot-*"))


def test_a_pipeline_has_nothing_of_another_that_had_its_name(store: Store) -> None:
    """That one's rules would be made in it."""
    journal = begin(store)
    write(journal, 10)
    journal.close()
    begin(store, object_=b"another").close()
    assert not store.written(the(store)).entries and not store.answers(the(store).id)


def test_what_was_kept_stays_until_another_is_in_force(store: Store) -> None:
    """A load that is refused, or killed, replaces nothing."""
    journal = begin(store, object_=b"old")
    write(journal, 10)
    journal.close()
    for _ in range(2):
        store.begin("edge", build(b"refused"))
        assert store.build(the(store))[1] == b"old" and len(store.begun()) == 1
    store.give_up("edge")
    assert len(store.written(the(store)).entries) == 10 and not store.begun()
    begin(store, object_=b"new").close()
    assert store.build(the(store))[1] == b"new" and not store.begun()
    number = the(store).id
    assert {path.name.rpartition("-")[0] for path in store.directory.glob("*-[0-9]*-*")} == {
        f"{file}-{number}" for file in ("build", "requests", "snapshot")
    }


def test_nothing_is_removed_at_the_start(store: Store) -> None:
    begin(store).close()
    store.close()
    for name in ("requests-9-7", "snapshot-1-9", "rules-1-1", "journal.db-wal"):
        (store.directory / name).write_bytes(name.encode())
    (store.directory / "notes-1-2").write_bytes(b"of somebody else")
    for number in range(2):
        again = Store(store.directory)
        again.close()
        aside = {path.name: path.read_bytes() for path in (store.directory / "aside").iterdir()}
        assert aside["rules-1-1"] == b"rules-1-1" and len(aside) == 4 + number
        codes = [found.code for _, found in again.notes]
        assert codes == ["H0789"] and not again.losses
        (store.directory / "rules-1-1").write_bytes(b"another")
    assert (store.directory / "notes-1-2").exists()


@pytest.mark.parametrize("copies", [("state-a",), ("state-b",), ("state-a", "state-b")])
def test_a_damaged_list_is_kept(store: Store, copies: tuple[str, ...]) -> None:
    begin(store).close()
    store.close()
    for name in copies:
        (store.directory / name).write_bytes(name.encode())
    again = Store(store.directory)
    again.close()
    assert [loss.what for loss in again.losses] == ["list"] * (len(copies) == 2)
    for name in copies:
        assert (store.directory / "aside" / name).read_bytes() == name.encode()
        assert (store.directory / name).read_bytes() != name.encode()


@pytest.mark.parametrize("name", ["state-a", "build-1-2", "snapshot-1-1", "requests-1-1"])
def test_what_cannot_be_read_is_not_lost(store: Store, name: str) -> None:
    """Of a file whose disk fails."""
    begin(store).close()
    store.close()
    (store.directory / name).rename(store.directory / "whole")
    (store.directory / name).symlink_to("/proc/self/mem")  # which has nothing at 0: EIO
    before = {path.name: path.lstat().st_mtime_ns for path in store.directory.iterdir()}
    with pytest.raises(Refused, match=f"H0798.*{name}.*input/output error"):
        Store(store.directory)
    after = {path.name: path.lstat().st_mtime_ns for path in store.directory.iterdir()}
    assert after == before
    (store.directory / "whole").rename(store.directory / name)
    again = Store(store.directory)
    again.close()
    assert not again.losses and the(again)


def test_a_loss_is_reported_until_it_is_accepted(store: Store) -> None:
    journal = begin(store)
    write(journal, 10)
    journal.acknowledged()
    journal.confirm(1, journal.log.mark)
    journal.close()
    store.close()
    log = store.log_path(journal.pipeline, 1)
    whole = log.read_bytes()
    log.write_bytes(whole[:-40])
    for _ in range(2):
        again = Store(store.directory)
        (loss,) = again.losses
        assert (loss.pipeline, loss.file, loss.what) == ("edge", log.name, "requests")
        assert loss.revision + loss.lost == 10 and loss.lost in (1, 2)
        again.close()
    again = Store(store.directory)
    journal = Journal(again, journal.pipeline, again.written(the(again)))
    assert journal.withheld
    fold(journal, loss.revision)
    journal.close()
    again.close()
    assert (store.directory / "aside" / log.name).read_bytes() == whole[:-40]
    again = Store(store.directory)
    assert again.losses == [loss] and not again.written(the(again)).marred
    again.accept_losses()
    again.close()
    again = Store(store.directory)
    assert not again.losses
    again.close()


def test_a_prepared_build_that_is_damaged_is_no_loss(store: Store) -> None:
    journal = begin(store)
    store.prepare(journal.pipeline, build(b"another"))
    prepared = the(store).prepared
    assert prepared is not None
    (store.directory / prepared.file.name).unlink()
    journal.close()
    store.close()
    again = Store(store.directory)
    assert not again.losses and again.build(the(again)) == build()
    again.close()


def test_a_build_that_came_into_force_unseen_is_looked_at(store: Store) -> None:
    """An upgrade was killed between the switch and the snapshot."""
    journal = begin(store)
    store.prepare(journal.pipeline, build(b"another"))
    kept = the(store)
    assert kept.build is not None and kept.prepared is not None
    before, prepared = (store.directory / each.file.name for each in (kept.build, kept.prepared))
    prepared.write_bytes(prepared.read_bytes()[:-1] + b"!")
    journal.close()
    store.close()
    again = Store(store.directory)
    kept = the(again)
    assert again.in_force(kept)
    again.promoted(kept)
    (loss,) = again.losses
    assert (loss.file, loss.what) == (prepared.name, "pipeline") and "checksum" in loss.why
    journal = Journal(again, kept.id, again.written(kept))
    with journal.open_next() as descriptor:
        made = journal.turn_over(descriptor, 10, [b"rules"], "{}")
    journal.fold(made, upgraded=True)
    assert again.losses == [loss] and (store.directory / "aside" / before.name).exists()
    journal.close()
    again.close()
    again = Store(store.directory)
    assert again.losses == [loss]
    again.close()


@pytest.mark.parametrize("name", ["state-a", "build-1-2", "snapshot-1-1", "requests-1-1"])
@pytest.mark.parametrize("what", ["fifo", "socket", "size"])
def test_what_is_no_file_of_ours_does_not_hold_up_the_start(
    store: Store, name: str, what: str
) -> None:
    begin(store).close()
    store.close()
    path = store.directory / name
    if what == "size":
        os.truncate(path, 300 << 30)
    else:
        path.unlink()
    if what == "fifo":
        os.mkfifo(path)
    with closing(socket.socket(socket.AF_UNIX)) as made:
        if what == "socket":
            made.bind(str(path))
    again = Store(store.directory)
    if what == "size" and name.startswith("requests"):  # its records are all there
        assert not again.losses and not again.notes
        again.close()
        return
    said = [loss.why for loss in again.losses] + [str(note) for _, note in again.notes]
    wrong = "it has 322,122,547,200 bytes" if what == "size" else "it is no file"
    assert len(said) == 1 and wrong in said[0]
    assert len(again.losses) == (name != "state-a")
    again.close()


@pytest.mark.parametrize("name", ["snapshot-0-1", "requests-0-1"])
def test_intents_that_are_lost_can_be_accepted(store: Store, name: str) -> None:
    ledger = Ledger(store)
    ledger.put({1: "one"})
    ledger.put({2: "two"})
    store.close()
    path = store.directory / name
    content = bytearray(path.read_bytes())
    content[-1 if name.startswith("snapshot") else HEADS + 20] ^= 1
    path.write_bytes(content)
    for _ in range(2):
        again = Store(store.directory)
        ledger = Ledger(again)
        (loss,) = again.losses
        assert (loss.pipeline, loss.file) == ("", name)
        left = dict(ledger.texts)
        again.close()
    again = Store(store.directory)
    ledger = Ledger(again)
    ledger.accept_loss()
    again.accept_losses()
    assert not again.losses and ledger.texts == left
    ledger.put({9: "nine"})
    again.close()
    again = Store(store.directory)
    assert not again.losses and Ledger(again).texts == {**left, 9: "nine"}
    again.close()
