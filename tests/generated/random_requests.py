"""Rules for any checked pipeline, as request text, and the values that packets should have so that
they meet them."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address

import random_names
from chance import Chance
from compare import ADDRESSES, ADDRESSES6
from helioc.compiler.model import Arrival, Element, Given, Match, Packet, Pipeline, RuleKind
from helioc.lang.contract.world.environment import Environment

LENGTHS = {"u8": 8, "u16": 16, "u32": 32, "u48": 48, "u64": 64, "u128": 128}
PREFIXES = (8, 14, 16, 24, 31)

#: Rates and bursts by which packets are of several colours.
METERED = (0, 100, 1_500, 4_000, 50_000, 1_000_000, 10**10)


class RequestMaker:
    """`liked` gathers the values that matches ask for, by node and field."""

    def __init__(self, chance: Chance, pipeline: Pipeline, environment: Environment) -> None:
        self.chance, self.pipeline, self.environment = chance, pipeline, environment
        self.liked: dict[tuple[str, str], list[int]] = {}
        self.pools: dict[tuple[str, str], list[int]] = {}
        self.ids: dict[str, list[int]] = {}
        self.names: dict[str, list[str]] = {}

    def requests(self) -> Iterator[str]:
        """Rules of every kind, those that others refer to first; then changes."""
        for kind in self.in_order():
            for _ in range(self.chance.number(2, 6) if kind.match else self.chance.number(2, 4)):
                yield self.create(kind)

    def changes(self, count: int) -> Iterator[str]:
        """Single ones, and several at once."""
        for _ in range(count if self.pipeline.rules else 0):
            several = [self.change() for _ in range(self.chance.one((1, 1, 2, 3)))]
            yield "; ".join(several)

    def change(self) -> str:
        kind = self.chance.one(self.pipeline.rules)
        ids = self.ids.get(kind.name, [])
        match self.chance.number(0, 9) if ids else 9:
            case 0 | 1 | 2:
                return f"delete {kind.name} {self.chance.one(ids)}"
            case 3 | 4 | 5 if kind.gives or kind.priority:
                ies = [self.given(kind, e) for e in kind.gives]
                if kind.priority and (not ies or self.chance.maybe(0.6)):
                    ies.append(self.ie(kind.priority[1], str(self.chance.number(0, 3))))
                return f"update {kind.name} {self.chance.one(ids)} [{', '.join(ies)}]"
            case 6 | 7:
                rules = [self.rule(kind) for _ in range(self.chance.number(1, 3))]
                return f"replace {', '.join(rules)}"
        return self.create(kind)

    def in_order(self) -> list[RuleKind]:
        """What is referred to comes first."""
        placed: list[RuleKind] = []
        seen: set[str] = set()

        def place(kind: RuleKind) -> None:
            if kind.name in seen:
                return
            seen.add(kind.name)
            needs = [*kind.alternatives, *([kind.spread.kind] if kind.spread else [])]
            needs += [r for e in kind.gives for r in e.references if r != "port"]
            for name in needs:
                place(self.pipeline.rule(name))
            placed.append(kind)

        for kind in self.pipeline.rules:
            place(kind)
        return placed

    # ---- one rule ----------------------------------------------------------------------------

    def create(self, kind: RuleKind) -> str:
        return f"create {self.rule(kind)}"

    def rule(self, kind: RuleKind) -> str:
        chance = self.chance
        ids = self.ids.setdefault(kind.name, [])
        first = not ids
        id_ = chance.one(ids) if kind.grouped and ids and chance.maybe(0.6) else len(ids) + 1
        if id_ not in ids:
            ids.append(id_)
        often = 0.8 / max(1, len(kind.match)) + 0.1
        if first:  # the first takes all that the others leave, where it may
            often = 0.0 if chance.maybe(0.8) else often
        items = [
            self.match(kind, m) for m in kind.match if m.kind == "exact" or chance.maybe(often)
        ]
        items += [self.given(kind, e) for e in kind.gives]
        if kind.priority:
            element = kind.priority[1]
            items.append(self.ie(element, str(chance.number(0, 3))))
        if kind.alternatives:
            other = chance.one(kind.alternatives)
            items.append(f"{other} {chance.one(self.ids.get(other) or [1])}")
        if kind.spread:
            items += self.members(kind)
        name = ""
        if kind.named:
            name = f" N{kind.name}{id_}"
            self.names.setdefault(kind.name, []).append(name.strip())
        return f"{kind.name} {id_}{name} [{', '.join(items)}]"

    def members(self, kind: RuleKind) -> list[str]:
        assert kind.spread is not None
        known = self.ids.get(kind.spread.kind) or [1]
        items = []
        for id_ in self.chance.some(known, 1, min(4, kind.spread.most)):
            weight = ""
            if kind.spread.weight and self.chance.maybe(0.7):
                element = self.pipeline.element(kind.spread.weight)
                weight = f" [{self.ie(element, str(self.chance.number(1, 5)))}]"
            items.append(f"{kind.spread.kind} {id_}{weight}")
        return items

    def given(self, kind: RuleKind, element: Element) -> str:
        chance = self.chance
        if element.references:
            to = chance.one(element.references)
            named = self.names.get(to) if to != "port" else None
            return self.ie(element, chance.one(named) if named else self.port())
        if element.symbols:
            return self.ie(element, chance.one(element.symbols)[0])
        if element.most:
            values = [self.value(element) for _ in range(chance.number(1, element.most))]
            return self.ie(element, ", ".join(values))
        if element in kind.meters and chance.maybe(0.8):
            known = [n for n in METERED if not n >> element.width]
            return self.ie(element, str(chance.one(known)))
        return self.ie(element, self.value(element))

    def value(self, element: Element) -> str:
        """Of an address mostly one that there is."""
        environment = self.environment
        near = {"ip4": environment.neighbours, "ip6": environment.neighbours6}.get(element.kind)
        if near and self.chance.maybe(0.85):
            return spelt(element, self.chance.one(sorted({a for _, a in near})))
        return spelt(element, self.chance.value(element.width))

    def port(self) -> str:
        return self.chance.one(self.environment.ports).name

    def ie(self, element: Element, value: str) -> str:
        length = next(name for name, width in LENGTHS.items() if width >= element.width)
        return f"({element.name}, {length}, {value})"

    # ---- matches -----------------------------------------------------------------------------

    def match(self, kind: RuleKind, match: Match) -> str:
        chance, element, width = self.chance, match.element, match.element.width
        if isinstance(match.operand, Arrival):
            return self.ie(element, self.port())
        if element.kind == "name":
            return f"({element.name}, {random_names.said(chance, match.kind, width // 8)})"
        if element.kind == "bytes":
            self.liked[random_names.NODE, "id"] = [*random_names.RUNS]
            return f"({element.name}, {random_names.run(chance, match.kind)})"
        value = self.pooled(kind, match)
        spelling = spelt(element, value)
        match match.kind:
            case "lpm" if chance.maybe(0.6):
                length = chance.number(1, width) if width < 32 else chance.one((*PREFIXES, width))
                value = value >> (width - length) << (width - length)
                spelling = f"{spelt(element, value)}/{length}"
            case "ternary" if chance.maybe(0.6):
                mask = chance.one((chance.number(1, (1 << width) - 1), 1, 1 << (width - 1)))
                spelling = f"{value & mask} & {mask:#x}"
            case "range" if chance.maybe(0.6):
                high = min((1 << width) - 1, value + chance.number(0, max(1, 1 << width // 2)))
                spelling = f"{value}..{high}"
        return self.ie(element, spelling)

    def pooled(self, kind: RuleKind, match: Match) -> int:
        """One of a few values for each operand: rules overlap, and packets meet them."""
        operand, width = match.operand, match.element.width
        if isinstance(operand, Given):
            key = kind.name, match.element.name
        else:
            key = getattr(operand, "node", "l4"), getattr(operand, "field", "")
            key = (key[0], key[1] or getattr(operand, "which", ""))
        if key not in self.pools:
            self.pools[key] = self.pool(match.element.kind, width)
            if isinstance(operand, Packet):
                self.liked[key] = self.pools[key]
            elif not isinstance(operand, Given):
                for node in self.pipeline.graph.nodes:
                    if node.header.protocol in ("tcp", "udp"):
                        self.liked[node.name, key[1]] = self.pools[key]
        return self.chance.one(self.pools[key])

    def pool(self, kind: str, width: int) -> list[int]:
        if kind == "ip4":
            return [int(IPv4Address(a)) for a in ADDRESSES]
        if kind == "ip6":
            return [int(IPv6Address(a)) for a in ADDRESSES6]
        return [self.chance.value(width) for _ in range(2)]


def spelt(element: Element, value: int) -> str:
    if element.kind == "ip4":
        return str(IPv4Address(value))
    if element.kind == "ip6":
        return str(IPv6Address(value))
    if element.kind == "mac":
        return ":".join(f"{octet:02x}" for octet in value.to_bytes(6, "big"))
    return str(value)
