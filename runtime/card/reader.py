"""What a pipeline on a card counted, and its rules: `Reader` for the card's maps."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ...compiler.manifest import Counter, RuleKind
from ..images import ImageCodec
from ..reader import Counted, Reader
from .tables import image_stride

_Result = TypeVar("_Result")


class CardReader(Reader):
    """Reads only. A card has no moment between two requests: each rule is as it is."""

    def events(self) -> list[tuple[Counter, int]]:
        events, found = self.map("events"), []
        for counter in self.manifest.counters:
            octets = events.lookup(counter.index.to_bytes(4, "little")) or bytes(8)
            found.append((counter, int.from_bytes(octets, "little")))
        return found

    def occupancy(self) -> tuple[int, dict[str, int]]:
        rules = {kind.name: len(self._rules(kind)) for kind in self.manifest.rules}
        return self._consistent(lambda _: rules)

    def _consistent(self, read: Callable[[int], _Result]) -> tuple[int, _Result]:
        revision = int.from_bytes(self.map("revision").lookup(bytes(4)) or b"", "little")
        return revision, read(revision)

    def _of(self, kind: RuleKind, epoch: int) -> list[Counted]:
        return self._rules(kind)

    def _rules(self, kind: RuleKind) -> list[Counted]:
        codec, images = ImageCodec(self.manifest, kind), self._memory(f"{kind.prefix}_images")
        found, stride = [], image_stride(kind)
        for cell in range(1, kind.cells):
            try:
                rule, _ = codec.rule_of(images[cell * stride : cell * stride + kind.image_size])
            except ValueError:
                continue
            packets, octets = self._counted(kind, cell) if kind.counts else (None, None)
            found.append(Counted(rule, packets, octets))
        return sorted(found, key=lambda c: (c.rule.id, c.rule.sequence))

    def _counted(self, kind: RuleKind, cell: int) -> tuple[int, int]:
        octets = self.map(f"{kind.prefix}_counts").lookup(cell.to_bytes(4, "little")) or bytes(16)
        return int.from_bytes(octets[:8], "little"), int.from_bytes(octets[8:], "little")
