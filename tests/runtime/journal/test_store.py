"""The journal by itself: what it keeps, folds and forgets, and what it says of a bad disk."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import ENOSPC, EROFS
from pathlib import Path

import pytest
from helioc.lang.diagnostics import Refused
from helioc.runtime.agent.outcome import Outcome
from helioc.runtime.journal.journal import Journal
from helioc.runtime.journal.log import IES, NOTE, PACKED, Damage, Entry, Log, open_new, read
from helioc.runtime.journal.store import Kept, Snapshot, Store, Written
from helioc.runtime.places import RUN


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "state")
    yield made
    made.close()


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    made = Log(tmp_path / "log")
    yield made
    made.close()


def entries(count: int, first: int = 1) -> list[Entry]:
    return [
        Entry(i, IES, b"request %d" % i, f"k{i}", b"d", b"[[],0,0,0]") if i % 2
        else Entry(i, IES, b"request %d" % i)
        for i in range(first, first + count)
    ]  # fmt: skip


def keyed(count: int) -> list[Entry]:
    return [entry for entry in entries(count) if entry.key]


def the(store: Store) -> Kept:
    (kept,) = store.pipelines()
    return kept


# ---- the log --------------------------------------------------------------------------------


def test_what_is_written_is_read_again(log: Log) -> None:
    wanted = [*entries(100), Entry(101, NOTE, b"{}"), Entry(102, PACKED, bytes(1_000_000))]
    for entry in wanted:
        log.append(entry)
    assert read(log.path) == wanted
    again = Log(log.path)
    again.append(Entry(103, IES, b"later"))
    again.close()
    assert read(log.path)[-1] == Entry(103, IES, b"later")


@pytest.mark.parametrize("cut", [1, 5, 15, 30])
def test_a_record_that_was_cut_short_is_dropped(log: Log, cut: int) -> None:
    for entry in entries(10):
        log.append(entry)
    size = log.path.stat().st_size
    os.truncate(log.path, size - cut)
    assert [e.revision for e in read(log.path)] == list(range(1, 10))
    again = Log(log.path)
    again.append(Entry(10, IES, b"another"))
    again.close()
    assert read(log.path)[-1] == Entry(10, IES, b"another")


def test_zeros_at_the_end_are_what_a_power_cut_leaves(log: Log) -> None:
    log.append(Entry(1, IES, b"x"))
    with log.path.open("ab") as file:
        file.write(bytes(5000))
    assert read(log.path) == [Entry(1, IES, b"x")]


def test_damage_in_the_middle_is_said(log: Log) -> None:
    for entry in entries(100):
        log.append(entry)
    content = bytearray(log.path.read_bytes())
    content[len(content) // 2] ^= 1
    log.path.write_bytes(content)
    with pytest.raises(Damage) as error:
        read(log.path)
    assert 30 < len(error.value.entries) < 70


def test_a_length_that_is_damaged_is_no_end(log: Log) -> None:
    """It says that the record goes on beyond the file, as one does that was cut short."""
    log.append(Entry(1, IES, b"one"))
    size = log.size
    for entry in entries(9, 2):
        log.append(entry)
    content = bytearray(log.path.read_bytes())
    content[size + 2] ^= 0x40
    log.path.write_bytes(content)
    with pytest.raises(Damage) as error:
        read(log.path)
    assert [e.revision for e in error.value.entries] == [1]
    assert log.path.read_bytes() == content


def test_what_could_not_be_made_is_withdrawn(log: Log) -> None:
    log.append(Entry(1, IES, b"one"))
    size = log.size
    log.append(Entry(2, IES, b"two"))
    log.withdraw(size)
    log.append(Entry(2, IES, b"another"))
    assert [e.content for e in read(log.path)] == [b"one", b"another"]


def test_many_share_the_waiting(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    real, syncs, turn = os.fdatasync, list[int](), threading.Lock()

    def slow(descriptor: int) -> None:
        syncs.append(descriptor)
        real(descriptor)
        threading.Event().wait(0.02)

    monkeypatch.setattr(os, "fdatasync", slow)

    def one(number: int) -> None:
        with turn:
            log.append(Entry(number, IES, b"x"))
        log.durable()

    threads = [threading.Thread(target=one, args=(i,)) for i in range(1, 17)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 1 <= len(syncs) <= 4 and not log.pending


def test_a_failing_disk_ends_all_writing(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    log.append(Entry(1, IES, b"x"))

    def fails(_: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fdatasync", fails)
        with pytest.raises(Refused, match="H0783"):
            log.durable()
    with pytest.raises(Refused, match="H0783"):
        log.durable()  # the kernel says it once for each descriptor: its silence means nothing
    with pytest.raises(Refused, match="H0780"):
        log.append(Entry(2, IES, b"x"))
    assert log.pending


def test_what_could_not_be_withdrawn_goes_before_anything_comes(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.append(Entry(1, IES, b"one"))
    size = log.size
    log.append(Entry(2, IES, b"withdrawn"))

    def fails(*_: int) -> None:
        raise OSError(EROFS, "Read-only file system")

    with monkeypatch.context() as patched:
        patched.setattr(os, "ftruncate", fails)
        log.withdraw(size)
        with pytest.raises(Refused, match="H0780.*read-only"):
            log.append(Entry(2, IES, b"another"))
    log.append(Entry(2, IES, b"another"))
    assert [e.content for e in read(log.path)] == [b"one", b"another"]


@pytest.fixture
def small_disk(kernel: None, tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MiB."""
    at = tmp_path / "disk"
    at.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", at], check=True)
    yield at
    subprocess.run(["umount", "--lazy", at], check=True)


