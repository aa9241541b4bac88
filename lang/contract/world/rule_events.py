"""Events that rules raise by their age and by what they counted: when one is due, what it says.

Rules are looked at from time to time, and this is what a look does, rule by rule. What an agent
does is the same by columns: `runtime/rules/event_columns.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

from ..manifest.manifest import Raise, RaisedField
from ..rules.rules import Rule
from .emitted import identity
from .environment import Emitted, Outcome, Rules
from .moment import SECOND, Moment


class Bucket:
    """Of the records that rules raise of an event: `rate` a second, and so many at once."""

    def __init__(self, rate: int) -> None:
        self._rate, self._interval = rate, SECOND // rate
        self.fill()

    def fill(self) -> None:
        self._full = 0  # ns: when it will be full

    def take(self, now: int) -> bool:
        """Whether there may be one more now; if so it counts."""
        full = max(self._full, now)
        if full - now > (self._rate - 1) * self._interval:
            return False
        self._full = full + self._interval
        return True


class Event(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def rate(self) -> int: ...


class Kind(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def raises(self) -> tuple[Raise, ...]: ...


class Seen(NamedTuple):
    """What a look found: packets and bytes that a rule counted, ns for which it was not matched."""

    packets: int
    byte_count: int
    idle: int


def amount_of(raised: Raise, rule: Rule) -> int:
    """When it is due for this rule; 0: never."""
    return dict(rule.values).get(raised.element, 0) if raised.element else raised.amount


def told_after(raised: Raise, amount: int, seen: Seen, told: int) -> int:
    """What was told of with an event that is due; as before if none is. `told`: of one that is
    raised again and again the number that was told of; else the amount."""
    if not amount:
        return told
    if raised.what == "idle":
        return amount if seen.idle >= amount * SECOND and amount > told else told
    count = seen.packets if raised.what == "packets" else seen.byte_count
    if raised.again:
        return told + max(0, count - told) // amount * amount
    return amount if count >= amount > told else told


def values_of(
    fields: Iterable[RaisedField], rule: Rule, packets: int, byte_count: int
) -> tuple[int, ...]:
    """What an event says of a rule."""
    of = {"rule": identity(rule.sequence, rule.id), "id": rule.id,
          "packets": packets, "bytes": byte_count}  # fmt: skip
    return tuple(
        each.number if each.what == "number"
        else element_of(rule, each.element) if each.what == "element"
        else of[each.what]
        for each in fields
    )  # fmt: skip


def element_of(rule: Rule, element: str) -> int:
    """0 where the rule leaves it out."""
    for name, matcher in rule.match:
        if name == element:
            return matcher.value
    for name, to in rule.references:
        if name == element:
            return to.id
    return dict(rule.values).get(element, 0)


@dataclass
class _Known:
    """Of a rule, at the last look."""

    used: int
    packets: int = 0
    told: dict[int, int] = field(default_factory=dict)  # by the number of what it raises


class RuleEvents:
    """Looks at the rules of a book. A rule that was not there at the look before counts as made
    then."""

    def __init__(
        self, kinds: Iterable[Kind], events: Iterable[Event],
        counted: Callable[[str, int], tuple[int, int]],
    ) -> None:  # fmt: skip
        """`counted`: packets and bytes of a rule, by its kind and sequence."""
        self._kinds = [kind for kind in kinds if kind.raises]
        self._buckets = {event.name: Bucket(event.rate) for event in events}
        self._counted, self._looked = counted, Moment().now
        self._known: dict[tuple[str, int], _Known] = {}
        self._due: list[Emitted] = []

    def fill(self) -> None:
        """The limits do not count what was raised by now."""
        for bucket in self._buckets.values():
            bucket.fill()

    def look(self, rules: Rules, now: int) -> None:
        """At `now`, in ns of the monotonic clock."""
        for kind in self._kinds:
            there = sorted(rules.rules(kind.name), key=lambda rule: rule.sequence)
            seen = [self._seen(kind, rule, now) for rule in there]
            for number, raised in enumerate(kind.raises):
                for rule, each in zip(there, seen, strict=True):
                    self._raise(number, raised, rule, each, now)
        self._looked = now

    def _seen(self, kind: Kind, rule: Rule, now: int) -> Seen:
        packets, byte_count = self._counted(kind.name, rule.sequence)
        known = self._known.setdefault((kind.name, rule.sequence), _Known(self._looked))
        if packets != known.packets:
            known.used, known.packets = now, packets
            for number, raised in enumerate(kind.raises):
                if raised.what == "idle":
                    known.told.pop(number, None)
        return Seen(packets, byte_count, max(0, now - known.used))

    def _raise(self, number: int, raised: Raise, rule: Rule, seen: Seen, now: int) -> None:
        told = self._known[rule.kind, rule.sequence].told
        before = told.get(number, 0)
        after = told_after(raised, amount_of(raised, rule), seen, before)
        if after != before and self._buckets[raised.event].take(now):
            told[number] = after
            values = values_of(raised.fields, rule, seen.packets, seen.byte_count)
            self._due.append(Emitted(raised.event, values))

    def with_events(self, outcome: Outcome, rules: Rules, now: int) -> Outcome:
        """A packet's outcome, with what rules raised since the packet before, and raise behind
        it."""
        before, self._due = self._due, []
        self.look(rules, now)
        behind, self._due = self._due, []
        return among(outcome, before, behind)


def among(outcome: Outcome, before: Sequence[Emitted], behind: Sequence[Emitted]) -> Outcome:
    """With what rules raised before a packet and behind it, which is counted as what it emits."""
    if not before and not behind:
        return outcome
    counted = tuple(("emitted", each.event) for each in (*before, *behind))
    emitted = (*before, *outcome.emitted, *behind)
    return replace(outcome, events=(*outcome.events, *counted), emitted=emitted)
