"""A list that is in force, but perhaps not on the disk: one of its copies was renamed, and then the
disk failed. Who starts next finds the new list, or after a reboot the one before."""

from __future__ import annotations

import shutil
from contextlib import closing, nullcontext
from pathlib import Path

import pytest
from helioc.lang.diagnostics import Refused
from helioc.runtime.journal.ledger import Ledger
from helioc.runtime.journal.state import COPIES
from helioc.runtime.journal.store import Store
from journal_world import begin, build, failing, fold, the, write


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
    store.mend()
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
        store.mend()
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
    store.mend()
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
            store.mend()
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
    store.mend()
    assert not store.findings and not store.doubt
    write(journal, 1, 2)
    journal.close()
    store.close()
    with closing(Store(store.directory)) as again:
        assert not again.losses and len(again.written(the(again)).entries) == 2
