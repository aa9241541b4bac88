"""Frames on their way through the internet, caught there and dissected by scapy."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from lab import PATIENCE, Namespace, Wire
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import GRE, Ether


class Capture:
    """Whatever comes in by a device from now on, as scapy packets."""

    def __init__(self, room: Namespace, device: str) -> None:
        self._wire: Wire = room.wire(device)

    def frames(self, least: int = 0) -> list[Any]:
        """What has come: until nothing comes for 0.1 s, but `least` frames are waited for longer.
        Ends the capture."""
        caught: list[Any] = []
        while (data := self._wire.receive(PATIENCE if len(caught) < least else 0.1)) is not None:
            caught.append(Ether(data))
        self._wire.close()
        return caught

    def tunnelled(self, least: int = 0) -> list[Any]:
        """The GRE packets among them, from the outer IPv4 header on."""
        return [frame[IP] for frame in self.frames(least) if GRE in frame]


@dataclass(frozen=True)
class Outer:
    """What the edge wrote around a packet, as far as the demo shows it."""

    ttl: int
    dont_fragment: bool
    tos: int
    key: int | None
    inner_ttl: int


def outer_of(packet: Any) -> Outer:
    gre = packet[GRE]
    key = gre.key if gre.key_present else None
    return Outer(packet.ttl, bool(packet.flags.DF), packet.tos, key, gre.payload.ttl)


def syn_mss(packet: Any) -> int | None:
    """The MSS that a TCP SYN announces; None if it is none."""
    if TCP not in packet or "S" not in str(packet[TCP].flags):
        return None
    return next((value for name, value in packet[TCP].options if name == "MSS"), None)


def flows(packets: list[Any]) -> dict[int, int]:
    """UDP packets through GRE by their inner source port."""
    found: dict[int, int] = defaultdict(int)
    for packet in packets:
        inner = packet[GRE].payload
        if UDP in inner:
            found[inner[UDP].sport] += 1
    return found
