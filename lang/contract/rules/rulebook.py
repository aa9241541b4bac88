"""`RuleBook`: the rules in force, and the plans of requests that change them.

`RuleBook.plan` checks a request and says what it comes to, changing nothing; `commit` makes it so.
A plan is of the state it was made in: commit it before another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from ..request.request import Request
from .bulk import Bulk
from .columns import Columns
from .draft import Draft
from .fast_path import fast_plan
from .interleaving import YieldPoint
from .packing import Kept
from .plan import Plan
from .planner import plan
from .rules import Rule
from .rules_in_force import RulesInForce
from .staged import Staged

__all__ = ["Plan", "RuleBook", "StalePlan"]


class StalePlan(Exception):
    """The rules have changed since the plan was made: plan the request again."""


class RuleBook(RulesInForce):
    #: That of a large request, while others are let in.
    draft: Draft | None = None

    # ---- changing ---------------------------------------------------------------------------

    def plan(self, request: Request, again: Mapping[str, Sequence[int]] | None = None) -> Plan:
        """What the request comes to. Raises `Refused` with every error; changes nothing. `again`:
        what was allotted (`Plan`) when it was made for the first time."""
        if again is None and self.draft is None:
            made = fast_plan(self, request)
            if made is not None:
                return made
        draft = Draft(self, again=again)
        try:
            return plan(draft, request)
        finally:
            draft.let_go()

    @contextmanager
    def planned(self, request: Request | Columns, pause: YieldPoint) -> Iterator[Plan]:
        """A large request's plan, while others' are made and committed in between. Raises
        `Conflict`, and `Refused`."""
        try:
            if isinstance(request, Request):
                self.draft = draft = Draft(self, pause)
                made = plan(draft, request)
            else:
                self.draft = bulk = Bulk(self, request, pause)
                made = bulk.plan()
            yield made
        finally:
            ended, self.draft = self.draft, None
            if ended is not None:
                ended.end()

    def plan_columns(self, columns: Columns) -> Plan:
        """What creating these packed rules comes to. Raises `Refused`; changes nothing."""
        return Bulk(self, columns).plan()

    def commit(self, plan: Plan) -> None:
        """Make a plan's changes. Raises `StalePlan` if another was committed since it was made."""
        if plan.revision != self.revision:
            raise StalePlan("the rules have changed since this plan was made")
        for effect in plan.effects:
            effect.commit(self.tables)
        self.revision += 1
        self.sequence = plan.sequence

    # ---- keeping ----------------------------------------------------------------------------

    def save(self) -> list[Rule]:
        """Every rule, oldest first: what `restore` takes."""
        return sorted(
            (rule for table in self.tables.values() for rule in table), key=lambda r: r.sequence
        )

    def restore(self, rules: Iterable[Rule], kept: Iterable[Kept] = ()) -> None:
        """Put saved rules into an empty book, as they are; `kept` are of other kinds than `rules`.
        Raises ValueError if there are rules."""
        if len(self):
            raise ValueError("rules can only be restored into an empty book")
        staged: dict[str, Staged] = {}
        for rule in rules:
            kind = self.kinds[rule.kind]
            into = staged.setdefault(rule.kind, Staged(self.tables[rule.kind]))
            into.add(rule, kind.key_of(rule))
            self.sequence = max(self.sequence, rule.sequence + 1)
            for reference in kind.owned_by(rule):
                target = staged.setdefault(reference.kind, Staged(self.tables[reference.kind]))
                target.point(reference.id, 1)
        for into in staged.values():
            into.commit(self.tables)
        for block in kept:
            self.tables[block.kind].pack(block)
            self.sequence = max(self.sequence, block.youngest + 1)
            for to, count in block.pointing().items():
                self.tables[to.kind].point(to.id, count)
        self.revision += 1