def test_a_full_disk_refuses_and_recovers(small_disk: Path) -> None:
    log = Log(small_disk / "log")
    revision = 0
    with pytest.raises(Refused, match="H0780.*no space"):
        for revision in range(1, 2000):
            log.append(Entry(revision, IES, bytes(3000)))
    assert [e.revision for e in read(log.path)] == list(range(1, revision))
    log.withdraw(log.size // 2)
    log.close()
    left = read(small_disk / "log")
    log = Log(small_disk / "log")
    log.append(Entry(revision, IES, b"x"))
    log.durable()
    log.close()
    assert read(small_disk / "log")[-1].revision == revision and left


# ---- the store ------------------------------------------------------------------------------


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


# ---- a journal ------------------------------------------------------------------------------


def write(journal: Journal, count: int, first: int = 1) -> None:
    for entry in entries(count, first):
        outcome = Outcome(entry.revision, (), 0, 0, 0)
        journal.request(entry.content, False, entry.key, entry.digest, outcome)


def fold(journal: Journal, revision: int = 10) -> None:
    with journal.open_next() as descriptor:
        made = journal.turn_over(descriptor, revision, [b"rules"], "{}")
    journal.fold(made)


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


def test_who_waits_for_the_disk_is_let_go_when_it_ends(log: Log) -> None:
    """An unload ends it while a request is acknowledged."""
    log.append(Entry(1, IES, b"x"))
    log.close()
    log.durable()


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


# ---- disks that cannot be written -----------------------------------------------------------


@contextmanager
def full(store: Store) -> Iterator[None]:
    """Of the store's disk all is taken."""
    filler = store.directory.parent / "filler"
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass
    try:
        yield
    finally:
        filler.unlink()


def on_a_small_disk(at: Path) -> Store:
    store = Store(at / "state")
    journal = Journal(store, store.begin("edge", "", b"object"), 0)
    write(journal, 10)
    fold(journal)
    write(journal, 5, 11)
    journal.close()
    return store


@pytest.mark.parametrize("killed", [False, True])
def test_a_store_on_a_full_disk_is_read_and_recovers(small_disk: Path, killed: bool) -> None:
    store = on_a_small_disk(small_disk)
    if killed:  # it leaves what SQLite has not moved out of its log yet
        shutil.copytree(store.directory, small_disk / "left")
        store.close()
        shutil.rmtree(store.directory)
        (small_disk / "left").rename(store.directory)
        assert (store.directory / "journal.db-wal").stat().st_size
        (store.directory / "journal.db-shm").unlink()
    else:
        store.close()
    with full(store):
        again = Store(store.directory)
        (found,) = again.findings
        assert found.code == "H0780" and f"`{small_disk}` (tmpfs on none) is full" in found.help
        kept = the(again)
        assert kept.object == b"object" and again.snapshot(kept) == b"rules"
        written = again.written(kept)
        assert [e.revision for e in written.entries] == list(range(11, 16))
        assert len(again.answers(kept.id)) == 5
        for change in (lambda: again.begin("other", "", b""), lambda: again.remove("edge")):
            with pytest.raises(Refused, match="H0780"):
                change()
    again.begin("other", "", b"")
    assert not again.findings and the(again).object == b"object" and len(again.begun()) == 1
    again.close()
    assert not list((RUN).glob("tmp*"))


def test_an_empty_directory_on_a_full_disk_will_do(small_disk: Path) -> None:
    (small_disk / "state").mkdir()
    store = on_a_small_disk(small_disk / "other")
    with full(store):
        empty = Store(small_disk / "state")
        assert not empty.pipelines() and empty.findings
    empty.mend()
    assert not empty.findings
    empty.close()
    store.close()


def test_a_read_only_disk_is_read_and_recovers(small_disk: Path) -> None:
    on_a_small_disk(small_disk).close()
    remount(small_disk, "ro")
    store = Store(small_disk / "state")
    (found,) = store.findings
    assert "is read-only" in found.help and f"mount -o remount,rw {small_disk}" in found.help
    with pytest.raises(Refused, match="H0782"):
        Store(small_disk / "state")
    written = store.written(the(store))
    journal = Journal(store, the(store).id, written.number, written.entries, written.size)
    with pytest.raises(Refused, match="H0780"):
        write(journal, 1, 16)
    assert journal.findings
    remount(small_disk, "rw")
    write(journal, 1, 16)
    store.mend()
    fold(journal, 16)
    assert not journal.findings and the(store).revision == 16
    journal.close()
    store.close()


def remount(disk: Path, how: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{how}", disk], check=True)


def test_a_note_that_is_owed_comes_before_the_next_request(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says what numbers interfaces have, by which that would be read."""
    journal = Journal(store, store.begin("edge", "", b""), 0)
    fold(journal, 0)
    monkeypatch.setattr("helioc.runtime.journal.journal.ifindexes_of", lambda _: {"1": 7})
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", lambda *_: (_ for _ in ()).throw(OSError(ENOSPC, "full")))
        journal.note(1, None)  # type: ignore[arg-type]
        assert [found.code for found in journal.findings] == ["H0780"]
        with pytest.raises(Refused, match="H0780"):
            write(journal, 1, 2)
    write(journal, 1, 2)
    found = store.written(the(store)).entries
    assert [(e.revision, e.form) for e in found] == [(1, NOTE), (2, IES)]
    assert not journal.findings
    journal.close()
