"""What was answered to requests with an idempotency key: one that comes again is made once."""

from __future__ import annotations

from dataclasses import replace

from ..faults import refused
from ..journal.journal import KEYS, Answered
from . import faults
from .outcome import Outcome


class Answers:
    """The last `KEYS` of them. `known`: by key, with the digest of the request's content."""

    def __init__(self, known: Answered) -> None:
        self._known = known

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
        if len(self._known) > KEYS:
            self._known.popitem(last=False)
