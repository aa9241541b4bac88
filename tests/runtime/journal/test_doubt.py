"""A list that is in force, but perhaps not on the disk: one of its copies was renamed, and then the
disk failed. Who starts next finds the new list, or after a reboot the one before."""

from __future__ import annotations

import os
import random
import shutil
from contextlib import closing, nullcontext
from pathlib import Path

import pytest
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.journal import kept_in
from helioc.runtime.journal.files import Doubtful
from helioc.runtime.journal.journal import Journal
from helioc.runtime.journal.ledger import Ledger
from helioc.runtime.journal.state import COPIES
from helioc.runtime.journal.store import Store
from journal_world import begin, build, failing, fold, the, write
from power import Disk


def pipelines(directory: Path, into: Path, list_: str) -> dict[str, int]:
    """What a start finds whose both copies are this one: requests by name."""
    shutil.copytree(directory, into)
    for name in COPIES:
        shutil.copy(directory / list_, into / name)
    with closing(Store(into)) as again:
        assert not again.losses
        return {item.name: len(again.written(item).entries) for item in again.pipelines()}


@pytest.mark.parametrize("at, call", [("state-b", "rename"), ("", "fsync")])
def test_what_was_renamed_is_in_force(store: Store, tmp_path: Path, at: str, call: str) -> None:
    with closing(begin(store)) as journal:
        write(journal, 3)
        journal.acknowledged()
        with failing(store.directory / at, call):
            store.retire("edge")
            (found,) = store.doubt
            assert found.code == "H0783" and "read-only" in found.title
            assert store.findings == store.doubt and not store.pipelines()
            with pytest.raises(Refused, match="H0780"):
                write(journal, 1, 4)
            with pytest.raises(Refused, match="H0780"):
                Ledger(store).put({1: "one"})
    assert pipelines(store.directory, tmp_path / "killed", "state-a") == {}
    if call == "rename":
        assert pipelines(store.directory, tmp_path / "rebooted", "state-b") == {"edge": 3}
    store.fix()
    assert not store.findings and not store.doubt
    assert pipelines(store.directory, tmp_path / "mended", "state-b") == {}


def test_a_snapshot_in_doubt_needs_no_repeating(store: Store, tmp_path: Path) -> None:
    """Both lists have everything."""
    with closing(begin(store)) as journal:
        write(journal, 3)
        journal.acknowledged()
        with failing(store.directory / "state-b", "rename"):
            fold(journal, 3)
        assert not journal.findings and the(store).revision == 3
        assert pipelines(store.directory, tmp_path / "before", "state-b") == {"edge": 3}
        assert pipelines(store.directory, tmp_path / "after", "state-a") == {"edge": 0}
        store.fix()
        write(journal, 1, 4)
    assert not list(store.directory.glob("[rs]*-1-1"))


def test_a_list_in_doubt_is_written_by_the_next_change(store: Store) -> None:
    begin(store).close()
    with failing(store.directory, "fsync", for_good=False):
        store.retire("edge")
    assert store.doubt
    store.remove("edge")
    assert not store.doubt and not list(store.directory.glob("*-1-*"))


@pytest.mark.parametrize("retired", [True, False])
def test_it_is_gone_once_it_was_retired(store: Store, retired: bool) -> None:
    """For it is unloaded by then."""
    begin(store).close()
    if retired:
        store.retire("edge")
    with failing(store.directory / "state-a~", "open"):
        with nullcontext() if retired else pytest.raises(Refused, match="H0780"):
            store.remove("edge")
        (found,) = store.findings
        assert found.code == "H0780" and not store.doubt
    store.fix()
    assert bool(store.pipelines()) == bool(list(store.directory.glob("*-1-*"))) == (not retired)


def test_intents_are_told_by_their_log(store: Store) -> None:
    """What is in it was told, whatever becomes of the list."""
    ledger = Ledger(store)
    ledger.put({1: "one"})
    with failing(store.directory / "state-a~", "open"):
        ledger.put({2: "two"})
    store.close()
    with closing(Store(store.directory)) as again:
        assert not again.losses and Ledger(again).texts == {1: "one", 2: "two"}


