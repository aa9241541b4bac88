"""The differences between a running build and a new one as data; compare_builds.py finds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ...lang.contract.manifest.manifest import Manifest, RuleKind

#: What rules use: a kind and one of its elements, or ("port", role).
Concern = tuple[str, str]
#: How many rules (or ports) there are of each concern; (kind, "") counts all rules of a kind.
Usage = Mapping[Concern, int]

NAMED = "its names"
Fate = Literal["kept", "moved", "written"]
#: Of which there is always one.
ALWAYS: Concern = ("", "")


@dataclass(frozen=True)
class Answers:
    """What a mapping file adds to the manifests. Keys are names of the running build, values of the
    new one, None where something is dropped. `ports` are roles, `kinds` also states; `elements` by
    `ELEMENT` or `KIND.ELEMENT`; `defaults`, by `KIND.ELEMENT` of the new build, are for rules that
    lack the element."""

    pipeline: str = ""
    ports: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, str | None] = field(default_factory=dict)
    elements: Mapping[str, str | None] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)

    def kind(self, name: str) -> str | None:
        return self.kinds.get(name, name)

    def element(self, kind: str, name: str) -> str | None:
        return self.elements.get(f"{kind}.{name}", self.elements.get(name, name))


@dataclass(frozen=True)
class Difference:
    """A difference as text. More than `most` rules of its `concern` cannot be kept in the new
    build, unless a mapping file has `answer`: a section and an entry of it."""

    place: str
    running: str
    becomes: str
    concern: Concern | None = None
    answer: tuple[str, str] | None = None
    most: int = 0

    def lost(self, usage: Usage) -> int:
        """How many rules (or ports) cannot be kept because of it."""
        count = usage.get(self.concern, 0) if self.concern else 0
        return count if count > self.most else 0


@dataclass(frozen=True)
class KindChange:
    """What happens to a kind's rules. `new` None: they are dropped. Kept: their maps are reused
    (for counters see `SchemaChange.counters_kept`); moved: the same bytes go to new maps; written:
    each is made again. `elements` by their names in the running build."""

    old: RuleKind
    new: RuleKind | None
    elements: Mapping[str, str | None]
    fate: Fate

    @property
    def kept(self) -> bool:
        return self.fate == "kept"

    @property
    def stays(self) -> bool:
        """Whether the rules, and the numbers of their cells, stay as they are."""
        return self.fate != "written"


Row = tuple[str, str, str, str]


@dataclass(frozen=True)
class SchemaChange:
    """`kinds` by their names in the running build; `states`: new to old name of those whose entries
    are kept; `roles`: a role's old number to its new one."""

    old: Manifest
    new: Manifest
    answers: Answers
    kinds: Mapping[str, KindChange]
    states: Mapping[str, str]
    roles: Mapping[int, int]
    differences: tuple[Difference, ...]

    def state_kept(self, name: str) -> bool:
        """Whether a state keeps its table; else its entries are copied. Those that are changed in
        place cannot be: a packet may change one meanwhile. They are kept, or there is none."""
        old, new = (
            next(s for s in manifest.states if s.name == of)
            for manifest, of in ((self.old, self.states[name]), (self.new, name))
        )
        return old.in_place or old.capacity == new.capacity

    def counters_kept(self, kind: KindChange) -> bool:
        """Whether a kind's rules are counted where they were; else what was counted is carried."""
        if kind.new is None or not kind.kept:
            return False
        return kind.old.counts_at == kind.new.counts_at and (
            kind.new.counts_at is None or self.counts_kept
        )

    @property
    def counts_kept(self) -> bool:
        """Whether all kinds lie in the map `counts` as they did, so that both builds can use it."""
        pairs = [(k.old.counts_at, k.new.counts_at if k.new and k.kept else None)
                 for k in self.kinds.values() if k.old.counts_at is not None]  # fmt: skip
        counting = sum(kind.counts_at is not None for kind in self.new.rules)
        same = all(was == now for was, now in pairs) and len(pairs) == counting
        return same and 0 < self.old.counts == self.new.counts

    @property
    def meters_kept(self) -> bool:
        """Whether all kinds lie in the map `meters` as they did; else all buckets begin full."""
        pairs = [(k.old, k.new if k.new and k.kept else None)
                 for k in self.kinds.values() if k.old.meters]  # fmt: skip
        same = all(new and _buckets(new) == _buckets(old) for old, new in pairs)
        metered = sum(bool(kind.meters) for kind in self.new.rules)
        return same and len(pairs) == metered and 0 < self.old.meters == self.new.meters

    @property
    def events_kept(self) -> bool:
        return self.old.counters == self.new.counters

    def obstacles(self, usage: Usage) -> list[Difference]:
        """The differences that prevent it while these rules are in force."""
        return [found for found in self.differences if found.lost(usage)]

    def rows(self, usage: Usage) -> list[Row]:
        """For a table: what, in the running build, in the new one, what becomes of the rules."""
        rows = []
        for each in self.differences:
            lost, change = each.lost(usage), self.kinds.get(each.place)
            effect = f"{lost:,} cannot be kept" if lost else ""
            if change and not lost and (count := usage.get((each.place, ""), 0)):
                how = "kept" if change.stays else "written anew" if change.new else "given up"
                effect = f"{count:,} {how}"
            rows.append((each.place, each.running, each.becomes, effect))
        return rows


def _buckets(kind: RuleKind) -> tuple[int | None, int, bool]:
    """Where a kind's buckets lie, and what they hold."""
    return kind.meters_at, len(kind.meters), kind.packet_meter
