"""A station on a VLAN (IEEE 802.1Q) whose frames scapy builds, tags and dissects: it needs no VLAN
device of the kernel."""

from __future__ import annotations

import socket
import struct
import time
from dataclasses import dataclass

from lab import Namespace
from scapy.layers.inet import ICMP, IP
from scapy.layers.l2 import Dot1Q, Ether

_SOL_PACKET, _PACKET_AUXDATA = 263, 8  # linux/if_packet.h, which Python does not name
_AUXDATA = struct.Struct("=IIIHHHH")  # struct tpacket_auxdata: the kernel takes the tag off


@dataclass(frozen=True)
class Station:
    """`room`'s `device`, tagged with `vlan`."""

    room: Namespace
    device: str
    vlan: int
    mac: str
    address: str

    def ping(self, mac: str, address: str, count: int, seconds: float = 5) -> int:
        """Send as many echo requests; how many answers came with the station's tag."""
        with self.room.inside_thread(self._socket) as raw:
            for number in range(count):
                frame = Ether(src=self.mac, dst=mac) / Dot1Q(vlan=self.vlan)
                frame /= IP(src=self.address, dst=address) / ICMP(type=8, id=7, seq=number)
                raw.send(bytes(frame / b"hello"))
            return self._answers(raw, count, seconds)

    def _socket(self) -> socket.socket:
        raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))  # ETH_P_ALL
        raw.setsockopt(_SOL_PACKET, _PACKET_AUXDATA, 1)
        raw.bind((self.device, 0))
        return raw

    def _answers(self, raw: socket.socket, count: int, seconds: float) -> int:
        found, end = 0, time.monotonic() + seconds
        while found < count and (left := end - time.monotonic()) > 0:
            raw.settimeout(left)
            try:
                data, ancillary, *_ = raw.recvmsg(2048, 256)
            except TimeoutError:
                break
            frame = Ether(data)
            tags = [_AUXDATA.unpack_from(data)[5] & 0xFFF for *_, data in ancillary]
            mine = tags == [self.vlan] and frame.dst == self.mac
            found += mine and ICMP in frame and frame[ICMP].type == 0
        return found