def test_a_directory_that_is_moved_away_is_written_no_more(store: Store, tmp_path: Path) -> None:
    """What goes into its files then, the next start does not find."""
    journal = begin(store)
    write(journal, 1)
    elsewhere = tmp_path / "elsewhere"
    store.directory.rename(elsewhere)
    for _ in range(2):
        with pytest.raises(Refused, match="H0780.*moved away"):
            store.fix()
        with pytest.raises(Refused, match="H0780"):
            write(journal, 1, 2)
        assert [each.code for each in store.findings] == ["H0780"]
        store.directory.mkdir(exist_ok=True)  # another in its place is not it, either
    for work in (
        lambda: fold(journal), lambda: store.begin("other", build()),
        lambda: store.retire("edge"), lambda: store.receiving().__enter__(),
    ):  # fmt: skip
        with pytest.raises(Refused, match="H0780.*moved away"):
            work()
    assert not [*store.directory.iterdir()], "it may be another agent's"
    store.directory.rmdir()
    elsewhere.rename(store.directory)
    store.fix()
    assert not store.findings and not store.doubt
    write(journal, 1, 2)
    journal.close()
    store.close()
    with closing(Store(store.directory)) as again:
        assert not again.losses and len(again.written(the(again)).entries) == 2


def test_a_start_that_can_write_no_list_syncs_the_one_that_it_found(
    store: Store, tmp_path: Path
) -> None:
    """Who was killed behind a rename did not wait for the disk: what is acknowledged next must not
    be in a log that only that list names."""
    disk = Disk(tmp_path / "killed")
    disk.root.mkdir()
    with disk.recording():
        first = Store(disk.root)
        journal = Journal(first, first.begin("edge", build()))
        with failing(disk.root, "fsync", 2):  # behind the renames of both copies
            fold(journal, 0)
        journal.close()
        first.close()
        with failing(disk.root / "state-a~", "open", for_good=False):  # no room for another list
            again = Store(disk.root)
            assert again.findings and not again.doubt
            journal = Journal(again, the(again).id, again.written(the(again)))
            write(journal, 1)
            journal.acknowledged()
            journal.close()
            again.close()
    for seed in range(50):
        into = tmp_path / f"cut{seed}"
        into.mkdir(mode=0o700)
        disk.cut(len(disk.ops), random.Random(seed), into)
        with closing(Store(into)) as found:
            assert [len(found.written(item).entries) for item in found.pipelines()] == [1]


def test_a_start_that_cannot_sync_the_directory_takes_no_requests(store: Store) -> None:
    begin(store).close()
    store.close()
    with failing(store.directory, "fsync"):
        again = Store(store.directory)
        assert [each.code for each in again.doubt] == ["H0783"]
        journal = Journal(again, the(again).id, again.written(the(again)))
        with closing(journal), pytest.raises(Refused, match="H0780"):
            write(journal, 1)
    again.fix()
    with closing(Journal(again, the(again).id, again.written(the(again)))) as journal:
        write(journal, 1)
    again.close()


def test_an_intent_perhaps_not_on_the_disk_is_in_force(store: Store, tmp_path: Path) -> None:
    """As a start finds it; and nothing more is written."""
    ledger = Ledger(store)
    ledger.put({1: "one"})
    log = next(store.directory.glob("requests-0-*"))
    with failing(log, "fdatasync"), pytest.raises(Doubtful, match="H0783"):
        ledger.put({2: "two"})
    assert set(ledger.texts) == {1, 2} and [each.code for each in store.stuck] == ["H0783"]
    with pytest.raises(Refused, match="H0780"):
        ledger.put({3: "three"})
    ledger.fix()
    assert [each.code for each in store.stuck] == ["H0780"]
    shutil.copytree(store.directory, tmp_path / "killed")
    with closing(Store(tmp_path / "killed")) as again:
        assert set(Ledger(again).texts) == {1, 2} and not again.stuck


