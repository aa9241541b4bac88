"""What a client may take of the agent, and whose calls wait."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, cast

import grpc
import pytest
from fleet_world import put_away
from helioc.lang.diagnostics import Refused
from helioc.runtime.certs import Role
from helioc.runtime.rpc.budget import Budget
from helioc.runtime.rpc.callers import Caller
from helioc.runtime.rpc.fair import Fair, peer_of
from helioc.runtime.rpc.guard import Guard, Limits
from helioc.runtime.rpc.methods import METHODS


def test_budgets_are_given_back() -> None:
    budget = Budget(10 << 20, 15 << 20)
    with budget.share() as one, budget.share() as other:
        one(9 << 20)
        with pytest.raises(Refused, match="arrives at a time"):
            other(7 << 20)
    with budget.share() as one, pytest.raises(Refused, match="more than 10 MiB"):
        one(11 << 20)
    with budget.share() as one:
        one(10 << 20)


def called(peer: str) -> Caller:
    """Here the peer is the role."""
    return Caller("me", cast(Role, peer), "192.0.2.9", 4711, "00")


class Context:
    """As gRPC gives it."""

    def __init__(self, role: Role) -> None:
        self.role = role

    def peer(self) -> str:
        return self.role

    def set_trailing_metadata(self, _: object) -> None:
        pass

    def abort(self, code: grpc.StatusCode, said: str) -> None:
        raise RuntimeError(code.name, said)

    def cancel(self) -> None:
        pass


def test_calls_of_a_client_are_counted_and_let_go() -> None:
    guard = Guard(called, Limits(calls=2))
    waiting, go_on = threading.Semaphore(0), threading.Event()

    def slow(request: object, context: object) -> str:
        waiting.release()
        go_on.wait(10)
        return "done"

    method = guard(METHODS["Apply"], slow)
    threads = [threading.Thread(target=method, args=([b""], Context("rules"))) for _ in range(2)]
    for thread in threads:
        thread.start()
        waiting.acquire()
    with pytest.raises(RuntimeError, match="RESOURCE_EXHAUSTED"):
        method([b""], Context("rules"))
    go_on.set()
    for thread in threads:
        thread.join()
    assert method([b""], Context("rules")) == "done"


def test_who_begins_a_call_and_sends_no_request_is_cut_off() -> None:
    class Silent(Context):
        ended = threading.Event()

        def cancel(self) -> None:
            self.ended.set()

        def __iter__(self) -> Iterator[object]:
            assert self.ended.wait(10)
            return iter(())

    guard = Guard(called, Limits(patience=0.01))
    method = guard(METHODS["Status"], lambda request, context: "done")
    silent = Silent("read")
    with pytest.raises(RuntimeError, match="INVALID_ARGUMENT.*without a request"):
        method(silent, silent)
    assert silent.ended.is_set()


@pytest.mark.parametrize(("name", "rate"), [("Status", 4000), ("Watch", 200)])
def test_who_asks_too_fast_waits(name: str, rate: float) -> None:
    guard = Guard(called, Limits(rate=rate))
    method = guard(METHODS[name], lambda request, context: ["done"])
    begun = time.monotonic()
    for _ in range(240):  # 200 at once, 40 at their rate
        assert list(method([b""], Context("read"))) == ["done"]
    assert 0.15 < time.monotonic() - begun < 2


def test_who_is_refused_all_the_time_waits() -> None:
    method = Guard(called, Limits(rate=400))(METHODS["Apply"], lambda request, context: "done")
    begun = time.monotonic()
    for _ in range(24):  # 20 at once, 4 at their rate
        with pytest.raises(RuntimeError, match="PERMISSION_DENIED"):
            method([b""], Context("read"))
    assert 0.15 < time.monotonic() - begun < 2


def test_one_hosts_calls_keep_no_others_waiting() -> None:
    def of(host: str) -> Any:
        call = SimpleNamespace(peer=lambda: f"ipv4:{host}:4711".encode())
        return SimpleNamespace(call=call)

    pool, go_on = Fair(8, 2, lambda peer: peer.rpartition(":")[0]), threading.Event()
    try:
        stuck = [pool.submit(lambda _: go_on.wait(10), of("192.0.2.1")) for _ in range(50)]
        assert pool.submit(lambda _: "done", of("192.0.2.2")).result(10) == "done"
        with pytest.raises(ZeroDivisionError):
            pool.submit(lambda: 1 // 0).result(10)
        assert not any(each.done() for each in stuck)
        go_on.set()
        assert all(each.result(10) for each in stuck)
        assert not pool._going and not pool._waiting
    finally:
        go_on.set()
        pool.shutdown()


def test_grpc_says_whose_call_it_is() -> None:
    """Or else all would be one host's."""
    seen = list[str]()

    class Seeing(Fair):
        def submit(self, work: Callable[..., Any], /, *args: Any, **named: Any) -> Any:
            seen.append(peer_of(args))
            return super().submit(work, *args, **named)

    echo: Any = grpc.stream_unary_rpc_method_handler(lambda requests, context: next(requests))
    server = grpc.server(Seeing(2, 1, str))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("a.B", {"C": echo}),))
    with put_away():
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
                call: Any = channel.unary_unary("/a.B/C")
                assert call(b"x", timeout=10) == b"x"
        finally:
            server.stop(None).wait()
    (peer,) = seen
    assert peer.startswith("ipv4:127.0.0.1:")
