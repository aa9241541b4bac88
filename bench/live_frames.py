"""Frames that a program sends by BPF_PROG_TEST_RUN with live frames, by the clock, on one CPU."""

from __future__ import annotations

import ctypes
import os
import time

from helioc.runtime.kernel import libbpf
from helioc.runtime.kernel.handles import Program

_LIVE, _BATCH = 2, 64  # BPF_F_TEST_XDP_LIVE_FRAMES
_FASTEST, _USUAL = 14, 100  # ns that a program takes at the least, and at first


class Sender:
    """`generate` waits for the clock by dropping frames. Making live frames takes some 20 ms, so
    that all is one call, or few: how often the program runs in that time is known only by what it
    took before."""

    def __init__(self, generate: Program, cpu: int) -> None:
        self._generate, self._cpu, self._pace = generate, cpu, float(_USUAL)

    def run(self, packet: bytes, seconds: float) -> None:
        """In this thread, which stays on its CPU."""
        os.sched_setaffinity(0, {self._cpu})
        begun, end = time.monotonic_ns(), time.monotonic_ns() + int(seconds * 1e9)
        while begun < end:
            repeat = max(_BATCH, int((end - begun) / self._pace))
            options = libbpf.RunOpts(
                sz=ctypes.sizeof(libbpf.RunOpts), data_in=packet, data_size_in=len(packet),
                repeat=repeat, flags=_LIVE, batch_size=_BATCH,
            )  # fmt: skip
            run = libbpf.lib().bpf_prog_test_run_opts
            libbpf.check(run(self._generate.fileno(), ctypes.byref(options)), "send frames")
            now = time.monotonic_ns()
            self._pace, begun = max(_FASTEST, (now - begun) / repeat), now
