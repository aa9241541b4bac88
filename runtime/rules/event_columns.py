"""What is known of the rules that raise events, by the column: a look at a kind of a million rules
is some numpy calls for each slice of it.

What a look does to one rule stands in `lang/contract/world/rule_events.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...lang.contract.manifest.manifest import Manifest, Raise, RuleKind
from ...lang.contract.rules.rules import Rule
from ...lang.contract.world.moment import SECOND
from ..base.rule_memory import PACKETS, SEQUENCE, TOLD, USED, Words
from .byte_columns import numbers
from .counters import Counters
from .images import ImageCodec, of_heads

Array = npt.NDArray[Any]
_MOST = (1 << 64) - 1


class Due(NamedTuple):
    """Events of one sort that are due, those of the oldest rules first. `told`: what is told of
    with each."""

    number: int
    raised: Raise
    cells: Array
    slots: Array
    sequences: Words
    counts: Words  # [rule, packets and bytes]
    told: Words


class KindColumns:
    """One kind's rules. `words`: [column, cell], which may outlast this process."""

    def __init__(self, manifest: Manifest, kind: RuleKind, words: Words) -> None:
        self.kind, self.words = kind, words
        self.codec = ImageCodec(manifest, kind)
        self._known = self._next = self._seen

    @property
    def _seen(self) -> int:
        """More than the highest sequence that was seen. (A file that something else wrote into may
        have the highest number there is.)"""
        return min(int(self.words[SEQUENCE].max()) + 1, _MOST)

    def begin(self, next_sequence: int) -> None:
        """A look begins. No rule has that sequence by now, nor any above it; 0: not known."""
        self._known, self._next = self._next, next_sequence or self._seen

    def look(
        self, start: int, slots: Callable[[], Array], images: Array, counters: Counters, now: int,
        made: int,
    ) -> Iterator[Due]:  # fmt: skip
        """At the cells from `start` on. `slots`: where each one's image is now, 0 without a rule;
        `made`: when rules that are new here count as made. An event is due until it was `mark`ed.
        Whoever is killed between two stores leaves what is due a little late, and nothing early."""
        found = slots()
        at = np.flatnonzero(found)
        if not len(at):
            return
        sequences = of_heads("sequence", images, found[at])
        amounts = [self._amounts(raised, images, found[at]) for raised in self.kind.raises]
        counts = counters.sums(at + start)[:, :2]
        still = slots()[at] == found[at]  # else a writer may have put another rule there meanwhile
        cells, images_at = at[still] + start, found[at[still]]
        sequences, counts = sequences[still], counts[still]
        self._take_new(cells, sequences, made)
        self._note_use(cells, counts[:, 0], now)
        idle = np.uint64(now) - np.minimum(self.words[USED, cells], np.uint64(now))
        for number, raised in enumerate(self.kind.raises):
            told = self.words[TOLD + number, cells]
            after = _told_after(raised, amounts[number][still], counts, idle, told)
            due = np.flatnonzero(after != told)
            if len(due):
                due = due[np.argsort(sequences[due])]
                yield Due(
                    number, raised, cells[due], images_at[due], sequences[due], counts[due],
                    after[due],
                )  # fmt: skip

    def mark(self, due: Due, count: int) -> None:
        """The first `count` of them were told."""
        self.words[TOLD + due.number, due.cells[:count]] = due.told[:count]

    def rule_of(self, image: Any, sequence: int) -> Rule | None:
        """None where a writer has overtaken this."""
        try:
            rule = self.codec.rule_of(image)[0]
        except (ValueError, IndexError):
            return None
        return rule if rule.sequence == sequence else None

    def _take_new(self, cells: Array, sequences: Words, made: int) -> None:
        new = self.words[SEQUENCE, cells] != sequences
        if new.any():
            cells, sequences = cells[new], sequences[new]
            self.words[PACKETS, cells] = 0
            self.words[USED, cells] = made
            self.words[TOLD:, cells] = 0
            if self.kind.priority:
                self._take_moved(cells, sequences)
            self.words[SEQUENCE, cells] = sequences

    def _take_moved(self, cells: Array, sequences: Words) -> None:
        """A rule of which the priority changes comes to another cell."""
        for cell in cells[sequences < np.uint64(self._known)].tolist():
            (before,) = np.nonzero(self.words[SEQUENCE] == sequences[cells == cell])
            if len(before):
                self.words[PACKETS:, cell] = self.words[PACKETS:, before[0]]
                self.words[SEQUENCE, before[0]] = 0

    def _note_use(self, cells: Array, packets: Words, now: int) -> None:
        used = self.words[PACKETS, cells] != packets
        if used.any():
            cells = cells[used]
            self.words[USED, cells] = now
            for number, raised in enumerate(self.kind.raises):
                if raised.what == "idle":
                    self.words[TOLD + number, cells] = 0
            self.words[PACKETS, cells] = packets[used]

    def _amounts(self, raised: Raise, images: Array, slots: Array) -> Words:
        if not raised.element:
            return np.full(len(slots), raised.amount, np.uint64)
        given = self.codec.given[raised.element]
        part = images[slots, given.at : given.at + 1 + min(8, given.size)]
        found: Words = numbers(part[:, 1:]) * (part[:, 0] == 1)  # the tag: the rule says it
        return found


def _told_after(raised: Raise, amounts: Words, counts: Words, idle: Words, told: Words) -> Words:
    """`rule_events.told_after`, of many rules."""
    count = counts[:, 0 if raised.what == "packets" else 1]
    if raised.again:
        each = np.maximum(amounts, np.uint64(1))
        more = (count - np.minimum(told, count)) // each * each
        return told + more * (amounts > 0)
    reached = idle // np.uint64(SECOND) if raised.what == "idle" else count
    after: Words = np.where((reached >= amounts) & (amounts > told), amounts, told)
    return after
