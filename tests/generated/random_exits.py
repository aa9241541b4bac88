"""Ways out that nobody wrote: verdicts, `forward`, `bridge`."""

from __future__ import annotations

from helioc.compiler.model.checksums import NETWORK
from helioc.compiler.model.parse_graph import ethertypes
from places import Ground, Lines, Place
from random_values import Values

_ERRORS = ("no_route", "host_unreachable", "port_unreachable", "admin_prohibited")


class Exits:
    """`verdicts`: how many there are so far; each fourth is counted."""

    def __init__(self, ground: Ground, values: Values) -> None:
        self.chance, self.facts, self.values = ground.chance, ground.facts, values
        self.verdicts, self.answers = 0, ground.answers

    def verdict(self, place: Place) -> Lines:
        words = ["pass", "pass", "send back", "pass", "drop", "default"]
        self.verdicts += 1
        counted = [f"count way_{self.verdicts}"] if self.verdicts % 4 == 0 else []
        said = self.chance.one(words if place.settled else ["drop"])
        answered = self.answers and self.can_forward(place)
        if said in ("drop", "default") and answered:  # no draw of its own
            said = f"reply icmp {_ERRORS[self.verdicts % len(_ERRORS)]}"
        return [*counted, said]

    def onward(self, place: Place) -> Lines:
        """With what was changed, if it can be."""
        chance = self.chance
        if chance.maybe(0.95) and (lines := self.forward(place)):
            return lines
        if chance.maybe(0.6) and (lines := self.bridge(place)):
            return lines
        kept = ["pass", "send back", "pass", "default"]
        return [chance.one(kept)] if place.settled else self.verdict(place)

    def forward(self, place: Place) -> Lines:
        if not self.can_forward(place):
            return []
        ports = self.values.ports(place)
        kind = self.chance.one(("ip4", "ip6")) if len(self.facts.families) > 1 else (
            "ip6" if "ipv6" in self.facts.families else "ip4")  # fmt: skip
        operands = [o for o in self.values.operands(place) if o.kind == kind and not o.optional]
        rules = [o for o in operands if o.text.split(".")[0] not in self.facts.names]
        if not ports or not operands:
            return []
        listed = [o for o in operands if o.text.endswith("]")]
        recalled = [o for o in rules if o.text.split(".")[0] in place.recalled]
        rules = rules if rules and self.chance.maybe(0.65) else operands
        sorts = [s for s in (*[listed] * 8, *[recalled] * 7, rules) if s]
        via = self.chance.one(self.chance.one(sorts)).text
        lines: Lines = []
        if self.chance.maybe(0.2):
            lines.append(f"let {(name := self.values.fresh())} = {via}")
            via = name
        if self.chance.maybe(0.3) and not place.bare:
            lines.append("clamp mss")
        return [*lines, f"forward {self.chance.one(ports)} via {via}"]

    def bridge(self, place: Place) -> Lines:
        ports = self.values.ports(place)
        may = ports and place.settled and not place.appended
        return [f"bridge {self.chance.one(ports)}"] if may else []

    def can_forward(self, place: Place) -> bool:
        """An IP header comes first, or a frame that a tunnel carries; Ethernet can announce what
        stands in front of it."""
        if place.owed or place.appended or (place.clamped and place.bare):
            return False
        for way in place.ways:
            kept = next(
                (i for i, n in enumerate(way) if n in place.pushed), self.facts.leading(way)
            )
            behind = way[kept:]
            came = [n for n in behind if n not in place.pushed]
            if not came or len(ethertypes(self.facts.graph, behind[0])) != 1:
                return False
            if place.pushed and kept and self.facts.link(came[0]):
                return False
            if self.facts.protocol(came[0]) not in NETWORK and not self.facts.link(came[0]):
                return False
        return True
