"""Writes the control map of traced programs: `struct trace_control` of helio.trace.h."""

from __future__ import annotations

import struct
import time
from dataclasses import dataclass

from ...lang.contract.trace.schema import TERMS, TESTS
from ..kernel.handles import Map

_HEAD = struct.Struct("<QIIII")
_TERM = struct.Struct("<II")
_PROBE = struct.Struct("<HHBBHQQQQQ")
_WHOLE = struct.Struct("<III4x")
_WHOLE_AT = _HEAD.size + TERMS * _TERM.size + TESTS * _PROBE.size
_ALWAYS = (1 << 64) - 1


@dataclass(frozen=True)
class FieldTest:
    """Of a field of node number `node`: `size` (1 to 16) from byte `at` of its header. Under
    `mask` its lowest eight bytes lie in `low` to `low + span`, and under `high_mask` the others
    are `high`; with `otherwise`, they do not."""

    node: int
    at: int
    size: int
    mask: int
    low: int
    span: int
    high_mask: int = 0
    high: int = 0
    otherwise: bool = False


@dataclass(frozen=True)
class TraceFilter:
    """Which packets: those that arrive by a port (0: any), one of `sample`, for which one of the
    `terms` holds: the tests that it asks for (a bit each) come to what it wants. No terms: all.
    `whole`: their frames are recorded as far as a record has room (`schema.REST`), of as many as
    `Control.take` says."""

    port: int = 0
    sample: int = 1
    tests: tuple[FieldTest, ...] = ()
    terms: tuple[tuple[int, int], ...] = ()
    whole: bool = False


class Control:
    """Writes the map `trace_control`. Close it."""

    def __init__(self, control: Map) -> None:
        self._memory = control.mmap()
        #: Whether the programs can record whole frames: those of earlier releases cannot.
        self.keeps_frames = control.spec.value_size > _WHOLE_AT
        self._until = self._memory.cast("Q")

    def ask(self, asked: TraceFilter, seconds: float | None = None) -> None:
        """From now on, for so long (None: for ever)."""
        self._until[0] = 0  # no packet meets half of it: those on their way are told of no more
        tests = [
            _PROBE.pack(
                t.node, t.at, t.size, t.otherwise, 0, t.mask, t.low, t.span, t.high_mask, t.high
            )
            for t in asked.tests
        ]
        terms = [_TERM.pack(*term) for term in asked.terms]
        head = _HEAD.pack(0, asked.port, asked.sample, len(tests), len(terms))
        tables = b"".join(terms).ljust(TERMS * _TERM.size, b"\0")
        tables += b"".join(tests).ljust(TESTS * _PROBE.size, b"\0")
        tables += _WHOLE.pack(asked.whole, 0, 0) if self.keeps_frames else b""
        self._memory[: len(head) + len(tables)] = head + tables
        self.extend(seconds)

    def extend(self, seconds: float | None = None) -> None:
        """Packets are recorded for so long from now on, or for ever."""
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        self._until[0] = _ALWAYS if seconds is None else now + int(seconds * 1e9)

    def take(self, count: int) -> None:
        """Record so many packets more, of which the frames are wanted whole."""
        with self._memory[_WHOLE_AT : _WHOLE_AT + _WHOLE.size].cast("I") as words:
            words[1] = words[2] + count & 0xFFFFFFFF

    def close(self) -> None:
        """May be called again."""
        self._until.release()
