"""Information elements and rule kinds that nobody wrote, over the fields of a graph."""

from __future__ import annotations

from dataclasses import dataclass, field

import random_names
from chance import Chance
from random_facts import Facts

MATCHES = {
    "uint": ("exact", "optional", "lpm", "ternary", "range"),
    "ip4": ("exact", "optional", "lpm", "lpm", "ternary", "range"),
    "ip6": ("exact", "optional", "lpm", "ternary"),
    "mac": ("exact", "optional", "ternary"),
}
LONGEST_KEY = 56  # bytes of fields: the compiler takes 88 with all that it adds
#: Types of what a push, a look-up or a state may want.
VALUES = [("u8", "uint", 8), ("u16", "uint", 16), ("u32", "uint", 32), ("u20", "uint", 20),
          ("u6", "uint", 6), ("u24", "uint", 24), ("u64", "uint", 64), ("ip4", "ip4", 32),
          ("ip4", "ip4", 32), ("ip6", "ip6", 128), ("mac", "mac", 48),
          ("u1", "uint", 1)]  # fmt: skip


@dataclass
class Element:
    """`most`: it holds up to so many values; 0: one."""

    name: str
    type: str
    kind: str
    width: int
    symbols: list[str] = field(default_factory=list)
    references: list[str] = field(default_factory=list)
    most: int = 0

    def text(self, number: int) -> str:
        said = ", ".join(f"{s} = {i + 1}" for i, s in enumerate(self.symbols))
        said += ", NONE = 0 reserved" if said else ""
        row = f"[{self.most}]" if self.most else ""
        return f"  ie {self.name} = {number}, {self.type}{row}{f' {{ {said} }}' if said else ''}"


@dataclass
class Match:
    """`operand` is a field, `port` or `given`."""

    element: Element
    how: str
    operand: str


@dataclass
class Kind:
    """A rule kind. `hashed`: what its spread hashes over; `meters`: those of `gives` that say how
    fast packets may be."""

    name: str
    named: bool = False
    matches: list[Match] = field(default_factory=list)
    gives: list[Element] = field(default_factory=list)
    alternatives: list[str] = field(default_factory=list)
    spread: str = ""
    hashed: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)
    meters: list[Element] = field(default_factory=list)
    own: list[Element] = field(default_factory=list)  # that no stage reads

    @property
    def told(self) -> list[str]:
        """What a stage may read of a rule beside its elements."""
        counts = [line for line in self.extra if line.startswith("counts")]
        return ["id", *(what for what in ("packets", "bytes") if what in "".join(counts))]

    @property
    def readable(self) -> list[tuple[Element, bool]]:
        """Elements that a stage may read as values, and whether a rule may leave them out."""
        matched = [(m.element, m.how == "optional") for m in self.matches
                   if m.how in ("exact", "optional") and not m.element.references
                   and m.element.kind not in ("bytes", "name")]  # fmt: skip
        given = [(e, False) for e in self.gives if not e.references and not e.most]
        return matched + given

    @property
    def lists(self) -> list[Element]:
        return [e for e in self.gives if e.most]

    @property
    def ports(self) -> list[Element]:
        """Elements that may refer to a port."""
        return [e for e in self.gives if "port" in e.references]

    @property
    def text(self) -> str:
        lines = [f"rule {self.name} [64]{' named' if self.named else ''} {{"]
        for m in self.matches:
            lines.append(f"  match {m.element.name} {m.how} {m.operand}")
        given = [e.name for e in (*self.gives, *self.own) if e not in self.meters]
        if given:
            lines.append(f"  gives {', '.join(given)}")
        if self.meters:
            unit = Chance(self.name + self.meters[0].name).one((" in packets", ""))
            lines.append(f"  meters {', '.join(e.name for e in self.meters)}{unit}")
        if self.alternatives:
            lines.append(f"  gives {' | '.join(self.alternatives)}")
        lines += [f"  {line}" for line in ([self.spread] if self.spread else []) + self.extra]
        return "\n".join([*lines, "}"])


