"""Keeps answers to requests with an idempotency key: one that comes again is made once."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from ..base import agent_errors as faults
from ..base.errors import refused
from ..base.outcome import Outcome
from ..journal.journal import KEYS, Answered

#: Rules that all answers together name.
NAMED = 1 << 18


@dataclass(eq=False, slots=True)
class _Client:
    """Its `keys`, oldest first, and how many rules their answers name."""

    keys: deque[str] = field(default_factory=deque)
    named: int = 0


class IdempotencyCache:
    """`KEYS` of them, or as many as name `NAMED` rules: of the client that has most the oldest is
    forgotten, so that nobody's keys go for another's. Anybody's key is known to all: what takes a
    client's place may have another name. `known`: by key, with the digest of the request's content;
    whose these are nobody knows."""

    def __init__(self, known: Answered) -> None:
        self._known: dict[str, tuple[bytes, Outcome, _Client]] = {}
        self._clients: dict[Hashable, _Client] = {}
        self._named = 0
        for key, (digest, outcome) in known.items():
            self.remember(key, digest, outcome)

    @property
    def known(self) -> Answered:
        """All of them, oldest first."""
        return OrderedDict((key, (digest, made)) for key, (digest, made, _) in self._known.items())

    def of(self, key: str) -> Outcome | None:
        """That to the request with this key, if it was made."""
        known = self._known.get(key)
        return known[1] if known is not None else None

    def repeated(self, key: str, digest: bytes) -> Outcome | None:
        """The answer again, if there was one. Raises `Refused` where the key was another's."""
        known = self._known.get(key)
        if known is None:
            return None
        if known[0] != digest:
            raise refused(faults.key_reused(key))
        return known[1]._replace(repeated=True)

    def remember(self, key: str, digest: bytes, outcome: Outcome, client: Hashable = None) -> None:
        if (before := self._known.pop(key, None)) is not None:  # made twice, at the same time
            before[2].keys.remove(key)
            self._count(before[2], -len(before[1].created))
        mine = self._clients.setdefault(client, _Client())
        self._known[key] = digest, outcome._replace(warnings=()), mine  # which hold whole texts
        mine.keys.append(key)
        self._count(mine, len(outcome.created))
        while len(self._known) > KEYS:
            self._forget_of(lambda each: len(each.keys))
        while self._named > NAMED and self._forget_of(lambda each: each.named, key):
            pass

    def _forget_of(self, most: Callable[[_Client], int], but: str = "") -> bool:
        """The oldest of the client that has most; that one excepted."""
        who = max(self._clients, key=lambda each: most(self._clients[each]))
        client = self._clients[who]
        if client.keys[0] == but:
            return False
        _, outcome, _ = self._known.pop(client.keys.popleft())
        self._count(client, -len(outcome.created))
        if not client.keys:
            del self._clients[who]
        return True

    def _count(self, client: _Client, named: int) -> None:
        client.named += named
        self._named += named
