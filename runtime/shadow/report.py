"""What a shadow run found, kept in bounded memory."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from ...lang.contract.trace.steps import Trace
from .allowed import Allowed
from .copies import Met
from .differences import Names, Rule, differences, rules_of

#: Groups of differences that are listed, and rules that are counted; of the rest their number.
MOST_GROUPS, MOST_RULES = 64, 4096


@dataclass(frozen=True)
class Sample:
    """A packet: `time` in ns of CLOCK_MONOTONIC, as it arrived, and what became of it."""

    number: int
    time: int
    frame: bytes
    in_force: Met
    shadow: Met


@dataclass
class Group:
    """Packets that differ in the same way. `allowed`: that was named."""

    differences: tuple[str, ...]
    allowed: bool
    sample: Sample
    packets: int = 0


@dataclass
class RuleUse:
    """How many packets found a rule, in force and in the shadow."""

    name: str = ""
    in_force: int = 0
    shadow: int = 0


@dataclass
class Report:
    """`compared` packets were; `unlike`: their copy did not do what was done in force, so that
    nothing can be said of them; `left_out`: by why they could not run; `lost`: came too fast.
    `verdicts`: in force, in the shadow. `more`: packets of further groups, by whether that was
    named."""

    names: Names
    allowed: Allowed
    seconds: float = 0.0
    lost: int = 0
    compared: int = 0
    unlike: int = 0
    unlike_sample: Sample | None = None
    left_out: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    rules: dict[Rule, RuleUse] = field(default_factory=dict)
    groups: dict[tuple[tuple[str, ...], bool], Group] = field(default_factory=dict)
    more: Counter[bool] = field(default_factory=Counter)
    #: Rules that were found, besides those that are counted.
    more_rules: int = 0
    ended: str = ""

    @property
    def differing(self) -> int:
        return sum(group.packets for group in self.groups.values()) + self.more.total()

    @property
    def not_allowed(self) -> int:
        """How many packets differ in ways that were not named."""
        told = (group.packets for group in self.groups.values() if not group.allowed)
        return sum(told) + self.more[False]

    def add(self, sample: Sample) -> None:
        """A packet that the copy of the build in force and the shadow have run."""
        was, now = sample.in_force.trace, sample.shadow.trace
        self.compared += 1
        self.verdicts[self.names.verdict(was), self.names.verdict(now)] += 1
        self._count(was, True)
        self._count(now, False)
        found = differences(self.names, sample.in_force, sample.shadow)
        if not found:
            return
        before = [(self.names.kinds.get(kind, kind), id_) for kind, id_ in rules_of(was)]
        way = (was.verdict, was.egress) != (now.verdict, now.egress)
        allowed = self.allowed.allows(found, {*before, *rules_of(was), *rules_of(now)}, way)
        group = self.groups.get((found, allowed))
        if group is None:
            if len(self.groups) == MOST_GROUPS:
                self.more[allowed] += 1
                return
            group = self.groups[found, allowed] = Group(found, allowed, sample)
        group.packets += 1

    def add_unlike(self, sample: Sample) -> None:
        """A packet with which the copy of the build in force (here `shadow`) did not do what was
        done in force."""
        self.unlike += 1
        self.unlike_sample = self.unlike_sample or sample

    def _count(self, trace: Trace, in_force: bool) -> None:
        rules = {s.rule[:2]: s.rule.name for s in trace.steps if s.rule is not None}
        for (kind, id_), name in rules.items():
            rule = (self.names.kinds.get(kind, kind) if in_force else kind, id_)
            if rule not in self.rules and len(self.rules) == MOST_RULES:
                self.more_rules += 1
                continue
            use = self.rules.setdefault(rule, RuleUse(name))
            use.in_force += in_force
            use.shadow += not in_force
