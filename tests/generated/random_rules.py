"""Information elements and rule kinds that nobody wrote, over the fields of a graph."""

from __future__ import annotations

from dataclasses import dataclass, field

from chance import Chance
from helioc.compiler.graph import reachable, surely_present, ways
from helioc.compiler.model import Field, Graph

MATCHES = {
    "uint": ("exact", "optional", "lpm", "ternary", "range"),
    "ip4": ("exact", "optional", "lpm", "lpm", "ternary", "range"),
    "ip6": ("exact", "optional", "lpm", "ternary"),
    "mac": ("exact", "optional", "ternary"),
}
LONGEST_KEY = 56  # octets of fields: the compiler takes 88 with all that it adds


@dataclass
class Element:
    name: str
    type: str
    kind: str
    width: int
    symbols: list[str] = field(default_factory=list)
    references: list[str] = field(default_factory=list)


@dataclass
class Match:
    element: Element
    how: str
    operand: str


@dataclass
class Kind:
    """A rule kind. `hashes`: what its spread hashes over; empty without one."""

    name: str
    named: bool = False
    matches: list[Match] = field(default_factory=list)
    gives: list[Element] = field(default_factory=list)
    alternatives: list[str] = field(default_factory=list)
    spread: str = ""
    extra: list[str] = field(default_factory=list)

    @property
    def readable(self) -> list[tuple[Element, bool]]:
        """Elements that a stage may read as values, and whether a rule may leave them out."""
        matched = [(m.element, m.how == "optional") for m in self.matches
                   if m.how in ("exact", "optional")]  # fmt: skip
        return matched + [(e, False) for e in self.gives if not e.references]

    @property
    def text(self) -> str:
        lines = [f"rule {self.name} [{64}]{' named' if self.named else ''} {{"]
        for m in self.matches:
            lines.append(f"  match {m.element.name} {m.how} {m.operand}")
        if self.gives:
            lines.append(f"  gives {', '.join(e.name for e in self.gives)}")
        if self.alternatives:
            lines.append(f"  gives {' | '.join(self.alternatives)}")
        lines += [f"  {line}" for line in ([self.spread] if self.spread else []) + self.extra]
        return "\n".join([*lines, "}"])


class Facts:
    """What generators ask of a graph."""

    def __init__(self, graph: Graph, roles: tuple[str, ...]) -> None:
        self.graph, self.roles = graph, roles
        self.names = [n.name for n in graph.nodes]
        self.ways = {role: [self.order(way) for way in sorted(ways(graph, role))] for role in roles}

    def order(self, way: int) -> tuple[str, ...]:
        return tuple(n for i, n in enumerate(self.names) if way >> i & 1)

    def one_layer4(self) -> bool:
        """There is a TCP or UDP node, and no packet has two."""
        found = [n.name for n in self.graph.nodes if n.header.protocol in ("tcp", "udp")]
        all_ways = [w for several in self.ways.values() for w in several]
        return bool(found) and all(len(set(w) & set(found)) < 2 for w in all_ways)

    def fields(self, node: str, groups: bool = False, bytes_: bool = False) -> list[Field]:
        """Named fields that can be read."""
        return [
            f for f in self.graph.node(node).header.fields
            if not f.name.startswith("_") and (groups or not f.group)
            and (bytes_ or f.kind != "bytes")
        ]  # fmt: skip

    def sure(self, node: str) -> list[str]:
        """Nodes that every packet with that node has, on every role that has it."""
        with_it = [r for r in self.roles if node in reachable(self.graph, r)]
        common = [surely_present(self.graph, r, node) for r in with_it]
        both = frozenset.intersection(*common) if common else frozenset()
        return [n for n in self.names if n in both]


