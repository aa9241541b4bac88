"""Members that spreads' records leave out, though the rules have them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...lang.contract.rules.rules import Reference, Rule


@dataclass(frozen=True)
class LeftOut:
    """`dead`: members of any spread that lead to a dead overlay; `steered`: by the sequence of a
    spread, the ids of those that its bounds and preference keep flows from."""

    dead: frozenset[Reference] = frozenset()
    steered: Mapping[int, frozenset[int]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.dead or self.steered)

    def present(self, kind: str, rule: Rule) -> Rule:
        """A spread of members of a kind with those alone that packets find. Where none is left, the
        steered ones are; and where all are dead, the rule is as it was written."""
        steered = self.steered.get(rule.sequence, frozenset())
        alive = [m for m in rule.members if (kind, m.id) not in self.dead]
        chosen = [m for m in alive if m.id not in steered]
        return rule._replace(members=tuple(chosen or alive or rule.members))
