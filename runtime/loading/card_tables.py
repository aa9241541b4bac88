"""The maps of a card's rules, one kind at a time: see `Offload` of the manifest.

A rule takes effect by itself: one element is inserted, replaced or deleted. Counters are reset
before their rule can be found, and never while it is there.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterator, Mapping

import numpy as np

from ...lang.contract.manifest.manifest import Manifest, ManifestError, RuleKind
from ...lang.contract.rules.rules import Rule
from ...lang.contract.rules.spread import jhash
from ..kernel.maps import Map
from ..rules.codec import KindCodec
from ..rules.matches import MatchCodec, Matches
from ..rules.pools import Pool
from .card_images import KindImages
from .card_masks import Masks

CellOf = Callable[[str, int], int]
Key = tuple[bytes, bytes, int]
"""A rule's whole key, the key of its element, and its rank."""
_U32, _U64 = struct.Struct("<I"), struct.Struct("<Q")
_COUNTS = struct.Struct("<QQ")


class CardTable:
    """One kind's rules on the card. `cells`: by sequence; `ids`: cells by id; `keys`: whose key it
    is, by the key of the element (a sequence). The card keeps no rule's name or request: `images`
    do."""

    def __init__(
        self, manifest: Manifest, kind: RuleKind, maps: Mapping[str, Map], images: KindImages
    ) -> None:
        if kind.offload is None:
            raise ManifestError(f"{kind.name} is not described for a card")
        self.kind, self.how, self.images = kind, kind.offload, images
        self.codec = KindCodec(manifest, kind)
        self.entries = maps.get(f"{kind.prefix}_entries")
        self.records = maps.get(f"{kind.prefix}_records")
        self.counts = maps.get(f"{kind.prefix}_counts")
        self.matches = MatchCodec(kind, images.codec)
        fixed = {int(mask, 16): n for n, mask in enumerate(kind.fixed, start=1)}
        self.masks = Masks(kind, maps) if kind.offload.way == "masked" else None
        self._number: Callable[[int], int] = self.masks.number if self.masks else fixed.__getitem__
        self.cells: dict[int, int] = {}
        self.ids: dict[int, int] = {}
        self.keys: dict[bytes, int] = {}
        self.free = Pool(kind.name, "cells", kind.cells)

    # ---- bytes -----------------------------------------------------------------------------

    def key(self, rule: Rule) -> Key | None:
        """None where nothing finds the kind, or the rule contradicts itself. Raises
        DirectoryFull."""
        return self._key(self.matches.of(rule))

    def _key(self, matches: Matches) -> Key | None:
        if self.entries is None:
            return None
        _, patterns, (_, rank) = matches
        if not patterns:
            return None
        ((mask, value),) = patterns
        whole = (value | self._number(mask)).to_bytes(self.kind.key_size, "big")
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
        data = bytearray(self.how.size)
        self.codec.record(memoryview(data), 0, rule, cell_of, lambda port, address: bytes(24))
        if self.how.rank_at is not None:
            _U64.pack_into(data, self.how.rank_at, rank)
        _U32.pack_into(data, self.how.cell_at, cell)
        if self.how.key_at is not None:
            data[self.how.key_at : self.how.key_at + len(whole)] = whole
        return bytes(data)

    # ---- memory -----------------------------------------------------------------------------

    def owner(self, rule: Rule, key: Key) -> int:
        """The sequence of the rule that has this one's key; its own if it is free. Rules that match
        the same are refused by the rule book, so this is about hashes."""
        return self.keys.get(key[1], rule.sequence)

    def settle(self, rule: Rule) -> None:
        """Give a new rule its cell. Raises NoRoom."""
        cell = self.free.take()
        self.cells[rule.sequence], self.ids[rule.id] = cell, cell

    def move(self, old: Rule, new: Rule) -> None:
        """Give the cell of `old` to `new`."""
        cell = self._leave(old)
        self.cells[new.sequence], self.ids[new.id] = cell, cell

    def forget(self, rule: Rule) -> None:
        """Free the cell of a removed rule."""
        self.free.give(self._leave(rule))

    def _leave(self, rule: Rule) -> int:
        cell = self.cells.pop(rule.sequence)
        if self.ids.get(rule.id) == cell:
            del self.ids[rule.id]
        return cell

    def stage(self, rule: Rule, revision: int, gone: bool = False) -> None:
        """Its image from a revision on. Raises TooLong."""
        data = b"" if gone else self.matches.of(rule).image
        self.images.stage(self.cells[rule.sequence], revision, None if gone else rule, data)

    # ---- the card ---------------------------------------------------------------------------

    def write(self, rule: Rule, cell_of: CellOf) -> None:
        """Put the rule, new or changed, onto the card. Raises BpfError."""
        cell, found = self.cells[rule.sequence], self.key(rule)
        whole, key, rank = found or (b"", b"", 0)
        value = self.value(rule, cell, whole, rank, cell_of)
        if self.records is not None:
            self.records.update(_U32.pack(cell), value)
        if self.entries is not None and found:
            if self.masks is not None:
                self.masks.take(key, new=key not in self.keys)
            self.entries.update(key, value)
            self.keys[key] = rule.sequence

    def withdraw(self, rule: Rule) -> None:
        """Delete the rule's element from the card. Raises BpfError."""
        found = self.key(rule)
        if found is not None and self.keys.get(found[1]) == rule.sequence:
            self._clear(found[1])
            del self.keys[found[1]]
            if self.masks is not None:
                self.masks.give(found[1])

    def _clear(self, key: bytes) -> None:
        if self.entries is None:
            return
        if self.how.way == "array":
            self.entries.update(key, bytes(self.how.size))
        else:
            self.entries.delete(key)

    def count_anew(self, rule: Rule) -> None:
        """Reset the counters of the rule's cell. Raises BpfError."""
        if self.counts is not None:
            self.counts.update(_U32.pack(self.cells[rule.sequence]), bytes(_COUNTS.size))

    # ---- opened again -----------------------------------------------------------------------

    def restore(self, revision: int) -> list[Rule]:
        """Read the rules of a revision into memory."""
        found = []
        if self.masks is not None:
            self.masks.read()
        for cell, rule in self.images.rules(revision):
            self.cells[rule.sequence], self.ids[rule.id] = cell, cell
            if key := self.key(rule):
                if self.masks is not None:
                    self.masks.take(key[1], new=key[1] not in self.keys)
                self.keys[key[1]] = rule.sequence
            found.append(rule)
        self.free.all_but(np.array(list(self.cells.values()), np.int64))
        return found

    def clear_all_but(self, rules: Collection[Rule]) -> None:
        """Delete all elements of other rules from the card. Raises BpfError."""
        kept = {found[1] for rule in rules if (found := self.key(rule))}
        for key in () if self.entries is None else list(self.entries.keys()):
            if key not in kept:
                self._clear(key)

    def counted(self, cell: int) -> tuple[int, int]:
        """Packets and bytes."""
        data = self.counts.lookup(_U32.pack(cell)) if self.counts is not None else None
        return _COUNTS.unpack(data) if data is not None else (0, 0)

    def arrays(self) -> Iterator[Map]:
        """Maps whose every slot has to be written before a program is loaded."""
        if self.how.way == "array" and self.entries is not None:
            yield self.entries
        if self.masks is not None:
            yield self.masks.table
        yield from (m for m in (self.records, self.counts) if m is not None)