def test_intents_that_could_not_be_written_are_when_they_can(store: Store) -> None:
    ledger = Ledger(store)
    ledger.put({1: "one"})
    with failing(next(store.directory.glob("requests-0-*")), "pwrite"):
        with pytest.raises(Refused, match="H0780"):
            ledger.put({2: "two"})
        assert set(ledger.texts) == {1} and store.stuck
    ledger.fix()
    assert not store.stuck
    next(store.directory.glob("requests-0-*")).unlink()
    ledger.fix()
    ledger.put({2: "two"})
    store.close()
    with closing(Store(store.directory)) as again:
        assert set(Ledger(again).texts) == {1, 2} and not again.losses


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("call", ["pwrite", "fsync", "open"])
def test_a_log_that_cannot_begin_on_a_disk_that_fails_for_good_is_a_finding(
    store: Store, call: str, number: int, tmp_path: Path
) -> None:
    """It cannot be removed, either. A restart looks for nothing that was not begun."""
    journal = begin(store)
    write(journal, 3)
    journal.acknowledged()
    path = store.log_path(journal.pipeline, journal.number + 1)
    with failing(path, call, number if call == "pwrite" else 1):
        with pytest.raises(Refused, match="H0780"):
            fold(journal, 3)
        assert [each.code for each in journal.findings] == ["H0780"] and journal.due(())
    shutil.copytree(store.directory, tmp_path / "killed")
    with closing(Store(tmp_path / "killed")) as again:
        assert not again.losses and len(again.written(the(again)).entries) == 3
    fold(journal, 3)
    assert not journal.findings
    journal.close()


def test_a_new_log_that_cannot_be_written_ends_none(store: Store, tmp_path: Path) -> None:
    """One write fails, and all goes on, also where the agent is killed then."""
    journal = begin(store)
    path = store.log_path(journal.pipeline, journal.number + 1)
    for number in (3, 4):  # of the writes that say that it has begun
        write(journal, 1, number - 2)
        once = failing(path, "pwrite", number, for_good=False)
        with once, pytest.raises(Refused, match="H0780"):
            fold(journal, 3)
        shutil.copytree(store.directory, tmp_path / f"killed{number}")
        with closing(Store(tmp_path / f"killed{number}")) as again:
            assert not again.losses and len(again.written(the(again)).entries) == number - 2
    journal.close()


@pytest.mark.parametrize("file", ["requests-1-1", "snapshot-1-1", "state-a", "state-b"])
def test_what_somebody_removes_is_written_again(store: Store, file: str) -> None:
    journal = begin(store)
    write(journal, 3)
    (store.directory / file).unlink()
    journal.see_files()
    store.fix()
    if not file.startswith("state"):
        assert file in journal.findings[0].title and journal.due(())
        fold(journal, 3)
        assert not journal.findings
    journal.see_files()
    assert not journal.findings
    write(journal, 1, 4)
    journal.close()
    store.close()
    with closing(Store(store.directory)) as again:
        kept = the(again)
        assert not again.losses and not again.notes
        assert kept.revision + len(again.written(kept).entries) == 4


@pytest.mark.parametrize("name", ["lock", "new~", "state-a~", "state-a"])
def test_a_fifo_holds_nobody_up(store: Store, name: str) -> None:
    begin(store).close()
    store.close()
    (store.directory / name).unlink(missing_ok=True)
    os.mkfifo(store.directory / name)
    with closing(Store(store.directory)) as again:
        assert not again.losses and bool(again.findings) == (name == "state-a~")
        again.fix() if name == "state-a" else None
        if name == "new~":
            with pytest.raises(Refused, match="H0780"):
                again.begin("other", build())


