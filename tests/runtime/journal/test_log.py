"""A pipeline's log by itself: what is read of it again, whole, cut short or damaged."""

from __future__ import annotations

import os
import threading
from contextlib import closing
from errno import EROFS
from pathlib import Path

import pytest
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.journal import log as log_module
from helioc.runtime.journal.heads import HEADS, Head, decode
from helioc.runtime.journal.log import Log, Mark, log_name, open_new
from helioc.runtime.journal.records import IES, NOTE, PACKED, Entry, encode
from helioc.runtime.journal.recovery import Written
from journal_world import WHOSE, again, entries, new_log, read


def revisions(log: Log) -> list[int]:
    return [entry.revision for entry in read(log).entries]


def test_what_is_written_is_read_again(log: Log) -> None:
    expected = [*entries(100), Entry(101, NOTE, b"{}"), Entry(102, PACKED, bytes(1_000_000))]
    for entry in expected:
        log.append(entry)
    assert read(log).entries == expected and not read(log).marred
    other = again(log)
    other.append(Entry(103, IES, b"later"))
    other.close()
    assert read(log).entries == [*expected, Entry(103, IES, b"later")]


def test_a_note_may_have_the_revision_before(log: Log) -> None:
    for entry in (Entry(1, IES, b"x"), Entry(1, NOTE, b"{}"), Entry(2, IES, b"y")):
        log.append(entry)
    log.durable()
    assert revisions(log) == [1, 1, 2]


@pytest.mark.parametrize("cut", [1, 5, 15, 30])
def test_a_record_that_was_cut_short_and_never_confirmed_is_dropped(log: Log, cut: int) -> None:
    """A kill in the middle of a write leaves it."""
    for entry in entries(10):
        log.append(entry)
    os.truncate(log.path, HEADS + log.mark.size - cut)
    assert revisions(log) == list(range(1, 10)) and not read(log).marred
    other = again(log)
    other.append(Entry(10, IES, b"another"))
    other.close()
    assert read(log).entries[-1] == Entry(10, IES, b"another")


