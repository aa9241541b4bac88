"""Checksums of headers, and what they cover."""

from __future__ import annotations

from collections.abc import Sequence

from . import Derived, Field, Header

#: Protocol numbers of headers whose checksum covers a pseudo header (RFC 9293, 768, 4443).
UPPER_LAYER = {"tcp": 6, "udp": 17, "icmpv6": 58}
NETWORK = ("ipv4", "ipv6")
FRAGMENTED = ("ipv4", "ipv6_fragment")  # which say that a packet is a part of one
LAYER4 = ("tcp", "udp")  # whose ports are `l4`


def is_checksum(field: Field) -> bool:
    return isinstance(field.default, Derived) and field.default.what == "checksum"


def is_sum_of_header(field: Field) -> bool:
    """Whether it is a checksum over its header and nothing else."""
    default = field.default
    return is_checksum(field) and isinstance(default, Derived) and default.over == {"header"}


def nearest_network(outer: Sequence[Header]) -> int | None:
    """Which of the headers in front (outermost first) gives the pseudo header."""
    return next((i for i in reversed(range(len(outer))) if outer[i].protocol in NETWORK), None)


def zero_checksum(header: Header, outer: Sequence[Header]) -> bool:
    """Whether a push leaves the checksum out by default: UDP's over IPv4 (RFC 768)."""
    at = nearest_network(outer)
    return header.protocol == "udp" and at is not None and outer[at].protocol == "ipv4"
