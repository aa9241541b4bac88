"""Messages as no client would write them: protobuf's bytes, and gRPC's around them, changed by
chance."""

from __future__ import annotations

import random
from collections.abc import Callable

from http2 import message

#: What a message may become, and what may become of one of gRPC's.
Mutation = Callable[[random.Random, bytes], bytes]
_LARGE = (b"\xff" * 9 + b"\x01", b"\xff" * 11, b"\x80" * 9 + b"\x00", b"\xff\xff\xff\xff\x0f")


def flip(chance: random.Random, octets: bytes) -> bytes:
    made = bytearray(octets or b"\0")
    for _ in range(chance.choice((1, 1, 1, 2, 8))):
        made[chance.randrange(len(made))] ^= 1 << chance.randrange(8)
    return bytes(made)


def cut(chance: random.Random, octets: bytes) -> bytes:
    return octets[: chance.randrange(len(octets) + 1)]


def leave_out(chance: random.Random, octets: bytes) -> bytes:
    at = chance.randrange(len(octets) + 1)
    return octets[:at] + octets[at + chance.choice((1, 2, 7)) :]


def put_in(chance: random.Random, octets: bytes) -> bytes:
    at = chance.randrange(len(octets) + 1)
    return octets[:at] + chance.randbytes(chance.choice((1, 2, 7))) + octets[at:]


def put_large(chance: random.Random, octets: bytes) -> bytes:
    """A varint in the place of an octet: a length or a number that is too large."""
    at = chance.randrange(len(octets) + 1)
    return octets[:at] + chance.choice(_LARGE) + octets[at + 1 :]


def repeat(chance: random.Random, octets: bytes) -> bytes:
    at, size = chance.randrange(len(octets) + 1), chance.choice((1, 3, 10, 50))
    return octets[:at] + octets[at : at + size] * chance.choice((2, 3, 100)) + octets[at + size :]


def other_field(chance: random.Random, octets: bytes) -> bytes:
    """One in front: of any number, of a type that it hardly has."""
    number, kind = chance.randrange(1, 18), chance.randrange(8)
    rest = {0: chance.choice(_LARGE), 1: bytes(8), 2: b"\x02\xff\xfe", 5: bytes(4)}.get(kind, b"")
    return bytes(((number << 3 | kind) & 0x7F,)) + rest + octets


def nest(chance: random.Random, octets: bytes) -> bytes:
    """Messages within messages, or groups that do not end, as deep as that."""
    number = chance.randrange(1, 10)
    if chance.random() < 0.5:
        return bytes((number << 3 | 3,)) * chance.choice((50, 200, 5000)) + octets
    for _ in range(chance.choice((10, 60, 120))):
        if len(octets) > 16000:
            break
        length = bytes((len(octets) & 0x7F | 0x80, len(octets) >> 7))
        octets = bytes((number << 3 | 2,)) + length + octets
    return octets


def noise(chance: random.Random, octets: bytes) -> bytes:
    return chance.randbytes(chance.choice((0, 1, 5, 50, 500)))


INSIDE: tuple[Mutation, ...] = (
    flip, flip, cut, leave_out, put_in, put_large, repeat, other_field, nest, noise
)  # fmt: skip

#: Around the message: a length that is not its own, a flag for compression that was not agreed
#: upon or is none, a second message.
AROUND: tuple[Mutation, ...] = (
    lambda chance, octets: message(octets, length=chance.choice((0, 1, len(octets) + 1))),
    lambda chance, octets: message(octets, length=chance.choice((1 << 24, (1 << 32) - 1))),
    lambda chance, octets: message(octets, compressed=chance.choice((1, 2, 255))),
    lambda chance, octets: message(octets) * chance.choice((2, 3, 20)),
    lambda chance, octets: message(octets)[: chance.randrange(6)],
    lambda chance, octets: message(octets) + chance.randbytes(3),
)
