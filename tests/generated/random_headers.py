"""Headers that nobody wrote: fields of every width and kind, divided, in groups, in arrays, counted
from the header's end."""

from __future__ import annotations

from dataclasses import dataclass, field

from chance import Chance
from random_clauses import Clauses

ODD_WIDTHS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 16, 17, 20, 24, 31, 32, 33, 40, 48, 56, 63, 64]
#: Elements of arrays: type and bytes.
ELEMENTS = [("ip6", 16), ("ip6", 16), ("u32", 4), ("u16", 2), ("u16", 2), ("u8", 1), ("u64", 8),
            ("ip4", 4), ("ip4", 4), ("mac", 6), ("u24", 3)]  # fmt: skip


@dataclass
class Own:
    """A header as text, and the fields that edges may test (name, width)."""

    name: str
    text: str
    selectors: list[tuple[str, int]] = field(default_factory=list)
    array: bool = False


@dataclass(frozen=True)
class Plan:
    """What a header is to have besides fields that come as they come."""

    link: bool
    sized: bool = False
    array: tuple[str, int] = ("", 0)
    groups: tuple[tuple[str, ...], ...] = ()  # the flags of each

    @property
    def flags(self) -> list[str]:
        return sorted({flag for group in self.groups for flag in group})


def row(chance: Chance, name: str) -> Own:
    """One with an array that can be pushed."""
    plan = Plan(False, chance.maybe(0.2), chance.one([e for e in ELEMENTS if e[1] not in (3, 6)]))
    return HeaderMaker(chance, name, plan).make()


def header(chance: Chance, name: str, link: bool = False) -> Own:
    if link:  # it announces what follows as an EtherType does
        return HeaderMaker(chance, name, Plan(link=True)).make()
    groups: list[tuple[str, ...]] = [(f"has_{i}",) for i in range(chance.one((0, 0, 1, 1, 2)))]
    if chance.maybe(0.2):  # of several flags, one of them perhaps also another group's
        more = ["any_0", "any_1", "any_2"][: chance.number(1, 3)] + [g[0] for g in groups[:1]]
        groups += [tuple(chance.shuffled(more))] if len(more) > 1 else []
    array = chance.one(ELEMENTS) if chance.maybe(0.5) else ("", 0)
    if array[0] and chance.maybe(0.6):  # such as can be pushed
        groups = []
    return HeaderMaker(chance, name, Plan(False, chance.maybe(0.35), array, tuple(groups))).make()


