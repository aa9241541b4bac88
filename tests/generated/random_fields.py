"""One header of a frame: values that its clauses and the edge to the next header ask for."""

from __future__ import annotations

from collections.abc import Mapping

import random_names
from chance import Chance
from helioc.compiler.check.push_fields import own_fields
from helioc.compiler.fuzzing.options import kinds, least, option
from helioc.compiler.interpret.build_packet import Heading
from helioc.compiler.interpret.evaluate import holds
from helioc.compiler.interpret.header_view import HeaderView, Value, put
from helioc.compiler.model import (
    And,
    Compare,
    Condition,
    Const,
    Derived,
    Edge,
    Field,
    Header,
    Node,
    Not,
    Options,
    Or,
    Test,
)
from helioc.compiler.model.header_sizes import worked_out
from helioc.lang.contract.world.environment import Environment

TRIES = 120
GROUP_MACS = (0xFFFFFFFFFFFF, 0x01005E000005, 0x333300000001)
#: Options of a TCP header: with an MSS, behind others, cut short, without.
TCP_OPTIONS = tuple(
    map(
        bytes.fromhex,
        (
            "", "", "020405b4", "0102042328000000", "00020405b4000000", "030307020405b400",
            "020305b4", "01010204",
        ),
    )
)  # fmt: skip


class FieldMaker:
    """`liked`: values that a field should have now and then, because rules ask for them: by node
    and field."""

    def __init__(
        self, chance: Chance, environment: Environment, liked: Mapping[tuple[str, str], list[int]]
    ) -> None:
        self.chance, self.liked = chance, liked
        near = {"ip4": environment.neighbours, "ip6": environment.neighbours6}
        own = {"ip4": environment.local, "ip6": environment.local6}
        self.addresses = {k: sorted(own[k]) + [a for _, a in near[k]] for k in near}
        self.asked: dict[str, tuple[dict[str, list[int]], set[str]]] = {}

    def heading(self, node: Node, before: Edge | None, edge: Edge | None) -> Heading:
        """Values that the edges around the node take (its own, and what the one in front sees
        ahead), and the header's own clauses, if they can be found."""
        best: Heading | None = None
        for _ in range(TRIES):
            made = self.drawn(node, edge)
            for test in before.tests if before else ():
                made = self.seen(made, test) if test.ahead else made
            best = best or made
            if _meets(node.header, made, edge):
                return made
        assert best is not None
        return best

    def drawn(self, node: Node, edge: Edge | None) -> Heading:
        header = node.header
        values: dict[str, Value] = {}
        hints, counted = self.asks(header)
        lies = self.chance.maybe(0.03)
        for field in header.fields:
            group = header.group(field.group) if field.group else None
            absent = group and group.flags and not any(values.get(f) for f in group.flags)
            if isinstance(field.default, Derived) or absent:
                continue
            if field.name in counted and not lies:
                continue  # it says what follows
            values[field.name] = self.value(node, field, hints.get(field.name, []))
        for test in edge.tests if edge is not None else ():
            if not test.ahead:
                values[test.field] = self.passing(header.field(test.field), test)
        tested = {t.field for t in edge.tests} if edge is not None else set[str]()
        for field in header.fields:  # the parts of a whole are as the whole is, if that is told
            if field.part_of and field.name in tested:
                values.pop(field.part_of, None)
        self.tidy(header, values, tested)
        return Heading(node.name, header, values)

    def asks(self, header: Header) -> tuple[dict[str, list[int]], set[str]]:
        """Numbers that clauses compare its fields with, and the fields that say what follows."""
        if header.name not in self.asked:
            self.asked[header.name] = _constants(header), worked_out(header)
        return self.asked[header.name]

    def tidy(self, header: Header, values: dict[str, Value], tested: set[str]) -> None:
        """A tested whole gives its parts their values."""
        for part in header.fields:
            said = values.get(part.part_of or "")
            if part.part_of in tested and isinstance(said, int):
                whole = header.field(part.part_of or "")
                shift = whole.offset + whole.width - part.offset - part.width
                values[part.name] = said >> shift & (1 << part.width) - 1

    def passing(self, field: Field, test: Test) -> int:
        """A value that the test takes, at the ends of its ranges or within."""
        low, high = self.chance.one(test.ranges)
        value = self.chance.one((low, high, self.chance.number(low, high)))
        if test.mask is not None:
            value |= self.chance.number(0, (1 << field.width) - 1) & ~test.mask
        return value & (1 << field.width) - 1

    def seen(self, made: Heading, test: Test) -> Heading:
        """The header with first bits such as an edge in front looks ahead for."""
        header = made.header
        if header.fixed < test.ahead:
            return made
        bits = Field(test.field, 0, test.ahead, "uint")
        view = HeaderView(header, put(made.plain, 0, test.ahead, self.passing(bits, test)))
        values = dict(made.values)
        for field in header.fields:
            fixed = field.group is None and field.offset < test.ahead and field.width
            if fixed and not isinstance(field.default, Derived) and not field.name.startswith("_"):
                values[field.name] = view.number(field.name)
        return Heading(made.name, header, values)

    # ---- values ------------------------------------------------------------------------------

    def value(self, node: Node, field: Field, hints: list[int]) -> Value:
        chance, header = self.chance, node.header
        if field.kind == "name":
            return random_names.host(chance)
        if field.kind == "text":
            return random_names.text(chance)
        array = header.array(field)
        if array is not None:
            most = chance.one((array.most, min(2, array.most), array.most))
            return tuple(self.plain(node, field, []) for _ in range(chance.number(0, most)))
        if not field.width:
            if header.options is not None and node.options and chance.maybe(0.8):
                return self.options(header.options)
            if header.protocol == "tcp":
                return chance.one(TCP_OPTIONS)
            return chance.random_bytes(chance.one((0, 0, 0, 1, 4, 8, chance.number(0, 30))))
        return self.plain(node, field, hints)

    def options(self, options: Options) -> bytes:
        """Some; a few have a length that is wrong."""
        chance, known = self.chance, kinds(options)
        found = b""
        for _ in range(chance.one((0, 1, 2, 3, 4))):
            kind = chance.one((*known, *known, 77))
            size = max(least(options, kind) + chance.one((0, 0, 0, 1, 4, -1)), 0)
            says = size if chance.maybe(0.97) else chance.one((0, 1, size + 1, size + 30))
            content = chance.random_bytes(max(size - options.heading.minimum, 0))
            group = options.named(kind)
            if group is not None and group.text:
                content, says = random_names.in_option(chance)
            found += option(options, kind, says, content)
        return found

    def plain(self, node: Node, field: Field, hints: list[int]) -> int:
        chance, full = self.chance, (1 << field.width) - 1
        liked = self.liked.get((node.name, field.name), [])
        if liked and chance.maybe(0.75):
            return chance.one(liked) & full
        usual = _usual(node.header, field, chance)
        if usual is not None:
            return usual
        if field.kind in self.addresses and chance.maybe(0.4):
            return chance.one(self.addresses[field.kind] or [1])
        if hints and chance.maybe(0.5):
            around = chance.one(hints) + chance.one((-1, 0, 0, 1))
            return max(0, around) & full
        return chance.value(field.width)


