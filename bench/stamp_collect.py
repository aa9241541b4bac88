"""How many answers a collector of STAMP records, live, on the router's one CPU of `stamp_lab.py`:
`stamp` in XDP, whose records a reader copies out of the ring, beside a collector in user space."""

from __future__ import annotations

import os
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from helioc.compiler.bundle import compile_pipeline
from helioc.compiler.check.program import check
from helioc.compiler.check.resolve import load_file
from helioc.lang.syntax.parser import parse
from helioc.lang.text.source import Source
from helioc.runtime.kernel.handles import Map
from helioc.runtime.kernel.ring import Ring
from helioc.runtime.loading import bundle as loadable
from helioc.runtime.loading.releases import read_about, release_of
from live_frames import settled
from scapy.contrib.stamp import STAMPSessionReflectorTestUnauthenticated as Answer
from scapy.layers.inet import UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from stamp_lab import ROUTER, ROUTES, SIZE, SSID, STAMP, TESTER, Router, name

RULES = f"create ENDPOINT [(udp_port, {STAMP})], COLLECTOR bench [(ssid, {SSID}), (clock, NTP)]"
#: Of the event, which protects the agent's reader; and the largest there is.
LIMIT, UNLIMITED = "limit 100k per second", "limit 1000000 per second"
_LENGTH, _HEAD = struct.Struct("<I"), 8
_TURN = 0.0005  # seconds between two looks at the ring, of 1 MiB


def bundle_of(path: Path, limit: str) -> loadable.Bundle:
    """`stamp`, with that limit of its records."""
    text = path.read_text()
    assert text.count(LIMIT) == 1
    source = Source(path.name, text.replace(LIMIT, limit), path)
    built = compile_pipeline(check(parse(source), load_file), "fused")
    return loadable.Bundle(built.manifest, built.object)


class Copied(Ring):
    """A reader that copies what is there, all at once, and knows how many records that is."""

    def __init__(self, ring: Map) -> None:
        super().__init__(ring)
        self.count = 0

    def copy(self) -> None:
        at, end = self._position[0], self._produced[0]
        if at == end:
            return
        start = len(self._memory) - 2 * self._size + at % self._size
        copied = self._memory[start : start + end - at]
        (length,) = _LENGTH.unpack_from(copied)
        self.count += len(copied) // ((_HEAD + length + 7) // 8 * 8)  # all have one length
        self._position[0] = end


@contextmanager
def in_xdp(router: Router, bundle: loadable.Bundle) -> Iterator[Callable[[], int]]:
    """Gives how many answers were recorded."""
    with router.pipeline(bundle, RULES):
        about = read_about(name())
        with (
            Map.open_pinned(release_of(name(), about["release"]) / "maps" / "event_ring") as ring,
            Copied(ring) as copied,
        ):
            ended = threading.Event()

            def read() -> None:
                os.sched_setaffinity(0, {ROUTES})
                while not ended.wait(_TURN):
                    copied.copy()

            reader = threading.Thread(target=read)
            reader.start()
            try:
                yield lambda: copied.count
            finally:
                ended.set()
                reader.join()


@contextmanager
def in_user_space(router: Router) -> Iterator[Callable[[], int]]:
    """The same of bench/reference/stamp_collector.c."""
    file = router.folder / "records"
    with router.process("collector", ROUTER, str(STAMP), str(SSID), TESTER, str(file)):
        yield lambda: int.from_bytes(file.read_bytes()[:8], "little")


def recorded(
    router: Router, count: Callable[[], int], kpps: float, seconds: float
) -> tuple[float, float]:
    """Send so many thousand answers a second. Returns how many thousand there were, and how many
    were recorded."""
    answer = Ether(dst=router.host.mac("nic0"), src=router.far.mac("eth0"))
    answer /= IPv6(src=TESTER, dst=ROUTER) / UDP(sport=40000, dport=STAMP)
    answer /= bytes(Answer(ssid=SSID, ts_rx=1.0, ts_sender=1.0, ttl_sender=64))
    frame = bytes(answer)
    before = count()
    _, rate = router.send(frame + bytes(SIZE - len(frame)), kpps, seconds)
    (after,) = settled(lambda: (count(),))
    return rate / 1000, (after - before) / seconds / 1000
