"""Compares two builds by their manifests: what an upgrade from one to the other changes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from ...lang.contract.manifest.manifest import Element, Manifest, Match, Raise, RuleKind, State
from .map_reuse import elements_of, fate_of, write_dependants
from .schema_change import ALWAYS, NAMED, Answers, Concern, Difference, KindChange, SchemaChange

_NONE = "-"
Differences = Iterator[Difference]


def _pair(
    place: str, both: Sequence[str], concern: Concern | None = None, most: int = 0
) -> Difference:
    return Difference(place, both[0], both[1], concern, None, most)


def compare(old: Manifest, new: Manifest, answers: Answers | None = None) -> SchemaChange:
    """What differs, which maps can be reused, and which rules the new build could not hold."""
    answers = answers or Answers()
    kinds = {kind.name: _kind(old, kind, new, answers) for kind in old.rules}
    states = {s.name: was for s in new.states if (was := _kept_state(old, s, answers))}
    roles = {
        number: new.roles.index(target)
        for number, role in enumerate(old.roles)
        if (target := answers.ports.get(role, role)) in new.roles
    }
    found = [*_pipelines(old, new, answers), *_ports(old, new, answers)]
    for change in kinds.values():
        found += _KindDifferences(old, new, answers, change).differences()
    mapped = {change.new.name for change in kinds.values() if change.new}
    found += [Difference(k.name, _NONE, _size(k)) for k in new.rules if k.name not in mapped]
    found += _states(old, new, answers, states)
    kinds = write_dependants(kinds)
    found += _kept_rules(new, states, kinds.values())
    return SchemaChange(old, new, answers, kinds, states, roles, tuple(found))


def _pipelines(old: Manifest, new: Manifest, answers: Answers) -> Differences:
    if old.pipeline != new.pipeline:
        concern = None if answers.pipeline == new.pipeline else ALWAYS
        answer = "pipeline", new.pipeline
        yield Difference("pipeline", old.pipeline, new.pipeline, concern, answer)
    stages = [", ".join(dict.fromkeys(p.stage for p in m.programs)) for m in (old, new)]
    for place, both in (("stages", stages), ("default", [old.default, new.default])):
        if both[0] != both[1]:
            yield _pair(place, both)


def _ports(old: Manifest, new: Manifest, answers: Answers) -> Differences:
    target = {role: answers.ports.get(role, role) for role in old.roles}
    for role, now in target.items():
        if now not in new.roles:
            answer = "ports", f"{role}: …"
            yield Difference(f"ports {role}", role, _NONE, ("port", role), answer)
        elif now != role:
            yield Difference(f"ports {role}", role, now)
    for role in new.roles:
        if role not in target.values():
            yield Difference(f"ports {role}", _NONE, role)
    if old.max_ports != new.max_ports:
        last = [f"numbers up to {m.max_ports - 1}" for m in (old, new)]
        yield _pair("ports", last, ("port", ""), new.max_ports - 1)


# ---- states ---------------------------------------------------------------------------------


def _kept_state(old: Manifest, state: State, answers: Answers) -> str:
    """The state of the running build whose table this one takes over."""
    layout = _layout(state, Answers())
    same = (s.name for s in old.states if _is(s, state, answers) and _layout(s, answers) == layout)
    return next(same, "")


def _is(was: State, state: State, answers: Answers) -> bool:
    return answers.kind(was.name) == state.name


def _layout(state: State, answers: Answers) -> State:
    """All that an entry's bytes, and where they lie, depend on; kinds of rules by their new
    names."""
    sets = state.sets if state.in_place else 0
    gives = tuple(replace(slot, rule=answers.kind(slot.rule) or "") for slot in state.gives)
    return replace(
        state, name="", doc="", capacity=sets, ages=state.aging, lifetime="", idle=False,
        gives=gives,
    )  # fmt: skip


def _what(state: State) -> str:
    if state.shape:
        return f"{' x '.join(f'{n:,}' for n in state.shape)} registers of {state.gives[0].type}"
    return f"a state of {state.capacity:,}"


def _states(old: Manifest, new: Manifest, answers: Answers, kept: Collection[str]) -> Differences:
    for state in old.states:
        now = next((s for s in new.states if _is(state, s, answers)), None)
        was = _what(state)
        if now is None:
            yield Difference(state.name, was, _NONE)
        elif now.name not in kept:
            yield Difference(
                state.name,
                was,
                f"{_what(now)}, empty"
                if now.shape or state.shape
                else f"another one of {now.capacity:,}, empty",
            )
        elif (now.name, now.capacity) != (state.name, state.capacity):
            name = f"{now.name}, " if now.name != state.name else ""
            yield Difference(state.name, was, f"{name}one of {now.capacity:,}")
    for state in new.states:
        if not any(_is(s, state, answers) for s in old.states):
            yield Difference(state.name, _NONE, f"{_what(state)}, empty")


def _kept_rules(new: Manifest, states: Collection[str], kinds: Iterable[KindChange]) -> Differences:
    """Rules that entries keep, and may not find any more where the rules are written again."""
    anew = {kind.new.name for kind in kinds if kind.new and not kind.stays}
    for state in new.states:
        for slot in state.gives if state.name in states else ():
            if slot.rule in anew:
                place = f"{state.name}.{slot.name}"
                yield Difference(place, f"a {slot.rule}", "may be gone: all are written anew")


# ---- rule kinds -----------------------------------------------------------------------------


def _size(kind: RuleKind) -> str:
    return f"up to {kind.capacity:,}"


def _kind(old: Manifest, kind: RuleKind, new: Manifest, answers: Answers) -> KindChange:
    target = answers.kind(kind.name)
    other = next((r for r in new.rules if r.name == target), None)
    elements = {name: answers.element(kind.name, name) for name in elements_of(kind)}
    change = KindChange(kind, other, elements, "written")
    return replace(change, fate=fate_of(old, change, new, answers))


class _KindDifferences:
    """Differences between a kind of the running build and its counterpart in the new one."""

    def __init__(self, old: Manifest, new: Manifest, answers: Answers, change: KindChange) -> None:
        self.old, self.new, self.answers, self.change = old, new, answers, change
        self.kind, self.name = change.old, change.old.name
        self.all: Concern = (self.name, "")

    def differences(self) -> Differences:
        other = self.change.new
        if other is None:
            given_up = self.answers.kind(self.name) is None
            answer = "kinds", f"{self.name}: ~"
            concern = None if given_up else self.all
            yield Difference(self.name, _size(self.kind), _NONE, concern, answer)
            return
        found = [*self._shape(other), *self._match(other), *self._gives(other)]
        sizes = _size(self.kind), _size(other)
        if self.name != other.name:
            sizes = sizes[0], f"{other.name}, {sizes[1]}"
        if found or not self.change.stays or sizes[0] != sizes[1]:
            yield _pair(self.name, sizes, self.all, other.capacity)
        yield from found

    def _shape(self, other: RuleKind) -> Differences:
        """Names, ids, order, alternatives, spread, counters."""
        pair = self.kind, other
        if self.kind.named and not other.named:
            concern = self.name, NAMED
            yield Difference(f"{self.name} names", "rules have names", "they have none", concern)
        if self.kind.grouped != other.grouped:
            ids = [f"{'several rules' if k.grouped else 'one rule'} an id" for k in pair]
            yield _pair(f"{self.name} ids", ids, self.all)
        orders = [f"by {k.priority[0]}" if k.priority else "the more specific first" for k in pair]
        if orders[0] != orders[1]:
            yield _pair(f"{self.name} order", orders, self.all if self.kind.priority else None)
        ways = [" or ".join(k.alternatives) or _NONE for k in pair]
        if set(self.kind.alternatives) != set(other.alternatives):
            both = all(k.alternatives for k in pair)
            yield _pair(f"{self.name} gives", ways, None if both else self.all)
        spreads = [_members(k) for k in pair]
        if (self.kind.spread is None) != (other.spread is None):
            yield _pair(f"{self.name} spread", spreads, self.all)
        elif self.kind.spread and other.spread and self.kind.spread.listed != other.spread.listed:
            yield _pair(f"{self.name} spread", spreads)
        if self.kind.counts != other.counts:
            counts = [", ".join(k.counts) or "nothing" for k in pair]
            yield _pair(f"{self.name} counts", counts)
        if len(self.kind.meters) != len(other.meters):
            yield _pair(f"{self.name} meters", [", ".join(k.meters) or _NONE for k in pair])
        raised = [", ".join(map(_raised, k.raises)) or _NONE for k in pair]
        if raised[0] != raised[1]:
            yield _pair(f"{self.name} raises", raised)

    def _match(self, other: RuleKind) -> Differences:
        there = {match.element: match for match in other.match}
        for match in self.kind.match:
            target = self.change.elements[match.element]
            becomes = _matched(there[target]) if target in there else ""
            yield from self._element(match.element, _matched(match), target, becomes)
        mapped = {self.change.elements[match.element] for match in self.kind.match}
        for name, match in there.items():
            if name not in mapped:
                yield self._added(other, name, _matched(match), match.kind == "exact")

    def _gives(self, other: RuleKind) -> Differences:
        for name in self.kind.gives:
            target = self.change.elements[name]
            becomes = _given(self.new.element(target)) if target in other.gives else ""
            yield from self._element(name, _given(self.old.element(name)), target, becomes)
        mapped = {self.change.elements[name] for name in self.kind.gives}
        needed = {r.element for r in other.requires if not r.when}
        for name in other.gives:
            if name not in mapped:
                yield self._added(other, name, _given(self.new.element(name)), name in needed)

    def _added(self, other: RuleKind, name: str, shape: str, needed: bool) -> Difference:
        """An element that rules of the running build lack."""
        place = f"{other.name}.{name}"
        default = self.answers.defaults.get(place)
        if default is not None:
            return Difference(place, _NONE, f"{shape}; {default} where a rule lacks it")
        concern = self.all if needed else None
        shape += ", needed" * needed
        return Difference(place, _NONE, shape, concern, ("defaults", f"{place}: …"))

    def _element(self, name: str, running: str, target: str | None, becomes: str) -> Differences:
        """An element; `becomes` is empty where the new build has no such element there."""
        place, concern = f"{self.name}.{name}", (self.name, name)
        answer = "elements", f"{place}: ~"
        if target is None:
            yield Difference(place, running, "given up")
            return
        if not becomes:
            yield Difference(place, running, _NONE, concern, answer)
            return
        one, other = self.old.element(name), self.new.element(target)
        if one.kind != other.kind:
            yield Difference(place, one.type, other.type, concern, answer)
        elif one.symbols != other.symbols:
            yield Difference(place, _words(one), _words(other))
        elif name != target or running != becomes:
            yield Difference(place, running, f"{target}: {becomes}" if name != target else becomes)


def _members(kind: RuleKind) -> str:
    if kind.spread is None:
        return _NONE
    return f"{'lists' if kind.spread.listed else 'over'} {kind.spread.kind}"


def _raised(raised: Raise) -> str:
    """As it is written, without what it tells."""
    amount = raised.element or raised.amount
    return f"{raised.event} {'each' if raised.again else 'after'} {amount} {raised.what}"


def _matched(match: Match) -> str:
    return f"{match.kind}, {match.width} bits"


def _given(element: Element) -> str:
    if element.references:
        return "refers to " + " or ".join(element.references)
    return f"given, {element.type}" + (f"[{element.most}]" if element.most else "")


def _words(element: Element) -> str:
    return ", ".join(f"{n} = {v}" for n, v in element.symbols.items()) or f"any {element.type}"
