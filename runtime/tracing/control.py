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
    `terms` holds: the tests that it asks for (a bit each) come to what it wants. No terms: all."""

    port: int = 0
    sample: int = 1
    tests: tuple[FieldTest, ...] = ()
    terms: tuple[tuple[int, int], ...] = ()


class Control:
    """Writes the map `trace_control`. Close it."""

    def __init__(self, control: Map) -> None:
        self._memory = control.mmap()
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
        self._memory[: len(head) + len(tables)] = head + tables
        self.extend(seconds)

    def extend(self, seconds: float | None = None) -> None:
        """Packets are recorded for so long from now on, or for ever."""
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        self._until[0] = _ALWAYS if seconds is None else now + int(seconds * 1e9)

    def close(self) -> None:
        """May be called again."""
        self._until.release()
