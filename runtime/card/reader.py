"""What a pipeline on a card counted, and its rules: `Reader` for the card's maps."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt

from ...compiler.manifest import Counter, RuleKind
from ..loading.releases import on_card, pick
from ..looking.reader import Reader
from ..rules.bulk import rows
from ..rules.images import LIVE
from ..rules.moment import Moment

_FLAGS = 24  # of an image
Array = npt.NDArray[Any]


def reader_of(name: str = "") -> Reader:
    """Of a pipeline that is loaded, wherever it is. Raises `Refused`."""
    name = pick(name)
    return CardReader(name) if on_card(name) else Reader(name)


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
        revision = self.revision
        rules = [self._rules(kind, self._slots(kind, revision)) for kind in wanted]
        return Moment(self.manifest, revision, self.port_numbers, rules).detach()

    @property
    def revision(self) -> int:
        return int.from_bytes(self.map("revision").lookup(bytes(4)) or b"", "little")

    def _slots(self, kind: RuleKind, revision: int) -> Array:
        """An image is in the slot of its cell's number."""
        stride = self.map(f"{kind.prefix}_images").spec.stride
        live = rows(self._memory(f"{kind.prefix}_images"), stride)[:, _FLAGS] == LIVE
        slots: Array = np.where(live, np.arange(len(live)), 0)
        return slots

    def _counts(self, kind: RuleKind, cells: Array) -> Array:
        counts = self.map(f"{kind.prefix}_counts")
        each = [counts.lookup(int(cell).to_bytes(4, "little")) or bytes(16) for cell in cells]
        words: Array = np.frombuffer(b"".join(each), "<u8").reshape(len(cells), 2)
        return words
