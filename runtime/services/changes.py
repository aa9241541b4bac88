"""From the rules that stand to those that are wanted: requests.

A change is one request. A very large one, as from an empty node, is several, each of which leaves
what it does not speak of as it was, and refers only to what is there; new endpoints and addresses
go packed, where there are many.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ...lang.contract.request.request import Change, Operation, Request, RuleItem
from ...lang.contract.rules.columns import Columns
from ...lang.contract.rules.csv_columns import read_csv
from ...lang.contract.rules.rulekinds import Kind
from ...lang.text.source import Source
from .endpoints import MOST
from .wanted import Key, Rule, Rules, item, references, referred

#: A rule is made behind those that it refers to, and deleted before them.
_ORDER = {"NODE": 0, "BACKEND": 1, "POOL": 2, "SERVICE": 3}
#: Rules that one request changes; more are several.
LARGE = 2000
#: New rules of a kind that go packed.
PACKED = 500
#: Rules that a change of a request names.
_ITEMS = 10_000


class Step(NamedTuple):
    """What to send, and the rules that stand otherwise after it."""

    sent: Request | Columns
    keys: Sequence[Key]


def steps(
    standing: Rules, wanted: Rules, keys: Iterable[Key], kinds: Mapping[str, Kind]
) -> Iterator[Step]:  # fmt: skip
    """`kinds`: of the pipeline, by name."""
    differing = sorted((k for k in keys if standing.get(k) != wanted.get(k)), key=_order)
    if len(differing) <= LARGE:
        if differing:
            yield Step(request(standing, wanted, differing), differing)
        return
    new = {place: [k for k in differing if k not in standing and _place(k) == place]
           for place in range(4)}  # fmt: skip
    old = {place: [k for k in differing if k in standing and _place(k) == place]
           for place in range(4)}  # fmt: skip
    for some in (new[0], new[1], new[2], old[3], old[2], old[1], old[0], new[3]):
        yield from _divided(standing, wanted, some, kinds)


def request(standing: Rules, wanted: Rules, keys: Sequence[Key]) -> Request:
    """What differs of these, which are in order."""
    found = _Changes()
    for key in keys:
        found.compare(standing.get(key), wanted.get(key))
    return Request(tuple(found.changes()))


def _divided(
    standing: Rules, wanted: Rules, keys: Sequence[Key], kinds: Mapping[str, Kind]
) -> Iterator[Step]:  # fmt: skip
    for kind in dict.fromkeys(kind for kind, _ in keys):
        of = [key for key in keys if key[0] == kind]
        new = of[0] not in standing and len(of) >= PACKED
        if new and kinds[kind].plain and not kind.endswith("6"):
            yield Step(_packed([wanted[key] for key in of], kinds[kind]), of)
            continue
        for first in range(0, len(of), LARGE):
            some = of[first : first + LARGE]
            yield Step(request(standing, wanted, some), some)


def _packed(rules: Sequence[Rule], kind: Kind) -> Columns:
    """New rules as columns. Those that lack an element, as `origin`, have an empty cell."""
    names = list(dict.fromkeys(name for r in rules for name, _ in (*r.match, *r.values)))
    of = [referred(kind.name)] if any(r.refers for r in rules) else []
    lines = [",".join(["name", *names, *of])]
    for rule in rules:
        said = dict((*rule.match, *rule.values))
        cells = [f'"{rule.name}"', *(said.get(name, "") for name in names)]
        lines.append(",".join([*cells, *(f'"{n}"' for n in rule.refers or [""] * len(of))]))
    return read_csv(Source("<wanted>", "\n".join(lines) + "\n"), kind)


def _place(key: Key) -> int:
    return _ORDER[key[0].removesuffix("6")]


def _order(key: Key) -> tuple[int, Key]:
    return _place(key), key


class _Changes:
    """First what matches is given up, at last what nothing refers to any more is deleted."""

    def __init__(self) -> None:
        self._freed: list[RuleItem] = []
        self._made: list[tuple[Operation, list[RuleItem]]] = []
        self._left: list[RuleItem] = []

    def compare(self, before: Rule | None, after: Rule | None) -> None:
        if before is not None and after is not None and _updatable(before, after):
            if before.kind.startswith("POOL"):
                self._members(before, after)
            else:
                self._add("update", item(after, whole=False))
            return
        if before is not None:
            (self._freed if _has_match(before) else self._left).append(_head(before))
        if after is not None:
            self._add("create", item(after))

    def changes(self) -> Iterator[Change]:
        steps: list[tuple[Operation, list[RuleItem]]] = [
            ("delete", self._freed), *self._made, ("delete", self._left[::-1])
        ]  # fmt: skip
        for operation, items in steps:
            for first in range(0, len(items), _ITEMS):
                yield Change(operation, tuple(items[first : first + _ITEMS]))

    def _add(self, operation: Operation, what: RuleItem) -> None:
        """As one more rule of the last change, where that does the same."""
        if not self._made or self._made[-1][0] != operation:
            self._made.append((operation, []))
        self._made[-1][1].append(what)

    def _members(self, before: Rule, after: Rule) -> None:
        """A pool always has a member, and never too many."""
        was, is_ = set(before.refers), set(after.refers)
        gone, new = sorted(was - is_), sorted(is_ - was)
        room = MOST - len(was)
        steps: list[tuple[Operation, list[str]]] = [("update", new), ("delete", gone)]
        if len(new) > room:
            last = [] if was & is_ else gone[:1]
            room += len(gone) - len(last)
            steps = [("delete", gone[len(last) :]), ("update", new[:room]), ("delete", last),
                     ("update", new[room:])]  # fmt: skip
        for operation, names in steps:
            if names:
                members = tuple(references(after.kind, names))
                self._add(operation, RuleItem(after.kind, None, after.name, members))


def _updatable(before: Rule, after: Rule) -> bool:
    """Whether an update can say it: one adds and changes, and takes no pool away."""
    loses = before.kind.startswith("SERVICE") and before.refers and not after.refers
    return before.match == after.match and not loses


def _has_match(rule: Rule) -> bool:
    return rule.kind.startswith(("SERVICE", "NODE"))


def _head(rule: Rule) -> RuleItem:
    if rule.name.startswith("#"):
        return RuleItem(rule.kind, int(rule.name[1:]), None, (), False)
    return RuleItem(rule.kind, None, rule.name, (), False)
