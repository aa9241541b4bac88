"""Frames that a program sends by BPF_PROG_TEST_RUN with live frames, by the clock, on one CPU."""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import time
from collections.abc import Callable

from helioc.runtime.kernel import libbpf
from helioc.runtime.kernel.handles import Map, Program

_LIVE, _BATCH = 2, 64  # BPF_F_TEST_XDP_LIVE_FRAMES
_FASTEST, _USUAL = 14, 100  # ns that a program takes at the least, and at first
_PACE = struct.Struct("<IIQQQQ")
_STILL = 0.03  # seconds


class Sender:
    """`generate` waits for the clock by dropping frames. Making live frames takes some 20 ms, so
    that all is one call, or few: how often the program runs in that time is known only by what it
    took before."""

    def __init__(self, generate: Program, settings: Map, cpu: int) -> None:
        """`settings`: its map, of one element that begins with `struct pace` (live_frames.h)."""
        self._generate, self._cpu, self._usual = generate, cpu, float(_USUAL)
        self._setting = settings.mmap()

    def send(
        self, device: str, packet: bytes, kpps: float, seconds: float, rest: bytes
    ) -> tuple[int, float]:
        """Out of a device of this thread's namespace. `rest`: of the settings, behind the pace.
        Returns how many frames were sent, and how many that is a second."""
        pace = _PACE.pack(socket.if_nametoindex(device), 0, 0, round(1e6 / kpps),
                          round(seconds * 1e9), 0)  # fmt: skip
        self._setting[: len(pace) + len(rest)] = pace + rest
        self._run(packet, seconds)
        _, sent, due, interval, duration, until = _PACE.unpack(self._setting[: _PACE.size])
        return sent, sent * 1e9 / max(due - interval - (until - duration), 1)

    def _run(self, packet: bytes, seconds: float) -> None:
        """In this thread, which stays on its CPU."""
        os.sched_setaffinity(0, {self._cpu})
        begun, end = time.monotonic_ns(), time.monotonic_ns() + int(seconds * 1e9)
        while begun < end:
            repeat = max(_BATCH, int((end - begun) / self._usual))
            options = libbpf.RunOpts(
                sz=ctypes.sizeof(libbpf.RunOpts), data_in=packet, data_size_in=len(packet),
                repeat=repeat, flags=_LIVE, batch_size=_BATCH,
            )  # fmt: skip
            run = libbpf.lib().bpf_prog_test_run_opts
            libbpf.check(run(self._generate.fileno(), ctypes.byref(options)), "send frames")
            now = time.monotonic_ns()
            self._usual, begun = max(_FASTEST, (now - begun) / repeat), now


def settled(count: Callable[[], tuple[int, ...]]) -> tuple[int, ...]:
    """What is counted, once it stands still."""
    before = count()
    while True:
        time.sleep(_STILL)
        now = count()
        if now == before:
            return now
        before = now


def on_all_cpus(counts: Map, index: int = 0) -> int:
    each = counts.lookup_per_cpu(index.to_bytes(4, "little")) or ()
    return sum(int.from_bytes(value, "little") for value in each)
