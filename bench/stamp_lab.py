"""Where `bench/stamp.py` measures: a router that encapsulates users' IPv6 in SRv6, and reflects.

One CPU sends frames, by the clock, and counts what comes back; the other is the router's: all of
what arrives there is served by a thread of the kernel (threaded NAPI) that stays on it, and so does
a reflector in user space, as in the paper (Appendix A). More queues than that are not measured.
"""

from __future__ import annotations

import os
import shutil
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.text.source import Source
from helioc.runtime.edge.config import Config
from helioc.runtime.kernel.handles import Map, Object
from helioc.runtime.loading import bundle as loadable
from helioc.runtime.loading.loader import Loaded, unload
from helioc.runtime.ports.ports import PortConfig
from lab import Lab, Namespace, command
from live_frames import Sender
from measure import HERE, build
from scapy.contrib.stamp import STAMPSessionSenderTestUnauthenticated as TestPacket
from scapy.layers.inet import UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

STAMP, SSID = 862, 1
ROUTER, TESTER, USER, SERVER = "fd00:1::1", "fd00:1::2", "fd00:9::9", "fd00:d::1"
NEXT, SID, NEXT_MAC = "fd00:2::2", "fd00:e::1", "02:00:00:00:02:02"
RULES = (
    f"create ENDPOINT [(udp_port, {STAMP})], "
    f"REFLECTOR bench [(ssid, {SSID}), (mode, STATELESS), (clock, NTP), (way_back, ADDRESS)]"
)
SIZE = 128  # bytes of each frame
_SENDS, _ROUTES, _MILLION = 1, 0, 1_000_000
_SETTING = struct.Struct("<IIIIQQQQ")


def name() -> str:
    return f"hs{os.getpid()}"


