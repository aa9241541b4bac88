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
    """`on`: whether the pipeline makes copies; `declared`: the lists of the statements so far."""

    def __init__(self, ground: Ground, seed: str) -> None:
        self.chance = Chance(f"copies {seed}")
        self.on = self.chance.maybe(0.25)
        own = replace(ground, chance=self.chance)
        self._values = Values(own)
        self._pushes, self._exits = Pushes(own, self._values), Exits(own, self._values)
        self._listed = False

    @property
    def declared(self) -> Lines:
        return _LISTS if self._listed else []

    def use(self, place: Place) -> Lines:
        """Now and then copies of the packets here: one, or one for each of a list."""
        if not self.on or not place.worlds or place.appended or not self.chance.maybe(0.35):
            return []
        if self.chance.maybe(0.5):
            return self._each(place)
        return self._copy(place, self.chance.one(self._values.ports(place) or [""]))

    def _each(self, place: Place) -> Lines:
        """A list that is found by nothing, or by a number that a rule may say."""
        chance = self.chance
        body = self._copy(place, "m.lp")
        if not body:
            return []
        test = chance.one(("", "", "m.lw < 40", "m.id != 2", "m.packets > 3", "meter m is green"))
        if test:
            body = [f"if {test} {{", *nested(body), *chance.one((["}"], _ELSE))]
        body += ["count listed"] if chance.maybe(0.2) else []
        self._listed = True
        inner = ["each LMEMBER m in LLIST {", *nested(body), "}"]
        return [f"if find LLIST(lk = {chance.number(0, 3)}) {{", *nested(inner), "}"]

    def _copy(self, place: Place, port: str) -> Lines:
        """A copy that leaves by this port, if one can."""
        if not port:
            return []
        if place.settled and self.chance.maybe(0.3):
            return [f"mirror {port}{self.chance.one(('', '', ' max 128', ' max 200'))}"]
        inner = place.branch()
        lines = self._pushes.push(inner) if self.chance.maybe(0.6) else []
        way = self._exits.forward(inner) if self.chance.maybe(0.7) else []
        if not way and inner.settled:
            way = [f"bridge {port}"]
        way = [line for line in way if not line.startswith("clamp ")]
        if not way or any(line.startswith("let ") for line in way):  # none stands in a copy
            return []
        if port == "m.lp":
            word, _, *rest = way[-1].split(" ")
            way[-1] = " ".join([word, port, *rest])
        return ["copy {", *nested([*lines, *way]), "}"]


#: Who is listed, and who lists; elements beyond those that others make.
_LISTS = [
    "ie lp = 901, port", "ie lw = 902, u8", "ie lk = 903, u8", "ie lr = 904, u64",
    "ie lb = 905, u32",
    "rule LMEMBER [64] {", "  match lp exact port", "  gives lw", "  meters lr, lb",
    "  counts packets, bytes", "}",
    "rule LLIST [64] {", "  match lk optional given", "  counts packets",
    "  lists LMEMBER[1..4]", "}",
]  # fmt: skip
_ELSE = ["} else {", "  count left_out", "}"]
