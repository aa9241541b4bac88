"""Our client of gRPC between threads, signals and processes, and calls that nobody ends."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
from helioc.runtime.channel.calls import Call
from helioc.runtime.channel.channel import Channel
from helioc.runtime.channel.link import Link
from helioc.runtime.channel.waiters import Waiter, Waiters
from helioc.runtime.http2 import session
from helioc.runtime.http2.codes import Code
from lab import until
from toy_server import LONGEST, Toy, failing, opened, served


@pytest.fixture
def toy() -> Toy:
    return Toy()


@pytest.fixture
def address(tmp_path: Path, toy: Toy) -> Iterator[str]:
    with served(f"unix:{tmp_path / 'toy'}", toy):
        yield f"unix:{tmp_path / 'toy'}"


@pytest.fixture
def channel(address: str) -> Iterator[Channel]:
    with opened(address) as made:
        yield made


def link_of(channel: Channel) -> Link:
    assert channel._link is not None
    return channel._link


@contextmanager
def handling(work: Callable[[], object]) -> Iterator[None]:
    """What SIGUSR1 does."""
    before = signal.signal(signal.SIGUSR1, lambda *_: work())
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGUSR1, before)


def interrupt() -> None:
    raise KeyboardInterrupt


def waiting(link: Link, count: int) -> None:
    until(lambda: sum(each.asleep for each in list(link._waiters._all)) == count, "they wait")


@contextmanager
def receiving(channel: Channel, count: int) -> Iterator[list[Call]]:
    """Threads that wait for answers that come when requests do."""
    calls = [channel.call("/toy/Each", None) for _ in range(count)]
    threads = [threading.Thread(target=call.receive) for call in calls]
    for thread in threads:
        thread.start()
    try:
        waiting(link_of(channel), count)
        yield calls
    finally:
        for call in calls:
            call.send(b"over")
        for thread in threads:
            thread.join(20)
        assert not any(thread.is_alive() for thread in threads)
        for call in calls:
            call.end()
            assert call.receive() is None


# ---- signals --------------------------------------------------------------------------------


def test_a_handler_may_close(channel: Channel, toy: Toy) -> None:
    """Also where its own thread is at work on the connection."""
    call = channel.call("/toy/Wait", None, b"")
    with handling(channel.close):
        link_of(channel).do(lambda: signal.raise_signal(signal.SIGUSR1))
    assert failing(call.receive).code is Code.CANCELLED


def test_who_is_interrupted_leaves_the_socket_to_others(channel: Channel) -> None:
    """Where it waits: one that is at work on the connection loses it."""
    main = threading.main_thread().ident
    assert main is not None
    answers, interrupted = list[bytes](), threading.Event()

    def stop() -> None:
        interrupted.set()
        interrupt()

    def ask() -> None:
        waiting(link_of(channel), 1)
        with link_of(channel)._lock:  # bytes may come that it wakes for
            signal.pthread_kill(main, signal.SIGUSR1)
            assert interrupted.wait(20)
        answers.append(channel.ask("/toy/Echo", 20, b"on"))

    with channel.call("/toy/Each", None) as mine, handling(stop):
        for count in range(1, 21):
            interrupted.clear()
            other = threading.Thread(target=ask)
            other.start()
            with pytest.raises(KeyboardInterrupt):
                mine.receive()
            other.join(20)
            assert answers == [b"on"] * count
        mine.send(b"still there")
        assert mine.receive() == b"still there"


def test_interrupted_anywhere(address: str) -> None:
    """The next call works, by the same connection or another one."""
    random, interrupted = Random(14), 0
    before = signal.signal(signal.SIGALRM, lambda *_: interrupt())
    swallowed = list[Any]()  # Python raises nothing as a call is dropped that is over
    hook, sys.unraisablehook = sys.unraisablehook, swallowed.append
    try:
        with opened(address) as channel:
            for _ in range(300):
                gone = len(swallowed)
                try:
                    signal.setitimer(signal.ITIMER_REAL, random.uniform(0.0002, 0.003))
                    while len(swallowed) == gone:
                        assert channel.ask("/toy/Echo", 5, b"on") == b"on"
                except KeyboardInterrupt:
                    interrupted += 1
                assert in_another_thread(lambda: channel.ask("/toy/Echo", 5, b"on")) == b"on"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        sys.unraisablehook = hook
    assert interrupted > 200
    assert not any("ctypes" in (each.err_msg or "") for each in swallowed)


def in_another_thread(work: Callable[[], bytes]) -> bytes:
    found = list[bytes]()
    thread = threading.Thread(target=lambda: found.append(work()), daemon=True)
    thread.start()
    thread.join(20)
    assert found, "it had no answer, or hangs"
    return found[0]


@pytest.mark.parametrize("callback", ["on_begin", "on_header", "on_frame", "on_close"])
def test_what_a_callback_raises_ends_the_connection(
    channel: Channel, monkeypatch: pytest.MonkeyPatch, callback: str
) -> None:
    def fail(*_: object) -> int:
        raise RuntimeError(callback)

    assert channel.ask("/toy/Echo", 5, b"on") == b"on"
    with monkeypatch.context() as patch, pytest.raises(RuntimeError, match=callback):
        patch.setattr(session.Session, callback, fail)
        channel.ask("/toy/Echo", 5, b"on")
    assert channel.ask("/toy/Echo", 5, b"on") == b"on"


def test_what_is_raised_while_it_sends_ends_the_connection(
    channel: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> int:
        raise RuntimeError("no bytes")

    with monkeypatch.context() as patch, pytest.raises(RuntimeError, match="no bytes"):
        patch.setattr(session.Session, "read", fail)
        channel.ask("/toy/Echo", 5, b"on")
    assert channel.ask("/toy/Echo", 5, b"on") == b"on"


# ---- threads --------------------------------------------------------------------------------


def test_an_answer_wakes_who_waits_for_it(
    channel: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept, sleep = Counter[int](), Waiters.sleep

    def counted(waiters: Waiters, waiter: Waiter, seconds: float | None) -> None:
        slept[waiter.stream] += 1
        sleep(waiters, waiter, seconds)

    monkeypatch.setattr(Waiters, "sleep", counted)
    with receiving(channel, 5) as calls:
        for _ in range(100):
            channel.ask("/toy/Echo", 20, b"on")
        often = [call for call in calls if slept[call._stream] > 1]
        assert len(often) == 1  # who waits for the socket


def test_who_waits_to_send_is_woken(channel: Channel) -> None:
    """While another thread waits for the socket; and when the call is cancelled."""
    with receiving(channel, 1), channel.call("/toy/Sum", 60) as call:
        for _ in range(30):
            call.send(bytes(200_000), wait=True)
        call.end()
        assert call.only() == b"6000000"
    with receiving(channel, 1), channel.call("/toy/Wait", 60) as call:
        threading.Timer(0.1, call.cancel).start()

        def send() -> None:
            while True:
                call.send(bytes(200_000), wait=True)

        assert failing(send).code is Code.CANCELLED


# ---- what nobody ends -----------------------------------------------------------------------


def test_a_call_that_is_dropped_is_cancelled(channel: Channel, toy: Toy) -> None:
    for count in range(1, 4):
        call = channel.call("/toy/Many", None, b"100000 100")
        assert call.receive() is not None
        del call
        until(lambda count=count: len(toy.ended) == count, "the server knows")  # type: ignore[misc]
    assert not link_of(channel)._calls


def test_a_channel_that_is_dropped_is_closed(address: str) -> None:
    def held() -> tuple[int, int]:
        gc.collect()
        return len(os.listdir("/proc/self/fd")), len(session._sessions)

    Channel(address, None, LONGEST).ask("/toy/Echo", 5, b"on")
    before = held()
    for _ in range(20):
        Channel(address, None, LONGEST).ask("/toy/Echo", 5, b"on")
    assert held()[1] <= before[1] and held()[0] <= before[0] + 5  # the server's own come and go


FORKING = """
import os, sys
from helioc.runtime.channel.channel import Channel
channel = Channel(sys.argv[1], None, 1 << 20)
before = channel.call("/toy/Each", None)
assert channel.ask("/toy/Echo", 5, b"before") == b"before"
child = os.fork()
mine = b"parent" if child else b"child"
for _ in range(300):
    assert channel.ask("/toy/Echo", 5, mine) == mine
