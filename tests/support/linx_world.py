"""Surroundings and rules of a LINX edge, for the interpreter's tests."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from ipaddress import IPv4Address
from pathlib import Path

from helioc.compiler.check.program import check
from helioc.compiler.driver import lower_pipeline
from helioc.compiler.manifest import manifest_of
from helioc.compiler.model import Pipeline
from helioc.lang.contract.manifest.manifest import Manifest
from helioc.lang.contract.rules.rules import Matcher, Member, Reference, Rule
from helioc.lang.contract.world.environment import Environment, Port
from helioc.lang.syntax.parser import parse, read

PIPELINES = Path(__file__).parents[2] / "pipelines"
GRE = Path(__file__).parent / "linx_gre.hp"


@cache
def linx() -> Pipeline:
    return check(parse(read(PIPELINES / "linx.hp")))


@cache
def linx_gre() -> Pipeline:
    """Of IPv4 alone, in GRE over IPv4: what programs for tc are made of."""
    return check(parse(read(GRE)))


@cache
def linx_manifest() -> Manifest:
    return manifest_of(linx(), lower_pipeline(linx()))


def ip(text: str) -> int:
    return int(IPv4Address(text))


def mac(text: str) -> bytes:
    return bytes.fromhex(text.replace(":", ""))


LAN, WAN1, WAN2 = 1, 2, 3
HOST_MAC, LAN_MAC = "02:00:00:00:00:0a", "02:00:00:00:00:01"
WAN1_MAC, WAN2_MAC = "02:00:00:00:01:01", "02:00:00:00:02:01"
SITE1_MAC, SITE2_MAC = "02:00:00:00:01:02", "02:00:00:00:02:02"

WORLD = Environment(
    ports=(
        Port(LAN, "LAN", "lan", 11, 1500, mac(LAN_MAC), ip("10.1.0.1")),
        Port(WAN1, "WAN1", "wan", 12, 1500, mac(WAN1_MAC), ip("192.0.2.1")),
        Port(WAN2, "WAN2", "wan", 13, 1400, mac(WAN2_MAC), ip("198.51.100.1"), vlan=200),
    ),
    local=frozenset(map(ip, ("10.1.0.1", "192.0.2.1", "198.51.100.1", "10.1.255.255"))),
    neighbours={
        (WAN1, ip("192.0.2.2")): mac(SITE1_MAC),
        (WAN2, ip("198.51.100.2")): mac(SITE2_MAC),
        (LAN, ip("10.1.0.10")): mac(HOST_MAC),
        (WAN1, ip("203.0.113.9")): mac(SITE1_MAC),
    },
)


class Book:
    """Rules by hand, numbered in the order given."""

    def __init__(self, *rules: Rule) -> None:
        self._rules = rules

    def rules(self, kind: str) -> Iterable[Rule]:
        return [rule for rule in self._rules if rule.kind == kind]


def overlay(id: int, port: int, local: str, remote: str, key: int | None = None) -> Rule:
    match = [("local_ip", Matcher("value", ip(local))), ("remote_ip", Matcher("value", ip(remote)))]
    if key is not None:
        match.append(("key", Matcher("value", key)))
    refers = (("interface", Reference("port", port)),)
    return Rule("OVERLAY", id, 100 + id, f"GRE-WAN{id}", match=tuple(match), references=refers)


def far(id: int, action: int, kind: str = "", to: int = 0) -> Rule:
    refers = (("interface", Reference(kind, to)),) if kind else ()
    return Rule("FAR", id, 200 + id, values=(("action", action),), references=refers)


def pdr(id: int, kind: str, to: int, **match: Matcher) -> Rule:
    return Rule("PDR", id, 300 + id, match=tuple(match.items()), target=Reference(kind, to))


def lbr(id: int, sequence: int, *members: tuple[int, int], **match: Matcher) -> Rule:
    found = tuple(Member(*m) for m in members)
    return Rule("LBR", id, 400 + sequence, match=tuple(match.items()), members=found)


REDIRECT, PASS, DROP = 1, 2, 3

#: Two overlays (the first with a key), everything to 10.2/16 through the first, to 10.3/16 through
#: the second, to 10.4/16 spread over both, to 10.1/16 out to the LAN.
RULES = Book(
    overlay(1, WAN1, "192.0.2.1", "192.0.2.2", 7),
    overlay(2, WAN2, "198.51.100.1", "198.51.100.2"),
    far(1, REDIRECT, "OVERLAY", 1),
    far(2, REDIRECT, "OVERLAY", 2),
    far(3, REDIRECT, "port", LAN),
    far(4, DROP),
    far(5, PASS),
    pdr(1, "FAR", 1, dst_ip=Matcher("prefix", ip("10.2.0.0"), 16)),
    pdr(2, "FAR", 2, dst_ip=Matcher("prefix", ip("10.3.0.0"), 16)),
    pdr(3, "LBR", 9, dst_ip=Matcher("prefix", ip("10.4.0.0"), 16)),
    pdr(4, "FAR", 3, dst_ip=Matcher("prefix", ip("10.1.0.0"), 16)),
    pdr(5, "FAR", 4, dst_ip=Matcher("prefix", ip("10.5.0.0"), 16)),
    pdr(6, "FAR", 5, dst_ip=Matcher("prefix", ip("10.6.0.0"), 16)),
    lbr(9, 1, (1, 3), (2, 1)),
)
