"""Guards of edges: what they match, whether two of them overlap, what they write."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

from . import Ranges, Test


def overlap(one: Sequence[Test], other: Sequence[Test]) -> bool:
    """Whether some packet satisfies both guards. Tests of different fields are independent."""
    theirs = {t.field: t for t in map(_aligned, other)}
    mine = [_aligned(t) for t in one]
    return all(t.field not in theirs or _tests_overlap(t, theirs[t.field]) for t in mine)


def _aligned(test: Test) -> Test:
    """What looks ahead, as a test of 32 bits: two of different widths can be compared then."""
    if not test.ahead:
        return test
    shift = 32 - test.ahead
    rest = (1 << shift) - 1
    if test.mask is not None:
        masked = tuple((low << shift, low << shift) for low, _ in test.ranges)
        return Test("next", masked, test.mask << shift, 32)
    return Test("next", tuple((a << shift, b << shift | rest) for a, b in test.ranges), None, 32)


def _tests_overlap(one: Test, other: Test) -> bool:
    return any(
        _ranges_overlap(a, one.mask, b, other.mask) for a, b in product(one.ranges, other.ranges)
    )


def _ranges_overlap(a: tuple[int, int], am: int | None, b: tuple[int, int], bm: int | None) -> bool:
    if am is None and bm is None:
        return a[0] <= b[1] and b[0] <= a[1]
    if am is None or bm is None:
        plain, (value, _), mask = (a, b, bm) if am is None else (b, a, am)
        assert mask is not None
        return least_at(plain[0], value, mask) <= plain[1]
    return not (a[0] ^ b[0]) & am & bm


def least_at(low: int, value: int, mask: int) -> int:
    """The least x >= low with x & mask = value (value within mask)."""
    if low & mask == value:
        return low
    for bit in range(low.bit_length() + mask.bit_length() + 1):
        # Keep the bits of `low` above `bit`, set `bit`, and take the least below it.
        x = (low >> bit | 1) << bit
        if low >> bit & 1 or (x ^ value) & mask >> bit << bit:
            continue
        return x | value & (1 << bit) - 1
    raise AssertionError("value has bits outside mask")


def without(ranges: Ranges, taken: Ranges) -> Ranges:
    """What is left of `ranges` when `taken` is removed."""
    left = list(ranges)
    for low, high in taken:
        pieces: list[tuple[int, int]] = []
        for a, b in left:
            if b < low or high < a:
                pieces.append((a, b))
                continue
            ends = ((a, min(b, low - 1)), (max(a, high + 1), b))
            pieces += (piece for piece in ends if piece[0] <= piece[1])
        left = pieces
    return tuple(dict.fromkeys(left))


def within(ranges: Ranges, low: int, high: int) -> Ranges:
    """What of `ranges` lies in one other."""
    return tuple((max(a, low), min(b, high)) for a, b in ranges if a <= high and low <= b)


def joined(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """The same numbers in as few ranges as can be, in their order."""
    found: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if found and low <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(high, found[-1][1])
        else:
            found.append((low, high))
    return tuple(found)


def shown(test: Test) -> str:
    """A test's alternatives as a user writes them."""
    if test.mask is not None:
        return " | ".join(f"{low:#x} & {test.mask:#x}" for low, _ in test.ranges)
    return shown_ranges(test.ranges)


def shown_ranges(ranges: Ranges) -> str:
    return " | ".join(
        shown_number(low) if low == high else f"{shown_number(low)}..{shown_number(high)}"
        for low, high in ranges
    )


def shown_number(value: int) -> str:
    """Small numbers decimal, as protocols are written; types and the like hexadecimal."""
    return f"{value:#06x}" if value > 0xFF else str(value)


def matched(test: Test, value: int) -> bool:
    under = value if test.mask is None else value & test.mask
    return any(low <= under <= high for low, high in test.ranges)


def only_value(test: Test) -> int | None:
    """The one value that satisfies the test, if it is one."""
    if test.mask is None and len(test.ranges) == 1 and test.ranges[0][0] == test.ranges[0][1]:
        return test.ranges[0][0]
    return None
