"""A version of a rule kind's tuple directory, as it lies in NAME_tuples: see helio.bpf.h."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...lang.contract.manifest.manifest import RuleKind
from .matches import Bound

#: Under so many masks packets look without asking the flow cache first: that is faster.
UNCACHED = 4
_HEAD, _BOUND = struct.Struct("<II"), struct.Struct("<QQ")


@dataclass(slots=True, eq=False)
class Tuple:
    """`keys`: how many are there, or soon will be; `best`: no key of it beats this; `published`:
    what the directory that programs read says of it, None if it is not in there."""

    mask: int
    number: int
    keys: int = 0
    best: Bound = (0, 0)
    published: Bound | None = None


def packed(kind: RuleKind, order: Sequence[Tuple], stride: int) -> bytes:
    """A version of `stride` bytes with these tuples, the best one first."""
    size, pad = kind.key_size, bytes(-kind.key_size % 8)
    parts = [_HEAD.pack(len(order), 0)]
    for tuple_ in order:
        parts.append(_BOUND.pack(*tuple_.best))
        parts.append(tuple_.mask.to_bytes(size, "big") + pad)
        parts.append((tuple_.number.to_bytes(size, "big") + pad)[-8:])
    return with_flow_mask(kind, b"".join(parts), stride)


def tuples_in(kind: RuleKind, version: bytes) -> Iterator[Tuple]:
    """The tuples of a version, without keys yet."""
    size, pad = kind.key_size, -kind.key_size % 8
    (count, _), at = _HEAD.unpack_from(version), _HEAD.size
    for _ in range(count):
        bound = _BOUND.unpack_from(version, at)
        at += _BOUND.size
        mask = int.from_bytes(version[at : at + size], "big")
        at += size + pad + 8
        # The number stands in the key's last two bytes; what follows in the word is padding.
        number = int.from_bytes(version[at - pad - 2 : at - pad], "big")
        yield Tuple(mask, number, 0, bound, bound)


def with_flow_mask(kind: RuleKind, directory: bytes, stride: int) -> bytes:
    """A directory of `stride` bytes with the tuples of another, which may be of a build without the
    flow cache: whether the cache is used, and the mask of the bits that any rule asks for."""
    count, _ = _HEAD.unpack_from(directory)
    width = -(-kind.key_size // 8) * 8
    tuple_size = _BOUND.size + width + 8
    tuples = directory[_HEAD.size : _HEAD.size + count * tuple_size]
    masks = np.frombuffer(tuples, np.uint8).reshape(count, tuple_size)[:, _BOUND.size :][:, :width]
    made = _HEAD.pack(count, kind.cached and count > UNCACHED) + tuples
    made = made.ljust(_HEAD.size + kind.tuples * tuple_size, b"\0")
    if kind.cached:
        made += np.bitwise_or.reduce(masks, axis=0, initial=0).tobytes()
    return made.ljust(stride, b"\0")
