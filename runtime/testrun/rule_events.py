"""Events that rules of a private run raise: it looks at them before and behind each packet."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ...lang.contract.manifest.manifest import Manifest
from ...lang.contract.world.environment import Emitted, Outcome
from ...lang.contract.world.moment import Moment
from ...lang.contract.world.rule_events import Bucket, among, values_of
from ..base.rule_memory import columns_of
from ..rules.bulk import rows
from ..rules.event_columns import Due, KindColumns
from ..rules.moment import slots_at
from ..rules.tables import Table
from ..rules.transaction import Writer


class RuleEvents:
    """As `rule_events.RuleEvents`, by the columns of an agent."""

    def __init__(self, manifest: Manifest, writer: Writer) -> None:
        self._manifest, self._writer = manifest, writer
        ring = manifest.events
        self._buckets = {kind.name: Bucket(kind.rate) for kind in (ring.kinds if ring else ())}
        self.begin()

    def begin(self) -> None:
        """Nothing was looked at by now."""
        self._kinds = [
            KindColumns(self._manifest, kind, np.zeros((columns_of(kind), kind.cells), np.uint64))
            for kind in self._manifest.rules
            if kind.raises
        ]
        self._looked = Moment().now
        self._due: list[Emitted] = []

    def fill(self) -> None:
        """The limits do not count what was raised by now."""
        for bucket in self._buckets.values():
            bucket.fill()

    def look(self, now: int) -> None:
        """At the rules that are there `now`, in ns."""
        for kind in self._kinds:
            table = self._writer.tables[kind.kind.name]
            images, counters = rows(table.images, table.image_stride), table.counters
            assert counters is not None
            kind.begin(self._writer.next_sequence)
            for due in kind.look(
                0, partial(self._slots, table), images, counters, now, self._looked
            ):
                kind.mark(due, self._raise(kind, due, images, now))
        self._looked = now

    def _slots(self, table: Table) -> npt.NDArray[Any]:
        return slots_at(np.frombuffer(table.cells, "<u8").copy(), self._writer.epoch)

    def _raise(self, kind: KindColumns, due: Due, images: npt.NDArray[Any], now: int) -> int:
        """How many, within the limit."""
        event, count = due.raised.event, 0
        found = zip(due.slots, due.sequences.tolist(), due.counts.tolist(), strict=True)
        for slot, sequence, (packets, byte_count) in found:
            rule = kind.rule_of(images[slot].data, sequence)
            if rule is None or not self._buckets[event].take(now):
                break
            values = values_of(due.raised.fields, rule, packets, byte_count)
            self._due.append(Emitted(event, values))
            count += 1
        return count

    def with_events(self, outcome: Outcome, now: int) -> Outcome:
        """A packet's outcome, with what rules raised since the packet before, and raise behind
        it."""
        before, self._due = self._due, []
        self.look(now)
        behind, self._due = self._due, []
        return among(outcome, before, behind)