class HeaderMaker:
    """Makes one header; `at` is the bit that the next field begins at."""

    def __init__(self, chance: Chance, name: str, plan: Plan) -> None:
        self.chance, self.name, self.plan = chance, name, plan
        self.lines: list[str] = []
        self.at = 0
        self.count = 0
        self.summed = False  # its fixed part has a checksum: none of a group may cover that
        self.plain: list[tuple[str, int]] = []  # numbers of the fixed part: conditions read them

    def make(self) -> Own:
        chance, plan = self.chance, self.plan
        selectors = self.selectors()
        clauses = Clauses(chance, plan.array[1])
        todo: list[tuple[str, int, str]] = [(n, w, self.default(w, 0.2)) for n, w in selectors]
        todo += [(f, 1, "") for f in plan.flags]
        todo += [("", 0, "")] * chance.number(0, 2 if plan.link else 5)
        self.summed = chance.maybe(0.3)
        if self.summed:
            todo.append(("sum", -16, f" = checksum({chance.one(self.covered())})"))
        if plan.sized:
            todo.append(("len", clauses.len_width, self.default(clauses.len_width, 0.5)))
        if plan.array[0]:
            todo.append(("count", clauses.count_width, self.default(clauses.count_width, 0.4)))
        extended = not plan.link and chance.maybe(0.35)
        if extended:
            todo.append(("total", -chance.one((16, 16, 16, 24, 32)), clauses.length()))
        for each in chance.shuffled(todo):
            self.place(*each)
        self.align()
        clauses.begin(self.at // 8, self.plain)
        parts = self.parts_behind(clauses)
        said = clauses.conditions()
        said += [clauses.size()] if plan.sized else []
        said += [clauses.extent()] if extended else []
        body = "\n".join([*self.lines, *parts, *said])
        return Own(self.name, f"{'link ' if plan.link else ''}header {self.name} {{\n{body}\n}}\n",
                   selectors, bool(plan.array[0]))  # fmt: skip

    def selectors(self) -> list[tuple[str, int]]:
        chance = self.chance
        if self.plan.link:
            if chance.maybe(0.6):  # as Ethernet does, so that it is a tag in front of anything
                return [("type", 16)]
            return [("next", chance.one((16, 16, 16, 8, 12, 32)))]
        found = [("next", chance.one((8, 16, 16, 4, 12, 20, 3, 32, 24, 48)))]
        if chance.maybe(0.3):
            found.append(("sub", chance.one((1, 2, 8, 9, 16))))
        return found

    def covered(self) -> list[str]:
        if self.plan.link:
            return ["header"]
        return ["header"] * 3 + ["header, payload"] * 2 + [
            "pseudo, header, payload", "pseudo, header", "payload"]  # fmt: skip

    # ---- behind the fixed part ---------------------------------------------------------------

    def parts_behind(self, clauses: Clauses) -> list[str]:
        """Groups and the array in any order, perhaps fields behind them, then what is left."""
        chance, plan = self.chance, self.plan
        parts = [self.group(flags) for flags in plan.groups]
        if plan.array[0]:
            parts.append(f"  hops : {plan.array[0]}[{clauses.elements()}] max {clauses.most}")
        parts = chance.shuffled(parts)
        if parts and chance.maybe(0.3):
            parts.append(f"  {self.fresh()} : {chance.one(('u8', 'u16', 'u32', 'mac', 'u24'))}")
        if plan.sized and chance.maybe(0.7):
            parts.append("  tail : bytes[rest]")
            if chance.maybe(0.3):
                parts.append(f"  last : {chance.one(('u8', 'u16', 'u32'))}{self.default(8, 0.5)}")
        return parts

    def group(self, flags: tuple[str, ...]) -> str:
        chance, fields, at = self.chance, [], 0
        for _ in range(chance.number(1, 3)):
            width = chance.one((8, 16, 32, 24, 12, 4, 48, 64))
            width = min(width, 64 - at % 8)
            fields.append(f"{self.fresh()} : u{width}{self.default(width)}")
            at += width
        if at % 8:
            fields.append(f": u{-at % 8}")
        elif chance.maybe(0.15):
            fields.append(f"{self.fresh()} : ip6")
        elif len(flags) == 1 and not self.summed and chance.maybe(0.25):
            fields.append(f"sum_{flags[0]} : u16 = checksum({chance.one(self.covered())})")
        return f"  when {' or '.join(flags)} {{ {'  '.join(fields)} }}"

    # ---- fields ------------------------------------------------------------------------------

    def place(self, name: str, width: int, default: str) -> None:
        """A field of that name, or any; a negative width begins at a byte."""
        if not name:
            self.anything()
            return
        self.room(abs(width), width < 0)
        self.lines.append(f"  {name} : u{abs(width)}{default}")
        self.at += abs(width)
        if not default.startswith(" = ch") and not default.startswith(" = len"):
            self.plain.append((name, width))

    def room(self, width: int, aligned: bool) -> None:
        if (aligned and self.at % 8) or self.at % 8 + width > 64:
            self.align()

    def align(self) -> None:
        if left := -self.at % 8:
            if self.chance.maybe(0.5):
                self.lines.append(f"  : u{left}")
            else:
                self.plain.append((self.fresh(), left))
                self.lines.append(f"  {self.plain[-1][0]} : u{left} = {self.chance.value(left)}")
            self.at += left

    def fresh(self) -> str:
        self.count += 1
        return f"f{self.count}"

    def default(self, width: int, probability: float = 0.4) -> str:
        return f" = {self.chance.value(width)}" if self.chance.maybe(probability) else ""

    def anything(self) -> None:
        chance = self.chance
        kinds = ["uint"] * 6 + ["divided", "divided", "mac", "ip4", "ip6", "bytes"]
        kind = chance.one(kinds[:-1] if self.plan.array[0] else kinds)
        match kind:
            case "uint":
                width = chance.one(ODD_WIDTHS)
                self.room(width, False)
                name = self.fresh()
                self.lines.append(f"  {name} : u{width}{self.default(width)}")
                self.plain.append((name, width))
                self.at += width
            case "divided":
                self.divided()
            case _:
                self.room(8, True)
                type_, width = self.wide(kind)
                said = " = 2001:db8::7" if kind == "ip6" and chance.maybe(0.3) else ""
                self.lines.append(f"  {self.fresh()} : {type_}{said}")
                self.at += width

    def wide(self, kind: str) -> tuple[str, int]:
        if kind == "bytes":
            count = self.chance.number(1, 9)
            return f"bytes[{count}]", count * 8
        return kind, {"mac": 48, "ip4": 32, "ip6": 128}[kind]

    def divided(self) -> None:
        chance = self.chance
        width = chance.one([w for w in ODD_WIDTHS if 2 <= w <= 64])
        self.room(width, False)
        name, left = self.fresh(), width
        parts: list[str] = []
        defaults = chance.one(("whole", "parts", "none"))
        while left:
            part = left if len(parts) > 2 else chance.number(1, left)
            each = self.fresh()
            said = self.default(part, 1.0) if defaults == "parts" else ""
            reserved = chance.maybe(0.1) and len(parts) > 0
            parts.append(f": u{part}" if reserved else f"{each} : u{part}{said}")
            if not reserved:
                self.plain.append((each, part))
            left -= part
        whole = self.default(width, 1.0) if defaults == "whole" else ""
        self.plain.append((name, width))
        self.lines.append(f"  {name} : u{width}{whole} {{ {'  '.join(parts)} }}")
        self.at += width
