"""The spreads of a pipeline that ask for something, and what was decided of their members."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from ...lang.contract.manifest.manifest import Manifest
from ...lang.contract.rules.rule_text import format_rule
from ...lang.contract.rules.rulebook import RuleBook
from ...lang.contract.rules.rules import Reference, Rule
from ..base.wall_clock import wall_time
from ..edge.path_quality import Measured
from ..edge.steering_policy import Policy, policy_reader, steers
from ..loading.excluded_members import overlays_of
from ..loading.loader import Loaded
from .decide import Path, State, step
from .reasons import reason
from .status import SteeredMember, SteeredSpread

#: The part of the time that deciding may take.
_SHARE = 0.1
_NO_PATH = Path(True)


@dataclass
class _Spread:
    """`ways`: by a member's id, the overlays that it leads to. `since`: when it was last decided
    otherwise of each member; `changes`: how often that was."""

    rule: Rule
    member_kind: str
    policy: Policy
    text: str
    ways: Mapping[int, Collection[Reference]]
    names: Mapping[int, str]
    state: State
    since: dict[int, float] = field(default_factory=dict)
    changes: int = 0
    told: frozenset[int] | None = None


class Steering:
    """Of one pipeline. Not for several threads."""

    def __init__(self) -> None:
        self._spreads: dict[int, _Spread] = {}  # by sequence
        self._paths: dict[Reference, Path] = {}
        self._due = 0.0

    def follow(self, loaded: Loaded, overlays: str) -> None:
        """The rules may be others. `overlays`: their kind. Of a spread that asks for something new,
        or has other weights or members, what is known of its members counts on. Called in a turn of
        the owner's."""
        read, book = policy_reader(loaded.manifest), loaded.book
        found: dict[int, _Spread] = {}
        for kind in loaded.manifest.rules:
            for rule in book.rules(kind.name) if steers(kind) else ():
                policy = read(rule)
                if policy is None or kind.spread is None:
                    continue
                left_out = loaded.writer.left_out.steered.get(rule.sequence, frozenset())
                ids = frozenset(member.id for member in rule.members)
                to = kind.spread.kind
                ways = {id_: overlays_of(book, overlays, [Reference(to, id_)]) for id_ in ids}
                names = {id_: ", ".join(sorted(_name(book, each) for each in way))
                         for id_, way in ways.items()}  # fmt: skip
                text = _text(rule, loaded.manifest)
                known = self._spreads.get(rule.sequence)
                if known is None:
                    state = State(ids - left_out, ids - left_out)
                    known = _Spread(rule, to, policy, text, ways, names, state)
                    known.told = known.state.chosen
                else:
                    fresh = ids - {member.id for member in known.rule.members}
                    known.state = _with(known.state, ids, fresh)
                known.rule, known.policy, known.text = rule, policy, text
                known.ways, known.names = ways, names
                found[rule.sequence] = known
        self._spreads = found
        self._due = 0.0

    def decide(
        self, look: Callable[[Reference], Path | None], hold_down: float, interval: float
    ) -> bool:
        """Whether members are left out that were not, or no more. `look`: what is known of an
        overlay; seldom enough that it takes `_SHARE` of the time, and four times an interval."""
        begun = time.monotonic()
        if not self._spreads or begun < self._due:
            return False
        self._paths = {}
        changed = False
        for spread in self._spreads.values():
            paths = {id_: self._path(way, look) for id_, way in spread.ways.items()}
            now = step(spread.state, paths, spread.policy, hold_down, begun)
            for id_ in now.chosen ^ spread.state.chosen:
                spread.since[id_] = begun
            changed = changed or now.chosen != spread.state.chosen
            spread.state = now
        took = time.monotonic() - begun
        self._due = begun + max(interval / 4, took / _SHARE)
        return changed

    def _path(self, way: Collection[Reference], look: Callable[[Reference], Path | None]) -> Path:
        """That of a member which leads to one overlay; to several, none is measured."""
        if len(way) != 1:
            return _NO_PATH
        (to,) = way
        if to not in self._paths:
            self._paths[to] = look(to) or _NO_PATH
        return self._paths[to]

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
        )  # fmt: skip

    def _member(self, spread: _Spread, id_: int, weight: int) -> SteeredMember:
        path = self._path(spread.ways.get(id_, ()), self._paths.get)
        at = spread.since.get(id_)
        return SteeredMember(
            spread.member_kind, id_, spread.names.get(id_, ""), weight,
            weight if id_ in spread.state.chosen else 0,
            reason(spread.policy, spread.state, id_, path),
            wall_time(at) if at is not None else 0.0, path.seen or Measured(),
        )  # fmt: skip


def _name(book: RuleBook, to: Reference) -> str:
    rule = book.get(*to)
    return (rule.name if rule is not None else "") or f"{to.kind} {to.id}"


def _text(rule: Rule, manifest: Manifest) -> str:
    """A spread by what it matches: others may have its id."""
    return format_rule(rule._replace(values=(), members=()), manifest).removesuffix(" []")


def _with(state: State, ids: frozenset[int], fresh: frozenset[int]) -> State:
    """Members that are new take flows, until something is known of them."""
    within = (state.within | fresh) & ids
    return State(within, ((state.chosen | fresh) & ids) or ids, state.good, state.near)
