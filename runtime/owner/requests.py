"""Requests of an owner, from what a client asks for to its transaction."""

from __future__ import annotations

import time
from collections.abc import Hashable
from typing import NamedTuple

from ...lang.contract.request.request import Request
from ...lang.contract.rules.columns import Columns
from ...lang.contract.rules.columns import load as unpack
from ...lang.contract.rules.rule_text import canonical
from ...lang.contract.rules.wire import Codecs, decode, encode
from ...lang.text.diagnostics import Refused
from ..base import agent_errors as faults
from ..base.errors import refused
from ..base.outcome import Outcome
from ..base.waits import SLOW, Waits
from .pipeline import OwnedPipeline

#: Bytes of an idempotency key.
LONGEST_KEY = 64


class ApplyRequest(NamedTuple):
    """What a client asks for. `content`: a request as bytes (`wire.py`), or with `packed` columns
    (`columns.py`). `digest`: of the object that the client knows; empty: any. `parsed`: the same
    request, where it has places that its bytes have not. `client`: who has the key."""

    content: bytes
    packed: bool = False
    if_revision: int | None = None
    key: str = ""
    digest: str = ""
    parsed: Request | None = None
    client: Hashable = None


class DecodedRequest(NamedTuple):
    """A request as it was read with these codecs (None: it is for another build). `digest`: of its
    content, where it has a key."""

    request: ApplyRequest
    digest: bytes
    parsed: Request | Columns | None
    codecs: Codecs


class Made(Waits):
    """A transaction that is in force. Its `outcome` may be told once `acknowledge` has returned;
    then comes `settle`."""

    __slots__ = ("outcome", "owner")
    owner: OwnedPipeline
    outcome: Outcome

    def acknowledge(self) -> None:
        """Returns when it may be. Is called once. Raises `Refused`, and then this is all."""
        self.asked = time.perf_counter()
        if (journal := self.owner.journal) is not None:
            try:
                journal.acknowledged()
            except Refused:
                self.owner.tally.refused()
                raise
        self.over = time.perf_counter()

    def settle(self) -> None:
        """What nobody waits for: how long it took is counted."""
        if self.outcome.repeated:
            return
        force, answer = self.parts()
        self.owner.tally.made(force, answer)
        if force + answer >= SLOW:
            self.owner.record_slow(self.outcome.revision, self.seconds())


def read(request: ApplyRequest, codecs: Codecs) -> Request | Columns:
    """What it says. Raises `Refused`."""
    if request.key and len(request.key.encode()) > LONGEST_KEY:
        help_ = f"at most {LONGEST_KEY} bytes of UTF-8"
        raise refused(faults.bad_message("the idempotency key is too long", help_))
    return unpack(request.content) if request.packed else decode(request.content, codecs)


def request_of(asked: Request, owner: OwnedPipeline, key: str = "") -> ApplyRequest:
    """Of the agent's own. Raises `Refused`."""
    digest, codecs = owner.digest, owner.codecs  # so that an upgrade in between is seen
    content = encode(canonical(asked, codecs.kinds), codecs)
    return ApplyRequest(content, key=key, digest=digest, parsed=asked if asked.source else None)
