"""A pipeline's log by itself: what is read of it again, whole, cut short or damaged."""

from __future__ import annotations

import os
import threading
from errno import EROFS
from pathlib import Path

import pytest
from helioc.lang.diagnostics import Refused
from helioc.runtime.journal.log import IES, NOTE, PACKED, Damage, Entry, Log, read
from journal_world import entries


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


def test_who_waits_for_the_disk_is_let_go_when_it_ends(log: Log) -> None:
    """An unload ends it while a request is acknowledged."""
    log.append(Entry(1, IES, b"x"))
    log.close()
    log.durable()


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
