"""Packets of ports that have no link header (`link ip`): while they are looked at, an Ethernet
header stands in front of them that says of them no more than IPv4 or IPv6."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .environment import Outcome

ETHERNET = 14  # bytes of its header
_TYPES = {4: 0x0800, 6: 0x86DD}  # by the first four bits of what is behind it


def framed(packet: bytes) -> bytes:
    """A packet behind that header."""
    kind = _TYPES.get(packet[0] >> 4, 0) if packet else 0
    return bytes(12) + kind.to_bytes(2, "big") + packet


def unframed(outcome: Outcome, arrival: int, is_bare: Callable[[int], bool]) -> Outcome:
    """What became of a packet, as ports have it. `is_bare`: of a port's number, whether it has no
    link header."""
    if is_bare(arrival):
        behind = tuple((node, at - ETHERNET) for node, at in outcome.parsed if at >= ETHERNET)
        outcome = replace(outcome, parsed=behind)
    if any(is_bare(port) for port, _ in outcome.copies):
        copies = ((p, frame[ETHERNET:] if is_bare(p) else frame) for p, frame in outcome.copies)
        outcome = replace(outcome, copies=tuple(copies))
    by = arrival if outcome.egress is None else outcome.egress
    if outcome.frame is None or not is_bare(by):
        return outcome
    return replace(outcome, frame=outcome.frame[ETHERNET:])
