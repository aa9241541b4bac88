"""Messages as no client would write them: protobuf's bytes, and gRPC's around them, changed by
chance."""

from __future__ import annotations

import random
from collections.abc import Callable

from http2 import message

#: What a message may become, and what may become of one of gRPC's.
Mutation = Callable[[random.Random, bytes], bytes]
_LARGE = (b"\xff" * 9 + b"\x01", b"\xff" * 11, b"\x80" * 9 + b"\x00", b"\xff\xff\xff\xff\x0f")


def flip(chance: random.Random, data: bytes) -> bytes:
    made = bytearray(data or b"\0")
    for _ in range(chance.choice((1, 1, 1, 2, 8))):
        made[chance.randrange(len(made))] ^= 1 << chance.randrange(8)
    return bytes(made)


def cut(chance: random.Random, data: bytes) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def leave_out(chance: random.Random, data: bytes) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + data[at + chance.choice((1, 2, 7)) :]


def put_in(chance: random.Random, data: bytes) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + chance.randbytes(chance.choice((1, 2, 7))) + data[at:]


def put_large(chance: random.Random, data: bytes) -> bytes:
    """A varint in the place of an byte: a length or a number that is too large."""
    at = chance.randrange(len(data) + 1)
    return data[:at] + chance.choice(_LARGE) + data[at + 1 :]


def repeat(chance: random.Random, data: bytes) -> bytes:
    at, size = chance.randrange(len(data) + 1), chance.choice((1, 3, 10, 50))
    return data[:at] + data[at : at + size] * chance.choice((2, 3, 100)) + data[at + size :]


def other_field(chance: random.Random, data: bytes) -> bytes:
    """One in front: of any number, of a type that it hardly has."""
    number, kind = chance.randrange(1, 18), chance.randrange(8)
    rest = {0: chance.choice(_LARGE), 1: bytes(8), 2: b"\x02\xff\xfe", 5: bytes(4)}.get(kind, b"")
    return bytes(((number << 3 | kind) & 0x7F,)) + rest + data


def nest(chance: random.Random, data: bytes) -> bytes:
    """Messages within messages, or groups that do not end, as deep as that."""
    number = chance.randrange(1, 10)
    if chance.random() < 0.5:
        return bytes((number << 3 | 3,)) * chance.choice((50, 200, 5000)) + data
    for _ in range(chance.choice((10, 60, 120))):
        if len(data) > 16000:
            break
        length = bytes((len(data) & 0x7F | 0x80, len(data) >> 7))
        data = bytes((number << 3 | 2,)) + length + data
    return data


def noise(chance: random.Random, data: bytes) -> bytes:
    return chance.randbytes(chance.choice((0, 1, 5, 50, 500)))


INSIDE: tuple[Mutation, ...] = (
    flip, flip, cut, leave_out, put_in, put_large, repeat, other_field, nest, noise
)  # fmt: skip

#: Around the message: a length that is not its own, a flag for compression that was not agreed
#: upon or is none, a second message.
AROUND: tuple[Mutation, ...] = (
    lambda chance, data: message(data, length=chance.choice((0, 1, len(data) + 1))),
    lambda chance, data: message(data, length=chance.choice((1 << 24, (1 << 32) - 1))),
    lambda chance, data: message(data, compressed=chance.choice((1, 2, 255))),
    lambda chance, data: message(data) * chance.choice((2, 3, 20)),
    lambda chance, data: message(data)[: chance.randrange(6)],
    lambda chance, data: message(data) + chance.randbytes(3),
)
