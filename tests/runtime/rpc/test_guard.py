"""What a client may take of the agent, and whose calls wait."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest
from guarded import Context, asked, outcome_of
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.agent.agent import Agent
from helioc.runtime.base.agent_errors import not_allowed, revoked
from helioc.runtime.base.errors import refused
from helioc.runtime.base.identity import Role
from helioc.runtime.base.revoked import Revoked
from helioc.runtime.front.budget import Budget, Full, Share
from helioc.runtime.front.calls import Call, Failed
from helioc.runtime.front.threads import Threads
from helioc.runtime.http2.codes import Code
from helioc.runtime.rpc import control_pb2 as pb
from helioc.runtime.rpc.callers import Caller
from helioc.runtime.rpc.clients import OFTEN, Limits
from helioc.runtime.rpc.guard import Guard
from helioc.runtime.rpc.methods import LISTINGS, METHODS
from helioc.runtime.rpc.ordered import Begun
from helioc.runtime.rpc.service import Service, _hold
from lab import until


def test_budgets_are_given_back() -> None:
    budget = Budget(10, 15)
    with Share(budget, "one") as one, Share(budget, "other") as other:
        one.hold(9)
        with pytest.raises(Full) as full:
            other.hold(7)
        assert not full.value.each
        with Share(budget, "one") as more, pytest.raises(Full) as full:
            more.hold(2)
        assert full.value.each
        one.hold(8)
        other.hold(7)
    with Share(budget, "one") as one:
        one.hold(10)


def test_columns_are_bounded() -> None:
    budget = Budget(10, 15)
    with Share(budget, "one") as one, Share(budget, "other") as other:
        _hold(one, 9)
        with pytest.raises(Refused, match="arrives at a time"):
            _hold(other, 7)
        with pytest.raises(Refused, match="columns that arrive have more than 256 MiB"):
            _hold(one, 11)


def caller(role: Role, name: str = "me") -> Caller:
    return Caller(name, role, "192.0.2.9", 4711, "00")


def test_a_client_has_one_budget_for_all_its_bulk_requests() -> None:
    service = Service(cast(Agent, None))
    service._arriving = Budget(10, 15)

    def arriving(name: str, inside: Callable[[], None]) -> None:
        def parts() -> Iterator[pb.BulkPart]:
            yield pb.BulkPart(begin=pb.BulkBegin(), columns=bytes(6))
            inside()
            raise InterruptedError

        with pytest.raises(InterruptedError):
            service.BulkApply(parts(), cast(Call, SimpleNamespace(caller=caller("rules", name))))

    def is_refused(name: str, why: str) -> None:
        with pytest.raises(Refused, match=why):
            arriving(name, lambda: None)

    arriving("me", lambda: is_refused("me", "this client's columns that arrive"))
    arriving("me", lambda: arriving("other", lambda: is_refused("third", "arrives at a time")))
    service.readers.close()


def test_watches_leave_threads_to_the_others_of_their_host() -> None:
    guard = Guard(Limits(lasting=2, host_lasting=4))

    def watch(name: str, host: str) -> Generator[bytes, None, None]:
        who = Caller(name, "read", host, 4711, "00")
        return asked(guard, "Watch", lambda *_: [b"an event", b"another"], who)

    watches = [watch(f"client {n // 2}", "192.0.2.9") for n in range(4)]
    for each in watches:
        next(each)
    with pytest.raises(Failed, match="this host has 4 streams and watches"):
        next(watch("another", "192.0.2.9"))
    assert next(watch("another", "192.0.2.10")) == b"an event"
    who = Caller("another", "read", "192.0.2.9", 4711, "00")
    assert [*asked(guard, "Get", lambda *_: b"a rule", who)] == [b"a rule"]
    for each in watches:
        each.close()
    assert next(watch("another", "192.0.2.9")) == b"an event"


@pytest.mark.parametrize("name", ["unix", "192.0.2.9"])
def test_limits_are_of_certificates_whatever_these_are_called(name: str) -> None:
    guard = Guard(Limits(lasting=1))
    certificate, other = Caller(name, "admin", "192.0.2.1", 1, "00"), Caller(name, "admin")
    kept = asked(guard, "Watch", lambda *_: [b"an event"] * 2, certificate)
    assert next(kept) == b"an event"
    assert next(asked(guard, "Watch", lambda *_: [b"an event"], other)) == b"an event"
    with pytest.raises(Failed, match="1 calls"):
        next(asked(guard, "Watch", lambda *_: [b"an event"], certificate))


def test_who_is_refused_slows_nobody() -> None:
    guard = Guard()
    nobody, me = Caller("x", None, "192.0.2.1", 1, "00"), caller("rules")
    for _ in range(2 * OFTEN):
        with pytest.raises(Failed):
            list(asked(guard, "Status", lambda *_: b"", nobody))
    assert not guard._beside(guard._known(me.whose), time.monotonic())


@pytest.mark.parametrize("role", [None, "read", "admin"])
def test_who_asks_for_the_agents_health_slows_nobody(role: Role | None) -> None:
    guard, me = Guard(), caller("rules")
    looks = guard._known(caller("read", "probe")._replace(role=role).whose)
    for _ in range(2 * OFTEN):
        guard._cost("Health.Check", looks, 0)
    assert not guard._beside(guard._known(me.whose), time.monotonic())
    for _ in range(2 * OFTEN):
        guard._cost("Status", looks, 0)
    assert guard._beside(guard._known(me.whose), time.monotonic()) == 1


def test_a_certificate_that_has_ended_is_refused() -> None:
    """Though its connection was there before."""
    guard, now = Guard(), time.time()
    good, ended = (caller("rules")._replace(ends=now + by) for by in (1000, -1))
    assert [*asked(guard, "Status", lambda *_: b"done", good)] == [b"done"]
    for name in ("Apply", "Status", "Watch"):
        with pytest.raises(Failed, match="H0799.*its certificate has ended") as failed:
            list(asked(guard, name, lambda *_: b"done", ended))
        assert failed.value.code == Code.PERMISSION_DENIED


def test_an_answer_is_waited_for_and_settled_behind() -> None:
    """Where it cannot be given, another is, and nothing is settled."""
    said = list[str]()
    failed = pb.Failure(findings=[pb.Finding(code="H0783")])
    other = Begun(pb.StreamReply(number=9, failed=failed), findings=1)

    def begin(request: pb.ApplyRequest) -> Begun:
        def wait() -> Begun | None:
            said.append(f"wait {request.pipeline}")
            return other if request.pipeline == "b" else None

        reply = pb.StreamReply(number=1, done=pb.ApplyReply())
        settle = partial(said.append, f"settle {request.pipeline}")
        return Begun(reply, outcome_of(reply.done), wait, settle)

    ordered = Guard().ordered(METHODS["Stream"], lambda _: begin).ordered
    assert ordered is not None
    made: Any = ordered(cast(Any, Context(caller("rules"))))
    begun = [made.begin(pb.ApplyRequest(pipeline=name).SerializeToString()) for name in "ab"]
    assert said == []
    answers = [pb.StreamReply.FromString(each()) for each in begun]
    assert [each.number for each in answers] == [1, 9] and said == ["wait a", "wait b"]
    made.settle()
    assert said == ["wait a", "wait b", "settle a"]
    made.close()


def wrong(findings: int) -> Callable[..., bytes]:
    def refuse(*_: object) -> bytes:
        raise refused(*[not_allowed("Apply", "read", "rules")] * findings)

    return refuse


@pytest.mark.parametrize("name", ["Apply", "ApplyIntent"])
def test_what_is_wrong_counts_for_what_comes_then(name: str) -> None:
    """Twenty findings take ten milliseconds to say."""
    waits = {}
    for findings in (1, 20):
        guard, me = Guard(Limits(rate=1000)), caller("rules")
        for _ in range(10):
            with pytest.raises(Failed):
                list(asked(guard, name, wrong(findings), me))
        waits[findings] = guard.take(guard._known(me.whose))
    assert waits[1] == 0 and waits[20] > 0.05


def test_lists_that_are_not_read_give_way() -> None:
    """As many as others wait, those first that wait the longest."""
    guard = Guard(Limits(timed=20))
    contexts = [Context(caller("read"), unread) for unread in (0, 9, 3, 5, 0, 0, 1, 0, 0, 0)]
    lists = [
        asked(guard, "List", lambda *_: [b"a part", b"another"], each.caller, context=each)
        for each in contexts
    ]
    for each in lists:
        assert next(each) == b"a part"
    assert len(lists) == LISTINGS + 2
    guard._end_stalled()
    said = [each.failed for each in contexts]
    assert [each is not None for each in said] == [0, 1, 0, 1, 0, 0, 0, 0, 0, 0]
    assert said[1] is not None and said[1].code == Code.RESOURCE_EXHAUSTED
    for each in lists:
        each.close()
    assert not guard._lists


def test_a_client_has_two_answers_at_a_time_that_it_does_not_read() -> None:
    guard, me = Guard(), caller("read")
    unread = [asked(guard, "GetSchema", lambda *_: b"large", me) for _ in range(2)]
    for each in unread:
        next(each)
    third = threading.Thread(target=lambda: [*asked(guard, "GetSchema", lambda *_: b"", me)])
    third.start()
    other = Caller("other", "read", "192.0.2.8", 1, "01")
    assert [*asked(guard, "GetSchema", lambda *_: b"its own", other)] == [b"its own"]
    assert third.is_alive()
    unread[0].close()
    third.join(10)
    assert not third.is_alive()
    unread[1].close()


def test_watches_of_those_without_a_role_leave_room() -> None:
    """Whatever addresses they come from."""
    guard = Guard(Limits(lasting=2, host_lasting=3, all_lasting=5))
    for number in range(3):
        guard._enter(Caller(f"x{number}", None, f"192.0.2.{number}", 1, f"{number:02}"), 0, 1)
    with pytest.raises(Refused, match="3 streams"):
        guard._enter(Caller("y", None, "192.0.2.9", 1, "99"), 0, 1)
    assert next(asked(guard, "Watch", lambda *_: [b"an event"], caller("read"))) == b"an event"


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


@pytest.mark.parametrize(
    ("name", "role", "calls", "code"),
    [("Apply", "read", 32, "H0773"), ("Load", "read", 32, "H0773"), ("Apply", "rules", 0, "H0770"),
     ("GetSchema", "read", 0, "H0770")],
)  # fmt: skip
def test_who_is_refused_all_the_time_waits(name: str, role: Role, calls: int, code: str) -> None:
    guard, waits = Guard(Limits(rate=400, calls=calls)), list[float]()
    for _ in range(60):  # 20 at once, the others at their rate
        with pytest.raises(Failed, match=code) as failed:
            list(asked(guard, name, lambda *_: b"done", caller(role)))
        waits.append(failed.value.wait)
    assert not any(waits[:20]) and waits[-1] > 0.1


class _Revoked:
    def need_valid(self, fingerprint: str, method: str) -> None:
        if fingerprint == "old":
            raise refused(revoked(method))


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (Caller("me", "rules", "192.0.2.1", 1, "old"), "H0776"),
        (Caller("me", "read", "192.0.2.1", 1, "01"), "H0773"),
        (Caller("me", None, "192.0.2.1", 1, "02"), "H0773"),
    ],
    ids=["revoked", "another role", "no role"],
)
def test_refusals_of_a_certificate_are_not_charged_to_its_successor(bad: Caller, code: str) -> None:
    """Which has the same name. Its holder's limits are the same as before."""
    guard, me = Guard(Limits(rate=400)), caller("rules")
    guard.revoked = cast(Revoked, _Revoked())
    for _ in range(60):
        with pytest.raises(Failed, match=code) as failed:
            list(asked(guard, "Apply", lambda *_: b"done", bad))
    assert failed.value.wait > 0.1
    mine = guard._known(me.whose)
    assert guard.take(mine) == 0
    assert mine is guard._known(me._replace(fingerprint="renewed").whose)
    assert mine.refusing is not guard._known(bad.itself).refusing


def test_clients_that_were_not_heard_of_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("helioc.runtime.rpc.clients._KNOWN", 10)
    guard, kept = Guard(), caller("read", "kept")
    watch = asked(guard, "Watch", lambda *_: [b"an event"] * 2, kept)
    assert next(watch) == b"an event"
    for number in range(20):
        guard._known(f"client {number}").filled -= 100
    guard._known(kept.whose).filled -= 100
    assert len(guard._clients) <= 11 and kept.whose in guard._clients
    watch.close()


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
