"""Values that nobody wrote: fields of the packet, elements of rules, what was recalled, and what is
reckoned of them."""

from __future__ import annotations

from typing import NamedTuple

from chance import Chance
from compare import ADDRESSES, ADDRESSES6
from helioc.compiler.check.values import WIDEST
from places import Ground, Operand, Place

CONSTANTS = {"ip4": ADDRESSES, "ip6": ADDRESSES6, "mac": ["02:00:00:00:00:09"]}


class Number(NamedTuple):
    """An expression, and the least and the highest that it may be."""

    text: str
    low: int
    high: int


def varies(text: str) -> bool:
    """Whether an expression is about the packet, and no mere number."""
    return any(part in text for part in (".", "kept", "now", "random"))


class Values:
    def __init__(self, ground: Ground) -> None:
        self.chance, self.facts = ground.chance, ground.facts
        self.states = ground.states
        self._named = 0

    def fresh(self) -> str:
        """A name for a value that nothing else has."""
        self._named += 1
        return f"kept{self._named}"

    # ---- what there is -----------------------------------------------------------------------

    def operands(self, place: Place) -> list[Operand]:
        found = [*self.of_packet(place), *self.of_rules(place) * 2, *self.of_states(place) * 2]
        chains = self.facts.graph.chains
        found += [Operand(f"{c.name}.{c.by}", "uint", c.width) for c in chains] * 6
        return found + list(place.named) + [Operand("frame.length", "uint", 32)]

    def of_packet(self, place: Place) -> list[Operand]:
        found = []
        for node in place.sure:
            found += [Operand(f"{node}.{f.name}", f.kind, f.width) for f in self.facts.fields(node)]
            for array, group in self.facts.arrays(node):
                text = f"{node}.{array.name}[{self.index(group.most, place)}]"
                found += [Operand(text, array.kind, array.width)] * 8
        return found

    def of_rules(self, place: Place) -> list[Operand]:
        found = []
        for name, kind in place.bound.items():
            for element, optional in kind.readable:
                text = f"{name}.{element.name}"
                found.append(Operand(text, element.kind, element.width, optional))
            for element in kind.lists:
                text = f"{name}.{element.name}[{self.index(element.most, place)}]"
                found += [Operand(text, element.kind, element.width)] * 2
        return found

    def of_states(self, place: Place) -> list[Operand]:
        return [
            Operand(f"{name}.{slot.name}", slot.kind, slot.width)
            for name in sorted(place.recalled) for slot in self.states[name].readable
            if slot.kind != "port"
        ]  # fmt: skip

    def index(self, most: int, place: Place) -> str:
        """A place in an array, now and then one that the packet says."""
        small = [f"{n}.{f.name}" for n in place.sure for f in self.facts.fields(n)
                 if f.kind == "uint" and f.width <= 8]  # fmt: skip
        if small and self.chance.maybe(0.35):
            return f"{self.chance.one(small)} & 7"  # a test may say that it is beyond the last
        return str(self.chance.number(0, most - 1))

    def ports(self, place: Place) -> list[str]:
        """What `forward` and `bridge` take."""
        found = list(place.ports)
        found += [f"{n}.{e.name}" for n, kind in place.bound.items() for e in kind.ports]
        for name in sorted(place.recalled):
            slots = self.states[name].gives
            found += [f"{name}.{s.name}" for s in slots if s.kind == "port"] * 4
        return found

    # ---- a value of a type -------------------------------------------------------------------

    def of_kind(self, place: Place, kind: str, width: int, optional: bool = False) -> list[str]:
        """Names of values of that kind, no wider. `optional`: also such as rules leave out."""
        return [
            o.text for o in self.operands(place)
            if o.kind == kind and o.width <= width and (optional or not o.optional)
        ]  # fmt: skip

    def fitting(self, place: Place, kind: str, width: int, optional: bool = False) -> str:
        """A value for a field, an element or a slot."""
        chance = self.chance
        if kind != "uint":
            known = self.of_kind(place, kind, width, optional)
            if chance.maybe(0.15):
                known += [o.text for o in self.first(place, kind) if o.width <= width]
            if known and chance.maybe(0.2):
                return self.masked(kind, chance.one(known))
            if known and chance.maybe(0.85):
                return chance.one(known)
            return chance.one(CONSTANTS[kind])
        known = [o.text for o in self.of_rules(place) if o.kind == kind and o.width <= width]
        if known and chance.maybe(0.5):
            return chance.one(known)
        for _ in range(3):
            made = self.number(place)
            if made.high < 1 << width and varies(made.text):
                return made.text
        if width >= 32 and chance.maybe(0.5):
            return self.hashed(place)
        wide = self.number(place, 0)
        if varies(wide.text) and chance.maybe(0.5):
            return f"{wide.text} & {(1 << width) - 1:#x}"
        return str(chance.value(width))

    # ---- numbers -----------------------------------------------------------------------------

    def number(self, place: Place, deep: int = 1) -> Number:
        return _extreme(self._number(place, deep))

    def _number(self, place: Place, deep: int) -> Number:
        chance = self.chance
        if chance.maybe(0.08):
            return Number(self.hashed(place), 0, (1 << 32) - 1)
        if chance.maybe(0.2):
            return self.of_moment(place)
        known = [o for o in self.operands(place) if o.kind == "uint"]
        if chance.maybe(0.08):
            known = self.first(place, "uint") or known
        if self.facts.has_layer4:
            known += [Operand(chance.one(("l4.dst", "l4.src")), "uint", 16)]
        lists = [(name, e) for name, kind in place.bound.items() for e in kind.lists]
        if lists and chance.maybe(0.25):
            name, element = chance.one(lists)
            return Number(f"count({name}.{element.name})", 1, element.most)
        if not known:
            plain = chance.number(0, 99)
            return Number(str(plain), plain, plain)
        operand = chance.one(known)
        high = (1 << operand.width) - 1
        if not deep or operand.width > 56 or chance.maybe(0.5):
            return Number(operand.text, 0, high)
        return self.reckoned(place, operand.text, high)

    def of_moment(self, place: Place) -> Number:
        """What the clock says, or chance."""
        chance = self.chance
        if chance.maybe(0.4):
            clock = chance.one(("now", "now(utc)", "now(ntp)", "now(ptp)"))
            return Number(clock, 0, (1 << 64) - 1)
        if chance.maybe(0.5):
            return Number("clock.error", 0, (1 << 32) - 1)
        known = [o for o in self.operands(place) if o.kind == "uint" and 1 < o.width <= 32]
        if known and chance.maybe(0.3):
            bound = chance.one(known)
            return Number(f"random({bound.text})", 0, (1 << bound.width) - 2)
        most = chance.one((2, 100, 1 << 16, 1 << 32))
        return Number(f"random({most})", 0, most - 1)

    def masked(self, kind: str, text: str) -> str:
        """Bits of an address."""
        chance = self.chance
        other = chance.one(CONSTANTS[kind])
        return f"{text} {chance.one(('&', '|', '^'))} {chance.one(('', '~'))}{other}"

    def wrapped(self, text: str, high: int) -> Number:
        """What wraps, or stops, at the width of what is named."""
        operators = "+%", "-%", "*%", "+|", "+|", "-|", "-|"
        operator, by = self.chance.one(operators), self.chance.number(1, 300)
        low = min(by, high) if operator == "+|" else 0
        most = max(0, high - by) if operator == "-|" else high
        return Number(f"({text} {operator} {by})", low, most)

    def by_bits(self, text: str, high: int) -> Number:
        chance = self.chance
        if chance.maybe(0.3):
            return Number(f"~{text}", 0, high)
        operator, bits = chance.one(("|", "^")), chance.number(0, high)
        return Number(f"({text} {operator} {bits})", bits if operator == "|" else 0, high)

    def divided(self, text: str, high: int) -> Number:
        by = self.chance.number(1, min(high, 999) or 1)
        if self.chance.maybe(0.5):
            return Number(f"({text} / {by})", 0, high // by)
        return Number(f"({text} % {by})", 0, min(high, by - 1))

    def reckoned(self, place: Place, text: str, high: int) -> Number:
        chance = self.chance
        if chance.maybe(0.6):
            return chance.one((self.wrapped, self.wrapped, self.by_bits, self.divided))(text, high)
        match chance.number(0, 5):
            case 0:
                mask = chance.number(1, high)
                return Number(f"({text} & {mask:#x})", 0, mask)
            case 1:
                bits = chance.number(1, high.bit_length())
                return Number(f"({text} >> {bits})", 0, high >> bits)
            case 2:
                bits = chance.number(1, 6)
                return Number(f"({text} << {bits})", 0, high << bits)
            case 3:
                return Number(f"({text} * 3)", 0, high * 3)
            case 4:
                less = chance.number(0, 9)
                return Number(f"({text} + 9 - {less})", 9 - less, high + 9 - less)
        other = self.number(place, 0)
        if other.high >= 1 << 56:
            return Number(text, 0, high)
        return Number(f"({text} + {other.text})", other.low, high + other.high)

    def first(self, place: Place, kind: str) -> list[Operand]:
        """The first of some fields that packets here may have, and of elements that rules may leave
        out: at most one such operand."""
        gone = {n for way in place.ways for n in way if n in place.pushed}
        known = [(n, f) for n in self.facts.names if n not in gone
                 for f in self.facts.fields(n, optional=True)
                 if f.kind == kind and f.width <= WIDEST]  # fmt: skip
        may = [(f"{n}.{f.name}", f.width) for n, f in known]
        may += [(f"{name}.{e.name}", e.width) for name, rule in place.bound.items()
                for e, _ in rule.readable if e.kind == kind and e.width <= WIDEST]  # fmt: skip
        picked = self.chance.shuffled(self.chance.some(may, 1, 3)) if may else []
        said = ", ".join(text for text, _ in picked)
        width = max((width for _, width in picked), default=0)
        return [Operand(f"first({said})", kind, width)] if picked else []

    def hashed(self, place: Place) -> str:
        """Over what the packet has, what it may lack, and what rules give."""
        chance = self.chance
        absent = [n for n in self.facts.names if n not in place.pushed and n not in place.sure]
        if place.pushed or not chance.maybe(0.5):
            absent = []
        known = [f"{n}.{f.name}" for n in absent for f in self.facts.fields(n)]
        known = chance.some(known, 0, 2) if known else []
        texts = [o.text for o in self.operands(place) if not o.optional]
        known += chance.some(texts, 1, 3) if texts else []
        if self.facts.has_layer4 and chance.maybe(0.4):
            known.append("l4.src")
        return f"hash({', '.join(dict.fromkeys(known))})" if known else "hash(7)"


def _extreme(made: Number) -> Number:
    """Now and then the least or the greatest of it and others. Its draws are its own: what else a
    seed makes stays the same."""
    chance = Chance(f"extreme of {made.text}")
    if made.low == made.high or not chance.maybe(0.15):
        return made
    others = [chance.number(made.low, made.high) for _ in range(chance.number(1, 2))]
    said = ", ".join(chance.shuffled([made.text, *map(str, others)]))
    if chance.maybe(0.5):
        return Number(f"min({said})", made.low, min(made.high, *others))
    return Number(f"max({said})", max(made.low, *others), made.high)
