"""What rules' meters lack, as it lies in the map `meters`: see `manifest.Manifest`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from ...lang.contract.manifest.manifest import RuleKind
from ..kernel.handles import Map

_AT_ONCE = 1 << 16  # elements of a system call


class Meters:
    """Of a kind's rules, by cell."""

    def __init__(self, meters: Map, first: int, places: int) -> None:
        """`first`: the element of place 0."""
        self._meters, self._first, self._places = meters, first, places

    def clear(self, cells: npt.NDArray[np.integer]) -> None:
        """Let their buckets be full. No packet is measured by these cells. Raises BpfError."""
        numbers = (cells % self._places + self._first).astype("<u4")
        for start in range(0, len(numbers), _AT_ONCE):
            some = numbers[start : start + _AT_ONCE]
            self._meters.update_batch(some.tobytes(), bytes(self._meters.element_size * len(some)))


def meters_of(kind: RuleKind, maps: Mapping[str, Map]) -> Meters | None:
    """None of a kind without."""
    if kind.meters_at is None:
        return None
    return Meters(maps["meters"], kind.meters_at, kind.places)
