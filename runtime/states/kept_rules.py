"""Rules that entries keep: which one an entry means, in words, as the maps have it now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from ...lang.contract.manifest.manifest import Manifest, Slot
from ...lang.contract.request.request import quoted
from ...lang.contract.rules.rules import Rule
from ..kernel.handles import Map
from ..rules.images import ImageCodec
from ..rules.moment import slots_at

#: A slot's bytes: see `manifest.Slot`.
KEPT = np.dtype([("sequence", "<u8"), ("id", "<u4"), ("place", "<u4")])
#: Times that a rule is looked for where a writer goes on meanwhile.
_ATTEMPTS = 8
_GONE = "{kind} {id} (gone)"


class KeptRules:
    """Of a loaded pipeline. Reading may raise BpfError."""

    def __init__(self, manifest: Manifest, maps: Mapping[str, Map]) -> None:
        self._manifest, self._maps = manifest, maps

    def named(self, slot: Slot, data: npt.NDArray[np.uint8]) -> Iterator[str]:
        """`data`: the bytes of the slot, by row."""
        kept = np.ascontiguousarray(data).view(KEPT)[:, 0]
        texts = dict[tuple[int, int], str]()
        for sequence, number, place in kept.tolist():
            text = texts.get((sequence, place))
            if text is None:
                text = texts[sequence, place] = self._text(slot.rule, sequence, number, place)
            yield text

    def are_named(self, kind: str) -> bool:
        return self._manifest.rule(kind).named

    def have_name(
        self, slot: Slot, data: npt.NDArray[np.uint8], name: str
    ) -> npt.NDArray[np.bool_]:
        """By row, whether the rule is there and has that name."""
        wanted = f"{slot.rule} {quoted(name)}"
        return np.fromiter((text == wanted for text in self.named(slot, data)), np.bool_, len(data))

    def _text(self, kind: str, sequence: int, number: int, place: int) -> str:
        there = self._rule(kind, place)
        if there is None or there.sequence != sequence:
            return _GONE.format(kind=kind, id=number)
        return f"{kind} {quoted(there.name) if there.name else number}"

    def _rule(self, name: str, place: int) -> Rule | None:
        """The rule of a place; None where there is none, and where a writer overtakes this."""
        kind = self._manifest.rule(name)
        for _ in range(_ATTEMPTS):
            epoch = self._read("control", 0)[:8]
            cells = range(place, kind.cells, kind.places)
            words = b"".join(self._read(f"{kind.prefix}_cells", cell)[:8] for cell in cells)
            slots = slots_at(
                np.frombuffer(bytes(8) + words, "<u8"), int.from_bytes(epoch, "little")
            )
            slot = int(slots.max())  # of two cells one is empty
            if slot or self._read("control", 0)[:8] == epoch:
                break
        image = self._read(f"{kind.prefix}_images", slot) if slot else b""
        try:
            return ImageCodec(self._manifest, kind).rule_of(image)[0] if image else None
        except (ValueError, IndexError):
            return None

    def _read(self, name: str, at: int) -> bytes:
        return self._maps[name].lookup(at.to_bytes(4, "little")) or b""
