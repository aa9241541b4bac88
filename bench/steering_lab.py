"""Where steering is measured: two namespaces, a wire between them, what sends and what counts.

Frames are sent over a veth by BPF_PROG_TEST_RUN with live frames, by the clock, on one CPU; there
slice runs, too. Behind its CPU map, or without it behind RPS by the outer header, the kernel's
stack takes them as far as a UDP socket that is not read. What is sent on comes back over the veth.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

import numpy as np
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.text.source import Source
from helioc.runtime.congestion.decide import PARTS, Verdict
from helioc.runtime.congestion.watcher import WatchedPipeline, Watcher
from helioc.runtime.edge.config import Config
from helioc.runtime.edge.congestion_settings import Congestion, shape_of
from helioc.runtime.kernel.handles import Object, Program
from helioc.runtime.loading import bundle as loadable
from helioc.runtime.loading.loader import Loaded, unload
from helioc.runtime.owner.events import Events
from helioc.runtime.owner.owner import Owner
from helioc.runtime.ports.ports import PortConfig
from lab import Lab, Namespace, command
from live_frames import Sender, on_all_cpus, settled
from measure import HERE, build
from scapy.contrib.gtp import GTP_U_Header
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.layers.vxlan import VXLAN

SERVICES, PRIORITY = 16, 8
#: Bytes of the headers alone.
SMALLEST = 128
USER, SERVER = IPv4Address("10.45.0.2"), IPv4Address("198.51.100.9")
_SECONDS, GENERATOR, _OTHER = 0.2, 0, 1
_SERVICE = (
    "SERVICE [(tunnel, u16, VXLAN), (tenant, u32, 7), (teid, u32, {}), (src_ip, u32, 10.45.0.2), "
    "(dst_ip, u32, 198.51.100.9), (protocol, u8, UDP), (src_port, u16, 4000), "
    "(dst_port, u16, 5004), (queue, u8, {}), (overloaded, u8, NO)]"
)
_ELSEWHERE = "SERVER [(slot, u8, {}), (mac, u48, 02:00:00:00:0a:0a), (address, u32, 10.9.0.77)]"


def pipeline_name() -> str:
    return f"hb{os.getpid()}"


def frame(to: str, size: int) -> bytes:
    """Of `size` bytes, TEID 0."""
    inner = IP(src=str(USER), dst=str(SERVER)) / UDP(sport=4000, dport=5004)
    user = inner / bytes(size - SMALLEST if size > SMALLEST else 0)
    tunnel = UDP(sport=2152, dport=2152, chksum=0) / GTP_U_Header(teid=0, gtp_type=255) / user
    tenant = Ether(src="02:00:00:00:07:02", dst="02:00:00:00:07:01") / IP(
        src="192.168.7.2", dst="192.168.7.1"
    )
    outer = IP(src="10.9.0.2", dst="10.9.0.1") / UDP(sport=50000, dport=4789, chksum=0)
    ether = Ether(src="02:00:00:00:00:09", dst=to)
    return bytes(ether / outer / VXLAN(vni=7, flags=8) / tenant / tunnel)


@dataclass(frozen=True)
class Fate:
    """Shares of the frames of a second, 0 to 1."""

    offered: float
    priority: float
    other: float
    forwarded: float

    @property
    def lost(self) -> float:
        return max(0.0, 1 - self.priority - self.other - self.forwarded)


class Range:
    """Two namespaces, a wire between them, and what sends and counts."""

    def __init__(self, owned: ExitStack) -> None:
        lab = owned.enter_context(Lab(f"hb{os.getpid()}-"))
        self.far, self.host = lab.namespace("far"), lab.namespace("host")
        lab.wire(self.far, "eth0", self.host, "nic0")
        self.host.address("nic0", "10.9.0.1/24")
        made = owned.enter_context(Object.open(build(HERE / "steering.bpf.c"), name="steering"))
        made.load()
        self._sender = Sender(made.programs()["generate"], made.maps()["settings"], GENERATOR)
        self._counts = made.maps()["counts"]
        self._pinned(owned, made.programs()["sent_on"], self._listen_far)
        self._pinned(owned, made.programs()["accepted"], self._listen_here)
        reader = self.host.inside_thread(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        owned.enter_context(reader).bind(("10.9.0.1", 4789))

    def _pinned(self, owned: ExitStack, program: Program, use: Callable[[Path], None]) -> None:
        """`tc` and `ip` take programs by their pins."""
        path = Path(f"/sys/fs/bpf/hb{os.getpid()}-{program.name}")
        program.pin(path)
        try:
            use(path)
        finally:
            path.unlink()

    def _listen_far(self, path: Path) -> None:
        _run(self.far, "ip", "link", "set", "dev", "eth0", "xdpdrv", "pinned", str(path))

    def _listen_here(self, path: Path) -> None:
        _run(self.host, "tc", "qdisc", "add", "dev", "nic0", "clsact")
        _run(self.host, "tc", "filter", "add", "dev", "nic0", "ingress", "bpf", "da",
             "object-pinned", str(path))  # fmt: skip

    @contextmanager
    def slice(self, bundle: loadable.Bundle, queues: int, congested: bool) -> Iterator[None]:
        name = pipeline_name()
        rules = [_SERVICE.format(teid, teid % queues + 1) for teid in range(PRIORITY)]
        rules += [_ELSEWHERE.format(slot) for slot in range(16)]
        rules += ["CONGESTION [(congested, u8, YES)]"] if congested else []
        request = parse_request(Source("rules", f"create {', '.join(rules)}"))

        def load() -> None:
            with Loaded.load(bundle, Config((PortConfig(1, "NIC", 0, "nic0", 0),)), name) as loaded:
                loaded.apply(request)

        self.host.inside_thread(load)
        try:
            yield
        finally:
            self.host.inside_thread(lambda: unload(name))

    @contextmanager
    def watcher(self) -> Iterator[Callable[[], Verdict]]:
        """The agent's, for the pipeline that is loaded: looks, marks, says what it decided, by what
        its queues drop."""
        settings = Congestion(cpu=2.0, calm=-1.0, drops=1, hold=1e-3)
        with closing(self.host.inside_thread(lambda: Loaded.open(pipeline_name()))) as loaded:
            shape = shape_of(loaded.manifest)
            assert shape is not None
            watcher = Watcher(lambda: ())  # no thread of its own: it looks when it is told to
            watched = WatchedPipeline(Owner(loaded, Events()), settings, shape)

            def turn() -> Verdict:
                self.host.inside_thread(lambda: watcher.turn(watched, time.monotonic()))
                return watched.state.verdict

            turn()
            try:
                yield turn
            finally:
                watcher.settle(watched, Verdict())
                watched.observer.close()

    def relieved(self, size: int, kpps: int) -> Fate:
        """What becomes of them when the watcher has no more to mark: three times in a row."""
        with self.watcher() as turn:
            decided = [turn()]
            while len(decided) < 4 * PARTS and (len(decided) < 3 or decided[-3] != decided[-1]):
                self.fate(size, kpps)
                decided.append(turn())
            return self.fate(size, kpps)

    @contextmanager
    def outer_header(self) -> Iterator[None]:
        """No program: RPS by the outer header, to the CPU that does not send."""
        where = "/sys/class/net/nic0/queues/rx-0/rps_cpus"
        words = ("ip", "netns", "exec", self.host.name, "sh", "-c")
        command(*words, f"echo {1 << _OTHER:x} > {where}")
        try:
            yield
        finally:
            command(*words, f"echo 0 > {where}")

    def fate(
        self, size: int, kpps: int, seconds: float = _SECONDS,
        meter: AbstractContextManager[object] | None = None,
    ) -> Fate:  # fmt: skip
        """Send `kpps` thousand frames a second for a while, inside of `meter`."""
        packet = frame(self.host.mac("nic0"), size)
        self.far.inside_thread(lambda: self._send(packet, kpps, 0.02))  # caches, neighbours
        before = self._settled()
        with meter or nullcontext():
            sent, rate = self.far.inside_thread(lambda: self._send(packet, kpps, seconds))
        now = self._settled() - before
        return Fate(
            rate, now[:PRIORITY].sum() / sent, now[PRIORITY:SERVICES].sum() / sent,
            now[SERVICES] / sent,
        )  # fmt: skip

    def _send(self, packet: bytes, kpps: int, seconds: float) -> tuple[int, float]:
        """How many were sent, and how many that is a second."""
        return self._sender.send("eth0", packet, kpps, seconds, packet[:SMALLEST])

    def _settled(self) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
        """The counts, once they stand still."""
        found = settled(lambda: tuple(on_all_cpus(self._counts, i) for i in range(SERVICES + 1)))
        return np.array(found, np.uint64)


def _run(room: Namespace, *words: str) -> None:
    """Not by `ip netns exec`, where bpffs is hidden."""
    command("nsenter", f"--net=/run/netns/{room.name}", *words)
