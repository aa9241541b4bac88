"""The spreads of a pipeline that ask for something, and what was decided of their members."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ...lang.contract.manifest.manifest import Manifest
from ...lang.contract.rules.rule_text import format_rule
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
    names: Mapping[int, str] = field(default_factory=dict)
    since: dict[int, float] = field(default_factory=dict)
    changes: int = 0


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
        read = policy_reader(loaded.manifest)
        found: dict[int, _Spread] = {}
        for kind in loaded.manifest.rules:
            for rule in loaded.book.rules(kind.name) if steers(kind) else ():
                if kind.spread is not None and (policy := read(rule)) is not None:
                    spread = self._followed(loaded, rule)
                    spread.rule, spread.policy = rule, policy
                    spread.text = _text(rule, loaded.manifest)
                    members = {m.id: Reference(kind.spread.kind, m.id) for m in rule.members}
                    spread.ways = {i: _way(loaded.book, overlays, m) for i, m in members.items()}
                    spread.names = {i: _name(loaded.book, to) for i, to in spread.ways.items()}
                    spread.member_kind = kind.spread.kind
                    found[rule.sequence] = spread
        self._spreads = found
        self._due = 0.0

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
        ways = {to for spread in self._spreads.values() for to in spread.ways.values() if to}
        self._paths, changed = {to: look(to) for to in ways}, False
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
        path = self._path(spread.ways.get(id_))
        at = spread.since.get(id_)
        return SteeredMember(
            spread.member_kind, id_, spread.names.get(id_, ""), weight,
            weight if id_ in spread.state.chosen else 0,
            reason(spread.policy, spread.state, id_, path),
            wall_time(at) if at is not None else 0.0, path.seen or Measured(),
        )  # fmt: skip


def asking(loaded: Loaded) -> list[str]:
    """The spreads that ask for something."""
    read = policy_reader(loaded.manifest)
    return [
        _text(rule, loaded.manifest)
        for kind in loaded.manifest.rules if steers(kind)
        for rule in loaded.book.rules(kind.name) if read(rule) is not None
    ]  # fmt: skip


def _way(book: RuleBook, overlays: str, member: Reference) -> Reference | None:
    """None of a member that leads to no overlay, or to several: nothing is measured of it."""
    found = overlays_of(book, overlays, [member])
    return found.pop() if len(found) == 1 else None


def _name(book: RuleBook, to: Reference | None) -> str:
    rule = book.get(*to) if to is not None else None
    return "" if rule is None else rule.name or f"{rule.kind} {rule.id}"


def _text(rule: Rule, manifest: Manifest) -> str:
    """A spread by what it matches: others may have its id."""
    return format_rule(rule._replace(values=(), members=()), manifest).removesuffix(" []")
