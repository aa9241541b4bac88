"""`Alike`: finds rules with the same content, of a kind without a match or of a spread. Only their
ids tell such rules apart."""

from __future__ import annotations

from collections.abc import Iterable

from .rules import Rule


class Alike:
    """The ids of rules that no other owns, oldest first, by what they say."""

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self._ids: dict[tuple[object, ...], dict[int, None]] = {}
        for rule in rules:
            self.note(None, rule)

    def note(self, old: Rule | None, new: Rule | None) -> None:
        """`new` is there in place of `old`."""
        if old is not None and (ids := self._ids.get(_content(old))) and old.id in ids:
            del ids[old.id]
            if not ids:
                del self._ids[_content(old)]
        if new is not None and not new.owner:
            self._ids.setdefault(_content(new), {})[new.id] = None

    def to(self, rule: Rule) -> Iterable[int]:
        """Those that say what this one says."""
        return self._ids.get(_content(rule), ())


def same(one: Rule, other: Rule) -> bool:
    return _content(one) == _content(other)


def _content(rule: Rule) -> tuple[object, ...]:
    members = tuple(sorted(rule.members))  # in whatever order they were written
    return rule.match, rule.priority, rule.values, rule.references, rule.target, members
