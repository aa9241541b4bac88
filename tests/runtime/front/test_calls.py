"""A call by itself: what its connection is told."""

from __future__ import annotations

from threading import Condition
from typing import Any

from helioc.runtime.front.budget import Budget, Share
from helioc.runtime.front.calls import Call, Method
from helioc.runtime.http2.grpc_wire import framed


class Connection:
    """`told`: bytes of which the client knows that it may send as many again."""

    def __init__(self) -> None:
        self.lock, self.alive, self.session = Condition(), True, self
        self.taken = self.told = 0

    def took(self, stream: int, count: int) -> None:
        self.taken += count

    def flush(self) -> None:
        self.told = self.taken


def test_who_takes_a_request_tells_the_client_that_it_may_send_more() -> None:
    """A client that has sent all that it may does nothing until then, and nothing comes of it that
    would have it told."""
    made: Any = Connection()
    method = Method(None, None, False, 1 << 20, lambda _: True)
    call = Call(made, 1, method, None, None, Share(Budget(1 << 20, 1 << 20), "here"))
    parts = [framed(bytes(5000)), framed(bytes(10))]
    with made.lock:
        for part in parts:
            call.receive(part)
    asked = call.requests()
    assert [len(next(asked)), len(next(asked))] == [5000, 10]
    assert made.told == sum(map(len, parts))
