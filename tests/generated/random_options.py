"""Options of headers that nobody wrote, and what stages do with them; edges to what may not fit. By
chances of their own: what else a seed makes stays the same."""

from __future__ import annotations

from chance import Chance
from helioc.compiler.model import Field, Options
from places import Lines, Place
from random_facts import Facts

REST = "  tail : bytes[rest]"
#: What options begin with, and how long they are; a zero behind them ends the list, or is one.
_HEADS = (
    "kind : u8, length : u8, bare 1, end 0",
    "kind : u8, length : u8, bare 0 | 1, size length + 2",
    "kind : u8, length : u8, bare 0, end 255",
    "kind : u16, : u3, length : u5, size length * 4 + 4",
    "length : u16, kind : u8, note : u8, size length + 4",
)


def with_options(text: str) -> str:
    """A header that ends with bytes, perhaps with options in their place."""
    chance = Chance(f"options {text}")
    if REST not in text or chance.maybe(0.25):
        return text
    head, members = chance.one(_HEADS), list[str]()
    kinds = chance.shuffled(list(range(2, 40)))
    for i in range(chance.one((1, 1, 2, 3))):
        kind = chance.one((f"{kinds[i]}", f"{kinds[i]}", f"{100 + 20 * i}..{110 + 20 * i}"))
        types = chance.some(["u8", "u16", "u32", "u64", "ip4", "ip6", "mac", "u24"], 0, 2)
        fields = "  ".join(f"v{j} : {type_}" for j, type_ in enumerate(types))
        members.append(f"    opt{i} when kind = {kind} {{ {fields} }}")
    most = chance.one((1, 2, 3, 8, 40, 64))
    body = "\n".join(members)
    return text.replace(REST, f"  tail : tlv({head}) max {most} {{\n{body}\n  }}", 1)


def perhaps_fitting(edges: list[str], starts: list[str]) -> list[str]:
    """Edges, of which those that lead to a node or two ask whether it fits; but to none with which
    packets start."""
    chance = Chance(f"fits {' '.join(edges)}")
    read = [e for e in edges if " -> " in e and not e.endswith("on push")]
    nodes = sorted({_target(e) for e in read} - {_target(e) for e in starts} - {"linked"})
    if not nodes or chance.maybe(0.55):
        return edges
    chosen = chance.some(nodes, 1, 3)
    return [_fitting(e) if e in read and _target(e) in chosen else e for e in edges]


def _target(edge: str) -> str:
    words = edge.split()
    return words[4] if words[3:4] == ["as"] else words[2].partition("[")[0]


def _fitting(edge: str) -> str:
    before, on, roles = edge.partition(" on ")
    return f"{before} if it fits{on}{roles}"


class OptionMaker:
    """Statements about options, where packets surely have the header or an `if` asks for it."""

    def __init__(self, facts: Facts, seed: str) -> None:
        self.chance, self.facts = Chance(f"options {seed}"), facts

    def use(self, place: Place) -> Lines:
        chance = self.chance
        there = {n for w in place.worlds for n in w.way}
        nodes = [n for n in self.facts.names if n in there and self._options(n)]
        nodes = [n for n in nodes if not self.facts.protocol(n)] or nodes
        nodes = [n for n in nodes if n in place.sure] or nodes
        if not nodes or place.popped or place.pushed or chance.maybe(0.5):
            return []
        node = chance.one(nodes)
        options = self.facts.header(node).options
        assert options is not None
        group = chance.one(options.groups)
        own = [f for f in options.fields if f.group == group.name]
        read = chance.one([f for f in own if f.kind == "uint"])
        most = (1 << min(read.width, 10)) - 1
        whole = f"{node}.{group.name}"
        value = f"{node}.{read.name}"
        test = f"{chance.one(('=', '!=', '<', '>='))} {chance.number(1, most - 1)}"
        match chance.number(0, 7) if node in place.sure else chance.number(0, 1):
            case 0:
                return [f"if {whole} {{ count {group.name} }}"]
            case 1:
                return [f"if {whole} and {value} {test} {{ count {group.name} }}"]
            case 2:
                return [f"if first({value}) {test} {{ count none }}"]
            case 3:
                more = f"if {value} {test} {{ count more }}"
                return [f"if not {whole} {{ count lacks }} else {more}"]
        return self._changed(node, options, own)

    def _changed(self, node: str, options: Options, own: list[Field]) -> Lines:
        chance = self.chance
        behind = [f for f in own if f.offset >= options.heading.fixed]
        if not behind or not self.facts.changes_options(node):
            return []
        field = chance.one(behind)
        alike = [f for f in behind if (f.kind, f.width) == (field.kind, field.width)]
        target, other = f"{node}.{field.name}", f"{node}.{chance.one(alike).name}"
        if chance.maybe(0.3) and other != target:
            return [f"if {node}.{field.group} {{ swap {target}, {other} }}"]
        value = {"ip4": "192.0.2.7", "ip6": "2001:db8::7", "mac": "02:00:00:00:00:07"}.get(
            field.kind, str(chance.value(field.width))
        )
        return [f"{target} = {value}"]

    def _options(self, node: str) -> bool:
        options = self.facts.header(node).options
        return options is not None and bool(options.groups)
