"""Where `bench/stamp.py` measures: a router that encapsulates users' IPv6 in SRv6, and reflects.

One CPU sends frames, by the clock, and counts what comes back; the other is the router's: all of
what arrives there is served by a thread of the kernel (threaded NAPI) that stays on it, and so does
a reflector in user space, as in the paper (Appendix A). More queues than that are not measured.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.text.source import Source
from helioc.runtime.edge.config import Config
from helioc.runtime.kernel.handles import Object
from helioc.runtime.loading import bundle as loadable
from helioc.runtime.loading.loader import Loaded, unload
from helioc.runtime.ports.ports import PortConfig
from lab import Lab, Namespace, command
from live_frames import Sender, on_all_cpus, settled
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
_SENDS, ROUTES = 1, 0
_SHARE = struct.Struct("<II")


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
        self._sender = Sender(programs["generate"], maps["settings"], _SENDS)
        self._counts = maps["counts"]
        path = Path(f"/sys/fs/bpf/{name()}")
        programs["count"].pin(path)
        owned.callback(path.unlink)
        for device in ("eth0", "eth1"):
            command("nsenter", f"--net={self.far.path}", "ip", "link", "set", "dev", device,
                    "xdpdrv", "pinned", str(path))  # fmt: skip
        _polled(self.far, ("eth0", "eth1"), _SENDS)
        _polled(self.host, ("nic0", "nic1"), ROUTES)
        self.folder = Path(owned.enter_context(tempfile.TemporaryDirectory()))

    @contextmanager
    def alone(self) -> Iterator[None]:
        """The kernel, and nobody who reflects."""
        yield

    @contextmanager
    def pipeline(self, bundle: loadable.Bundle, rules: str = RULES) -> Iterator[None]:
        """`stamp`, in XDP."""
        request = parse_request(Source("rules", rules))

        def load() -> None:
            config = Config((PortConfig(1, "WAN", 0, "nic0", 0),))
            with Loaded.load(bundle, config, name()) as loaded:
                loaded.apply(request)

        self.host.inside_thread(load)
        _polled(self.host, ("nic0", "nic1"), ROUTES)  # a program makes others
        try:
            yield
        finally:
            self.host.inside_thread(lambda: unload(name()))
            _polled(self.host, ("nic0", "nic1"), ROUTES)

    @contextmanager
    def process(self, what: str, *words: str) -> Iterator[None]:
        """The reflector or collector of bench/reference, on the router's CPU."""
        program = self.folder / what
        if not program.exists():
            source = str(HERE / f"reference/stamp_{what}.c")
            subprocess.run(["cc", "-O2", "-o", program, source], check=True)
        taskset = shutil.which("taskset") or "taskset"
        process = self.host.start(taskset, "-c", str(ROUTES), str(program), *words)
        process.expect("ready")
        try:
            yield
        finally:
            process.stop()

    def user_space(self) -> AbstractContextManager[None]:
        """A reflector in user space."""
        return self.process("reflector", ROUTER, str(STAMP))

    def lost(self, kpps: float, share: float, seconds: float) -> tuple[float, float]:
        """Send `kpps` thousand frames a second, a `share` of them test packets. Returns how many
        thousand there were, and the share of these that did not come back."""
        ether = Ether(dst=self.host.mac("nic0"), src=self.far.mac("eth0"))
        user = ether / IPv6(src=USER, dst=SERVER) / UDP(sport=4000, dport=5004) / bytes(SIZE - 62)
        test = ether / IPv6(src=TESTER, dst=ROUTER) / UDP(sport=40000, dport=STAMP)
        test /= bytes(TestPacket(ssid=SSID)) + bytes(SIZE - 62 - 44)
        before = self._came()
        sent, rate = self.send(bytes(user), kpps, seconds, bytes(test), share)
        return rate / 1000, max(0.0, 1 - (self._came() - before) / max(sent, 1))

    def send(
        self, frame: bytes, kpps: float, seconds: float, other: bytes = b"", share: float = 0.0
    ) -> tuple[int, float]:
        """Frames of `SIZE` bytes by the first wire, a `share` of them `other` ones. Returns how
        many were sent, and how many that is a second."""
        mixed = _SHARE.pack(round(share * 1e6), 0) + frame + (other or frame)
        return self.far.inside_thread(
            lambda: self._sender.send("eth0", frame, kpps, seconds, mixed)
        )

    def _came(self) -> int:
        """How many came back by now."""
        (count,) = settled(lambda: (on_all_cpus(self._counts),))
        return count


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
