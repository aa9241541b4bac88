"""Events that nobody wrote. Their draws are their own: what else a seed makes stays the same."""

from __future__ import annotations

from dataclasses import replace

from chance import Chance
from places import Ground, Lines, Operand, Place
from random_values import Values

_ADDRESSES = ("ip4", "ip6", "mac")


class EventMaker:
    """`declared`: the events of the statements made so far."""

    def __init__(self, ground: Ground, seed: str) -> None:
        self.chance = Chance(f"events {seed}")
        self._values = Values(replace(ground, chance=self.chance))
        self._often = 0.15 if self.chance.maybe(0.5) else 0
        self.declared: Lines = []

    def emit(self, place: Place) -> Lines:
        """Now and then a statement that tells of the packets here."""
        chance = self.chance
        often = 3 * self._often if place.bound else self._often
        if not place.worlds or not chance.maybe(often):
            return []
        known = [o for o in self._values.operands(place) if not o.optional and _typed(o)]
        fields = [(_typed(o), o.text) for o in chance.some(known, 0, 3)] if known else []
        fields += [("port", "port")] if chance.maybe(0.3) else []
        rules = sorted(place.bound)
        if rules and chance.maybe(0.8):
            name = chance.one(rules)
            fields.append((place.bound[name].name, name))
        fields = chance.shuffled(fields)
        event, names = f"EV{len(self.declared)}", [f"f{i}" for i in range(len(fields))]
        inside = ", ".join(f"{n} : {t}" for n, (t, _) in zip(names, fields, strict=True))
        self.declared.append(f"event {event} {{ {inside} }}{self._limit(names)}")
        said = ", ".join(f"{n} = {text}" for n, (_, text) in zip(names, fields, strict=True))
        line = f"emit {event} {{ {said} }}"
        return [line] * (1 + chance.maybe(0.2))

    def _limit(self, names: list[str]) -> str:
        chance = self.chance
        if chance.maybe(0.4):
            return ""
        most = chance.one(("1", "2", "100", "1k"))
        if names and chance.maybe(0.6):
            return f" limit {most} per second, 1 by {', '.join(chance.some(names, 1, 2))}"
        return f" limit {most} per second"


def _typed(operand: Operand) -> str:
    """A field's type for its values; empty where there is none."""
    if operand.kind in _ADDRESSES:
        return operand.kind
    return f"u{operand.width}" if operand.kind == "uint" and operand.width <= 64 else ""
