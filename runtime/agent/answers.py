"""What was answered to requests with an idempotency key: one that comes again is made once."""

from __future__ import annotations

from dataclasses import replace

from ..faults import refused
from ..journal.journal import KEYS, Answered
from . import faults
from .outcome import Outcome

#: Rules that all answers together name.
NAMED = 1 << 18


class Answers:
    """The last `KEYS` of them, or as many as name `NAMED` rules. `known`: by key, with the digest
    of the request's content."""

    def __init__(self, known: Answered) -> None:
        self._known = known
        self._named = sum(len(outcome.created) for _, outcome in known.values())
        self._forget()

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
        return replace(known[1], repeated=True)

    def remember(self, key: str, digest: bytes, outcome: Outcome) -> None:
        self._known[key] = digest, replace(outcome, warnings=())  # which hold whole texts
        self._named += len(outcome.created)
        self._forget()

    def _forget(self) -> None:
        """The oldest, but for the last one."""
        while len(self._known) > KEYS or (self._named > NAMED and len(self._known) > 1):
            _, (_, outcome) = self._known.popitem(last=False)
            self._named -= len(outcome.created)
