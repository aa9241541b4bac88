"""Images of a card's rules in maps on the host, which outlive this process: two for each cell.

A cell's word says which of its two slots is in force from a revision on; until then the other one
is. So a request takes effect by one store of its revision, although the card takes it rule by rule:
where a writer died before that, or could not undo what it had begun, the next one repairs the card
from these images.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ...lang.contract.manifest.manifest import Manifest, RuleKind
from ...lang.contract.rules.rules import Rule
from ..kernel.maps import Map
from ..rules.images import LIVE, ImageCodec, of_heads

#: A map: its number of revisions is the pipeline's.
REVISION = "revision"
Array = npt.NDArray[Any]


def stride_of(kind: RuleKind) -> int:
    """Bytes from one image to the next."""
    return (kind.image_size + 7) & ~7


def maps_of(manifest: Manifest) -> list[tuple[str, int, int]]:
    """(name, bytes, entries) of the maps."""
    images = [(f"{k.prefix}_images", stride_of(k), 2 * k.cells) for k in manifest.rules]
    return [*images, *((f"{k.prefix}_cells", 8, k.cells) for k in manifest.rules), (REVISION, 8, 1)]


def slots_at(kind: RuleKind, words: Array, images: Array, revision: int) -> Array:
    """By cell the slot of its rule's image at a revision, 0 where it has no rule. `images`: [slot,
    byte]."""
    later = words >> np.uint64(1) > revision
    slots = 2 * np.arange(kind.cells) + ((words & np.uint64(1)) ^ later).astype(np.int64)
    found: Array = np.where(of_heads("flags", images, slots) == LIVE, slots, 0)
    return found


class KindImages:
    """The images of one rule kind."""

    def __init__(
        self, manifest: Manifest, kind: RuleKind, images: memoryview, words: memoryview
    ) -> None:
        self.kind, self.codec = kind, ImageCodec(manifest, kind)
        self._raw, self._words = images, words
        self._stride = stride_of(kind)

    @property
    def words(self) -> Array:
        return np.frombuffer(self._words, "<u8")

    @property
    def images(self) -> Array:
        rows: Array = np.frombuffer(self._raw, np.uint8)
        return rows.reshape(-1, self._stride)

    def stage(self, cell: int, revision: int, rule: Rule | None, match: bytes = b"") -> None:
        """What the cell holds from a revision on; `match` as `ImageCodec.write` has it. Raises
        TooLong."""
        words = self._words.cast("Q")
        which = words[cell] & 1 ^ 1
        at = (2 * cell + which) * self._stride
        self._raw[at : at + self._stride] = bytes(self._stride)
        if rule is not None:
            self.codec.write(self._raw, at, rule, cell, match)
        words[cell] = revision << 1 | which

    def staged(self, revision: int) -> bool:
        """Whether something is staged for later revisions."""
        return bool((self.words >> np.uint64(1) > revision).any())

    def take_back(self, revision: int) -> None:
        """Undo what is staged for later revisions."""
        words = self.words
        staged = np.flatnonzero(words >> np.uint64(1) > revision)
        words[staged] = np.uint64(revision << 1) | (words[staged] & np.uint64(1)) ^ np.uint64(1)

    def rules(self, revision: int) -> Iterator[tuple[int, Rule]]:
        """By cell."""
        slots = slots_at(self.kind, self.words, self.images, revision)
        for cell in np.flatnonzero(slots).tolist():
            at = int(slots[cell]) * self._stride
            yield cell, self.codec.rule_of(self._raw[at : at + self._stride])[0]

    def put(self, cells: Array, images: Array, revision: int) -> None:
        """Fill fresh images with rules that are in force at a revision."""
        values = images.reshape(len(cells), self.kind.image_size)
        self.images[2 * cells, : self.kind.image_size] = values
        self.words[cells] = revision << 1


class Images:
    """The images of all rules of a pipeline."""

    def __init__(self, manifest: Manifest, memory: Mapping[str, memoryview]) -> None:
        """`memory`: of the maps of `maps_of`, by name."""
        self.revisions = memory[REVISION].cast("Q")
        self.kinds = {
            kind.name: KindImages(
                manifest, kind, memory[f"{kind.prefix}_images"], memory[f"{kind.prefix}_cells"]
            )
            for kind in manifest.rules
        }

    @classmethod
    def of_maps(cls, manifest: Manifest, maps: Mapping[str, Map]) -> Images:
        return cls(manifest, {name: maps[name].mmap() for name, _, _ in maps_of(manifest)})

    @classmethod
    def in_memory(cls, manifest: Manifest) -> Images:
        """In this process's memory only."""
        sizes = ((name, size * entries) for name, size, entries in maps_of(manifest))
        return cls(manifest, {name: memoryview(bytearray(size)) for name, size in sizes})

    @property
    def revision(self) -> int:
        return int(self.revisions[0])

    @revision.setter
    def revision(self, number: int) -> None:
        """Puts what is staged for it in force."""
        self.revisions[0] = number

    def close(self) -> None:
        """Give the maps back; `revision` stays as it is now. May be called again."""
        revisions, self.revisions = self.revisions, memoryview(bytes(self.revisions)).cast("Q")
        revisions.release()
