"""What a pipeline on a card counted, and its rules: `Reader` for the card's maps."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt

from ...compiler.manifest import Counter, RuleKind
from ..bulk import rows
from ..images import LIVE
from ..moment import Moment
from ..reader import Reader

_FLAGS = 24  # of an image
Array = npt.NDArray[Any]


class CardReader(Reader):
    """Reads only. A card has no moment between two requests: each rule is as it is."""

    def events(self) -> list[tuple[Counter, int]]:
        events, found = self.map("events"), []
        for counter in self.manifest.counters:
            octets = events.lookup(counter.index.to_bytes(4, "little")) or bytes(8)
            found.append((counter, int.from_bytes(octets, "little")))
        return found

    def moment(self, kinds: Collection[str] = ()) -> Moment:
        wanted = [kind for kind in self.manifest.rules if not kinds or kind.name in kinds]
        rules = [self._rules(kind, self._slots(kind)) for kind in wanted]
        return Moment(self.manifest, self._revision(), self.port_numbers, rules).detach()

    def occupancy(self) -> tuple[int, dict[str, int]]:
        counts = {k.name: int(np.count_nonzero(self._slots(k))) for k in self.manifest.rules}
        return self._revision(), counts

    def _revision(self) -> int:
        return int.from_bytes(self.map("revision").lookup(bytes(4)) or b"", "little")

    def _slots(self, kind: RuleKind) -> Array:
        """By cell where its image is, which is in a slot of the same number; 0 without a rule."""
        stride = self.map(f"{kind.prefix}_images").spec.stride
        live = rows(self._memory(f"{kind.prefix}_images"), stride)[:, _FLAGS] == LIVE
        slots: Array = np.where(live, np.arange(len(live)), 0)
        return slots

    def _counts(self, kind: RuleKind, cells: Array) -> Array:
        counts = self.map(f"{kind.prefix}_counts")
        each = [counts.lookup(int(cell).to_bytes(4, "little")) or bytes(16) for cell in cells]
        words: Array = np.frombuffer(b"".join(each), "<u8").reshape(len(cells), 2)
        return words
