"""Requests onto a card: rule by rule, each at once. A request that fails halfway is taken back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from ...compiler.manifest import Manifest
from ...compiler.requests.rules import Rule
from .. import faults
from ..kernel.handles import BpfError
from ..kernel.maps import Map
from ..rules.plans import Plan
from ..rules.tables import NoRoom
from . import faults as own
from .tables import CardTable


class CardWriter:
    """The one writer of the rules on a card."""

    def __init__(
        self, manifest: Manifest, maps: Mapping[str, Map], images: Mapping[str, memoryview]
    ) -> None:
        self.tables = {
            kind.name: CardTable(manifest, kind, maps, images) for kind in manifest.rules
        }
        self.maps, self.manifest = maps, manifest

    def fill(self) -> None:
        """Write every slot of the arrays: a card keeps them as hash tables, which start empty."""
        arrays = [self.maps["control"], self.maps["events"]]
        for table in self.tables.values():
            arrays += table.arrays()
        for each in arrays:
            zeros = bytes(each.element_size)
            for slot in range(each.spec.max_entries):
                each.update(slot.to_bytes(4, "little"), zeros)

    def set_default(self, verdict: int) -> None:
        """enum xdp_action, of packets that no rule decides about."""
        self.maps["control"].update(bytes(4), verdict.to_bytes(8, "little"))

    def restore(self) -> list[Rule]:
        """The rules that are there, put onto the card again where a writer died before."""
        rules = [rule for table in self.tables.values() for rule in table.restore()]
        for rule in self._referred_first(rules):
            self._write(rule)
        return rules

    # ---- requests ---------------------------------------------------------------------------

    def apply(self, plan: Plan) -> None:
        """Make the plan's changes. Raises `Refused`: nothing is changed then."""
        self._check(plan)
        undo: list[Callable[[], None]] = []
        try:
            self._carry_out(plan, undo)
        except (BpfError, NoRoom) as error:
            for step in reversed(undo):
                step()
            kinds = {name: table.kind for name, table in self.tables.items()}
            raise faults.refused(faults.of_tables(error, kinds)) from error

    def _check(self, plan: Plan) -> None:
        """Two rules of one hash cannot be there at a time."""
        going = {rule.sequence for rule in plan.removed} | {old.sequence for old, _ in plan.changed}
        coming: dict[tuple[str, bytes], Rule] = {}
        for rule in (*plan.created, *(new for _, new in plan.changed)):
            table = self.tables[rule.kind]
            if (key := table.key(rule)) is None:
                continue
            owner = table.owner(rule, key)
            taken = owner != rule.sequence and owner not in going
            if taken or coming.setdefault((rule.kind, key[1]), rule) is not rule:
                raise faults.refused(own.same_hash(rule))

    def _carry_out(self, plan: Plan, undo: list[Callable[[], None]]) -> None:
        """Rules that others refer to first, and last to go."""
        for rule in plan.removed:
            self.tables[rule.kind].withdraw(rule)
            undo.append(partial(self._write, rule))
        for rule in plan.created:
            self.tables[rule.kind].settle(rule)
            undo.append(partial(self.tables[rule.kind].remove, rule))
        for old, new in plan.changed:
            if old.match != new.match:
                self.tables[old.kind].withdraw(old)
            undo.append(partial(self._write, old))
        for rule in self._referred_first([*plan.created, *(new for _, new in plan.changed)]):
            self._write(rule)
        for rule in plan.removed:
            self.tables[rule.kind].remove(rule)

    def _referred_first(self, rules: Iterable[Rule]) -> list[Rule]:
        return sorted(rules, key=lambda rule: not self.tables[rule.kind].how.referred)

    def _write(self, rule: Rule) -> None:
        self.tables[rule.kind].write(rule, lambda kind, number: self.tables[kind].ids[number])
