"""The spreads of a pipeline that ask for something, and what was decided of their members."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial

from ...lang.contract.request.request import item_text
from ...lang.contract.rules.rule_text import rule_item
from ...lang.contract.rules.rulebook import RuleBook
from ...lang.contract.rules.rules import Reference, Rule
from ..base.wall_clock import wall_time
from ..edge.liveness_settings import Liveness
from ..edge.path_quality import Measured
from ..edge.steering_policy import Policy, policy_reader, steers
from ..edge.steering_status import SteeredMember, SteeredSpread
from ..loading.excluded_members import overlays_of
from ..loading.loader import Loaded
from .decide import Path, State, step
from .reasons import reason

#: The part of the time that deciding may take.
_SHARE = 0.1
_NO_PATH = Path(True)


@dataclass
class _Spread:
    """`told`: the members that take flows as far as others were told, `changes` times. `ways`: by a
    member's id, the overlay that it leads to. `since`: when it was last decided otherwise of it."""

    rule: Rule
    state: State
    told: frozenset[int]
    member_kind: str = ""
    policy: Policy = field(default_factory=lambda: Policy({}))
    text: str = ""
    ways: Mapping[int, Reference | None] = field(default_factory=dict)
    since: dict[int, float] = field(default_factory=dict)
    changes: int = 0


class Steering:
    """Of one pipeline. Not for several threads."""

    def __init__(self) -> None:
        self._spreads: dict[int, _Spread] = {}  # by sequence
        self._paths: dict[Reference, Path] = {}
        self._names: dict[Reference, str] = {}
        self._due = 0.0

    def follow(self, loaded: Loaded, overlays: str) -> None:
        """The rules may be others. `overlays`: their kind. Of a spread that asks for something new,
        or has other weights or members, what is known of its members counts on. Called in a turn of
        the owner's."""
        found: dict[int, _Spread] = {}
        way_of = cache(partial(_way, loaded.book, overlays))
        for kind, rule, policy in _asking(loaded):
            spread = self._followed(loaded, rule)
            if spread.rule.match != rule.match or not spread.text:
                spread.text = _text(rule, loaded.book)
            spread.rule, spread.policy, spread.member_kind = rule, policy, kind
            spread.ways = {m.id: way_of(kind, m.id) for m in rule.members}
            found[rule.sequence] = spread
        self._spreads, self._due = found, 0.0
        ways = {to for spread in found.values() for to in spread.ways.values() if to is not None}
        self._names = {to: _name(loaded.book, to) for to in ways}

    def _followed(self, loaded: Loaded, rule: Rule) -> _Spread:
        """What is known of a spread. Members that are new take flows, until something is known of
        them; of one that nobody has looked after those that packets find."""
        ids = frozenset(member.id for member in rule.members)
        known = self._spreads.get(rule.sequence)
        if known is None:
            here = ids - loaded.writer.left_out.steered.get(rule.sequence, frozenset())
            return _Spread(rule, State(here, here), told=here)
        fresh, state = ids - known.ways.keys(), known.state
        known.state = State((state.within | fresh) & ids, ((state.chosen | fresh) & ids) or ids,
                            state.good, state.near)  # fmt: skip
        known.told = (known.told | fresh) & ids
        return known

    def decide(self, look: Callable[[Reference], Path], settings: Liveness) -> bool:
        """Whether members are left out that were not, or no more. `look`: what is known of an
        overlay. Does nothing most times: it looks four times an interval, or as often as takes
        `_SHARE` of the time."""
        begun = time.monotonic()
        if not self._spreads or begun < self._due:
            return False
        self._paths, changed = {to: look(to) for to in self._names}, False
        for spread in self._spreads.values():
            paths = {id_: self._path(to) for id_, to in spread.ways.items()}
            now = step(spread.state, paths, spread.policy, settings.hold_down, begun)
            for id_ in now.chosen ^ spread.state.chosen:
                spread.since[id_] = begun
            changed = changed or now.chosen != spread.state.chosen
            spread.state = now
        took = time.monotonic() - begun
        self._due = begun + max(settings.interval / 4, took / _SHARE)
        return changed

    def _path(self, to: Reference | None) -> Path:
        return self._paths.get(to, _NO_PATH) if to is not None else _NO_PATH

    @property
    def due(self) -> float:
        """When it is decided next, in seconds of the Unix epoch. From any thread."""
        return wall_time(max(self._due, time.monotonic()))

    def left_out(self) -> dict[int, frozenset[int]]:
        """By sequence the members that take no flows."""
        return {
            sequence: gone for sequence, spread in self._spreads.items()
            if (gone := frozenset(spread.ways.keys() - spread.state.chosen))
        }  # fmt: skip

    def news(self) -> list[SteeredSpread]:
        """Those of which something was decided that nobody was told of."""
        changed = [each for each in self._spreads.values() if each.told != each.state.chosen]
        for spread in changed:
            spread.told = spread.state.chosen
            spread.changes += 1
        return [self._view(spread) for spread in changed]

    def spreads(self) -> list[SteeredSpread]:
        return [self._view(spread) for spread in self._spreads.values()]

    def _view(self, spread: _Spread) -> SteeredSpread:
        return SteeredSpread(
            spread.rule.kind, spread.rule.id, spread.text, spread.changes,
            [self._member(spread, each.id, each.weight) for each in spread.rule.members],
            self.due,
        )  # fmt: skip

    def _member(self, spread: _Spread, id_: int, weight: int) -> SteeredMember:
        to, at = spread.ways.get(id_), spread.since.get(id_)
        path = self._path(to)
        return SteeredMember(
            spread.member_kind, id_, self._names[to] if to is not None else "", weight,
            weight if id_ in spread.state.chosen else 0,
            reason(spread.policy, spread.state, id_, path),
            wall_time(at) if at is not None else 0.0, path.seen or Measured(),
        )  # fmt: skip


def asking(loaded: Loaded) -> list[str]:
    """The spreads that ask for something."""
    return [_text(rule, loaded.book) for _, rule, _ in _asking(loaded)]


def _asking(loaded: Loaded) -> Iterator[tuple[str, Rule, Policy]]:
    """With the kind of their members."""
    read = policy_reader(loaded.manifest)
    for kind in loaded.manifest.rules:
        for rule in loaded.book.rules(kind.name) if steers(kind) else ():
            if kind.spread is not None and (policy := read(rule)) is not None:
                yield kind.spread.kind, rule, policy


def _way(book: RuleBook, overlays: str, kind: str, member: int) -> Reference | None:
    """None of a member that leads to no overlay, or to several: nothing is measured of it."""
    found = overlays_of(book, overlays, [Reference(kind, member)])
    return found.pop() if len(found) == 1 else None


def _name(book: RuleBook, to: Reference) -> str:
    rule = book.get(*to)
    return (rule.name if rule is not None else "") or f"{to.kind} {to.id}"


def _text(rule: Rule, book: RuleBook) -> str:
    """A spread by what it matches: others may have its id."""
    item = rule_item(rule._replace(values=(), members=()), book.kinds)
    return item_text(item).removesuffix(" []")