def _usual(header: Header, field: Field, chance: Chance) -> int | None:
    """What the fields of standard headers mostly are, so that packets get past the parser."""
    match header.protocol, field.name:
        case "ethernet", "dst" if chance.maybe(0.05):
            return chance.one(GROUP_MACS)
        case "ethernet", "dst" | "src":
            return 0x020000000000 | chance.number(1, 9)
        case "ipv4", "version":
            return 4 if chance.maybe(0.97) else chance.value(4)
        case "ipv6", "version":
            return 6 if chance.maybe(0.97) else chance.value(4)
        case "ipv4" | "ipv6_fragment", "more_fragments" | "fragment_offset":
            return 0 if chance.maybe(0.93) else chance.value(field.width)
        case "ipv4" | "ipv6", "ttl" | "hop_limit":
            return chance.one((64, 64, 64, 2, 1, 255, 0)) if chance.maybe(0.4) else 64
        case "ipv4" | "ipv6", "ecn":
            return chance.number(0, 3)
        case "gre" | "geneve", "version" | "routing_present":
            return 0 if chance.maybe(0.96) else chance.value(field.width)
        case "srh", "segments_left":
            return chance.number(0, 2)
        case "tcp", "syn":
            return chance.number(0, 1)
        case "arp", "hardware_type" | "protocol_type" | "hardware_length" | "protocol_length":
            return field.default if chance.maybe(0.95) and isinstance(field.default, int) else None
    return None


# ---- what a header asks for -------------------------------------------------------------------


def _meets(header: Header, made: Heading, edge: Edge | None) -> bool:
    view = HeaderView(header, made.plain)

    def ask(condition: Condition) -> bool:
        raise AssertionError(condition)

    clauses = [*header.accept, *header.require, *(header.payload if edge else ())]
    if not all(holds(c, view.own, ask) for c in clauses):
        return False
    tests = [t for t in edge.tests if not t.ahead] if edge is not None else []
    return all(_passes(t, view.get(t.field)) for t in tests)


def _passes(test: Test, value: Value | None) -> bool:
    if not isinstance(value, int):
        return False
    under = value if test.mask is None else value & test.mask
    return any(low <= under <= high for low, high in test.ranges)


def _constants(header: Header) -> dict[str, list[int]]:
    """Numbers that clauses compare the header's fields with, by field."""
    found: dict[str, list[int]] = {}

    def look(condition: Condition) -> None:
        match condition:
            case Not(operand):
                look(operand)
            case And(operands) | Or(operands):
                for each in operands:
                    look(each)
            case Compare(_, left, right):
                numbers = [e.value for e in (left, right) if isinstance(e, Const)]
                for name in sorted(own_fields(left) | own_fields(right)):
                    found.setdefault(name, []).extend(numbers)

    for condition in (*header.accept, *header.require, *header.payload):
        look(condition)
    return found
