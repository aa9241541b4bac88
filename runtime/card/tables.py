"""The maps of a card's rules, one kind at a time: see `Offload` in compiler/manifest.py.

A rule takes effect by itself: one element is inserted, replaced or deleted. Counters are never
written while their rule is there.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from ...compiler.manifest import Manifest, ManifestError, RuleKind
from ...compiler.requests.rules import Rule
from ...compiler.requests.spread import jhash
from ..kernel.maps import Map
from ..rules.codec import KindCodec
from ..rules.images import ImageCodec
from ..rules.matches import MatchCodec, Matches
from ..rules.tables import Pool

CellOf = Callable[[str, int], int]
Key = tuple[bytes, bytes, int]
"""A rule's whole key, the key of its element, and its rank."""
_U32, _U64 = struct.Struct("<I"), struct.Struct("<Q")
_COUNTS = struct.Struct("<QQ")


def image_stride(kind: RuleKind) -> int:
    """Octets from one rule's image to the next."""
    return (kind.image_size + 7) & ~7


class CardTable:
    """One kind's rules on the card. `cells`: by sequence; `ids`: cells by id; `keys`: whose key it
    is, by the key of the element (a sequence). `images`: a copy of each rule by its cell, in memory
    of the host that outlives this process; the card keeps no rule's name or request."""

    def __init__(
        self,
        manifest: Manifest,
        kind: RuleKind,
        maps: Mapping[str, Map],
        images: Mapping[str, memoryview],
    ) -> None:
        if kind.offload is None:
            raise ManifestError(f"{kind.name} is not described for a card")
        self.kind, self.how = kind, kind.offload
        self.codec = KindCodec(manifest, kind)
        self.entries = maps.get(f"{kind.prefix}_entries")
        self.records = maps.get(f"{kind.prefix}_records")
        self.counts = maps.get(f"{kind.prefix}_counts")
        self.images, self.image_codec = images.get(kind.name), ImageCodec(manifest, kind)
        self.matches = MatchCodec(kind, self.image_codec)
        self._numbers = {int(mask, 16): n for n, mask in enumerate(kind.fixed, start=1)}
        self.cells: dict[int, int] = {}
        self.ids: dict[int, int] = {}
        self.keys: dict[bytes, int] = {}
        self.free = Pool(kind.name, "cells", kind.cells)

    # ---- octets -----------------------------------------------------------------------------

    def key(self, rule: Rule) -> Key | None:
        """None where nothing finds the kind, or the rule contradicts itself."""
        return self._key(self.matches.of(rule))

    def _key(self, matches: Matches) -> Key | None:
        if self.entries is None:
            return None
        _, patterns, (_, rank) = matches
        if not patterns:
            return None
        ((mask, value),) = patterns
        whole = (value | self._numbers[mask]).to_bytes(self.kind.key_size, "big")
        match self.how.way:
            case "hashed":
                return whole, _U32.pack(jhash(whole)), rank
            case "array":
                match = self.kind.match[0]
                index = value >> match.position & (1 << match.width) - 1
                return whole, _U32.pack(index), rank
        return whole, whole, rank

    def value(self, rule: Rule, cell: int, whole: bytes, rank: int, cell_of: CellOf) -> bytes:
        """The value of the rule's element."""
        octets = bytearray(self.how.size)
        self.codec.record(memoryview(octets), 0, rule, cell_of, lambda port, address: bytes(24))
        if self.how.rank_at is not None:
            _U64.pack_into(octets, self.how.rank_at, rank)
        _U32.pack_into(octets, self.how.cell_at, cell)
        if self.how.key_at is not None:
            octets[self.how.key_at : self.how.key_at + len(whole)] = whole
        return bytes(octets)

    # ---- what happens to a rule -------------------------------------------------------------

    def owner(self, rule: Rule, key: Key) -> int:
        """The sequence of the rule that has this one's key; its own if it is free. Rules that match
        the same are refused by the rule book, so this is about hashes."""
        return self.keys.get(key[1], rule.sequence)

    def settle(self, rule: Rule) -> int:
        """Give a new rule its cell. Raises NoRoom."""
        cell = self.free.take()
        self.cells[rule.sequence], self.ids[rule.id] = cell, cell
        return cell

    def write(self, rule: Rule, cell_of: CellOf) -> None:
        """Put the rule, new or changed, onto the card. Raises BpfError."""
        cell = self.cells[rule.sequence]
        matches = self.matches.of(rule)
        if self.images is not None:  # first: what is not on the card yet is put there again
            at = cell * image_stride(self.kind)
            self.image_codec.write(self.images, at, rule, cell, matches.image)
        whole, key, rank = self._key(matches) or (b"", b"", 0)
        value = self.value(rule, cell, whole, rank, cell_of)
        if self.records is not None:
            self.records.update(_U32.pack(cell), value)
        if self.entries is not None and key:
            self.entries.update(key, value)
            self.keys[key] = rule.sequence

    def withdraw(self, rule: Rule) -> None:
        """Nobody finds the rule by that match any more. Raises BpfError."""
        found = self.key(rule)
        if found is None or self.entries is None or self.keys.get(found[1]) != rule.sequence:
            return
        if self.how.way == "array":
            self.entries.update(found[1], bytes(self.how.size))
        else:
            self.entries.delete(found[1])
        del self.keys[found[1]]

    def remove(self, rule: Rule) -> None:
        """Take the rule off the card, and its counters with it. Raises BpfError."""
        self.withdraw(rule)
        cell = self.cells.pop(rule.sequence)
        if self.ids.get(rule.id) == cell:
            del self.ids[rule.id]
        if self.records is not None:
            self.records.update(_U32.pack(cell), bytes(self.how.size))
        if self.counts is not None:
            self.counts.update(_U32.pack(cell), bytes(_COUNTS.size))
        if self.images is not None:
            at = cell * image_stride(self.kind)
            self.images[at : at + self.kind.image_size] = bytes(self.kind.image_size)
        self.free.give(cell)

    # ---- opened again -----------------------------------------------------------------------

    def restore(self) -> list[Rule]:
        """The rules of the images, which whoever wrote them may have left half on the card."""
        found = []
        stride = image_stride(self.kind)
        for cell in range(1, self.kind.cells):
            image = self.images[cell * stride :] if self.images is not None else b""
            try:
                rule, _ = self.image_codec.rule_of(image)
            except (ValueError, struct.error):
                continue
            self.cells[rule.sequence], self.ids[rule.id] = cell, cell
            found.append(rule)
        self.free.all_but(np.array(list(self.cells.values()), np.int64))
        return found

    def counted(self, cell: int) -> tuple[int, int]:
        """Packets and octets."""
        octets = self.counts.lookup(_U32.pack(cell)) if self.counts is not None else None
        return _COUNTS.unpack(octets) if octets is not None else (0, 0)

    def arrays(self) -> Iterator[Map]:
        """Maps whose every slot has to be written before a program is loaded."""
        if self.how.way == "array" and self.entries is not None:
            yield self.entries
        yield from (m for m in (self.records, self.counts) if m is not None)
