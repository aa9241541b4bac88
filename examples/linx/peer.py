"""A foreign GRE endpoint: scapy builds and dissects its every byte, on an AF_PACKET socket.

It shares nothing with Helio and nothing with the kernel's GRE, so they cannot agree on a mistake.
Behind it is a site with the addresses 10.9.0.0/16.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from lab import PATIENCE, LabError
from scapy.layers.inet import ICMP, IP
from scapy.layers.l2 import ARP, GRE, Ether

from .world import PEER, PEER_MAC, World

KEY = 42


class Peer:
    def __init__(self, world: World) -> None:
        self._wire = world.peer.wire("eth0")
        self._gateway = world.net.mac("f0")

    def send(
        self, inner: Any, to: str, *, source: str = PEER, key: int | None = KEY, **fields: Any
    ) -> None:
        """Send an IPv4 packet through GRE; `fields` are scapy's of the GRE header."""
        if key is not None:
            fields |= {"key_present": 1, "key": key}
        outer = IP(src=source, dst=to, flags="DF", ttl=64)
        frame = Ether(src=PEER_MAC, dst=self._gateway) / outer / GRE(**fields) / inner
        self._wire.send(bytes(frame))

    def receive(self, matches: Callable[[Any], bool], seconds: float = PATIENCE) -> Any:
        """The next GRE packet whose inner IPv4 packet is `matches`, with its outer header. Who asks
        for the peer's MAC address is answered in between. Raises LabError if none comes."""
        deadline = time.monotonic() + seconds
        while (data := self._wire.receive(max(0.0, deadline - time.monotonic()))) is not None:
            frame = Ether(data)
            if ARP in frame:
                self._answer(frame)
            elif GRE in frame and IP in frame[GRE].payload and matches(frame[GRE].payload):
                return frame[IP]
        raise LabError(f"the peer got no such packet within {seconds:g} s")

    def echo(self, **fields: Any) -> Any:
        """Wait for a ping through the overlay and answer it; returns what came, outer header and
        all. `fields` go into the answer's GRE header."""
        asked = self.receive(lambda inner: ICMP in inner and inner[ICMP].type == 8)
        inner = asked[GRE].payload
        answer = IP(src=inner.dst, dst=inner.src) / ICMP(
            type=0, id=inner[ICMP].id, seq=inner[ICMP].seq
        )
        self.send(answer / inner[ICMP].payload, asked.src, **fields)
        return asked

    def _answer(self, asked: Any) -> None:
        if asked[ARP].op == 1 and asked[ARP].pdst == PEER:
            reply = ARP(op=2, hwsrc=PEER_MAC, psrc=PEER, hwdst=asked.src, pdst=asked[ARP].psrc)
            self._wire.send(bytes(Ether(src=PEER_MAC, dst=asked.src) / reply))
