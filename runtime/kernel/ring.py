"""Reads a BPF ring buffer in the memory where the kernel writes it.

How it lies there: linux/kernel/bpf/ringbuf.c. The kernel publishes the producer's position, and
takes a record's busy bit away, by stores with release semantics. Python has no load that acquires:
a lock that is taken between two loads keeps their order on every processor.
"""

from __future__ import annotations

import mmap
import select
from collections.abc import Iterator
from threading import Lock

from .handles import BpfError, Map

# linux/bpf.h: what the first word of a record says beside its length.
_BUSY, _DISCARDED = 1 << 31, 1 << 30
_LENGTH = _DISCARDED - 1
_HEAD = 8
_PAGE = mmap.PAGESIZE


class Ring:
    """The only reader of a ring buffer. Close it."""

    def __init__(self, ring: Map) -> None:
        """`ring` stays the caller's. Raises BpfError."""
        self._size = ring.spec.max_entries
        self._fence = Lock()
        #: Bytes that were left unread as no record can lie so: who wrote them was not the kernel.
        self.damaged = 0
        try:
            # a page that the reader writes; one that the kernel writes, and the data, twice, so
            # that a record at the end goes on behind it
            self._own = mmap.mmap(ring.fileno(), _PAGE, mmap.MAP_SHARED)
            length = _PAGE + 2 * self._size
            self._memory = mmap.mmap(
                ring.fileno(), length, mmap.MAP_SHARED, mmap.PROT_READ, offset=_PAGE
            )
        except OSError as error:
            raise BpfError(f"mmap the ring buffer `{ring.name}`", error.errno or 0) from None
        self._position = memoryview(self._own).cast("Q")
        self._produced = memoryview(self._memory)[:_PAGE].cast("Q")
        self._poll = select.poll()
        self._poll.register(ring.fileno(), select.POLLIN)

    def wait(self, seconds: float) -> None:
        """Until there is a record, or so long."""
        self._poll.poll(seconds * 1000)

    @property
    def waiting(self) -> int:
        """Bytes that are there and not read."""
        return self._produced[0] - self._position[0]

    def records(self, most: int = 1 << 62) -> Iterator[bytes]:
        """The records that are there now, so many at most; each is freed when the next one is
        requested."""
        for _ in range(most):
            at, end = self._position[0], self._produced[0]
            if at >= end:
                return
            with self._fence:
                start = _PAGE + at % self._size
            head = int.from_bytes(self._memory[start : start + 4], "little")
            if head & _BUSY:
                return
            with self._fence:
                length = head & _LENGTH
            behind = at + (_HEAD + length + 7) // 8 * 8
            if behind > end or end - at > self._size:
                self.damaged += end - at
                self._position[0] = end
                return
            if not head & _DISCARDED:
                yield self._memory[start + _HEAD : start + _HEAD + length]
            with self._fence:  # it was copied before the kernel may write there again
                self._position[0] = behind

    def close(self) -> None:
        """May be called again."""
        for view in (self._position, self._produced):
            view.release()
        self._own.close()
        self._memory.close()

    def __enter__(self) -> Ring:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