def test_what_was_confirmed_and_cannot_be_read_is_lost(log: Log) -> None:
    for entry in entries(100):
        log.append(entry)
    log.durable()
    log.append(Entry(101, IES, b"in the next group"))
    log.durable()
    damage(log.path, HEADS + log.mark.size // 2)
    found = read(log)
    assert 30 < len(found.entries) < 70 and "a record at byte" in found.lost
    assert found.missing == 101 - found.entries[-1].revision


def test_the_last_group_is_unconfirmed_until_the_header_says_so(log: Log) -> None:
    for entry in entries(10):
        log.append(entry)
        log.durable()
    content = log.path.read_bytes()
    damage(log.path, HEADS + log.mark.size - 1)
    assert revisions(log) == list(range(1, 10)) and read(log).unconfirmed and not read(log).lost
    log.path.write_bytes(content)
    log.confirm()
    damage(log.path, HEADS + log.mark.size - 1)
    assert revisions(log) == list(range(1, 10)) and read(log).missing == 1


@pytest.mark.parametrize("page", [0, 4096])
def test_one_header_is_enough(log: Log, page: int) -> None:
    for entry in entries(10):
        log.append(entry)
        log.durable()
    damage(log.path, page + 30)
    assert revisions(log) == list(range(1, 11)) and read(log).unconfirmed
    damage(log.path, 4096 - page + 30)
    assert "headers" in read(log).lost


def test_another_log_is_not_taken_for_this(log: Log) -> None:
    with closing(Log(log.path, Head(b"elsewhen", 7, 0), Mark(0, 0))) as stranger:
        stranger.turn_over(log.path, open_new(log.path, (b"elsewhen", 7, 1)), 0)
    assert read(log).lost == "it is another log"


def damage(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


def test_what_could_not_be_made_is_withdrawn(log: Log) -> None:
    log.append(Entry(1, IES, b"one"))
    mark = log.mark
    log.append(Entry(2, IES, b"two, which is longer than the other"))
    log.durable()
    log.withdraw(mark)
    assert revisions(log) == [1] and not read(log).marred
    log.append(Entry(2, IES, b"another"))
    assert [e.content for e in read(log).entries] == [b"one", b"another"]


def test_a_log_goes_on_in_the_next(log: Log) -> None:
    """And what the next says of the one before shows whether that is whole."""
    for entry in entries(10):
        log.append(entry)
    log.durable()
    first, second = log.path, log.path.with_name(log_name(7, 2))
    log.turn_over(second, open_new(second, (*WHOSE, 2)), 10)
    for entry in entries(5, 11):
        log.append(entry)
    log.durable()
    log.confirm()
    content = read_logs_of(first)
    assert [e.revision for e in content.entries] == list(range(1, 16)) and content.head.number == 2
    whole = first.read_bytes()
    damage(first, HEADS + 300)
    assert read_logs_of(first).missing
    first.write_bytes(whole)
    second.unlink()
    lost = read_logs_of(first)
    assert lost.lost == "it is gone" and lost.file == second.name and len(lost.entries) == 10


def read_logs_of(first: Path) -> Written:
    with closing(Log(first, Head(*WHOSE, 1), Mark(0, 0))) as log:
        return read(log)


def test_many_share_the_waiting(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who comes while the disk is at work waits for the next time with the others."""
    real, syncs, turn, written = os.fdatasync, list[int](), threading.Lock(), threading.Event()
    size = len(encode(Entry(1, IES, b"x")))

    def slow(descriptor: int) -> None:
        syncs.append(descriptor)
        real(descriptor)
        assert written.wait(10)

    monkeypatch.setattr(os, "fdatasync", slow)

    def one(number: int) -> None:
        with turn:
            log.append(Entry(number, IES, b"x"))
            if log.mark.size == 16 * size:
                written.set()
        log.durable()

    threads = [threading.Thread(target=one, args=(i,)) for i in range(1, 17)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 1 <= len(syncs) <= 2 and not log.pending


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
    mark = log.mark
    log.append(Entry(2, IES, b"withdrawn"))

    def fails(*_: int) -> None:
        raise OSError(EROFS, "Read-only file system")

    with monkeypatch.context() as patched:
        patched.setattr(os, "ftruncate", fails)
        log.withdraw(mark)
        with pytest.raises(Refused, match="H0780.*read-only"):
            log.append(Entry(2, IES, b"another"))
    log.append(Entry(2, IES, b"another"))
    assert [e.content for e in read(log).entries] == [b"one", b"another"]


@pytest.mark.parametrize("call", ["ftruncate", "fdatasync"])
def test_what_was_refused_is_found_by_no_start(
    log: Log, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the file cannot be cut off, or the header not be synced."""
    log.append(Entry(1, IES, b"one"))
    mark = log.mark
    log.append(Entry(2, IES, b"withdrawn"))
    log.durable()

    def fails(*_: int) -> None:
        raise OSError(EROFS, "Read-only file system")

    with monkeypatch.context() as patched:
        patched.setattr(os, call, fails)
        assert not log.withdraw(mark)
    assert [e.content for e in read(log).entries] == [b"one"]
    assert log.withdraw(mark)
    assert not read(log).marred


def test_who_waits_for_the_disk_is_let_go_when_it_ends(log: Log) -> None:
    """An unload ends it while a request is acknowledged."""
    log.append(Entry(1, IES, b"x"))
    log.close()
    log.durable()


def test_a_full_disk_refuses_and_recovers(small_disk: Path) -> None:
    log = new_log(small_disk)
    revision, half = 0, log.mark
    with pytest.raises(Refused, match="H0780.*no space"):
        for revision in range(1, 2000):
            log.append(Entry(revision, IES, bytes(3000)))
            half = log.mark if revision == 100 else half
    assert revisions(log) == list(range(1, revision))
    log.withdraw(half)
    log.close()
    log = again(log)
    log.append(Entry(revision, IES, b"x"))
    log.durable()
    log.close()
    assert revisions(log) == [*range(1, 101), revision]


def test_the_disk_begins_with_the_first_of_a_group(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While its request is made. Whatever comes of that write, the header before stays."""
    begun = list[int]()
    monkeypatch.setattr(log_module, "begin_writing", begun.append)
    log.append(Entry(1, IES, b"nobody waits"))
    assert not begun
    log.durable()
    log.awaited = True
    before = heads(log)
    for revision in (2, 3):
        log.append(Entry(revision, IES, b"somebody does"))
        (stays,) = {*heads(log)} & {*before}
        assert len(begun) == 1 and max(heads(log), key=by_age).revision == 2
    log.durable()
    assert stays == max(before, key=by_age) and stays in heads(log)
    assert max(heads(log), key=by_age).revision == 3
    log.append(Entry(4, IES, b"the next"))
    assert len(begun) == 2 and stays not in heads(log)


def test_what_has_begun_and_cannot_be_made_is_taken_back(log: Log) -> None:
    log.awaited = True
    log.append(Entry(1, IES, b"made"))
    log.durable()
    before = log.mark
    log.append(Entry(2, IES, b"not made"))
    assert log.withdraw(before)
    assert revisions(log) == [1] and not read(log).marred


def heads(log: Log) -> list[Head]:
    return [head for head in decode(log.path.read_bytes()) if head is not None]


def by_age(head: Head) -> int:
    return head.generation
