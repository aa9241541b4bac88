"""`Draft`: the staged tables of one plan, and the errors and warnings of its request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..request.request import Item
from .ie_values import Fault
from .interleaving import NONE, ROOM, WriteSet, YieldPoint, paced
from .nest_rules import Faults
from .plan import Plan
from .rule_node import Arranged, Node, take_apart
from .rules import Reference, Rule
from .rules_in_force import RulesInForce
from .staged import Allotted, Staged


class ForwardRef(NamedTuple):
    """A rule that one refers to before the request makes it; the fault if it does not."""

    reference: Reference
    fault: Fault
    ifindex: int | None = None  # must agree with it


class Draft:
    """`tree`: the nested request, `node`: what is being planned of it; `forward_refs`: what rules
    refer to that a later change makes; `dangling`: what was removed while rules pointed at it, and
    where; `results`: the rules created that are still there, by sequence. `errors` and `warnings`
    have the items of the request that they are about; `repeated` rules that say what another does.
    The next rule gets `sequence`."""

    node: Node

    def __init__(
        self, book: RulesInForce, pause: YieldPoint = NONE,
        again: Mapping[str, Sequence[int]] | None = None,
    ) -> None:  # fmt: skip
        """`pause`: between two rules; `again`: see `Allotted`."""
        self.book, self.pause = book, pause
        self.stages: dict[str, Staged] = {}
        self.allotted = Allotted(again)
        self.sequence = self.first = book.sequence + (0 if pause is NONE else ROOM)
        self.tree: list[Arranged] = []
        self.forward_refs: list[ForwardRef] = []
        self.promises: dict[tuple[str, int | str], int | None] | None = None
        self.dangling: list[tuple[Rule, Node]] = []
        self.errors = Faults[tuple[Fault, Item]]()
        self.warnings: list[tuple[Fault, Item]] = []
        self.repeated: list[tuple[Rule, Fault, Item]] = []
        self.results: dict[int, Reference] = {}

    def staged(self, kind: str) -> Staged:
        found = self.stages.get(kind)
        if found is None:
            found = self.stages[kind] = Staged(self.book.tables[kind], self.allotted)
            if self.pause is not NONE:
                found.table.draft = found
        return found

    def overtaken(self, touched: WriteSet) -> bool:
        """Whether it rests on anything that transactions changed which were made since it began."""
        return self.book.sequence > self.first or touched.meets(self.stages)

    def met_by(self, plan: Plan) -> bool:
        """Whether it rests on anything that this one would change."""
        touched = WriteSet()
        touched.add(plan, self.book.kinds)
        return touched.meets(self.stages)

    def end(self) -> None:
        """It is in force, or will not be."""
        for table in self.book.tables.values():
            table.draft = None
        self.let_go()

    def let_go(self) -> None:
        """Of the request: the plan is made. All at once it would hold up every thread."""
        for fault, _ in self.errors:  # whose frames lead back to here
            fault.__traceback__ = fault.__context__ = None
        for _ in paced(take_apart(self.tree), self.pause.rest):
            pass
