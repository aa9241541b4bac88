"""Chains of headers that nobody wrote, behind a node of a graph that has grown: with a chance of
their own, so that all else stays as it was."""

from __future__ import annotations

from typing import NamedTuple

from chance import Chance
from random_guards import ALSO, Leaving

#: Standard headers, by the field that they go by.
STANDARD = {"next_header": ("ipv6_destination", "ipv6_fragment")}


class Chained(NamedTuple):
    """Text of own headers, and the lines of the parser."""

    headers: list[str]
    lines: list[str]
    standard: bool = False


def chain(
    chance: Chance, front: str, leaving: Leaving, roles: list[str], behind: list[str]
) -> Chained | None:
    """`roles`: those of the front. `behind`: nodes, as edges name them, that may follow."""
    by, width = leaving.selectors[0]
    if leaving.style != "values" or leaving.ahead or leaving.header in ALSO or width > 32:
        return None
    taken = leaving.matched(roles)
    free = [v for v in dict.fromkeys(chance.value(width) for _ in range(40))
            if all(v < low or high < v for low, high in taken)]  # fmt: skip
    count = chance.one((1, 2, 2, 2, 3))
    if len(free) < count + 4:
        return None
    standard = by in STANDARD and width == 8 and chance.maybe(0.6)
    headers, names = [], []
    if standard:
        names = [f"{h} as c_{h}" for h in chance.shuffled(STANDARD[by])]
    else:
        for i in range(count):
            headers.append(_header(chance, f"link{i}", by, width))
            names.append(f"link{i} as c{i}" if chance.maybe(0.5) else f"link{i}")
    if not behind or chance.maybe(0.3):
        headers.append("header rear {\n  value : u32\n}")
        behind = ["rear", *behind]
    lines = [f"chain linked by {by} max {chance.one((1, 2, 2, 3, 4, 8))} {{"]
    for name in names:
        values = [
            free.pop() for _ in range(chance.one((1, 1, 1, 2)) if len(free) > count + 3 else 1)
        ]
        said = " | ".join(f"{v:#x}" for v in values)
        write = f" write {chance.one(values):#x}" if len(values) > 1 and chance.maybe(0.7) else ""
        lines.append(f"  {name} when {said}{write}")
    lines += ["}", f"{front} -> linked"]
    for target in chance.some(behind[:4], 1, 2):
        if free:
            lines.append(f"linked -> {target} when {by} = {free.pop():#x}")
    return Chained(headers, lines, standard)


def _header(chance: Chance, name: str, by: str, width: int) -> str:
    """What announces the next stands at its start, within it, or at its end."""
    said = [f"{by} : u{width}", *[f": u{-width % 8}"] * bool(width % 8)]
    other = chance.one(([], ["note : u8"], ["note : u16 = 3"], ["high : u4", "low : u4 = 1"]))
    rest = "content : bytes[rest]"
    match shape := chance.one(("plain", "plain", "behind", "sized", "tail")):
        case "plain":
            members = [*said, *other]
        case "behind":
            members = [*other, *said]
        case "sized":
            members = [*said, "words : u8 = 1", *other, rest, "size words * 4 + 8"]
        case _:
            members = ["words : u8", *other, rest, *said, "size words * 4"]
    if shape != "tail" and chance.maybe(0.2):
        members.append(chance.one((f"accept {by} < {(1 << width) - 1}", f"payload when {by} > 0")))
    return f"header {name} {{\n" + "\n".join(f"  {m}" for m in members) + "\n}"
