"""Calls whose requests are made in their order (front/calls.py, `Ordered`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message

from ...lang.text.diagnostics import Refused
from ...lang.text.exit_status import diagnosed
from ..base.errors import refused
from ..base.outcome import Outcome
from ..front.calls import Call, Failed, Gone, bare
from .access import name_of, price
from .admission import Admission
from .decoding import bytes_of, no_request, parsed


class Begun(NamedTuple):
    """A request that is in force, or that has `findings` errors. `reply` is its answer once `wait`
    has returned, if that gives nothing in its place; `settle` does what comes behind the answer.
    `outcome`: what the reply says."""

    reply: Message
    outcome: Outcome | None = None
    wait: Callable[[], Begun | None] | None = None
    settle: Callable[[], object] | None = None
    findings: int = 0


#: Of a call: what makes one request in force.
Begin = Callable[[Any], Begun]


class OrderedCall:
    """A call whose requests are made in their order (front/calls.py, `Ordered`)."""

    over = _asked = False

    def __init__(
        self, guard: Admission, described: MethodDescriptor, kind: type[Message],
        begin: Callable[[Call], Begin], context: Call,
    ) -> None:  # fmt: skip
        self._guard, self._name, self._kind = guard, name_of(described), kind
        self._unrecorded: list[Begun] = []
        self._call, self._caller = guard.call_of(self._name, described), context.caller
        self._price, self._unit, self._counts = price(self._name)
        self._single = not described.client_streaming
        try:
            self._client = guard.let_in(self._name, self._call, self._caller)
        except Exception as error:
            raise guard.failed(error, self._call) from None
        self._begin = begin(context)  # of a service, which asks for nothing yet

    def cost(self, request: bytes) -> float:
        price = self._price + len(request) / self._unit
        return self._guard.take(self._client, price, self._counts)

    def begin(self, request: bytes) -> Callable[[], bytes | Failed | Gone]:
        self._asked = True
        try:
            message = parsed(self._name, self._kind, request, self._call)
            begun = self._begin(message)
            # Made before it is waited for: the disk writes in the meantime.
            return partial(self._finish, begun, bytes_of(begun.reply))
        except Exception as error:
            self.over = True
            return partial(self._refuse, kept(error))  # when those before it are answered

    def _finish(self, begun: Begun, data: bytes) -> bytes | Failed | Gone:
        try:
            if begun.wait is not None and (instead := begun.wait()) is not None:
                begun, data = instead, bytes_of(instead.reply)
            if begun.findings:
                self._guard.owe(self._client, begun.findings)
            self._unrecorded.append(begun)
            return data
        except Exception as error:
            return self._refuse(error)

    def settle(self) -> None:
        """What was answered comes on record."""
        unrecorded, self._unrecorded = self._unrecorded, []
        for begun in unrecorded:
            self._call.answered(begun.reply, begun.outcome)
            if begun.settle is not None:
                begun.settle()

    def _refuse(self, error: Exception) -> Failed | Gone:
        self.settle()
        self._guard.charge_for(self._client, error)
        return self._guard.failed(error, self._call)

    def close(self) -> None:
        self.settle()
        self._guard.leave(self._name, self._caller, self._client)
        if self._single and not self._asked:
            raise self._guard.failed(refused(no_request()), self._call)
        self._call.over()


def kept(error: Exception) -> Exception:
    """What is to be told of it later, without its frames."""
    if not isinstance(error, Refused | Failed | Gone):
        return Refused(diagnosed(error, "heliod"))
    return bare(error)
