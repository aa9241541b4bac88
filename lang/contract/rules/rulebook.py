"""`RuleBook`: the rules in force, and the plans of requests that change them.

`RuleBook.plan` checks a request and says what it comes to, changing nothing; `commit` makes it so.
A plan is of the state it was made in: commit it before another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..manifest.manifest import Manifest
from ..request.request import Request
from .draft import Draft
from .fast_path import fast_plan
from .ie_values import fold
from .interleaving import YieldPoint
from .packing import Kept
from .plan import Plan
from .planner import plan
from .rulekinds import Kind
from .rules import Reference, Rule
from .ruletable import Table
from .staged import Staged

if TYPE_CHECKING:
    from .columns import Columns


__all__ = ["Plan", "RuleBook", "StalePlan"]


class StalePlan(Exception):
    """The rules have changed since the plan was made: plan the request again."""


class RuleBook:
    """`ports` are the port instances, name to number; `ifindexes` the kernel's, and `roles` what
    they are of, by port number."""

    def __init__(
        self,
        manifest: Manifest,
        ports: Mapping[str, int] | None = None,
        ifindexes: Mapping[int, int] | None = None,
        roles: Mapping[int, str] | None = None,
    ) -> None:
        self.manifest = manifest
        self.ports = dict(ports or {})
        self.ifindexes = dict(ifindexes or {})
        self.roles = dict(roles or {})
        self.port_names = {number: name for name, number in self.ports.items()}
        self.folded_ports: dict[str, list[int]] = {}
        for name, number in self.ports.items():
            self.folded_ports.setdefault(fold(name), []).append(number)
        self.kinds: dict[str, Kind] = {
            r.name: Kind(manifest, r, self.ports) for r in manifest.rules
        }
        self.folded_kinds = {fold(name): kind for name, kind in self.kinds.items()}
        self.tables = {name: Table(kind) for name, kind in self.kinds.items()}
        self.revision = 0
        self.sequence = 1
        #: That of a large request, while others are let in.
        self.draft: Draft | None = None

    # ---- reading ----------------------------------------------------------------------------

    def rules(self, kind: str) -> Iterator[Rule]:
        """The live rules of a kind, in no order."""
        return iter(self.tables[kind])

    def __len__(self) -> int:
        return sum(len(table.rules) for table in self.tables.values())

    def count(self, kind: str) -> int:
        return len(self.tables[kind].rules)

    def get(self, kind: str, id_: int) -> Rule | None:
        """The rule of that id; of a grouped kind the oldest of that id."""
        table = self.tables[kind]
        if table.kind.grouped:
            return next(iter(self.group(kind, id_)), None)
        return table.get(id_)

    def group(self, kind: str, id_: int) -> list[Rule]:
        """The rules of a grouped kind that share an id, oldest first."""
        table = self.tables[kind]
        found = [rule for h in table.groups.get(id_, ()) if (rule := table.get(h)) is not None]
        return sorted(found, key=lambda rule: rule.sequence)

    def by_name(self, kind: str, name: str) -> Rule | None:
        id_ = self.tables[kind].names.get(fold(name))
        return None if id_ is None else self.get(kind, id_)

    def owner(self, rule: Rule) -> Rule | None:
        """The rule that owns this one."""
        if not rule.owner:
            return None
        return next((r for r in self.pointing(rule) if r.sequence == rule.owner), None)

    def pointing(self, rule: Rule) -> Iterator[Rule]:
        """The rules that refer to this one."""
        for table in self.tables.values():
            yield from table.referring(Reference(rule.kind, rule.id))

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
                from .bulk import Bulk  # few books get packed rules

                self.draft = bulk = Bulk(self, request, pause)
                made = bulk.plan()
            yield made
        finally:
            ended, self.draft = self.draft, None
            if ended is not None:
                ended.end()

    def plan_columns(self, columns: Columns) -> Plan:
        """What creating these packed rules comes to. Raises `Refused`; changes nothing."""
        from .bulk import Bulk  # few books get packed rules

        return Bulk(self, columns).plan()

    def commit(self, plan: Plan) -> None:
        """Make a plan's changes. Raises `StalePlan` if another was committed since it was made."""
        if plan.revision != self.revision:
            raise StalePlan("the rules have changed since this plan was made")
        for effect in plan.effects:
            effect.commit(self)
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
            into.commit(self)
        for block in kept:
            self.tables[block.kind].pack(block)
            self.sequence = max(self.sequence, block.youngest + 1)
            for to, count in block.pointing().items():
                self.tables[to.kind].point(to.id, count)
        self.revision += 1
