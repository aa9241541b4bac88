"""A seeded choice of everything: the same seed gives the same pipeline, rules and packets."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


class Chance:
    """Choices as a generator reads them."""

    def __init__(self, seed: int | str) -> None:
        self._random = Random(seed)

    def maybe(self, probability: float) -> bool:
        return self._random.random() < probability

    def number(self, low: int, high: int) -> int:
        return self._random.randint(low, high)

    def one(self, items: Sequence[T]) -> T:
        return items[self._random.randrange(len(items))]

    def some(self, items: Sequence[T], least: int, most: int) -> list[T]:
        """Between `least` and `most` of the items (fewer where there are fewer), in their order."""
        most = min(most, len(items))
        count = self.number(min(least, most), most)
        picked = sorted(self._random.sample(range(len(items)), count))
        return [items[i] for i in picked]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        out = list(items)
        self._random.shuffle(out)
        return out

    def random_bytes(self, count: int) -> bytes:
        return self._random.randbytes(count)

    def value(self, width: int) -> int:
        """Of `width` bits: boundaries and small numbers as often as all others."""
        full = (1 << width) - 1
        match self.number(0, 4):
            case 0:
                return self.one((0, 1, 2, full, full >> 1, full - 1, 1 << (width - 1))) & full
            case 1:
                return self.number(0, min(full, 9))
            case 2:
                return int.from_bytes(bytes(range(1, 17)), "big") >> (128 - width)
        return self.number(0, full)