class RuleMaker:
    def __init__(self, chance: Chance, facts: Facts, anchor: str) -> None:
        self.chance, self.facts, self.anchor = chance, facts, anchor
        self.elements: list[Element] = []
        self.kinds: dict[str, Kind] = {}

    def make(self) -> dict[str, Kind]:
        chance = self.chance
        tunnels = chance.maybe(0.5)
        if tunnels:
            self.tunnel()
        self.action(tunnels)
        group = chance.maybe(0.6)
        if group:
            self.group()
        self.classifier("CLS", ["ACT"] + (["GRP"] if group else []))
        if chance.maybe(0.6):
            self.classifier("PLAIN", [])
        return self.kinds

    # ---- elements ----------------------------------------------------------------------------

    def element(self, type_: str, kind: str, width: int, symbols: bool = False) -> Element:
        number = len(self.elements) + 1
        made = Element(f"e{number}", type_, kind, width)
        if symbols:
            made.symbols = [f"S{number}_{i}" for i in range(self.chance.number(2, 4))]
        self.elements.append(made)
        return made

    def values(self, most: int) -> list[Element]:
        """Something that a push may want."""
        chance = self.chance
        made = [self.element(*chance.one(VALUES)) for _ in range(chance.number(0, most))]
        tunnelled = any(self.facts.arrays(n) for n in self.facts.names if n.startswith("t_"))
        if chance.maybe(0.9 if tunnelled else 0.5):
            made.append(self.listed())
        return made

    def listed(self) -> Element:
        """An element of several values: such as an array of the graph holds, if there is one."""
        chance = self.chance
        outer = [n for n in self.facts.names if n.startswith("t_")]
        arrays = [a for node in outer * 3 + self.facts.names for a in self.facts.arrays(node)
                  if a[0].width in (8, 16, 32, 64, 128)]  # fmt: skip
        if not arrays or chance.maybe(0.2):
            made = self.address() if chance.maybe(0.5) else self.element(*chance.one(VALUES))
            made.most = chance.number(1, 8)
            return made
        field_, group = chance.one(arrays)
        type_ = f"u{field_.width}" if field_.kind == "uint" else field_.kind
        made = self.element(type_, field_.kind, field_.width)
        made.most = chance.number(1, min(8, group.most + 1))
        return made

    def address(self) -> Element:
        """A next hop."""
        six = self.chance.maybe(0.5) if len(self.facts.families) > 1 else (
            "ipv6" in self.facts.families)  # fmt: skip
        return self.element(*(("ip6", "ip6", 128) if six else ("ip4", "ip4", 32)))

    def port(self, *kinds: str) -> Element:
        made = self.element(" | ".join([*kinds, "port"]), "uint", 32)
        made.references = [*kinds, "port"]
        return made

    # ---- kinds -------------------------------------------------------------------------------

    def counts(self, kind: Kind) -> None:
        if self.chance.maybe(0.6):
            what = self.chance.one(("packets, bytes, sizes", "packets"))
            kind.extra.append(f"counts {what}")

    def metered(self, kind: Kind) -> None:
        own = Chance(kind.text)  # of its own: all else stays what it would be
        if own.maybe(0.8):
            for what in own.one(("rb", "rbb", "rbrb")):
                wide = own.one((32, 64) if what == "r" else (16, 32))
                kind.meters.append(self.element(f"u{wide}", "uint", wide))
            kind.gives += kind.meters

    def tunnel(self) -> None:
        kind = Kind("TUN", named=self.chance.maybe(0.6))
        kind.matches = self.matches(1, 3, exact=True)
        kind.gives = [self.port(), self.address(), *self.values(3)]
        self.metered(kind)
        self.counts(kind)
        self.kinds["TUN"] = kind

    def action(self, tunnels: bool) -> None:
        kind = Kind("ACT")
        kind.gives = [
            self.element("u8", "uint", 8, symbols=True),
            self.port(*(["TUN"] if tunnels else [])),
        ]
        if self.chance.maybe(0.6):
            kind.gives.append(self.address())
        kind.gives += self.values(2)
        self.metered(kind)
        self.counts(kind)
        self.kinds["ACT"] = kind

    def group(self) -> None:
        chance = self.chance
        kind = Kind("GRP")
        if chance.maybe(0.6):
            kind.matches = self.matches(1, 2)
        kind.hashed = self.hashed(1, 5)
        weight = f" by {self.element('u16', 'uint', 16).name}" if chance.maybe(0.7) else ""
        members = f"ACT[1..{chance.one((1, 4, 16))}]"
        kind.spread = f"spread {members}{weight} over hash({', '.join(kind.hashed)})"
        self.kinds["GRP"] = kind

    def hashed(self, least: int, most: int) -> list[str]:
        """Fields that packets with the anchor have, and such as they may lack."""
        near = self.facts.sure(self.anchor)
        nodes = near * 3 + (self.facts.names if self.chance.maybe(0.3) else [])
        names = [f"{node}.{f.name}" for node in nodes for f in self.facts.fields(node)]
        names += ["l4.src", "l4.dst"] if self.facts.has_layer4 else []
        return list(dict.fromkeys(self.chance.shuffled(self.chance.some(names, least, most))))

    def classifier(self, name: str, alternatives: list[str]) -> None:
        chance = self.chance
        kind = Kind(name, alternatives=alternatives)
        kind.matches = self.matches(1, chance.one((4, 4, 9)))
        if chance.maybe(0.4 if alternatives else 0.8):
            kind.matches += self.given_matches()
        if not alternatives or chance.maybe(0.8):
            kind.gives = [self.port(), self.address()]
            kind.gives += [self.element("u8", "uint", 8, symbols=True)] if chance.maybe(0.8) else []
            kind.gives += self.values(2)
        self.metered(kind)
        self.counts(kind)
        if chance.maybe(0.35):
            which = chance.one(("priority", "precedence"))
            kind.extra.append(f"{which} {self.element('u16', 'uint', 16).name}")
        self.named(kind)
        self.kinds[name] = kind

    # ---- matches -----------------------------------------------------------------------------

    def given_matches(self) -> list[Match]:
        """What each look-up says itself, and the port of arrival."""
        chance, out = self.chance, list[Match]()
        if chance.maybe(0.7):
            type_, kind, width = chance.one(VALUES)
            how = "exact" if width < 3 else chance.one(MATCHES[kind])
            out.append(Match(self.element(type_, kind, width), how, "given"))
        if chance.maybe(0.5) or not out:
            port = self.port()
            out.append(Match(port, chance.one(("exact", "optional", "optional")), "port"))
        return out

    def named(self, kind: Kind) -> None:
        """Perhaps a domain name, and a run of bytes, where the graph has them."""
        own = Chance(f"names {kind.text}")
        room = LONGEST_KEY - sum(m.element.width // 8 + 2 for m in kind.matches)
        if random_names.NODE not in self.facts.names:
            return
        size = own.one(random_names.SIZES)
        if size + 2 <= room and own.maybe(0.9):
            how = own.one(("optional", "ternary", "ternary"))
            made = self.element(f"name[{size}]", "name", 8 * size)
            options = self.facts.header(random_names.NODE).options
            field = "host.name" if options else "host"
            kind.matches.append(Match(made, how, f"{random_names.NODE}.{field}"))
        if size + 12 <= room and own.maybe(0.7):
            how = own.one(("optional", "lpm", "ternary"))
            made = self.element("bytes[5]", "bytes", 40)
            kind.matches.append(Match(made, how, f"{random_names.NODE}.id"))

    def matches(self, least: int, most: int, exact: bool = False) -> list[Match]:
        """Of operands all over the graph; most of them where the anchor is."""
        chance, facts = self.chance, self.facts
        near = facts.sure(self.anchor)
        operands = []
        for node in facts.names:
            for f in facts.fields(node, optional=True):
                weight = 8 if node in near else 1
                operands += [(f"{node}.{f.name}", f.kind, f.width)] * weight
        if facts.has_layer4:
            operands += [("l4.src", "uint", 16), ("l4.dst", "uint", 16)] * 4
        out: list[Match] = []
        size = ranges = 0
        count = chance.number(least, most)
        for operand, kind, width in chance.shuffled(operands):
            if len(out) == count:
                break
            size += width // 8 + 2
            if size > LONGEST_KEY or any(m.operand == operand for m in out):
                continue
            how = chance.one(("exact", "optional") if exact else MATCHES[kind])
            if how == "exact" and not exact and chance.maybe(0.8):
                how = "optional"
            if how == "range":
                ranges += 1
                if ranges > 1:
                    how = "optional"
            type_ = f"u{width}" if kind == "uint" else kind
            out.append(Match(self.element(type_, kind, width), how, operand))
        return out
