"""How much a client may ask for: alone, and while others ask, too."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from guarded import asked
from helioc.runtime.rpc import clients, guard
from helioc.runtime.rpc.callers import Caller
from helioc.runtime.rpc.clients import AT_ONCE, OFTEN, SHARED, Limits
from helioc.runtime.rpc.guard import Guard


class Clock:
    """Stands still but for who sleeps. `slept`: seconds."""

    def __init__(self) -> None:
        self.now, self.slept, self.worked = 1000.0, 0.0, 0.0

    def monotonic(self) -> float:
        return self.now

    def thread_time(self) -> float:
        return self.worked

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.slept += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    faked = SimpleNamespace(
        monotonic=made.monotonic, sleep=made.sleep, thread_time=made.thread_time
    )
    for module in (clients, guard):
        monkeypatch.setattr(module, "time", faked)
    return made


def work(clock: Clock, door: Guard, name: str, seconds: float = 0.0) -> float:
    """Have a call carried out that takes so long; what the next request has to wait."""
    client = door._known("one")
    clock.sleep(door._cost(name, client, 0))
    with door._working(name, client):
        clock.worked += seconds
        clock.now += seconds
    return door._cost("Apply", client, 0)


def ask(clock: Clock, door: Guard, who: str, times: int = 1) -> None:
    for _ in range(times):
        clock.sleep(door.take(door._known(who)))


def test_alone_it_may_ask_for_all_of_the_rate(clock: Clock) -> None:
    door = Guard(Limits(rate=1000.0))
    ask(clock, door, "one", 1000)
    assert clock.slept == 0
    ask(clock, door, "one", 1000)
    assert clock.slept == pytest.approx(1.0)


def test_beside_a_busy_one_it_waits_for_its_share(clock: Clock) -> None:
    door = Guard(Limits(rate=1000.0))
    share = 1000.0 / 2
    ask(clock, door, "one", 100)
    ask(clock, door, "other", OFTEN - 1)
    slept = clock.slept
    ask(clock, door, "one", 51)
    assert clock.slept == slept, "who asks now and then slows nobody"
    clock.now += 0.5
    ask(clock, door, "other", OFTEN)
    slept = clock.slept
    ask(clock, door, "one", 51)
    assert clock.slept - slept == pytest.approx((51 - share * AT_ONCE) / share)
    slept = clock.slept
    clock.now += 2  # by now the other is gone
    ask(clock, door, "one", 500)
    assert clock.slept == slept


@pytest.mark.parametrize("busy", [2, 5, 30])
def test_busy_clients_have_equal_shares(clock: Clock, busy: int) -> None:
    """Of all of the rate, and not less than a tenth each."""
    door = Guard(Limits(rate=1000.0))
    clients = [door._known(f"client {number}") for number in range(busy)]

    def made(rounds: int) -> float:
        """Requests a second of each, where none asks before it has waited."""
        begun, waiting = clock.now, dict.fromkeys(clients, clock.now)
        for _ in range(rounds * busy):
            each = min(clients, key=lambda one: waiting[one])
            clock.now = max(clock.now, waiting[each])
            waiting[each] = clock.now + door.take(each)
        return rounds / (clock.now - begun)

    made(2000)  # what was saved up is gone
    assert made(1000) == pytest.approx(max(1000 / busy, 1000 / SHARED), rel=0.01)


@pytest.mark.parametrize(
    ("name", "times"),
    [("Refresh", 10), ("Upgrade", 10), ("ApplyIntent", 50), ("List", 50), ("Get", 50),
     ("Apply", 1000), ("BulkApply", 1000)],
)  # fmt: skip
def test_calls_count_as_what_they_cost(clock: Clock, name: str, times: int) -> None:
    """So many of them are a second's."""
    door = Guard(Limits(rate=1000.0))
    for _ in range(times):
        clock.sleep(door._cost(name, door._known("one"), 0))
    assert clock.slept == 0
    assert door._cost("Apply", door._known("one"), 0) == pytest.approx(0.001)


def test_what_took_longer_counts_as_more(clock: Clock) -> None:
    """Than was paid for; alone nobody waits for that, as time passes meanwhile."""
    door = Guard(Limits(rate=1000.0))
    for _ in range(100):
        assert work(clock, door, "Refresh", 0.5) == 0
    door = Guard(Limits(rate=1000.0))
    one = door._known("one")
    clock.sleep(door._cost("Refresh", one, 0))
    with door._working("Refresh", one):
        clock.worked += 1.5  # by several threads at a time
    assert door._cost("Apply", one, 0) == pytest.approx(0.501)


def test_a_client_has_two_calls_at_a_time_that_hold_the_pipeline() -> None:
    door, me = Guard(), Caller("me", "admin", "192.0.2.9", 1, "00")
    for name in ("Refresh", "Repair", "Load"):
        begun = [asked(door, name, lambda *_: b"done", me) for _ in range(2)]
        for each in begun:
            next(each)
        assert not door._known(me.whose).holding.acquire(blocking=False)
        assert [*asked(door, "Status", lambda *_: b"well", me)] == [b"well"]
        for each in begun:
            each.close()


def test_backups_that_nobody_reads_hold_up_nobody() -> None:
    door, me = Guard(), Caller("me", "admin", "192.0.2.9", 1, "00")
    begun = [asked(door, "Backup", lambda *_: [b"a part"] * 2, me) for _ in range(3)]
    for each in begun:
        next(each)
    for name in ("Status", "GetSchema", "Repair"):
        assert [*asked(door, name, lambda *_: b"well", me)] == [b"well"]
    for each in begun:
        each.close()
