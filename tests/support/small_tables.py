"""Small tables of each kind of look-up (collisions.hp): random rules, requests and frames, of few
values, so that they meet."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from random import Random

from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.contract.world.environment import Environment, Port
from scapy.layers.inet import IP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw

WORLD = Environment((Port(1, "LAN", "lan", 11, 1500, bytes(6)),))
KINDS = {"EXACT": 64, "MAYBE": 64, "LONG": 64, "RANGE": 32, "WIDE": 64}


def address(random: Random) -> str:
    return str(IPv4Address((10 << 24) + random.randrange(4) * 256 + random.randrange(24)))


def address6(random: Random) -> str:
    return str(IPv6Address((0xFD00 << 112) + (random.randrange(3) << 64) + random.randrange(24)))


def prefix(random: Random, lengths: list[int]) -> str:
    return str(IPv4Network(f"{address(random)}/{random.choice(lengths)}", strict=False))


def prefix6(random: Random) -> str:
    length = random.choice([64, 126, 128])
    return str(IPv6Network(f"{address6(random)}/{length}", strict=False))


def rule(random: Random, kind: str) -> str:
    said = {
        "EXACT": lambda: f"(dst, u32, {address(random)})",
        "MAYBE": lambda: f"(src, u32, {address(random)})" + random.choice(["", ", (tos, u8, 4)"]),
        "LONG": lambda: f"(dst, u32, {prefix(random, [22, 24, 27, 30, 31, 32])})",
        "RANGE": lambda: (
            f"(dst, u32, {prefix(random, [24, 31, 32])}), "
            f"(len, u16, {random.randrange(20, 40)}..{random.randrange(40, 61)}), "
            f"(rank, u16, {random.randrange(3)})"
        ),
        "WIDE": lambda: (
            f"(dst6, u128, {prefix6(random)}), "
            f"(src6, u128, {address6(random)})" + random.choice(["", ", (next, u8, 59)"])
        ),
    }
    return said[kind]()


def frame(random: Random) -> bytes:
    ether = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02")
    if random.random() < 0.25:
        return bytes(ether / IPv6(src=address6(random), dst=address6(random), nh=59))
    ip = IP(src=address(random), dst=address(random), tos=random.choice([0, 4]),
            proto=random.randrange(1, 5))  # fmt: skip
    return bytes(ether / ip / Raw(bytes(random.randrange(41))))


def requests(random: Random, book: RuleBook) -> Iterator[str]:
    """Some rules come, some go: towards a table that is nearly full, and away from it."""
    said, filling = [], random.random() < 0.75
    for kind, capacity in KINDS.items():
        ids = [r.id for r in book.rules(kind)]
        room = capacity - len(ids)
        for _ in range(random.randrange(min(room, 12) + 1) if filling else 0):
            said.append(f"create {kind} [{rule(random, kind)}]")
        gone = random.sample(ids, random.randrange(min(len(ids), 2 if filling else 12) + 1))
        said += [f"delete {kind} {id_}" for id_ in gone]
    random.shuffle(said)
    while said:
        few = random.randrange(1, 5)
        yield "; ".join(said[:few])
        del said[:few]
