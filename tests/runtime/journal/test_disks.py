"""A store on a disk that is full or must not be written: it is read, and goes on by itself."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EACCES, EDQUOT, EIO, ENOSPC, EROFS
from pathlib import Path

import pytest
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.base import file_lock
from helioc.runtime.journal.errors import cannot_write
from helioc.runtime.journal.journal import Journal
from helioc.runtime.journal.store import Store
from journal_world import begin, build, fold, the, write


@contextmanager
def full(store: Store, but_for: int = 0) -> Iterator[None]:
    """Of the store's disk all is taken, but for so many bytes."""
    filler = store.directory.parent / "filler"
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass
    os.truncate(filler, filler.stat().st_size - but_for)
    try:
        yield
    finally:
        filler.unlink()


def on_a_small_disk(at: Path) -> Store:
    store = Store(at / "state")
    journal = begin(store)
    write(journal, 10)
    fold(journal)
    write(journal, 5, 11)
    journal.acknowledged()
    journal.close()
    return store


def test_a_store_on_a_full_disk_is_read_and_recovers(small_disk: Path) -> None:
    on_a_small_disk(small_disk).close()
    store = Store(small_disk / "state")
    store.close()
    with full(store):
        again = Store(store.directory)
        (found,) = again.findings
        assert found.code == "H0780" and f"`{small_disk}` (tmpfs on none) is full" in found.help
        kept = the(again)
        assert again.build(kept)[1] == b"object" and again.snapshot(kept) == b"rules"
        written = again.written(kept)
        assert [e.revision for e in written.entries] == list(range(11, 16))
        assert len(again.answers(kept.id)) == 5
        for change in (lambda: again.begin("other", build()), lambda: again.remove("edge")):
            with pytest.raises(Refused, match="H0780"):
                change()
    again.begin("other", build())
    assert not again.findings and again.build(the(again))[1] == b"object"
    assert len(again.begun()) == 1
    again.close()


def test_a_snapshot_that_has_no_room_takes_none(small_disk: Path) -> None:
    store = Store(small_disk / "state")
    journal, opened = begin(store), len(os.listdir("/proc/self/fd"))
    write(journal, 5)
    with full(store, 400 << 10):
        for number in range(6, 16):
            with pytest.raises(Refused, match="H0780"):
                fold(journal, number - 1, bytes(1 << 20))
            assert journal.number == 2 and journal.findings and not journal.clean
            write(journal, 1, number)
        assert len(os.listdir("/proc/self/fd")) == opened + 1
        journal.acknowledged()
        assert len(os.listdir("/proc/self/fd")) == opened
        assert len(list(store.directory.glob("requests-*"))) == 2
    assert [e.revision for e in store.written(the(store)).entries] == list(range(1, 16))
    with journal.open_next() as descriptor:
        os.close(descriptor)
        kept = the(store)
        assert (kept.revision, kept.number, len(store.snapshot(kept))) == (5, 2, 1 << 20)
        assert [e.key for e in store.answers(kept.id)] == ["k1", "k3", "k5"]
        assert [e.revision for e in store.written(kept).entries] == list(range(6, 16))
        assert list(journal.answered()) == [f"k{number}" for number in range(1, 16, 2)]
    assert not journal.findings
    fold(journal, 15)
    assert len(store.answers(the(store).id)) == 8
    journal.close()
    store.close()


@pytest.mark.parametrize("left", range(8 << 10, 32 << 10, 4 << 10))
def test_requests_go_on_behind_a_snapshot_that_has_no_room(small_disk: Path, left: int) -> None:
    """The next log has the room that was preallocated for the one before."""
    store = Store(small_disk / "state")
    journal = begin(store)
    write(journal, 5)
    with full(store, left):
        with pytest.raises(Refused, match="H0780"):
            fold(journal, 5, bytes(1 << 20))
        write(journal, 20, 6)
        journal.acknowledged()
    assert [e.revision for e in store.written(the(store)).entries] == list(range(1, 26))
    journal.close()
    store.close()


def test_an_empty_directory_on_a_full_disk_will_do(small_disk: Path) -> None:
    (small_disk / "state").mkdir()
    store = on_a_small_disk(small_disk / "other")
    with full(store):
        empty = Store(small_disk / "state")
        assert not empty.pipelines() and empty.findings
    empty.fix()
    assert not empty.findings
    empty.close()
    store.close()


def test_a_damaged_list_is_kept_once(small_disk: Path) -> None:
    store = on_a_small_disk(small_disk)
    store.close()
    (store.directory / "state-a").write_bytes(b"damaged")
    with full(store):
        for _ in range(2):
            again = Store(store.directory)
            again.close()
            assert again.findings and the(again)
    Store(store.directory).close()
    assert [path.read_bytes() for path in (store.directory / "aside").iterdir()] == [b"damaged"]


def test_a_read_only_disk_is_read_and_recovers(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_lock, "PATIENCE", 0.0)
    on_a_small_disk(small_disk).close()
    remount(small_disk, "ro")
    store = Store(small_disk / "state")
    (found,) = store.findings
    assert "is read-only" in found.help and f"mount -o remount,rw {small_disk}" in found.help
    with pytest.raises(Refused, match="H0782"):
        Store(small_disk / "state")
    written = store.written(the(store))
    journal = Journal(store, the(store).id, written)
    with pytest.raises(Refused, match="H0780"):
        write(journal, 1, 16)
    assert journal.findings
    remount(small_disk, "rw")
    write(journal, 1, 16)
    store.fix()
    fold(journal, 16)
    assert not journal.findings and the(store).revision == 16
    journal.close()
    store.close()


def remount(disk: Path, how: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{how}", disk], check=True)


@pytest.mark.parametrize(
    ("error", "help_"),
    [
        (OSError(ENOSPC, "no room, in another language"), "is full, "),
        (OSError(EDQUOT, ""), "is full, "),
        (OSError(EROFS, ""), "is read-only"),
        (OSError(EIO, ""), "fails: `dmesg` says why"),
        (OSError(EACCES, "no space"), "does not take it"),
        ("the disk is full of snow", "does not take it"),
    ],
)
def test_the_number_decides_what_is_to_be_done(
    error: OSError | str, help_: str, tmp_path: Path
) -> None:
    assert help_ in cannot_write(str(tmp_path / "log"), error).help
