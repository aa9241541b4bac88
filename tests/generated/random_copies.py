"""Copies of packets that nobody wrote. Their draws are their own: what else a seed makes stays the
same, but that such a pipeline says no receive queue, of which there is none at tc."""

from __future__ import annotations

from dataclasses import replace

from chance import Chance
from places import Ground, Lines, Place, nested
from random_exits import Exits
from random_pushes import Pushes
from random_values import Values


class CopyMaker:
    """`on`: whether the pipeline makes copies."""

    def __init__(self, ground: Ground, seed: str) -> None:
        self.chance = Chance(f"copies {seed}")
        self.on = self.chance.maybe(0.25)
        own = replace(ground, chance=self.chance)
        self._values = Values(own)
        self._pushes, self._exits = Pushes(own, self._values), Exits(own, self._values)

    def use(self, place: Place) -> Lines:
        """Now and then copies of the packets here."""
        if not self.on or not place.worlds or place.appended or not self.chance.maybe(0.35):
            return []
        if place.settled and self.chance.maybe(0.3):
            ports = self._values.ports(place)
            return [f"mirror {self.chance.one(ports)}"] if ports else []
        inner = place.branch()
        lines = self._pushes.push(inner) if self.chance.maybe(0.6) else []
        way = self._exits.forward(inner) if self.chance.maybe(0.7) else []
        way = [line for line in way or self._exits.bridge(inner) if not line.startswith("clamp ")]
        if not way or any(line.startswith("let ") for line in way):  # none stands in a copy
            return []
        return ["copy {", *nested([*lines, *way]), "}"]
