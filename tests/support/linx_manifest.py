"""The control-plane half of linx's manifest, by hand: what the rule book's tests speak to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from helioc.lang.contract.manifest.manifest import (
    FORMAT,
    Element,
    Manifest,
    Match,
    Requirement,
    Reserved,
    RuleKind,
    Scratch,
    Spread,
)

PORTS = {"lan": 1, "wan1": 2, "wan2": 3}
IFINDEXES = {1: 11, 2: 12, 3: 13}

_IP4 = ("ip4", 32, "ip4")
RESERVED = {
    "action": (
        Reserved(
            "BUFFER", 4,
            "XDP has no queue that holds packets. PASS leaves them to the kernel, whose queues do.",
        ),
        Reserved(
            "DUPLICATE", 5,
            "XDP cannot copy a packet. Mirror the port outside, on the switch for example.",
        ),
    )
}  # fmt: skip
ELEMENTS = tuple(
    Element(name, number, type_, width, kind, symbols, references, reserved=RESERVED.get(name, ()))
    for name, number, (type_, width, kind), symbols, references in (
        ("src_ip", 1, _IP4, {}, ()),
        ("dst_ip", 2, _IP4, {}, ()),
        ("protocol", 3, ("u8", 8, "uint"), {"TCP": 6, "UDP": 17}, ()),
        ("tos", 4, ("u8", 8, "uint"), {}, ()),
        ("action", 5, ("u8", 8, "uint"), {"REDIRECT": 1, "PASS": 2, "DROP": 3}, ()),
        ("interface", 6, ("OVERLAY | port", 32, "uint"), {}, ("OVERLAY", "port")),
        ("ifindex", 7, ("u32", 32, "uint"), {}, ()),
        ("local_ip", 8, _IP4, {}, ()),
        ("remote_ip", 9, _IP4, {}, ()),
        ("key", 10, ("u32", 32, "uint"), {}, ()),
        ("weight", 11, ("u16", 16, "uint"), {}, ()),
        ("src_port", 12, ("u16", 16, "uint"), {}, ()),
        ("dst_port", 13, ("u16", 16, "uint"), {}, ()),
        ("vlan_id", 14, ("u12", 12, "uint"), {}, ()),
        ("dscp", 15, ("u6", 6, "uint"), {}, ()),
        ("src_mac", 16, ("mac", 48, "mac"), {}, ()),
        ("priority", 18, ("u16", 16, "uint"), {}, ()),
    )
)

MatchKind = Literal["exact", "lpm", "optional", "ternary", "range"]


def _match(element: str, kind: MatchKind, width: int, position: int, at: int | None) -> Match:
    return Match(element, kind, width, position, at)


def kind(
    name: str,
    number: int,
    capacity: int,
    *,
    match: Sequence[Match] = (),
    gives: tuple[str, ...] = (),
    **more: Any,
) -> RuleKind:
    """A rule kind; what only the data path needs is left at nothing."""
    rest: dict[str, Any] = {
        "named": False, "grouped": False, "alternatives": (), "spread": None, "requires": (),
        "counts": ("packets", "bytes"), "priority": None, "key_size": 24, "group_position": None,
        "record": (), "record_size": 8, "image_size": 64, "cells": capacity + 1,
        "records": 2 * capacity, "tuples": 16, "versions": 4, "entries": capacity,
    }  # fmt: skip
    return RuleKind(name, number, capacity, match=tuple(match), gives=gives, **{**rest, **more})


OVERLAY = kind(
    "OVERLAY", 1, 256, named=True, gives=("interface",),
    match=(
        _match("local_ip", "exact", 32, 96, None),
        _match("remote_ip", "exact", 32, 64, None),
        _match("key", "optional", 32, 32, 24),
    ),
    requires=(Requirement("interface", (), ("port",)),),
)  # fmt: skip

PDR = kind(
    "PDR", 2, 65536, alternatives=("FAR", "LBR"), key_size=28, priority=("priority", "priority"),
    match=(
        _match("src_ip", "lpm", 32, 128, None),
        _match("dst_ip", "lpm", 32, 96, None),
        _match("protocol", "optional", 8, 88, None),
        _match("tos", "ternary", 8, 80, None),
        _match("dscp", "optional", 6, 82, None),
        _match("src_port", "range", 16, 64, None),
        _match("dst_port", "range", 16, 48, None),
        _match("vlan_id", "optional", 12, 32, 24),
        _match("src_mac", "optional", 48, 160, None),
    ),
)  # fmt: skip

FAR = kind(
    "FAR", 3, 4096, gives=("action", "interface", "ifindex"),
    requires=(
        Requirement("action"),
        Requirement("interface", (("action", (1,)),), ("OVERLAY", "port")),
    ),
)  # fmt: skip

LBR = kind(
    "LBR", 4, 1024, grouped=True, group_position=32, spread=Spread("FAR", 1, 16, "weight"),
    match=(_match("tos", "ternary", 8, 24, None),),
)  # fmt: skip


def linx(
    rules: Sequence[RuleKind] = (OVERLAY, PDR, FAR, LBR), counts: int = 0, **capacity: int
) -> Manifest:
    """The manifest; `PDR=4` gives that kind another capacity."""
    from dataclasses import replace

    made = tuple(replace(r, capacity=capacity.get(r.name, r.capacity)) for r in rules)
    return Manifest(
        format=FORMAT, pipeline="linx", source="linx.hp", digest="", join="staged",
        roles=("lan", "wan"), default="pass", elements=ELEMENTS, rules=made, counters=(),
        programs=(), scratch=Scratch(0), max_ports=64, counts=counts,
    )  # fmt: skip
