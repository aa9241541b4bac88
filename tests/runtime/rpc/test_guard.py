"""What a client may take of the agent, and whose calls wait."""

from __future__ import annotations

import threading
import time

import pytest
from guarded import asked
from helioc.lang.diagnostics import Refused
from helioc.runtime.certs import Role
from helioc.runtime.front.calls import Failed
from helioc.runtime.front.threads import Threads
from helioc.runtime.http2.codes import Code
from helioc.runtime.rpc.budget import Budget
from helioc.runtime.rpc.callers import Caller
from helioc.runtime.rpc.guard import Guard, Limits
from lab import until


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


def caller(role: Role) -> Caller:
    return Caller("me", role, "192.0.2.9", 4711, "00")


def test_calls_of_a_client_are_counted_and_let_go() -> None:
    guard = Guard(Limits(calls=2))
    waiting, go_on = threading.Semaphore(0), threading.Event()

    def slow(request: object, context: object) -> bytes:
        waiting.release()
        go_on.wait(10)
        return b"done"

    def ask() -> list[bytes]:
        return list(asked(guard, "Apply", slow, caller("rules")))

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
        waiting.acquire()
    with pytest.raises(Failed, match="has 2 calls at a time") as failed:
        ask()
    assert failed.value.code == Code.RESOURCE_EXHAUSTED
    go_on.set()
    for thread in threads:
        thread.join()
    assert ask() == [b"done"]


@pytest.mark.parametrize(("name", "rate"), [("Status", 4000), ("Watch", 200), ("Apply", 200)])
def test_who_asks_too_fast_waits(name: str, rate: float) -> None:
    guard = Guard(Limits(rate=rate))
    begun = time.monotonic()
    for _ in range(240):  # 200 at once, 40 at their rate
        answer = [b"done"] if name == "Watch" else b"done"
        assert list(asked(guard, name, lambda *_, a=answer: a, caller("rules"))) == [b"done"]
    assert 0.15 < time.monotonic() - begun < 2


@pytest.mark.parametrize("name", ["Apply", "Load"])
def test_who_is_refused_all_the_time_waits(name: str) -> None:
    guard, waits = Guard(Limits(rate=400)), list[float]()
    for _ in range(60):  # 20 at once, the others at their rate
        with pytest.raises(Failed, match="H0773") as failed:
            list(asked(guard, name, lambda *_: b"done", caller("read")))
        waits.append(failed.value.wait)
    assert not any(waits[:20]) and waits[-1] > 0.1


def test_one_hosts_calls_keep_no_others_waiting(caplog: pytest.LogCaptureFixture) -> None:
    pool, go_on, done = Threads(8, 2), threading.Event(), threading.Semaphore(0)

    def wait() -> None:
        assert go_on.wait(10)
        done.release()

    try:
        for _ in range(50):
            pool.submit("192.0.2.1", wait)
        pool.submit("192.0.2.2", lambda: 1 // 0)
        pool.submit("192.0.2.2", done.release)
        assert done.acquire(timeout=10)
        assert not done.acquire(blocking=False)
        go_on.set()
        assert all(done.acquire(timeout=10) for _ in range(50))
        until(lambda: not pool._going and not pool._waiting, "all have ended")
        assert "H9999" in caplog.text and "ZeroDivisionError" in caplog.text
    finally:
        go_on.set()
        pool.stop()
