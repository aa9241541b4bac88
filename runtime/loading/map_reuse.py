"""Decides what becomes of rule kinds at an upgrade: they keep their maps where stored bytes mean
the same and lie where they lay, are moved where only the place differs, or are written again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ...lang.contract.manifest.manifest import Element, Manifest, Member, RuleKind
from .schema_change import Answers, Fate, KindChange


def elements_of(kind: RuleKind) -> list[str]:
    """The elements of its rules, each once."""
    names = [*(match.element for match in kind.match), *kind.gives]
    names += [kind.priority[1]] if kind.priority else []
    names += [kind.spread.weight] if kind.spread and kind.spread.weight else []
    return list(dict.fromkeys(names))


def fate_of(old: Manifest, change: KindChange, new: Manifest, answers: Answers) -> Fate:
    """Of the kind's rules and their maps but for counters; the kinds that its records point at are
    not looked at."""
    kind, other = change.old, change.new
    if other is None or None in change.elements.values() or other.capacity < kind.capacity:
        return "written"
    if None in map(answers.kind, _pointed(kind)):
        return "written"
    if any(place.startswith(f"{other.name}.") for place in answers.defaults):
        return "written"
    renamed = _Renaming(change, answers)
    was, now = renamed.kind(kind, other), _plain(other, other)
    if _unplaced(was) != _unplaced(now) or not set(other.requires) <= set(renamed.requires(kind)):
        return "written"
    pairs = [(old.element(a), new.element(b)) for a, b in change.elements.items() if b]
    if not all(renamed.same(one, its) for one, its in pairs):
        return "written"
    return "kept" if was == now else "moved"


def write_dependants(changes: Mapping[str, KindChange]) -> dict[str, KindChange]:
    """Kinds whose records point at cells of kinds that are written again are written again, too."""
    found = dict(changes)
    while more := [
        name
        for name, change in found.items()
        if change.stays and not all(found[to].stays for to in _pointed(change.old))
    ]:
        found |= {name: replace(found[name], fate="written") for name in more}
    return found


def _pointed(kind: RuleKind) -> set[str]:
    """The kinds whose cells may stand in its records."""
    found = {choice for member in kind.record for choice in member.choices}
    found |= {*kind.alternatives, *([kind.spread.kind] if kind.spread else [])}
    return found - {"port"}


def _plain(kind: RuleKind, other: RuleKind) -> RuleKind:
    """The kind without what stored bytes do not depend on, with members named as in `other`."""
    names = {member.offset: member.name for member in other.record}
    record = tuple(replace(m, name=names.get(m.offset, m.name)) for m in kind.record)
    return replace(
        kind, name="", doc="", number=0, capacity=0, requires=(), record=record, counts_at=None,
        meters=(), meters_at=None, packet_meter=False,
    )  # fmt: skip


def _unplaced(kind: RuleKind) -> RuleKind:
    """The kind without how many places there are, and how they are found."""
    return replace(
        kind, cells=0, records=0, entries=0, buckets=0, filter=0, by_cell=False, halves=False,
        two_cells=False, cached=False, vectors=0, small_indexes=0, index_step=0, spare_buckets=0,
    )  # fmt: skip


class _Renaming:
    """Parts of the running build's manifest with the names of the new build."""

    def __init__(self, change: KindChange, answers: Answers) -> None:
        self._elements, self._answers = change.elements, answers

    def kind(self, kind: RuleKind, other: RuleKind) -> RuleKind:
        spread, priority = kind.spread, kind.priority
        if spread is not None:
            weight = spread.weight and self._element(spread.weight)
            spread = replace(spread, kind=self._kinds([spread.kind])[0], weight=weight)
        if priority is not None:
            priority = priority[0], self._element(priority[1])
        return replace(
            _plain(kind, other), spread=spread, priority=priority,
            match=tuple(replace(m, element=self._element(m.element)) for m in kind.match),
            gives=tuple(map(self._element, kind.gives)),
            alternatives=self._kinds(kind.alternatives),
            record=tuple(map(self._member, _plain(kind, other).record)),
        )  # fmt: skip

    def requires(self, kind: RuleKind) -> list[object]:
        return [
            replace(
                each, element=self._element(each.element), references=self._kinds(each.references),
                when=tuple((self._element(name), values) for name, values in each.when),
            )
            for each in kind.requires
        ]  # fmt: skip

    def same(self, one: Element, other: Element) -> bool:
        """Whether every value of `one` means the same in `other`."""
        known = one.symbols.items() <= other.symbols.items() if one.symbols else not other.symbols
        shape = (one.kind, one.width, one.most, self._kinds(one.references))
        return known and shape == (other.kind, other.width, other.most, other.references)

    def _member(self, member: Member) -> Member:
        element, choices = self._element(member.element), self._kinds(member.choices)
        return replace(member, element=element, choices=choices)

    def _element(self, name: str) -> str:
        return " via ".join(self._elements.get(part) or part for part in name.split(" via "))

    def _kinds(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(n if n == "port" else self._answers.kind(n) or "" for n in names)