if child:
    before.send(b"on")
    assert before.receive() == b"on"
    print("parent done", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
else:
    try:
        before.receive()
    except Exception as error:
        print("child:", error, flush=True)
"""


def test_a_child_makes_a_connection_of_its_own(address: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKING, address], capture_output=True, text=True, timeout=60
    )
    assert done.stdout.splitlines() == [
        "child: the connection is lost: it is the parent process's", "parent done 0",
    ], done.stderr  # fmt: skip


def in_a_child(work: Callable[[], bool]) -> bool:
    """What `work` gives there."""
    child = os.fork()
    if not child:
        status = 1
        try:
            status = 0 if work() else 1
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1] == 0


def test_a_child_keeps_what_was_opened_after_a_connection_was_closed(channel: Channel) -> None:
    """By the numbers that its descriptors had."""
    channel.ask("/toy/Echo", 5, b"on")
    channel.close()
    with ExitStack() as owned:
        files = [owned.enter_context(open(os.devnull, "wb", 0)) for _ in range(4)]
        assert in_a_child(lambda: all(each.write(b"on") for each in files))


def test_a_child_of_a_process_whose_threads_wait(address: str) -> None:
    """Also that of a second channel is its parent's connection alone."""
    with ExitStack() as owned:
        channels = [owned.enter_context(opened(address)) for _ in range(2)]
        calls = [call for each in channels for call in owned.enter_context(receiving(each, 2))]
        assert in_a_child(lambda: all(call._over for call in calls) and all(
            failing(call.receive).code is Code.UNAVAILABLE for call in calls
        ))  # fmt: skip
