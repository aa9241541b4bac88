"""Methods within a guard, called without a network."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable
from functools import partial
from typing import Any

from helioc.runtime.base.outcome import Outcome
from helioc.runtime.front.calls import Failed, Gone
from helioc.runtime.rpc import control_pb2 as pb
from helioc.runtime.rpc.callers import Caller
from helioc.runtime.rpc.guard import Guard
from helioc.runtime.rpc.methods import METHODS
from helioc.runtime.rpc.ordered import Begun
from helioc.runtime.rpc.service import ORDERED


class Context:
    """Of a call, as far as a guard asks it. `unread`: seconds in which its client read nothing."""

    def __init__(self, caller: Caller, unread: float = 0.0) -> None:
        self.caller, self.cancelled, self.unread = caller, False, unread
        self.failed: Failed | None = None
        self.note: object = None

    def stalled(self) -> float:
        return self.unread

    def fail(self, why: Failed) -> None:
        self.failed = why

    def is_active(self) -> bool:
        return not self.cancelled

    def cancel(self) -> None:
        self.cancelled = True


def asked(
    door: Guard, name: str, work: Callable[[Any, Any], Any], caller: Caller,
    requests: Iterable[bytes] = (b"",), context: Any = None,
) -> Generator[bytes, None, None]:  # fmt: skip
    """The answers to requests. `work`: the method; of one whose requests are made in their order it
    is given one of them."""
    context = context or Context(caller)
    if name not in ORDERED:
        run = door.method(METHODS[name], work).run
        assert run is not None
        yield from run(iter(requests), context)
        return
    ordered = door.ordered(METHODS[name], lambda call: partial(_begun, work, call)).ordered
    assert ordered is not None
    made = ordered(context)
    try:
        begun = list[Callable[[], bytes | Failed | Gone]]()
        for request in requests:
            time.sleep(made.cost(request))
            begun.append(made.begin(request))
        for answer in begun:
            came = answer()
            if isinstance(came, Exception):
                raise came
            yield came
    finally:
        made.close()


def _begun(work: Callable[[Any, Any], Any], call: Any, request: Any) -> Begun:
    reply = work(request, call)
    if isinstance(reply, pb.StreamReply) and reply.HasField("failed"):
        return Begun(reply, findings=len(reply.failed.findings))
    done = reply.done if isinstance(reply, pb.StreamReply) else reply
    outcome = outcome_of(done, call.note or ()) if isinstance(done, pb.ApplyReply) else None
    return Begun(reply, outcome)


def outcome_of(reply: pb.ApplyReply, kinds: tuple[str, ...] = ()) -> Outcome:
    """What an answer says, of rules of these kinds."""
    counts = reply.created_count, reply.changed_count, reply.removed_count
    return Outcome(reply.revision, (), *counts, repeated=reply.repeated, kinds=kinds)
