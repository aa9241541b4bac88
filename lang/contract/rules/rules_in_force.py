"""`RulesInForce`: the rules of a pipeline, and what they refer to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..manifest.manifest import Manifest
from .ie_values import fold
from .rulekinds import Kind
from .rules import Reference, Rule
from .ruletable import Table


class RulesInForce:
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
