"""What stages do to state tables: docs/semantics.md, "State tables"."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ...lang.contract.trace.steps import TracedValue
from ...lang.contract.world.emitted import split_identity
from ...lang.contract.world.states import Kept, Lasts
from ..model import (
    Change,
    Exchange,
    Forget,
    Recall,
    Recalled,
    Remember,
    SetRegister,
    Slot,
    State,
    Update,
)
from .scope import cut
from .verdicts import Verdicts


class OnStates(Verdicts):
    """Statements about states. What is recalled or remembered is a copy; `held` says of which
    entry."""

    def on_state(self, s: Remember | Recall | Exchange) -> bool:
        """Whether it was done; else its `otherwise` is to run."""
        match s:
            case Remember():
                return self._remember(s)
            case Recall():
                return self._recall(s)
        return self._exchange(s)

    def forget(self, s: Forget) -> None:
        table = self.pipeline.state(s.state)
        key = tuple(map(self.value, s.key))
        self.step("forget", s.state, *traced_slots(table.match, key))
        self.states.forget(s.state, key)

    def update(self, s: Update) -> None:
        value = self.value(s.value)
        if not self._change(s.slot, partial(changed, s.operator, s.slot.width, by=value)):
            self.event("lost", s.slot.state)

    def set_register(self, s: SetRegister) -> None:
        name, by, cell = s.register.registers, self.value(s.value), self.cell(s.register)
        now = self.states.register(name, cell)
        self.states.set_register(name, cell, changed(s.operator, s.register.width, now, by))
        what = {"=": "set", "+": "plus", "-": "minus"}[s.operator]
        self.step("update", name, TracedValue("cell", cell), TracedValue(what, by))

    def _remember(self, s: Remember) -> bool:
        values = tuple(map(self.said, s.values))
        table = self.pipeline.state(s.state)
        split = len(table.match)
        key, lasts = values[:split], seconds_of(table)
        known = self.states.recall(s.state, key, lasts, table.idle) if s.if_absent else None
        if known is not None:
            self.step("recall", s.state, *traced_slots(table.match, key))
            self._bind(table, key, known)
            return False
        self.step("remember", s.state, *traced_slots((*table.match, *table.given), values))
        before = self.states.recall(s.state, key, lasts)
        counts = before.values[len(table.given) :] if before else (0,) * len(table.counts)
        kept = (*values[split:], *counts)
        made = self.states.remember(s.state, key, kept, lasts, lazily=not table.in_place)
        self._hold(table, key, self._counted(table, key, made))
        return True

    def _recall(self, s: Recall) -> bool:
        table = self.pipeline.state(s.state)
        key = tuple(map(self.value, s.key))
        self.step("recall", s.state, *traced_slots(table.match, key))
        found = self.states.recall(s.state, key, seconds_of(table), table.idle)
        if found is None:
            self.recalled.pop(s.state, None)
            self.event("miss", s.state)
            return False
        self._bind(table, key, found)
        return True

    def _exchange(self, s: Exchange) -> bool:
        before, after = self.value(s.before), self.value(s.after)
        held = list[int]()

        def to(now: int) -> int:
            held.append(now)
            return after if now == before else now

        if not self._change(s.slot, to):
            self.event("lost", s.slot.state)
        return held == [before]

    def _bind(self, table: State, key: tuple[int, ...], entry: Kept) -> None:
        entry = self._counted(table, key, entry)
        self._hold(table, key, entry)
        self.step("recalled", table.name, *traced_slots(table.gives, entry.values))

    def _counted(self, table: State, key: tuple[int, ...], entry: Kept) -> Kept:
        """It has counted this packet."""
        for at, what in enumerate(table.counts, len(table.given)):
            more = partial(changed, "+%", 64, by=self.length if what == "bytes" else 1)
            made = self.states.change(table.name, key, entry.mark, at, more)
            assert made is not None, "it is bound"
            entry = made
        return entry

    def _hold(self, table: State, key: tuple[int, ...], entry: Kept) -> None:
        names = [slot.name for slot in table.gives]
        self.recalled[table.name] = dict(zip(names, entry.values, strict=True))
        self.held[table.name] = key, entry.mark

    def _change(self, slot: Recalled, to: Callable[[int], int]) -> bool:
        """Change a slot of the entry that is bound; whether it is there still."""
        table = self.pipeline.state(slot.state)
        names = [each.name for each in table.gives]
        at = names.index(slot.slot)
        made = self.states.change(slot.state, *self.held[slot.state], at, to)
        if made is None:
            return False
        self.recalled[slot.state][slot.slot] = made.values[at]
        self.step("update", slot.state, *traced_slots((table.gives[at],), (made.values[at],)))
        return True


def changed(operator: Change, width: int, now: int, by: int) -> int:
    """What a slot of that width holds behind a change."""
    most = (1 << width) - 1
    match operator:
        case "=":
            return by
        case "+":
            return min(now + by, most)
        case "-":
            return max(now - by, 0)
        case "+%":
            return now + by & most
        case "-%":
            return now - by & most
        case "|":
            return now | by
        case "&":
            return now & by
    return now ^ by


def seconds_of(table: State) -> Lasts:
    """After how many seconds an entry is forgotten, by what it holds."""
    if not table.lifetime:
        return lambda _: table.ages
    at = [slot.name for slot in table.gives].index(table.lifetime)
    return lambda values: values[at]


def traced_slots(slots: Sequence[Slot], values: Sequence[int]) -> list[TracedValue]:
    """A state's key or entry, in its slots; a rule by its id."""
    return [
        TracedValue(s.name, split_identity(value)[1])
        if s.rule
        else TracedValue(s.name, cut(value, s.width), "port" if s.port else s.kind)
        for s, value in zip(slots, values, strict=True)
    ]
