"""What a header that nobody wrote says of itself: how long it is, what it counts, when it is
ours."""

from __future__ import annotations

from chance import Chance


class Clauses:
    """`element`: bytes of an element of the header's array, 0 where it has none."""

    def __init__(self, chance: Chance, element: int) -> None:
        self.chance, self.element = chance, element
        self.unit, self.len_width = chance.one((1, 2, 4, 8)), chance.one((3, 4, 5, 6, 8))
        self.count_width, self.most = chance.one((2, 3, 3, 4, 8)), chance.number(1, 8)
        if element:
            self.len_width = max(self.len_width, 6)
        self.less = chance.one((0, 0, 0, 1, 2))  # bytes that the length does not count
        self.fixed, self.plain = 0, list[tuple[str, int]]()

    def begin(self, fixed: int, plain: list[tuple[str, int]]) -> None:
        """The fixed part is laid out: its bytes, and the numbers that conditions may read."""
        self.fixed, self.plain = fixed, plain

    # ---- bytes ------------------------------------------------------------------------------

    def elements(self) -> str:
        """How many elements the array has."""
        return self.chance.one(("count", "count", "count + 1", "count >> 1", "count & 3"))

    def size(self) -> str:
        """A size that reaches over all that the header may have, mostly."""
        times = self.chance.one((f"len * {self.unit}", f"len << {self.unit.bit_length() - 1}"))
        most = ((1 << self.len_width) - 1) * self.unit
        if most > self.fixed + 64 and self.chance.maybe(0.25):
            return f"  size {times}"
        return f"  size ({times}) + {self.fixed}"

    def length(self) -> str:
        return " = length(header, payload)" + (f" - {self.less}" if self.less else "")

    def extent(self) -> str:
        word = "extent" if self.fixed % 3 else "payload to"
        return f"  {word} total" + (f" + {self.less}" if self.less else "")

    # ---- conditions --------------------------------------------------------------------------

    def conditions(self) -> list[str]:
        words = [("accept", 0.3), ("require", 0.2), ("payload when", 0.2)]
        return [
            f"  {w} {self.condition()}" for w, p in words if self.plain and self.chance.maybe(p)
        ]

    def condition(self, deep: int = 2) -> str:
        """True of a good part of all values: a parser that takes nothing shows nothing."""
        chance = self.chance
        if deep and chance.maybe(0.25):
            joined = f" {chance.one(('or', 'and'))} ".join(self.condition(deep - 1) for _ in "ab")
            return f"({joined})" if deep < 2 else joined
        if chance.maybe(0.1):
            return f"not ({self.condition(0)})"
        name, width = chance.one(self.plain)
        width = abs(width)
        full = (1 << width) - 1
        match chance.number(0, 4):
            case 0:
                return f"{name} {chance.one(('!=', '=', '<=', '>='))} {chance.value(width)}"
            case 1 if width < 63:
                mask = chance.number(1, full)
                operator, value = chance.one(("=", "!=")), chance.number(0, full) & mask
                return f"({name} & {mask:#x}) {operator} {value}"
            case 2 if width < 40:
                other, more = chance.one(self.plain)
                if abs(more) < 40:
                    return (
                        f"{name} + {other} * 2 {chance.one(('>', '<='))} {chance.number(0, full)}"
                    )
        return f"{name} {chance.one(('<', '<=', '!='))} {max(1, full // 2 + 1)}"
