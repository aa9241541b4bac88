"""SCHED_CLS programs as a backend of packet tests: loaded privately, run by BPF_PROG_TEST_RUN."""

from __future__ import annotations

import ctypes
import struct
from collections import Counter
from dataclasses import replace

from helioc.compiler.bundle import Bundle as Compiled
from helioc.lang.contract.world.environment import Environment
from helioc.runtime.kernel.libbpf import check, lib
from helioc.runtime.kernel.structures import RunOpts
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.ports.ports import write_ports
from helioc.runtime.rules.counters import read_sums
from helioc.runtime.testrun.kernel_backend import KernelBackend
from helioc.runtime.testrun.private_run import Rules
from helioc.runtime.testrun.tc_run import REDIRECT, SHOT
from helioc.runtime.testrun.tc_run import TcRun as Run

_LOOPBACK = 1

__all__ = ["REDIRECT", "SHOT", "TcBackend", "TcRun", "gso_run"]


class TcRun(Run):
    """With what tests ask besides."""

    def __init__(self, compiled: Compiled | Bundle, traced: bool = False) -> None:
        """Raises `Refused` where the kernel does not take it."""
        super().__init__(Bundle(compiled.manifest, compiled.object, compiled.traced), traced)

    def __enter__(self) -> TcRun:
        return self

    def set_live(self, environment: Environment, rules: Rules) -> None:
        """Set up for real packets by real interfaces, which `environment` says."""
        self.set_environment(environment)
        indexes = {p.number: p.ifindex for p in environment.ports}
        known = [replace(p, ifindex=indexes[p.number]) for p in self._known_ports]
        write_ports(self.maps, known, egress=_LOOPBACK)
        self.set_rules(rules)

    def counted(self, kind: str, sequence: int) -> int:
        """Packets that a rule counted."""
        cell = self.writer.tables[kind].sequences[sequence]
        return int(self._counts()[kind][cell, 0])

    def events(self) -> Counter[tuple[str, str]]:
        """How often each happened since it was loaded."""
        sums = read_sums(self.maps["events"], len(self.manifest.counters))[:, 0].tolist()
        counters = self.manifest.counters
        return Counter({(c.group, c.reason): n for c, n in zip(counters, sums, strict=True) if n})


class TcBackend(KernelBackend):
    """`compiler.packettests.runs.Backend`."""

    name = "tc"
    shortest = TcRun.shortest

    def __init__(self, compiled: Compiled, traced: bool = False) -> None:
        """`compiled` with tags in the frame. Raises `Refused` where the kernel does not take it."""
        self.run = TcRun(compiled, traced)
        self._run = self.run

    def __enter__(self) -> TcBackend:
        return self


_GSO_SIZE, _CONTEXT_SIZE = 176, 192  # of struct __sk_buff: its member, and the whole
_ROOM = 4096


def gso_run(run: TcRun, frame: bytes, port: int, gso_size: int) -> tuple[int, bytes]:
    """What a program returns for a packet that stands for segments of so many bytes of payload, and
    the frame that it left. Raises BpfError."""
    context = bytearray(_CONTEXT_SIZE)
    struct.pack_into("<I", context, _GSO_SIZE, gso_size)
    given = (ctypes.c_char * _CONTEXT_SIZE).from_buffer(context)
    out = (ctypes.c_char * (len(frame) + _ROOM))()
    options = RunOpts(
        sz=ctypes.sizeof(RunOpts), data_in=frame, data_size_in=len(frame), repeat=1,
        data_out=ctypes.addressof(out), data_size_out=len(out),
        ctx_in=ctypes.addressof(given), ctx_size_in=_CONTEXT_SIZE,
    )  # fmt: skip
    result = lib().bpf_prog_test_run_opts(run.entry(port).fileno(), ctypes.byref(options))
    check(result, "run a packet that stands for segments")
    return options.retval, out.raw[: options.data_size_out]
