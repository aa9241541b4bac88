"""SCHED_CLS programs as a backend of packet tests: loaded privately, run by BPF_PROG_TEST_RUN."""

from __future__ import annotations

import ctypes
import struct
from collections import Counter
from dataclasses import replace

from helioc.compiler.bundle import Bundle as Compiled
from helioc.lang.contract.world.environment import Environment
from helioc.runtime.kernel.libbpf import check, lib
from helioc.runtime.kernel.programs import RunResult
from helioc.runtime.kernel.structures import RunOpts
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.ports.ports import write_ports
from helioc.runtime.rules.counters import read_sums
from helioc.runtime.testrun.kernel_backend import KernelBackend
from helioc.runtime.testrun.private_run import PrivateRun, Rules

SHOT, REDIRECT, UNSPEC = 2, 7, 0xFFFFFFFF  # TC_ACT_* of linux/pkt_cls.h
_LOOPBACK = 1
XDP_DROP, XDP_PASS, XDP_TX, XDP_REDIRECT = 1, 2, 3, 4


class TcRun(PrivateRun):
    """What programs return is shown as the XDP action that means the same: a packet that is
    redirected to no port's number is sent back."""

    shortest = 14 + 40  # less than an IP header is none of which the kernel makes an skb

    def __init__(self, compiled: Compiled | Bundle, traced: bool = False) -> None:
        """Raises `Refused` where the kernel does not take it."""
        super().__init__(Bundle(compiled.manifest, compiled.object, compiled.traced), traced)

    def send(self, frame: bytes, port: int, metadata: bytes = b"") -> RunResult:
        result = self.entry(port).test_run(frame, metadata=metadata)
        sent = XDP_REDIRECT if any(self._egress()) else XDP_TX
        actions = {SHOT: XDP_DROP, UNSPEC: XDP_PASS, REDIRECT: sent}
        return replace(result, retval=actions[result.retval])

    def __enter__(self) -> TcRun:
        return self

    def set_live(self, environment: Environment, rules: Rules) -> None:
        """Set up for real packets by real interfaces, which `environment` says."""
        self.set_environment(environment)
        known = [replace(p, ifindex=self._ports[p.number].ifindex) for p in self._known_ports]
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

    def _egress(self) -> list[int]:
        """What the scratch record of each CPU says."""
        at = self.manifest.scratch.egress
        records = self.maps["scratch"].lookup_per_cpu(bytes(4)) or []
        return [int.from_bytes(record[at : at + 4], "little") for record in records]


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
