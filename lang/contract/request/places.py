"""Prints a request that came without text, to say where in it something stands.

Nobody needs its text until something is to be said about it: then it is printed once, and the items
that are meant get the places that a parser of this text would have given them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ...text.source import REQUEST, Source
from .request import IE, Item, Place, Request, RuleItem, head_text, item_text, separator

#: The number of a change, then those of a rule and an element in their lists, with the items.
Path = tuple[tuple[int, Item | None], ...]


@dataclass(frozen=True, eq=False)
class Printed(Source):
    """The text of a request that had none. `paths`: of the items that are meant, with the first
    and the last offset of each."""

    paths: tuple[tuple[int, int, Path], ...] = ()

    def path_to(self, offset: int) -> Path:
        """The path to the innermost item that is meant and stands at this place."""
        found = [(end - start, path) for start, end, path in self.paths if start <= offset < end]
        return min(found, key=lambda each: each[0])[1] if found else ()


def printed(
    request: Request, meant: Iterable[Item], spelled: Callable[[IE], IE]
) -> tuple[Printed, dict[int, Place]]:
    """The request's text, and the places of the items that are meant by their identities.
    `spelled`: an element with its numbers as text has them."""
    printer = _Printer(meant, spelled)
    for number, change in enumerate(request.changes):
        printer.put(";\n" if number else "")
        printer.put(f"{change.operation} ")
        printer.items(change.items, ((number, None),))
    printer.put("\n")
    return Printed(REQUEST, "".join(printer.parts), None, tuple(printer.paths)), printer.found()


class _Printer:
    def __init__(self, meant: Iterable[Item], spelled: Callable[[IE], IE]) -> None:
        self.meant = {id(item): item for item in meant}
        self.spelled = spelled
        self.parts: list[str] = []
        self.at = 0
        self.places: dict[int, Place] = {}
        self.paths: list[tuple[int, int, Path]] = []
        # Of a rule that was put around elements which stood alone, these say where it is.
        inner = [i for r in self.meant.values() if isinstance(r, RuleItem) for i in r.items]
        self.asked = {*self.meant, *map(id, inner)}

    def put(self, text: str) -> None:
        self.parts.append(text)
        self.at += len(text)

    def items(self, items: tuple[Item, ...], path: Path) -> None:
        for number, item in enumerate(items):
            self.put(", " if number else "")
            start, within = self.at, (*path, (number, item))
            at = self.element(item) if isinstance(item, IE) else self.rule(item, within)
            if id(item) in self.asked:
                self.places[id(item)] = at
                self.paths.append((start, self.at, within))

    def element(self, ie: IE) -> Place:
        ie = self.spelled(ie)
        start = self.at
        self.put(item_text(ie))
        length = start + 1 + len(ie.type) + 2
        value = length + len(ie.length) + 2
        end = value + len(str(ie.value))
        other = end + len(separator(ie)), self.at - 1
        if ie.form == "value":
            other = value, end
        return (start + 1, length - 2, length, value - 2, value, end, *other, start, self.at)

    def rule(self, item: RuleItem, path: Path) -> Place:
        start, head = self.at, head_text(item)
        self.put(head)
        end = self.at
        if item.block or item.items:
            self.put(" [" if head else "[")
            self.items(item.items, path)
            self.put("]")
        return start, end if head else self.at, self.at

    def found(self) -> dict[int, Place]:
        for key, item in self.meant.items():
            if isinstance(item, RuleItem) and key not in self.places:
                inner = [self.places[id(i)] for i in item.items if id(i) in self.places]
                if inner:
                    self.places[key] = inner[0][-2], inner[-1][-1], inner[-1][-1]
        return self.places
