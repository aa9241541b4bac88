"""What the operators of `Arithmetic` come to: of numbers, and of what lies between two numbers."""

from __future__ import annotations

import operator
from collections.abc import Callable

#: The least and the greatest number that something may be.
Interval = tuple[int, int]

#: By operator; the caller cuts off what is more than 64 bits.
COMPUTED: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.floordiv,
    "%": operator.mod,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": lambda a, b: a << (b & 63),
    ">>": lambda a, b: a >> (b & 63),
    "min": min,
    "max": max,
    "+|": lambda a, b: min(a + b, (1 << 64) - 1),
    "-|": lambda a, b: max(0, a - b),
}


def interval(sign: str, a: Interval, b: Interval) -> Interval:
    """Where the outcome lies; below 0, or above 64 bits, where it would wrap. Nothing is divided by
    0, and shifted by less than 64."""
    (low, high), (least, most) = a, b
    if low == high and least == most and (least or sign not in ("/", "%")):
        return (COMPUTED[sign](low, least),) * 2
    match sign:
        case "+":
            return low + least, high + most
        case "-":
            return low - most, high - least
        case "*":
            return low * least, high * most
        case "/":
            return low // max(1, most), high // max(1, least)
        case "%":
            return (low, high) if high < least else (0, min(high, max(1, most) - 1))
        case "&":
            return 0, min(high, most)
        case "|":
            return max(low, least), _ones(high | most)
        case "^":
            return 0, _ones(high | most)
        case "<<":
            return low << least, high << most
        case ">>":
            return low >> most, high >> least
        case "min":
            return min(low, least), min(high, most)
        case "max":
            return max(low, least), max(high, most)
        case "+|":
            return COMPUTED["+|"](low, least), COMPUTED["+|"](high, most)
        case "-|":
            return max(0, low - most), max(0, high - least)
    raise AssertionError(sign)


def _ones(value: int) -> int:
    return (1 << value.bit_length()) - 1
