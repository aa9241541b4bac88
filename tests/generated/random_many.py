"""Sets of many members, and matches of many arms, that nobody wrote: what is looked for by halves;
and one of two values by a condition. Their draws are their own: what else a seed makes stays the
same."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_network

from chance import Chance
from places import Ground, Lines, Operand, Place, nested
from random_values import CONSTANTS, Values

_SEVERAL = 9  # from so many on
_BITS = {"ip4": 32, "ip6": 128}


class ManyMaker:
    def __init__(self, ground: Ground, seed: str) -> None:
        self.chance = chance = Chance(f"many {seed}")
        self._values = Values(replace(ground, chance=chance))
        self._links = {n.name for n in ground.facts.graph.nodes if n.header.link}
        self._often = 0.2 if chance.maybe(0.5) else 0

    def use(self, place: Place) -> Lines:
        """Now and then a question, or arms."""
        if not place.worlds or not self.chance.maybe(self._often):
            return []
        every = (o for o in self._values.operands(place) if not o.optional)
        known = [o for o in every if o.text.partition(".")[0] not in self._links]  # H0550
        numbers = [o for o in known if o.kind == "uint" and 8 <= o.width <= 64 and "." in o.text]
        numbers = [o for o in numbers if o.text != "frame.length"]  # H0349
        lines = self._matched(self.chance.one(numbers)) if numbers and self._half else []
        lines += self._picked(numbers) if numbers and self._half else []
        asked = numbers + [o for o in known if o.kind in _BITS]
        return lines + (self._asked(self.chance.one(asked)) if asked and self._half else [])

    @property
    def _half(self) -> bool:
        return self.chance.maybe(0.5)

    def _asked(self, of: Operand) -> Lines:
        member = self._prefix if of.kind in _BITS else self._member
        members = [member(of) for _ in range(self.chance.number(_SEVERAL, 40))]
        operator = self.chance.one(("", "not "))
        return [f"if {operator}{of.text} in {{ {', '.join(members)} }} {{ {self._body} }}"]

    def _picked(self, numbers: list[Operand]) -> Lines:
        """Each side now and then one of two again."""
        chance = self.chance
        test = f"hash({chance.one(numbers).text}) & 1 = 1"
        test = chance.one((test, f"not {test}", f"{chance.one(numbers).text} in 1..99"))
        sides = [chance.one((chance.one(numbers).text, str(chance.number(0, 99)))) for _ in "abc"]
        inner = f"pick({chance.one(numbers).text} in 2..50, {sides[1]}, {sides[2]})"
        other = inner if chance.maybe(0.3) else sides[1]
        if other.isdecimal():  # of two numbers a comparison may say nothing
            other = f"{chance.one(numbers).text}"
        return [f"if pick({test}, {sides[0]}, {other}) & 3 = 1 {{ {self._body} }}"]

    def _prefix(self, of: Operand) -> str:
        text = f"{self.chance.one(CONSTANTS[of.kind])}/{self.chance.number(1, _BITS[of.kind])}"
        return str(ip_network(text, strict=False))

    def _member(self, of: Operand) -> str:
        """Mostly small, or near the greatest."""
        most = (1 << of.width) - 1
        low = self.chance.one((self.chance.number(0, 99), most - self.chance.number(0, 9)))
        low = min(low, most) if self._half else self.chance.number(0, most)
        high = min(most, low + self.chance.number(1, 9))
        return f"{low}..{high}" if low and low < high and self.chance.maybe(0.3) else str(low)

    def _matched(self, of: Operand) -> Lines:
        """Of a number that no test further up says anything of."""
        taken = self.chance.shuffled(list(range(64)))[: self.chance.number(_SEVERAL, 50)]
        arms = []
        while taken:
            some, taken = taken[:2], taken[2:]
            some = some if self._half else some[:1]
            arms.append(f"{' | '.join(map(str, some))} => {{ {self._body} }}")
        arms.append(f"_ => {{ {self._body} }}")
        if len(arms) < _SEVERAL:
            return []
        return [f"match hash({of.text}) & 63 {{", *nested(arms), "}"]

    @property
    def _body(self) -> str:
        return f"count counted{self.chance.number(0, 3)}" if self.chance.maybe(0.8) else ""
