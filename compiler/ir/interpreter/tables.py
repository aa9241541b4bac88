"""Rules as programs find them: keys, cells and records. A rule's cell is also its record's slot. On
a card what is found is an entry: a record, and the cell behind it."""

from __future__ import annotations

from collections.abc import Iterator

from ....lang.contract.manifest import manifest as m
from ....lang.contract.rules.rules import Rule
from ....lang.contract.rules.spread import spread_slots
from ....lang.contract.world.environment import Environment, Rules
from ...interpret.matching import best_rule
from ...tables.layout import Table
from .memory import Fault, Region, ones

_WORD = 8


class Tables:
    """The rules of a book at one moment."""

    def __init__(
        self, tables: tuple[Table, ...], rules: Rules, environment: Environment,
        bare: tuple[str, ...],
    ) -> None:  # fmt: skip
        """`bare`: roles whose ports have no link header."""
        self.tables = {t.manifest.prefix: t for t in tables}
        self._environment, self._bare = environment, bare
        self._direct = {"port", *(t.rule.name for t in tables if t.rule.grouped)}
        self._rules = {
            t.manifest.prefix: sorted(rules.rules(t.rule.name), key=lambda rule: rule.sequence)
            for t in tables
        }
        self._records: dict[tuple[str, int], Region] = {}

    def rule(self, table: str, cell: int) -> Rule | None:
        """The rule of a cell, from 1 on."""
        rules = self._rules[table]
        return rules[cell - 1] if 0 < cell <= len(rules) else None

    def cell_of(self, table: str, sequence: int) -> int:
        """The cell of the rule with that sequence; 0 if there is none."""
        found = (i for i, r in enumerate(self._rules[table], 1) if r.sequence == sequence)
        return next(found, 0)

    def record(self, table: str, cell: int) -> Region | None:
        rule = self.rule(table, cell)
        if rule is None:
            return None
        key = table, cell
        if key not in self._records:
            content = bytearray(self._record(self.tables[table], rule))
            self._records[key] = Region(f"record of {table}", content)
        return self._records[key]

    def find(self, table: str, words: list[int]) -> int:
        """The cell of the best rule for a key; 0 if there is none."""
        of, rules = self.tables[table], self._rules[table]
        key = b"".join(word.to_bytes(_WORD, "little") for word in words)
        size = of.manifest.key_size
        if any(key[size:]):
            raise Fault(f"the key of {table} has bits behind its end")
        number = int.from_bytes(key[:size], "big")
        if (at := of.manifest.group_position) is not None:
            group = number >> at & ones(32)
            rules = [rule for rule in rules if rule.id == group]
        best = best_rule(of.rule, rules, dict(_values(of.manifest, number)))
        if best is None:
            return 0
        return 1 + self._rules[table].index(best)

    # ---- records ----------------------------------------------------------------------------

    def _record(self, table: Table, rule: Rule) -> bytes:
        content = bytearray(table.manifest.record_size)
        for member in table.manifest.record:
            part = self._member(table, rule, member)
            content[member.offset : member.offset + len(part)] = part
        return bytes(content) + self._behind_record(table, rule)

    def _behind_record(self, table: Table, rule: Rule) -> bytes:
        """What a card's entry has besides: of that programs read the cell alone."""
        card = table.manifest.offload
        if card is None:
            return b""
        cell = 1 + self._rules[table.manifest.prefix].index(rule)
        at = card.cell_at - table.manifest.record_size
        return (bytes(at) + cell.to_bytes(4, "little")).ljust(
            card.size - table.manifest.record_size, b"\0"
        )

    def _member(self, table: Table, rule: Rule, member: m.Member) -> bytes:
        values = {name: matcher.value for name, matcher in rule.match} | dict(rule.values)
        references = dict(rule.references)
        to = references.get(member.element) if member.element else rule.target
        match member.kind:
            case "value":
                return values.get(member.element, 0).to_bytes(member.size, "big")
            case "present":
                return bytes([member.element in values or to is not None])
            case "tag":
                return bytes([1 + member.choices.index(to.kind) if to is not None else 0])
            case "reference":
                number = self._reference(to.kind, to.id) if to is not None else 0
                return number.to_bytes(4, "little")
            case "slots":
                assert table.rule.spread is not None
                kind = table.rule.spread.kind
                listed = sorted(rule.members)
                ids = [id_ for id_, _ in listed]
                if table.rule.spread.hash is not None:
                    ids = spread_slots(listed)
                return b"".join(self._reference(kind, id_).to_bytes(4, "little") for id_ in ids)
            case "next_hop":
                return self._next_hop(table, rule, member)

    def _reference(self, kind: str, id_: int) -> int:
        if kind in self._direct:
            return id_
        rules = self._rules[kind.lower()]
        return 1 + next(i for i, rule in enumerate(rules) if rule.id == id_)

    def _next_hop(self, table: Table, rule: Rule, member: m.Member) -> bytes:
        port, via = member.element.split(" via ")
        values = {name: matcher.value for name, matcher in rule.match} | dict(rule.values)
        to = dict(rule.references).get(port)
        if to is None or to.kind != "port" or via not in values:
            return bytes(m.NEXT_HOP_SIZE)
        elements = [match.element for match in table.rule.match] + list(table.rule.gives)
        width = next(element.width for element in elements if element.name == via)
        kind = "ip4" if width == 32 else "ip6"
        found = next_hop(self._environment, to.id, values[via], kind, self._bare)
        return found or bytes(m.NEXT_HOP_SIZE)


def next_hop(
    environment: Environment, port: int, address: int, kind: str, bare: tuple[str, ...]
) -> bytes | None:
    """`struct next_hop` to a neighbour out of a port, if both are known; nobody has to know one of
    a port without link headers (`bare`: such roles)."""
    out, mac = environment.port(port), environment.neighbour(port, address, kind)
    if out is not None and out.role in bare:
        mac = bytes(6)
    if out is None or mac is None:
        return None
    numbers = (out.number, 4), (out.mtu, 2), (out.vlan, 2)
    head = b"".join(number.to_bytes(size, "little") for number, size in numbers)
    return (head + mac + out.mac + b"\x01").ljust(m.NEXT_HOP_SIZE, b"\0")


def _values(kind: m.RuleKind, key: int) -> Iterator[tuple[str, int | None]]:
    """What a key says of each match element; None where the packet lacks that."""
    for match in kind.match:
        there = match.presence is None or key >> match.presence & 1
        yield match.element, key >> match.position & ones(match.width) if there else None
