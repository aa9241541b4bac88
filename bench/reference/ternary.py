"""Masks: ternary.hp with 100 rules under 5, 20 and 50 of them, beside bit vectors."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from ipaddress import IPv4Address
from itertools import islice, product

import numpy as np
from gates import HELIO, Entry, Gate, fused
from helioc.lang.contract.rules.rules import Matcher, Rule
from measure import HERE, Load, Vary
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from .by_hand import Reference, alone, opened

VECTORS = "bit vectors by hand"
RULES, _QUEUE = 100, 9
_NAMES = ("src", "dst", "src_port", "dst_port", "protocol")
_WIDTHS = (32, 32, 16, 16, 8)
_ADDRESS = (0xFFFFFFFF, 0xFFFFFF00, 0xFFFF0000, 0xFFFF00FF, 0xFFFFF000)
_DE_BRUIJN = 0x022FDD63CC95386D
_FLOW = np.dtype([("queue", ">u4"), ("has_queue", "<u4")])

Key = tuple[int, ...]


def _masks(count: int) -> list[Key]:
    """By element; so many different ones."""
    found = product((0xFFFF, 0xFF00), _ADDRESS, _ADDRESS)
    return [(src, dst, 0, port, 0xFF) for port, src, dst in islice(found, count)]


def _key(number: int) -> Key:
    """What rule `number` asks for, under its mask."""
    source, target = IPv4Address(f"10.{number}.7.1"), IPv4Address(f"100.{number}.9.1")
    return int(source), int(target), 0, 0x1100 + number, 17


def _rules(masks: int) -> list[tuple[Key, Key]]:
    """Value and mask of each, the best one first."""
    all_ = _masks(masks)
    found = []
    for number in range(RULES):
        mask = all_[number % masks]
        found.append((tuple(k & m for k, m in zip(_key(number), mask, strict=True)), mask))
    return found


def _load(number: int, vary: Vary, _: int) -> Load:
    """Packets for rule `number`; only rules below RULES are there."""
    source, target, _, port, _ = _key(number)
    frame = Ether(dst="02:00:00:00:00:0a", src="02:00:00:00:00:0b")
    frame /= IP(src=str(IPv4Address(source)), dst=str(IPv4Address(target)))
    sent = bytes(frame / UDP(dport=port) / bytes(20))
    return Load(sent, (vary,), "pass" if number < RULES else "drop", len(sent))


#: Many flows each, which a cache of flows has to tell apart. The best rule leaves only the source
#: port open, which none asks for; the last one 12 bits of the destination; to no rule leads any
#: source from 10.200.0.0 on.
_LOADS = {
    "first": partial(_load, 0, Vary(34, 2, 1024, 50_000)),
    "last": partial(_load, RULES - 1, Vary(30, 4, int(IPv4Address("100.99.0.0")), 4096)),
    "miss": partial(_load, 200, Vary(26, 4, int(IPv4Address("10.200.0.0")), 50_000)),
}


def _programs(masks: int, owned: ExitStack) -> dict[str, Entry]:
    rules = [
        Rule("FLOW", i, i, priority=RULES - i, values=(("queue", _QUEUE),), match=tuple(
            _matcher(name, v, m, width)
            for name, v, m, width in zip(_NAMES, value, mask, _WIDTHS, strict=True) if m
        ))
        for i, (value, mask) in enumerate(_rules(masks), start=1)
    ]  # fmt: skip
    found = {HELIO: alone(fused(HERE / "reference" / "ternary.hp"), rules, owned)}
    reference = opened("ternary.bpf.c", owned)
    _fill(reference, _rules(masks))
    found[VECTORS] = reference.entry("ternary_lan")
    return found


def _matcher(name: str, value: int, mask: int, width: int) -> tuple[str, Matcher]:
    if mask == (1 << width) - 1:
        return name, Matcher("value", value)
    return name, Matcher("mask", value, mask)


def _fill(reference: Reference, rules: list[tuple[Key, Key]]) -> None:
    vectors = reference.table("vectors", "<u8").reshape(2, 13, 256)
    flows, values = reference.table("flows", _FLOW).reshape(2, 64), np.arange(256)
    for number, rule in enumerate(rules):
        word, bit = divmod(number, 64)
        asked, masks = (
            b"".join(n.to_bytes(w // 8, "big") for n, w in zip(key, _WIDTHS, strict=True))
            for key in rule
        )
        for i, (byte, mask) in enumerate(zip(asked, masks, strict=True)):
            vectors[word, i, values & mask == byte] |= np.uint64(1 << bit)
        flows[word, ((1 << bit) * _DE_BRUIJN & (1 << 64) - 1) >> 58] = _QUEUE, 1


GATES = (Gate("ternary", (5, 20, 50), {VECTORS: 1.25}, _LOADS, _programs, counts="masks"),)