@pytest.mark.parametrize("moment", ["before the load", "before the intents"])
def test_a_list_older_than_the_files_beside_it_is_a_loss(store: Store, moment: str) -> None:
    begin(store).close()
    Ledger(store) if moment == "before the load" else None
    older = {name: (store.directory / name).read_bytes() for name in COPIES}
    if moment == "before the load":
        begin(store, "other").close()
    else:
        Ledger(store).put({1: "one"})
    store.close()
    for name, content in older.items():
        (store.directory / name).write_bytes(content)
    with closing(Store(store.directory)) as again:
        (loss,) = again.losses
        assert loss.what == "list" and "the list is older" in loss.why
        assert [item.name for item in again.pipelines()] == ["edge"]
        again.accept_losses()
    with closing(Store(store.directory)) as again:
        assert not again.losses


def test_a_load_or_restore_that_was_killed_makes_no_list_older(store: Store) -> None:
    """Files that no list names yet."""
    begin(store).close()
    journal = Journal(store, store.begin("other", build()))
    with failing(store.directory / "state-a~", "open"), pytest.raises(Refused):
        fold(journal)
    journal.close()
    ledger = Ledger(store)
    with failing(store.directory / "state-a~", "open"), pytest.raises(Refused):
        ledger.put({1: "one"})
    store.close()
    with closing(Store(store.directory)) as again:
        assert not again.losses


def test_a_snapshot_of_intents_that_was_killed_makes_no_list_older(store: Store) -> None:
    """Before the log that it took the place of was removed."""
    ledger = Ledger(store)
    for number in range(1, 4):
        ledger.put({number: "a" * (200 << 10)})
        if number == 1:
            log = next(store.directory.glob("requests-0-*"))
            left = log.read_bytes()
    assert not log.exists()
    store.close()
    log.write_bytes(left)
    with closing(Store(store.directory)) as again:
        assert not again.losses and len(Ledger(again).texts) == 3


def test_a_new_log_that_could_be_neither_begun_nor_removed_takes_nothing(
    store: Store, tmp_path: Path
) -> None:
    journal = begin(store)
    write(journal, 3)
    journal.acknowledged()
    with failing(journal.log.path, "pwrite"), pytest.raises(Refused, match="H0780"):
        fold(journal, 3)
    assert store.log_path(journal.pipeline, journal.number + 1).exists()
    write(journal, 2, 4)
    journal.acknowledged()
    shutil.copytree(store.directory, tmp_path / "killed")
    with closing(Store(tmp_path / "killed")) as again:
        assert not again.losses and len(again.written(the(again)).entries) == 5
    fold(journal, 5)
    journal.close()


def test_a_disk_that_failed_once_under_what_was_withdrawn_acknowledges_nothing(
    store: Store,
) -> None:
    """The kernel says it once."""
    journal = begin(store)
    write(journal, 2)
    with failing(journal.log.path, "fdatasync", for_good=False):
        journal.withdraw(2)
    with pytest.raises(Refused, match="H0783"):
        journal.acknowledged()
    with pytest.raises(Refused, match="H0780"):
        write(journal, 1, 2)
    journal.close()


def test_a_log_removed_before_anything_was_written_to_it_is_written_again(store: Store) -> None:
    journal = begin(store)
    write(journal, 3)
    journal.close()
    again = Journal(store, journal.pipeline, store.written(the(store)))
    again.log.path.unlink()
    assert again.see_files() and again.findings
    fold(again, 3)
    assert not again.see_files() and not again.findings
    write(again, 1, 4)
    again.close()
    store.remove("edge")
    assert not again.see_files(), "it was unloaded"


def test_a_list_in_doubt_is_not_said_to_the_next_agent(store: Store, tmp_path: Path) -> None:
    """Which may rightly find the one before, on a disk that was mended without a reboot."""
    journal = begin(store)
    store.note_owned("edge")
    write(journal, 3)
    journal.acknowledged()
    shutil.copytree(store.directory, tmp_path / "before")
    with failing(store.directory, "fsync", for_good=False):
        assert store.confirm(journal.pipeline, journal.number, journal.log.mark)
    assert store.doubt
    journal.close()
    with closing(Store(tmp_path / "before")) as again:
        assert not again.losses
    kept_in.note("edge", kept_in.Noted())
