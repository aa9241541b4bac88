"""Arrays of registers that nobody wrote. Their draws are their own: what else a seed makes stays
the same."""

from __future__ import annotations

from dataclasses import dataclass, replace

from chance import Chance
from places import Ground, Lines, Place
from random_values import Values

_WIDTHS = (1, 3, 8, 16, 32, 48, 64)
_COUNTED = 48  # bits of those that are added to


@dataclass(frozen=True)
class _Registers:
    name: str
    shape: tuple[int, ...]
    width: int

    @property
    def text(self) -> str:
        shape = "".join(f"[{length}]" for length in self.shape)
        return f"registers {self.name}{shape} : u{self.width}"


class RegisterMaker:
    """`declared`: those that a statement made so far is about."""

    def __init__(self, ground: Ground, seed: str) -> None:
        self.chance = chance = Chance(f"registers {seed}")
        self._values = Values(replace(ground, chance=chance))
        self._often = 0.3 if chance.maybe(0.5) else 0
        self._known = [_registers(chance, f"RG{i}") for i in range(chance.number(1, 2))]
        self._used = set[_Registers]()

    @property
    def declared(self) -> Lines:
        return [each.text for each in self._known if each in self._used]

    def use(self, place: Place) -> Lines:
        """Now and then a change, a question, or a name for what one holds."""
        chance = self.chance
        if not place.worlds or not chance.maybe(self._often):
            return []
        registers = chance.one(self._known)
        self._used.add(registers)
        text = registers.name + "".join(self._index(place, n) for n in registers.shape)
        lines: Lines = []
        if chance.maybe(0.8):
            signs = ("=", "+=", "+=", "-=") if registers.width <= _COUNTED else ("=",)
            lines.append(f"{text} {chance.one(signs)} {self._value(place, registers.width)}")
        if chance.maybe(0.8):
            test = f"{chance.one(('=', '<', '>='))} {self._value(place, registers.width)}"
            lines.append(f"if {text} {test} {{ count counted{chance.number(0, 3)} }}")
        return lines

    def _value(self, place: Place, width: int) -> str:
        """Often one by which the ends are met."""
        most = (1 << width) - 1
        if self.chance.maybe(0.6):
            return str(self.chance.one((0, 1, min(2, most), most // 2, most)))
        return self._values.fitting(place, "uint", width)

    def _index(self, place: Place, length: int) -> str:
        known = [o.text for o in self._values.operands(place)
                 if not o.optional and o.kind == "uint" and o.width <= 64]  # fmt: skip
        if known and self.chance.maybe(0.5):
            some = self.chance.some(known, 1, 2)
            # A test may say that the number alone is beyond the end, which `check` refuses (H0483).
            alone = f"[{some[0]} ^ frame.length]"
            return alone if self.chance.maybe(0.4) else f"[hash({', '.join(some)})]"
        return f"[{self.chance.number(0, length - 1)}]"


def _registers(chance: Chance, name: str) -> _Registers:
    shape = tuple(chance.one((1, 2, 3, 4, 7, 16)) for _ in range(chance.number(1, 2)))
    return _Registers(name, shape, chance.one(_WIDTHS))
