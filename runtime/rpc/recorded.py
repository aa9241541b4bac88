"""Makes the audit's entries (audit.py) of a call: who asked for what, and what the answer was."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message

from ..base.logfmt import cut
from ..base.outcome import Outcome
from . import control_pb2 as pb
from .audit import OK, UNANSWERED, Audit, Entry, Fields
from .callers import NOBODY, Caller

_Who = tuple[str, str, str, str]
#: Conditions that a line tells, at most.
_MEANT = 64


class _Request(Entry):
    """A request, from when it came to its answer."""

    reply: Any = None
    outcome: Outcome | None = None

    def __init__(self, who: _Who, method: str, message: Any, size: int) -> None:
        self.who, self.method, self.size = who, method, size
        # of a bulk request its first part, which says what it is for
        self.message = message.begin if type(message) is pb.BulkPart else message
        self.begun = time.monotonic()

    def done(self, reply: Any, outcome: Outcome | None) -> None:
        self.answer, self.reply = OK, reply
        if outcome is not None:
            self.outcome, self.revision = outcome, outcome.revision
            self.created, self.changed = outcome.created_count, outcome.changed_count
            self.removed = outcome.removed_count
        elif type(reply) is pb.RefreshReply:
            self.changed, self.revision = reply.rules, reply.revision
        elif type(reply) is pb.DeletedReply:
            self.removed = reply.deleted
        else:
            of = reply.status if type(reply) is pb.UpgradeReply else reply
            self.pipeline = getattr(of, "pipeline", "")
            self.revision = getattr(of, "revision", 0)

    def end(self) -> Entry:
        """As it is to be recorded."""
        message = self.message
        self.pipeline = cut(self.pipeline or getattr(message, "pipeline", ""))
        if type(message) is pb.ApplyRequest:
            self.changes = int.from_bytes(message.request[1:5], "big")  # see wire.py
        self.ms = (time.monotonic() - self.begun) * 1000
        return self

    def details(self) -> Fields:
        message, reply = self.message, self.reply
        made = {"key": getattr(message, "idempotency_key", "")}
        if isinstance(message, pb.RemoveIntentRequest):
            made["intent"] = message.id
        if ssid := _ssid(message):
            made["session"] = str(ssid)
        if isinstance(message, pb.EntryRequest | pb.FlushRequest):
            meant = message.key if isinstance(message, pb.EntryRequest) else message.where
            made["state"] = message.state
            made["where"] = " ".join(f"{slot.name}={slot.value}" for slot in meant[:_MEANT])
        if isinstance(message, pb.UpgradeRequest) and message.dry_run:
            made["dry_run"] = "true"
        if self.outcome is not None:
            made["kinds"] = ",".join(self.outcome.kinds)
            made["repeated"] = "true" if self.outcome.repeated else ""
        if isinstance(reply, pb.UpgradeReply):
            reply = reply.status
        if isinstance(reply, pb.PipelineStatus):
            made["digest"] = reply.digest
        if isinstance(reply, pb.Intent):
            made["intent"] = reply.id
        return made


class Call:
    """From its beginning to its last answer. Of calls that change something (`changing`) each
    request is on record, of others what is refused."""

    caller: Caller = NOBODY
    _who: _Who = ("", "", "none", "")
    _over = False

    def __init__(
        self, audit: Audit, name: str, described: MethodDescriptor, changing: bool
    ) -> None:
        self._audit, self._name, self._changing = audit, name, changing
        self._described, self._begun = described, time.monotonic()
        self._waiting: deque[_Request] = deque()

    def by(self, caller: Caller) -> None:
        """It is this one's."""
        self.caller = caller
        self._who = caller.name, caller.host, caller.role or "none", caller.fingerprint

    def asked(self, message: Message, size: int) -> None:
        """A request came, or a part of one."""
        about = self._described
        if self._waiting and about.client_streaming and not about.server_streaming:  # a part of one
            self._waiting[0].size += size
            return
        self._waiting.append(_Request(self._who, self._name, message, size))
        if self._over:  # a stream's requests are read ahead
            self.over()

    def answers(self, replies: Iterable[Any]) -> Iterator[Any]:
        """Each of the requests has one of these, in their order."""
        if not self._changing:
            yield from replies
            return
        if not self._described.client_streaming:  # one request, whatever its answer consists of
            yield from replies
            self.answered(None)
            return
        for reply in replies:
            yield self.answered(reply)

    def answered(self, reply: Any, outcome: Outcome | None = None) -> Any:
        """The first request that waits has this reply, which is returned. `outcome`: what it says,
        where it is of rules."""
        if self._changing:
            asked = self._waiting.popleft()
            if outcome is None and type(reply) is pb.StreamReply:
                _fail(asked, reply.failed)
            else:
                asked.done(reply, outcome)
            self._audit.record(asked.end())
        return reply

    def refused(self, failed: pb.Failure) -> None:
        """The call ends by this, and so do the requests that wait."""
        if not self._waiting:
            entry = Entry(self._who, self._name)
            entry.ms = (time.monotonic() - self._begun) * 1000
            _fail(entry, failed)
            self._audit.record(entry)
        while self._waiting:
            asked = self._waiting.popleft()
            _fail(asked, failed)
            self._audit.record(asked.end())

    def over(self) -> None:
        """Who called waits no longer."""
        self._over = True
        while self._waiting:
            asked = self._waiting.popleft()
            asked.answer = UNANSWERED
            if self._changing:
                self._audit.record(asked.end())


def _ssid(message: Any) -> int:
    if isinstance(message, pb.CreateStampSessionRequest):
        message = message.parameters
    return int(getattr(message, "ssid", 0))


def _fail(entry: Entry, failed: pb.Failure) -> None:
    entry.answer = next(found.code for found in failed.findings if found.code)
    entry.revision = failed.revision
