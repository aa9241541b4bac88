"""What a Netronome NFP takes in XDP offload: the kernel's driver (drivers/net/ethernet/netronome,
alike from 5.10 on) with the public CoreNIC firmware."""

from __future__ import annotations

MAPS = 128
ENTRIES = 2_048_000  # over all maps
KEY, VALUE = 56, 56  # bytes
ELEMENT = 64  # bytes of key and value, each rounded up to 8
STACK = 512  # bytes, over all frames, each rounded up to 64
REACH = 1888  # bytes of a packet that a program may look at, where the MTU is larger
INSTRUCTIONS = 2560  # of the NFP


def element_bytes(key: int, value: int) -> int:
    """What an element counts for."""
    return (key + 7) // 8 * 8 + (value + 7) // 8 * 8