class RuleMaker:
    def __init__(self, chance: Chance, facts: Facts, anchor: str) -> None:
        self.chance, self.facts, self.anchor = chance, facts, anchor
        self.elements: list[Element] = []
        self.kinds: dict[str, Kind] = {}

    def make(self) -> dict[str, Kind]:
        chance = self.chance
        tunnels = chance.maybe(0.55)
        if tunnels:
            self.tunnel()
        self.action(tunnels)
        group = chance.maybe(0.5)
        if group:
            self.group()
        self.classifier("CLS", ["ACT"] + (["GRP"] if group else []))
        if chance.maybe(0.5):
            self.classifier("PLAIN", [])
        return self.kinds

    def element(self, type_: str, kind: str, width: int, symbols: bool = False) -> Element:
        number = len(self.elements) + 1
        made = Element(f"e{number}", type_, kind, width)
        if symbols:
            made.symbols = [f"S{number}_{i}" for i in range(self.chance.number(2, 4))]
        self.elements.append(made)
        return made

    def value(self) -> Element:
        """Something that a push may want."""
        type_, kind, width = self.chance.one(
            [("u8", "uint", 8), ("u16", "uint", 16), ("u32", "uint", 32), ("u20", "uint", 20),
             ("u6", "uint", 6), ("u24", "uint", 24), ("u64", "uint", 64), ("ip4", "ip4", 32),
             ("ip4", "ip4", 32), ("mac", "mac", 48), ("u1", "uint", 1)]
        )  # fmt: skip
        return self.element(type_, kind, width)

    def port(self, *kinds: str) -> Element:
        made = self.element(" | ".join([*kinds, "port"]), "uint", 32)
        made.references = [*kinds, "port"]
        return made

    # ---- kinds -------------------------------------------------------------------------------

    def counts(self, kind: Kind) -> None:
        if self.chance.maybe(0.6):
            kind.extra.append(self.chance.one(("counts packets, bytes", "counts packets")))

    def tunnel(self) -> None:
        kind = Kind("TUN", named=self.chance.maybe(0.6))
        kind.matches = self.matches(1, 3, exact=True)
        kind.gives = [self.port(), self.element("ip4", "ip4", 32)]
        kind.gives += [self.value() for _ in range(self.chance.number(0, 3))]
        self.counts(kind)
        self.kinds["TUN"] = kind

    def action(self, tunnels: bool) -> None:
        kind = Kind("ACT")
        kind.gives = [
            self.element("u8", "uint", 8, symbols=True),
            self.port(*(["TUN"] if tunnels else [])),
        ]
        if self.chance.maybe(0.5):
            kind.gives.append(self.element("ip4", "ip4", 32))
        kind.gives += [self.value() for _ in range(self.chance.number(0, 2))]
        self.counts(kind)
        self.kinds["ACT"] = kind

    def group(self) -> None:
        chance = self.chance
        kind = Kind("GRP")
        if chance.maybe(0.6):
            kind.matches = self.matches(1, 2)
        arguments = self.hashed(1, 5)
        weight = ""
        if chance.maybe(0.7):
            weight = f" by {self.element('u16', 'uint', 16).name}"
        kind.spread = (
            f"spread ACT[1..{chance.one((1, 4, 16))}]{weight} over hash({', '.join(arguments)})"
        )
        self.kinds["GRP"] = kind

    def hashed(self, least: int, most: int) -> list[str]:
        """Fields that every packet with the anchor has."""
        names = [
            f"{node}.{f.name}" for node in self.facts.sure(self.anchor)
            for f in self.facts.fields(node) if f.width <= 64
        ]  # fmt: skip
        if self.facts.one_layer4():
            names += ["l4.src", "l4.dst"]
        return self.chance.shuffled(self.chance.some(names, least, most))

    def classifier(self, name: str, alternatives: list[str]) -> None:
        kind = Kind(name, alternatives=alternatives)
        kind.matches = self.matches(1, 5)
        if not alternatives or self.chance.maybe(0.3):
            kind.gives = [
                self.element("u8", "uint", 8, symbols=True),
                self.port(),
                self.element("ip4", "ip4", 32),
            ]
        self.counts(kind)
        if self.chance.maybe(0.35):
            which = self.chance.one(("priority", "precedence"))
            kind.extra.append(f"{which} {self.element('u16', 'uint', 16).name}")
        self.kinds[name] = kind

    # ---- matches -----------------------------------------------------------------------------

    def matches(self, least: int, most: int, exact: bool = False) -> list[Match]:
        """Of operands all over the graph; most of them where the anchor is."""
        chance, facts = self.chance, self.facts
        near = facts.sure(self.anchor)
        operands = []
        for node in facts.names:
            weight = 8 if node in near else 1
            for f in facts.fields(node, groups=True):
                operands += [(f"{node}.{f.name}", f.kind, f.width)] * weight
        if facts.one_layer4():
            operands += [("l4.src", "uint", 16), ("l4.dst", "uint", 16)] * 4
        out: list[Match] = []
        octets = ranges = 0
        for operand, kind, width in chance.shuffled(operands):
            if len(out) == chance.number(least, most) and len(out) >= least:
                break
            octets += width // 8 + 2
            if octets > LONGEST_KEY or any(m.operand == operand for m in out):
                continue
            allowed = (
                ("exact", "optional") if exact else MATCHES[kind] if width <= 64 else MATCHES["ip6"]
            )
            how = chance.one(allowed)
            if how == "exact" and not exact and chance.maybe(0.6):
                how = "optional"
            if how == "range":
                ranges += 1
                if ranges > 1:
                    how = "optional"
            type_ = f"u{width}" if kind == "uint" else kind
            out.append(Match(self.element(type_, kind, width), how, operand))
        return out


def element_text(number: int, element: Element) -> str:
    symbols = ""
    if element.symbols:
        said = ", ".join(f"{s} = {i + 1}" for i, s in enumerate(element.symbols))
        symbols = f" {{ {said} }}"
    return f"  ie {element.name} = {number}, {element.type}{symbols}"
