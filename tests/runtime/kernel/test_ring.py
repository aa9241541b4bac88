"""The reader of a ring buffer, on memory that is not as the kernel writes it."""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest
from helioc.runtime.kernel.handles import BpfError, Map, MapSpec, MapType
from helioc.runtime.kernel.ring import Ring

SIZE = 4096
BUSY, DISCARDED = 1 << 31, 1 << 30


class Written:
    """A file in place of a ring: two pages of positions, then the data."""

    def __init__(self) -> None:
        self.file = os.memfd_create("ring")
        os.ftruncate(self.file, 2 * mmap.PAGESIZE + 2 * SIZE)
        self.at = 0

    def put(self, content: bytes, flags: int = 0, length: int | None = None) -> None:
        head = struct.pack("<II", (len(content) if length is None else length) | flags, 0)
        record = head + content.ljust((len(content) + 7) // 8 * 8, b"\0")
        for i, byte in enumerate(record):  # the kernel maps the data twice
            for copy in (0, SIZE):
                at = 2 * mmap.PAGESIZE + (self.at + i) % SIZE + copy
                os.pwrite(self.file, bytes([byte]), at)
        self.at += len(record)
        self.produced(self.at)

    def produced(self, to: int) -> None:
        os.pwrite(self.file, to.to_bytes(8, "little"), mmap.PAGESIZE)

    def consumed(self) -> int:
        return int.from_bytes(os.pread(self.file, 8, 0), "little")


@contextmanager
def ring() -> Iterator[tuple[Written, Ring]]:
    made = Written()
    table: Any = SimpleNamespace(
        spec=SimpleNamespace(max_entries=SIZE), fileno=lambda: made.file, name="ring"
    )
    try:
        with Ring(cast(Map, table)) as reader:
            yield made, reader
    finally:
        os.close(made.file)


def test_records_come_in_order_and_are_freed() -> None:
    with ring() as (made, reader):
        made.put(b"one")
        made.put(b"number two")
        assert list(reader.records(1)) == [b"one"]
        assert made.consumed() == 16
        assert reader.waiting == 24
        assert list(reader.records()) == [b"number two"]
        assert (reader.waiting, reader.damaged) == (0, 0)
        assert list(reader.records()) == []


def test_one_that_is_being_written_is_waited_for() -> None:
    with ring() as (made, reader):
        made.put(b"one", BUSY)
        assert list(reader.records()) == []
        assert made.consumed() == 0


def test_one_that_was_given_up_is_left_out() -> None:
    with ring() as (made, reader):
        made.put(b"one", DISCARDED)
        made.put(b"two")
        assert list(reader.records()) == [b"two"]


def test_a_record_over_the_end_goes_on() -> None:
    with ring() as (made, reader):
        for number in range(1000):
            made.put(bytes([number % 251]) * (number % 40 + 1))
            assert list(reader.records()) == [bytes([number % 251]) * (number % 40 + 1)]
        assert made.consumed() == made.at > 5 * SIZE


@pytest.mark.parametrize("length", [17, 4096, DISCARDED - 1])
def test_one_that_is_longer_than_what_was_written_is_damage(length: int) -> None:
    """What is behind it cannot be found: it is left out, and reading goes on with what comes."""
    with ring() as (made, reader):
        made.put(b"good")
        made.put(b"short", length=length)
        assert list(reader.records()) == [b"good"]
        assert reader.damaged == 16
        made.put(b"next")
        assert list(reader.records()) == [b"next"]


def test_positions_that_no_kernel_writes_are_damage() -> None:
    with ring() as (made, reader):
        made.put(b"good")
        made.produced(1 << 40)
        assert list(reader.records()) == []
        assert reader.damaged == 1 << 40
        assert made.consumed() == 1 << 40


@pytest.mark.usefixtures("kernel")
def test_a_map_that_is_no_ring_is_refused() -> None:
    array = MapSpec(MapType.ARRAY, 4, 8, 4096, name="array")
    with Map.create(array) as table, pytest.raises(BpfError):
        Ring(table)


@pytest.mark.usefixtures("kernel")
def test_a_ring_of_the_kernel_is_empty_at_first() -> None:
    spec = MapSpec(MapType.RINGBUF, 0, 0, SIZE, name="ring")
    with Map.create(spec) as table, Ring(table) as reader:
        assert list(reader.records()) == []
        reader.wait(0)
