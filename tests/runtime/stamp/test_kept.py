"""Counts that outlive the agent: whole or not at all, also where it is killed as it writes."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from helioc.runtime.stamp.kept import _COPY, MOST, KeptCounts

Counts = Callable[[Path | None], KeptCounts]


@pytest.fixture
def counts_in() -> Iterator[Counts]:
    """What makes them, several of one file where an agent was killed; closed at the end."""
    made = list[KeptCounts]()

    def make(path: Path | None) -> KeptCounts:
        made.append(KeptCounts(path))
        return made[-1]

    yield make
    gc.collect()  # slots that the test had
    for each in made:
        each.close()


def test_counts_are_there_after_a_restart(tmp_path: Path, counts_in: Counts) -> None:
    path = tmp_path / "run" / "stamp"
    before = counts_in(path)
    slot = before.slot(7, 64)
    assert slot.read() is None
    for number in range(5):
        slot.write(b"counts %d" % number)
    slot.bits[0] = 0x55
    after = counts_in(path)  # the first was killed: nobody closed it
    assert after.slot(7, 64).read() == b"counts 4"
    assert after.slot(7, 64).bits[0] == 0x55
    assert after.slot(8, 64).read() is None
    assert path.stat().st_mode & 0o777 == 0o600


def test_what_was_not_written_to_its_end_is_not_taken(tmp_path: Path, counts_in: Counts) -> None:
    """Whichever byte of a copy is not there yet: the one before is."""
    path = tmp_path / "stamp"
    slot = counts_in(path).slot(7, 64)
    slot.write(b"a" * 100)
    slot.write(b"b" * 100)
    whole = path.read_bytes()
    slot.write(b"c" * 100)
    for end in range(1, 100):
        path.write_bytes(whole[:end] + whole[end:])
        with path.open("r+b") as file:
            file.seek(_COPY + 24 + end)
            file.write(b"c")
        assert counts_in(path).slot(7, 64).read() == b"b" * 100


def test_a_slot_that_is_free_is_anothers_and_empty(tmp_path: Path, counts_in: Counts) -> None:
    counts = counts_in(tmp_path / "stamp")
    slot = counts.slot(7, 64)
    slot.write(b"old")
    slot.bits[:] = b"\xff" * 8
    counts.free(7)
    counts.free(7)
    again = counts.slot(9, 64)
    assert again.read() is None and bytes(again.bits) == bytes(8)
    counts.keep_only({1, 2})
    assert counts_in(tmp_path / "stamp").slot(9, 64).read() is None


def test_more_sessions_than_there_are_places_for_are_in_memory(
    tmp_path: Path, counts_in: Counts
) -> None:
    counts = counts_in(tmp_path / "stamp")
    slots = [counts.slot(number + 1, 64) for number in range(MOST + 3)]
    for number, slot in enumerate(slots):
        slot.write(b"%d" % number)
    assert [slot.read() for slot in slots] == [b"%d" % n for n in range(MOST + 3)]


def test_where_there_cannot_be_a_file_counts_are_in_memory(
    tmp_path: Path, counts_in: Counts
) -> None:
    (tmp_path / "file").write_text("")
    for path in (None, tmp_path / "file" / "stamp"):
        slot = counts_in(path).slot(7, 64)
        slot.write(b"counts")
        assert slot.read() == b"counts"


def test_a_full_disk_kills_nobody(
    tmp_path: Path, counts_in: Counts, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    counts = counts_in(tmp_path / "stamp")
    monkeypatch.setattr(os, "posix_fallocate", full)
    slot = counts.slot(7, 64)
    slot.write(b"counts")
    assert slot.read() == b"counts"
    assert counts_in(tmp_path / "stamp").slot(7, 64).read() is None


def test_a_file_of_nonsense_is_no_ones(tmp_path: Path, counts_in: Counts) -> None:
    path = tmp_path / "stamp"
    path.write_bytes(os.urandom(1 << 20))
    counts = counts_in(path)
    assert counts.slot(7, 64).read() is None
    counts.keep_only(set())
    slot = counts.slot(8, 64)
    slot.write(b"counts")
    assert slot.read() == b"counts"


def test_the_file_goes_with_the_last_session(tmp_path: Path) -> None:
    path = tmp_path / "stamp"
    counts = KeptCounts(path)
    assert not path.exists()
    counts.slot(7, 64)
    assert path.stat().st_blocks < 64  # sparse
    counts.free(7)
    counts.close()
    counts.close()
    assert not path.exists()
