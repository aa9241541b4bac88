"""What the data-path rows send, and the rules that judge it: the same for every program.

PDR number i has the prefix lengths MASKS[i % 8] and matches flow i alone, so that a flow drawn at
random asks for a rule drawn at random, under one mask as likely as another. Looking it up takes
four or five steps on average, for the more specific masks come first.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from helioc.lang.contract.rules.rules import Matcher, Reference, Rule
from measure import Load, Vary

Scenario = Literal["uplink", "downlink", "drop"]
SCENARIOS: tuple[Scenario, ...] = ("uplink", "downlink", "drop")
ROLE = {"uplink": "lan", "downlink": "wan", "drop": "lan"}

MASKS = ((32, 32), (32, 24), (24, 32), (24, 24), (32, 16), (16, 32), (24, 16), (16, 24))
STEP = 256  # between the addresses of two flows: at least one side of each mask distinguishes them
SRC, DST = 0x0A000000, 0x64400000  # 10.0.0.0, 100.64.0.0
OVERLAYS, FARS = 16, 64
ONE_RULE_FLOWS = 4096
LAN_PORT, WAN_PORT = 1, 2
LOCAL, REMOTE, KEY = 0xC0000201, 0xC6336400, 1000  # 192.0.2.1, 198.51.100.0
MTU = 1500
MAC = bytes.fromhex("02000000000a020000000001")
ACTION = {"redirect": 1, "drop": 3}

NEXT_HOP = struct.Struct("<IHH12sB3x")


@dataclass(frozen=True)
class Workload:
    """`rules` PDRs, oldest (lowest sequence) first."""

    scenario: Scenario
    rules: int

    @property
    def role(self) -> str:
        return ROLE[self.scenario]

    # ---- rules ------------------------------------------------------------------------------

    def overlays(self) -> Iterator[Rule]:
        for i in range(1, OVERLAYS + 1):
            match = (
                ("local_ip", Matcher("value", LOCAL)),
                ("remote_ip", Matcher("value", REMOTE + i)),
                ("key", Matcher("value", KEY + i)),
            )
            to = (("interface", Reference("port", WAN_PORT)),)
            yield Rule("OVERLAY", i, i, f"GRE-WAN{i}", match=match, references=to)

    def fars(self) -> Iterator[Rule]:
        for i in range(1, FARS + 1):
            to: tuple[tuple[str, Reference], ...] = ()
            if self.scenario == "uplink":
                to = (("interface", Reference("OVERLAY", 1 + i % OVERLAYS)),)
            elif self.scenario == "downlink":
                to = (("interface", Reference("port", LAN_PORT)),)
            action = ACTION["redirect" if to else "drop"]
            yield Rule("FAR", i, 1000 + i, values=(("action", action),), references=to)

    def pdrs(self) -> Iterator[Rule]:
        for i in range(self.rules):
            match = [
                (name, _prefix(start + i * STEP, length))
                for name, start, length in zip(
                    ("src_ip", "dst_ip"), (SRC, DST), self.mask(i), strict=True
                )
            ]
            to = Reference("FAR", 1 + i % FARS)
            yield Rule("PDR", i + 1, 10_000 + i, match=tuple(match), target=to)

    def mask(self, i: int) -> tuple[int, int]:
        return (16, 16) if self.rules == 1 else MASKS[i % len(MASKS)]

    # ---- packets ----------------------------------------------------------------------------

    @property
    def flows(self) -> int:
        return ONE_RULE_FLOWS if self.rules == 1 else self.rules

    @property
    def step(self) -> int:
        return 1 if self.rules == 1 else STEP

    def destinations(self) -> list[int]:
        """Hosts that downlink packets go to."""
        return [DST + i * self.step for i in range(self.flows)]

    def load(self) -> Load:
        user = _ipv4(SRC, DST, 17, struct.pack(">HHHH", 5000, 6000, 48, 0) + bytes(40))
        ethernet, at, length = MAC + b"\x08\x00", 14, 14 + len(user) + 28
        action = "redirect"
        if self.scenario == "downlink":
            gre = struct.pack(">HHI", 0x2000, 0x0800, KEY + 3)
            user, at, length = _ipv4(REMOTE + 3, LOCAL, 47, gre + user), 42, 14 + len(user)
        elif self.scenario == "drop":
            action, length = "drop", 14 + len(user)
        vary = (
            Vary(at + 12, 4, SRC, self.flows, self.step),
            Vary(at + 16, 4, DST, self.flows, self.step),
        )
        return Load(ethernet + user, vary, action, length)


def next_hop(port: int) -> bytes:
    return NEXT_HOP.pack(port, MTU, 0, MAC, 1)


def neighbour_key(address: int) -> bytes:
    return LAN_PORT.to_bytes(4, "little") + address.to_bytes(4, "big")


def _prefix(address: int, length: int) -> Matcher:
    if length == 32:
        return Matcher("value", address)
    return Matcher("prefix", address >> (32 - length) << (32 - length), length)


def _ipv4(src: int, dst: int, protocol: int, payload: bytes) -> bytes:
    head = struct.pack(
        ">BBHHHBBHII", 0x45, 0, 20 + len(payload), 1, 0x4000, 64, protocol, 0, src, dst
    )
    total: int = sum(struct.unpack(">10H", head))
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    return head[:10] + (~total & 0xFFFF).to_bytes(2, "big") + head[12:] + payload
