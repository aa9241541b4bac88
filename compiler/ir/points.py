"""The points of a traced program: places that record a step of a packet's way."""

from __future__ import annotations

from collections.abc import Iterable

from ...lang.contract.trace.schema import FIRST, Point


class Points:
    """By index; of a program that is not traced (`on` is false) none."""

    def __init__(self, on: bool, known: Iterable[Point] = FIRST) -> None:
        self.on = on
        self._found = {point: i for i, point in enumerate(known)} if on else {}

    def index(self, point: Point) -> int:
        """Equal points are one."""
        return self._found.setdefault(point, len(self._found))

    @property
    def all(self) -> tuple[Point, ...]:
        return tuple(self._found)
