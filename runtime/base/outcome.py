"""The result of a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...lang.contract.rules.rules import Reference
from ...lang.text.diagnostics import Diagnostic, Refused

if TYPE_CHECKING:
    from ...lang.contract.rules.plan import Plan

#: How many references are reported of packed rules.
SHOWN = 1000


class Outcome(NamedTuple):
    """`revision`: the pipeline's from then on. `created`: in the order written, `created_count` of
    them; of packed columns the first ones. `repeated`: the answer was given before; `kinds`: of all
    rules that came, changed or went, where it was not."""

    revision: int
    created: tuple[Reference, ...]
    created_count: int
    changed_count: int
    removed_count: int
    warnings: tuple[Diagnostic, ...] = ()
    repeated: bool = False
    kinds: tuple[str, ...] = ()


class RevisionConflict(Refused):
    """`if_revision` is not the current `revision`."""

    def __init__(self, revision: int, expected: int) -> None:
        super().__init__([_revision_conflict(revision, expected)])
        self.revision = revision


def outcome_of(plan: Plan, revision: int) -> Outcome:
    """The outcome of a plan that was carried out."""
    results, blocks = plan.results, plan.blocks
    count = len(results)
    created = tuple(results[i] for i in range(min(count, SHOWN))) if blocks else tuple(results)
    kinds = {block.kind.name for block in blocks} if blocks else set()
    for rules in plan.created, plan.removed:
        for rule in rules:
            kinds.add(rule.kind)
    for _, new in plan.changed:
        kinds.add(new.kind)
    return tuple.__new__(Outcome, (
        revision, created, count, len(plan.changed), len(plan.removed), tuple(plan.warnings),
        False, tuple(sorted(kinds)),
    ))  # fmt: skip


# ---- errors ---------------------------------------------------------------------------------


def _revision_conflict(revision: int, expected: int) -> Diagnostic:
    return Diagnostic("H0760", f"the revision is {revision}, not {expected}", (),
                      "read the rules again, and decide again")  # fmt: skip
