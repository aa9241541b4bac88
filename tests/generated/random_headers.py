"""Headers that nobody wrote: fields of every width and kind, divided, in groups; sizes, extents,
conditions."""

from __future__ import annotations

from dataclasses import dataclass, field

from chance import Chance

ODD_WIDTHS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 16, 17, 20, 24, 31, 32, 33, 40, 48, 56, 63, 64]


@dataclass
class Own:
    """A header as text, and the fields that edges may test (name, width)."""

    name: str
    text: str
    selectors: list[tuple[str, int]] = field(default_factory=list)


class HeaderMaker:
    """Makes one header; `at` is the bit that the next field begins at."""

    def __init__(self, chance: Chance, name: str) -> None:
        self.chance, self.name = chance, name
        self.lines: list[str] = []
        self.at = 0
        self.count = 0
        self.plain: list[tuple[str, int]] = []  # numbers of the fixed part: conditions read them

    def make(self, link: bool) -> Own:
        chance = self.chance
        sized = not link and chance.maybe(0.35)
        extended = not link and chance.maybe(0.35)
        flags = [] if link else [f"has_{i}" for i in range(chance.number(0, 2))]
        selectors = self.selectors(link)
        todo: list[tuple[str, int, str]] = [(n, w, self.default(w, 0.2)) for n, w in selectors]
        if link:  # a link header announces what follows: 16 bits, as an EtherType
            todo += [("", 0, "")] * chance.number(0, 2)
        else:
            todo += [(f, 1, "") for f in flags] + [("", 0, "")] * chance.number(0, 5)
        if chance.maybe(0.3):
            todo.append(("sum", -16, " = checksum(header)"))
        size_unit, len_width = chance.one((1, 2, 4, 8)), chance.one((3, 4, 5, 6, 8))
        if sized:
            todo.append(("len", len_width, self.default(len_width, 0.5)))
        if extended:
            todo.append(("total", -16, " = length(header, payload)"))
        for each in chance.shuffled(todo):
            self.place(*each)
        self.align()
        fixed = self.at // 8
        groups = [g for g in map(self.group, flags) if chance.maybe(0.9)]
        clauses = self.clauses()
        if sized:
            clauses.append(self.size(size_unit, len_width, fixed + 24))
            if chance.maybe(0.7):
                groups.append("  tail : bytes[rest]")
        if extended:
            clauses.append("  extent total")
        body = "\n".join([*self.lines, *groups, *clauses])
        return Own(self.name, f"{'link ' if link else ''}header {self.name} {{\n{body}\n}}\n",
                   selectors)  # fmt: skip

    def selectors(self, link: bool) -> list[tuple[str, int]]:
        if link:
            return [("next", 16)]
        chance = self.chance
        found = [("next", chance.one((8, 16, 16, 4, 12, 20, 3, 32, 24, 48)))]
        if chance.maybe(0.3):
            found.append(("sub", chance.one((1, 2, 8, 9, 16))))
        return found

    # ---- fields ------------------------------------------------------------------------------

    def place(self, name: str, width: int, default: str) -> None:
        """A field of that name, or any; a negative width begins at an octet."""
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
        kind = chance.one(["uint"] * 6 + ["divided", "divided", "mac", "ip4", "ip6", "bytes"])
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
                self.lines.append(f"  {self.fresh()} : {type_}")
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

    def group(self, flag: str) -> str:
        chance, fields, at = self.chance, [], 0
        for _ in range(chance.number(1, 3)):
            width = chance.one((8, 16, 32, 24, 12, 4, 48, 64))
            width = min(width, 64 - at % 8)
            fields.append(f"{self.fresh()} : u{width}{self.default(width)}")
            at += width
        if at % 8:
            fields.append(f": u{-at % 8}")
        return f"  when {flag} {{ {'  '.join(fields)} }}"

    # ---- clauses -----------------------------------------------------------------------------

    def size(self, unit: int, width: int, least: int) -> str:
        """A size that reaches over all that the header may have."""
        if unit == 1:
            return "  size len" if least < (1 << width) else f"  size len + {least}"
        more = max(0, least - ((1 << width) - 1) * unit // 2)
        times = self.chance.one((f"len * {unit}", f"len << {unit.bit_length() - 1}"))
        return f"  size ({times}) + {more}" if more else f"  size {times}"

    def clauses(self) -> list[str]:
        words = [("accept", 0.35), ("require", 0.25), ("payload when", 0.25)]
        return [
            f"  {w} {self.condition()}" for w, p in words if self.plain and self.chance.maybe(p)
        ]

    def condition(self, deep: int = 2) -> str:
        """True of a good part of all values: a parser that takes nothing shows nothing."""
        chance = self.chance
        if deep and chance.maybe(0.25):
            joined = f" {chance.one(('or', 'and'))} ".join(self.condition(deep - 1) for _ in "ab")
            return f"({joined})" if deep < 2 else joined
        if chance.maybe(0.1):
            return f"not ({self.condition(0)})"
        name, width = chance.one(self.plain)
        width = abs(width)
        full = (1 << width) - 1
        match chance.number(0, 4):
            case 0:
                return f"{name} {chance.one(('!=', '=', '<=', '>='))} {chance.value(width)}"
            case 1 if width < 63:
                mask = chance.number(1, full)
                operator, value = chance.one(("=", "!=")), chance.number(0, full) & mask
                return f"({name} & {mask:#x}) {operator} {value}"
            case 2 if width < 40:
                other, more = chance.one(self.plain)
                if abs(more) < 40:
                    return (
                        f"{name} + {other} * 2 {chance.one(('>', '<='))} {chance.number(0, full)}"
                    )
        return f"{name} {chance.one(('<', '<=', '!='))} {max(1, full // 2 + 1)}"


def header(chance: Chance, name: str, link: bool = False) -> Own:
    return HeaderMaker(chance, name).make(link)
