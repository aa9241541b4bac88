"""The masks in use of a rule kind, under which a card looks rules up."""

from __future__ import annotations

import struct
from collections.abc import Mapping

from ...lang.contract.manifest.manifest import RuleKind
from ..kernel.maps import Map
from ..rules.directory import DirectoryFull

_U32, _U64 = struct.Struct("<I"), struct.Struct("<Q")


class Masks:
    """One kind's (`masked` of the manifest). A mask has a number from 1 on, which stands in
    the last two bytes of the keys under it. One that no rule is under any more costs packets a
    look-up, until another takes its number, or nothing behind it is in use either."""

    def __init__(self, kind: RuleKind, maps: Mapping[str, Map]) -> None:
        self.kind, self.table = kind, maps[f"{kind.prefix}_masks"]
        self._masks: list[int] = []  # that of number n at n - 1
        self._rules: list[int] = []  # how many are under it
        self._asked: set[int] = set()  # masks that a transaction is about to use
        self._written = 0

    def begin(self) -> None:
        """Begin a transaction: each mask that it requests keeps its number until the next one."""
        self._asked.clear()

    def number(self, mask: int) -> int:
        """The number of a mask, allotted if it has none. Raises DirectoryFull with nothing done."""
        self._asked.add(mask)
        if mask not in self._masks:
            self._give_number(mask)
        return self._masks.index(mask) + 1

    def _give_number(self, mask: int) -> None:
        for at, other in enumerate(self._masks):
            if not self._rules[at] and other not in self._asked:
                self._masks[at], self._written = mask, min(self._written, at)
                return
        if len(self._masks) == self.kind.tuples:
            raise DirectoryFull(self.kind.name)
        self._masks.append(mask)
        self._rules.append(0)

    def take(self, key: bytes, new: bool) -> None:
        """Count a rule under the mask of its key, before the rule is written. Raises BpfError."""
        number = int.from_bytes(key[-2:], "big")
        while self._written < number:
            self.table.update(_U32.pack(self._written), self._element(self._written))
            self._written += 1
        self._rules[number - 1] += new

    def give(self, key: bytes) -> None:
        """Uncount a rule that was removed. Raises BpfError."""
        self._rules[int.from_bytes(key[-2:], "big") - 1] -= 1
        while self._rules and not self._rules[-1]:
            self._masks.pop()
            self._rules.pop()
            self._written = min(self._written, len(self._masks))
            self.table.update(_U32.pack(len(self._masks)), bytes(self.table.element_size))

    def read(self) -> None:
        """Read the masks from the card. Raises BpfError."""
        size, self._masks = self.kind.key_size, []
        for at in range(self.kind.tuples):
            element = self.table.lookup(_U32.pack(at)) or b""
            if not any(element[-8:]):
                break
            self._masks.append(int.from_bytes(element[:size], "big"))
        self._rules, self._written = [0] * len(self._masks), len(self._masks)

    def _element(self, at: int) -> bytes:
        """The map element: the mask, and its number as the key ends with it."""
        size = self.kind.key_size
        padding = bytes(-size % 8)
        number = ((at + 1).to_bytes(size, "big") + padding)[-8:]
        return self._masks[at].to_bytes(size, "big") + padding + number
