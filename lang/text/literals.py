"""What the literals of a `.hp` file mean."""

from __future__ import annotations

import re
from typing import Any, Literal

_NUMBER = re.compile(r"(?:0x([0-9a-fA-F]+)|(0|[1-9][0-9]*)([kM]?))\Z")
_IP4 = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})\.([0-9]{1,3})\.([0-9]{1,3})\Z")
_MAC = re.compile(r"(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}\Z")
_SCALE = {"": 1, "k": 1 << 10, "M": 1 << 20}

LARGEST = (1 << 128) - 1

AddressKind = Literal["ip4", "ip6", "mac"]


def number(text: str) -> int | None:
    """The value of `17`, `0x8100`, `64k` (65536) or `1M`; None if `text` is none of these, as
    `017` is (15 in C), or does not fit in 128 bits."""
    found = _NUMBER.match(text)
    if not found or len(text) > 40:  # a longer one is too large, or padded beyond reason
        return None
    hexadecimal, decimal, suffix = found.groups()
    value = int(hexadecimal, 16) if hexadecimal else int(decimal) * _SCALE[suffix]
    return value if value <= LARGEST else None


def looks_like_number(text: str) -> bool:
    """Whether `text` is spelt as a number, be it too large."""
    return _NUMBER.match(text) is not None


def address(text: str) -> tuple[AddressKind, int] | None:
    """Kind and value (in network order) of an IPv4, IPv6 (RFC 4291) or MAC literal, else None."""
    if ":" not in text:
        return _ip4(text)
    if _MAC.match(text):
        return "mac", int(text.replace(":", ""), 16)
    if len(text) > 39:
        return None
    try:
        return "ip6", int(_library().IPv6Address(text))
    except ValueError:
        return None


def _ip4(text: str) -> tuple[AddressKind, int] | None:
    found = _IP4.match(text)
    if not found:
        return None
    parts = found.groups()
    if any(len(o) > 1 and o[0] == "0" for o in parts) or any(int(o) > 255 for o in parts):
        return None
    return "ip4", int.from_bytes(bytes(map(int, parts)), "big")


def shown_address(kind: AddressKind, value: int) -> str:
    """An address as users write it."""
    if kind == "mac":
        return value.to_bytes(6, "big").hex(":")
    made = _library().IPv4Address if kind == "ip4" else _library().IPv6Address
    return str(made(value))


def _library() -> Any:
    import ipaddress  # slow to import, and most files have no such literal

    return ipaddress