class Router:
    """Two wires to one that sends and counts: what comes by the first one leaves by the other,
    encapsulated (H.Encaps, RFC 8986 section 5.1), or is answered."""

    def __init__(self, owned: ExitStack) -> None:
        self._lab = owned.enter_context(Lab(f"{name()}-"))
        self.far, self.host = self._lab.namespace("far"), self._lab.namespace("host")
        for number in range(2):
            self._lab.wire(self.far, f"eth{number}", self.host, f"nic{number}")
        self.host.address("nic0", f"{ROUTER}/64")
        self.host.address("nic1", "fd00:2::1/64")
        self.host.sysctl("net.ipv6.conf.all.forwarding", 1)
        self.host.neighbour("nic0", TESTER, self.far.mac("eth0"))
        self.host.neighbour("nic1", NEXT, NEXT_MAC)
        self.host.ip("-6", "route", "add", f"{SID}/128", "via", NEXT, "dev", "nic1")
        self.host.ip("-6", "route", "add", "fd00:d::/48", "encap", "seg6", "mode", "encap",
                     "segs", SID, "dev", "nic1")  # fmt: skip
        made = owned.enter_context(Object.open(build(HERE / "stamp.bpf.c"), name="stamp_lab"))
        made.load()
        programs, maps = made.programs(), made.maps()
        self._sender, self._counts = Sender(programs["generate"], _SENDS), maps["counts"]
        self._setting = maps["settings"].mmap()
        path = Path(f"/sys/fs/bpf/{name()}")
        programs["count"].pin(path)
        owned.callback(path.unlink)
        for device in ("eth0", "eth1"):
            command("nsenter", f"--net={self.far.path}", "ip", "link", "set", "dev", device,
                    "xdpdrv", "pinned", str(path))  # fmt: skip
        _polled(self.far, ("eth0", "eth1"), _SENDS)
        _polled(self.host, ("nic0", "nic1"), _ROUTES)
        self._folder = Path(owned.enter_context(tempfile.TemporaryDirectory()))

    @contextmanager
    def alone(self) -> Iterator[None]:
        """The kernel, and nobody who reflects."""
        yield

    @contextmanager
    def pipeline(self, bundle: loadable.Bundle) -> Iterator[None]:
        """`stamp`, in XDP."""
        request = parse_request(Source("rules", RULES))

        def load() -> None:
            config = Config((PortConfig(1, "WAN", 0, "nic0", 0),))
            with Loaded.load(bundle, config, name()) as loaded:
                loaded.apply(request)

        self.host.inside_thread(load)
        _polled(self.host, ("nic0", "nic1"), _ROUTES)  # a program makes others
        try:
            yield
        finally:
            self.host.inside_thread(lambda: unload(name()))
            _polled(self.host, ("nic0", "nic1"), _ROUTES)

    @contextmanager
    def user_space(self) -> Iterator[None]:
        """The reflector of bench/reference/stamp_reflector.c."""
        program = self._folder / "reflector"
        if not program.exists():
            source = str(HERE / "reference/stamp_reflector.c")
            subprocess.run(["cc", "-O2", "-o", program, source], check=True)
        taskset = shutil.which("taskset") or "taskset"
        process = self.host.start(taskset, "-c", str(_ROUTES), str(program), ROUTER, str(STAMP))
        process.expect("ready")
        try:
            yield
        finally:
            process.stop()

    def lost(self, kpps: float, share: float, seconds: float) -> tuple[float, float]:
        """Send `kpps` thousand frames a second, a `share` of them test packets. Returns how many
        thousand there were, and the share of these that did not come back."""
        ether = Ether(dst=self.host.mac("nic0"), src=self.far.mac("eth0"))
        user = ether / IPv6(src=USER, dst=SERVER) / UDP(sport=4000, dport=5004) / bytes(SIZE - 62)
        test = ether / IPv6(src=TESTER, dst=ROUTER) / UDP(sport=40000, dport=STAMP)
        test /= bytes(TestPacket(ssid=SSID)) + bytes(SIZE - 62 - 44)
        frames = [bytes(user), bytes(test)]
        before = self._settled()
        sent, rate = self.far.inside_thread(lambda: self._send(frames, kpps, share, seconds))
        return rate / 1000, max(0.0, 1 - (self._settled() - before) / max(sent, 1))

    def _send(
        self, frames: list[bytes], kpps: float, share: float, seconds: float
    ) -> tuple[int, float]:
        interface = socket.if_nametoindex("eth0")
        heads = b"".join(frames)
        head = _SETTING.pack(interface, 0, round(share * _MILLION), 0, 0,
                             round(1e6 / kpps), round(seconds * 1e9), 0)  # fmt: skip
        self._setting[: len(head) + len(heads)] = head + heads
        self._sender.run(frames[0], seconds)
        _, sent, _, _, due, interval, duration, until = _SETTING.unpack(
            self._setting[: _SETTING.size]
        )
        return sent, sent * 1e9 / max(due - interval - (until - duration), 1)

    def _settled(self) -> int:
        """What came back, once it stands still."""
        before = _sum(self._counts)
        while True:
            time.sleep(0.03)
            now = _sum(self._counts)
            if now == before:
                return now
            before = now


def _sum(counts: Map) -> int:
    each = counts.lookup_per_cpu(bytes(4)) or ()
    return sum(int.from_bytes(value, "little") for value in each)


def _polled(room: Namespace, devices: tuple[str, ...], cpu: int) -> None:
    """Threads of the kernel poll these devices, on that CPU."""
    for device in devices:
        command("ip", "netns", "exec", room.name, "sh", "-c",
                f"echo 1 > /sys/class/net/{device}/threaded")  # fmt: skip
    for task in Path("/proc").glob("[0-9]*/comm"):
        try:
            said = task.read_text().strip()
        except OSError:  # it has ended
            continue
        if said.startswith(tuple(f"napi/{device}"[:15] for device in devices)):
            os.sched_setaffinity(int(task.parent.name), {cpu})
