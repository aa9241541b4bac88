"""Our client of gRPC against gRPC's own server."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
from helioc.runtime.base.certs import make_authority
from helioc.runtime.base.identity import read_identity
from helioc.runtime.channel import channel as channels
from helioc.runtime.channel.channel import Channel
from helioc.runtime.channel.connect import Tls
from helioc.runtime.http2.codes import Code
from lab import until
from toy_server import DETAILS, LONGEST, Toy, failing, opened, rest, served


@pytest.fixture
def toy() -> Toy:
    return Toy()


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"unix:{tmp_path / 'toy'}"


@pytest.fixture
def channel(address: str, toy: Toy) -> Iterator[Channel]:
    with served(address, toy), opened(address) as made:
        yield made


def test_an_answer(channel: Channel) -> None:
    for asked in (b"", b"a", bytes(LONGEST)):
        assert channel.ask("/toy/Echo", 20, asked) == asked


def test_a_failure(channel: Channel) -> None:
    error = failing(lambda: channel.ask("/toy/Fail", 20, b""))
    assert (error.code, error.says, error.details) == (Code.ABORTED, "naïve\n100 %", DETAILS)
    assert failing(lambda: channel.ask("/toy/None", 20, b"")).code is Code.UNIMPLEMENTED
    assert channel.ask("/toy/Echo", 20, b"on") == b"on"


def test_many_answers(channel: Channel) -> None:
    """More than the windows of streams and connection take at once."""
    for count, size in ((0, 1), (3, 1), (20, 100_000), (20_000, 4)):
        with channel.call("/toy/Many", 60, b"%d %d" % (count, size)) as call:
            assert rest(call) == [b"%d" % number * size for number in range(count)]


def test_many_requests(channel: Channel) -> None:
    with channel.call("/toy/Sum", 60) as call:
        for _ in range(40):
            call.send(bytes(200_000), wait=True)
        call.end()
        assert call.only() == b"8000000"


def test_requests_and_answers_by_two_threads(channel: Channel) -> None:
    sent = [b"%d" % number * (number % 50) for number in range(3000)]
    with channel.call("/toy/Each", 60) as call:

        def send() -> None:
            for message in sent:
                call.send(message)
            call.end()

        sender = threading.Thread(target=send)
        sender.start()
        assert rest(call) == sent
        sender.join()


def test_what_is_sent_ahead_is_sent_while_answers_are_read(channel: Channel) -> None:
    """Far more than a socket takes: nobody waits for who only sends."""
    sent = [b"%d" % number * 20_000 for number in range(200)]
    with channel.call("/toy/Each", 60) as call:
        for message in sent:
            call.send(message)
        call.end()
        assert rest(call) == sent


def test_a_server_that_wants_no_more(channel: Channel) -> None:
    """It has answered all that it will, while requests are on their way."""
    with channel.call("/toy/Stop", 20) as call:
        for _ in range(100):
            call.send(b"a")
        assert rest(call) == [b"a"]
    assert channel.ask("/toy/Echo", 20, b"on") == b"on"


def test_several_threads(channel: Channel) -> None:
    def ask(who: int) -> None:
        for number in range(300):
            asked = b"%d %d" % (who, number)
            assert channel.ask("/toy/Echo", 20, asked) == asked
            done[who] += 1

    done = [0] * 6
    threads = [threading.Thread(target=ask, args=(who,)) for who in range(len(done))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == [300] * len(done)


def test_a_deadline(channel: Channel, toy: Toy) -> None:
    error = failing(lambda: channel.ask("/toy/Wait", 0.1, b""))
    assert error.code is Code.DEADLINE_EXCEEDED
    until(lambda: toy.ended == ["wait"], "the server knows")
    assert channel.ask("/toy/Echo", 20, b"on") == b"on"


@pytest.mark.parametrize("reading", [True, False])
def test_another_thread_cancels(channel: Channel, toy: Toy, reading: bool) -> None:
    """Who waits for the answer, whether it reads the socket or another one does."""
    with ExitStack() as owned:
        if not reading:
            before = owned.enter_context(channel.call("/toy/Wait", 20, b""))
            first = threading.Thread(target=before.receive)
            first.start()
            assert toy.begun.acquire(timeout=20)
        call = channel.call("/toy/Wait", None, b"")
        assert toy.begun.acquire(timeout=20)
        timer = threading.Timer(0.1, call.cancel)
        timer.start()
        assert failing(call.receive).code is Code.CANCELLED
        timer.join()
        until(lambda: toy.ended == ["wait"], "the server knows")
        toy.go.set()
        if not reading:
            first.join()


def test_closing_ends_what_goes_on(channel: Channel, toy: Toy) -> None:
    calls = [channel.call("/toy/Wait", None, b"") for _ in range(3)]
    with ThreadPoolExecutor(3) as threads:
        found = [threads.submit(failing, call.receive) for call in calls]
        for _ in calls:
            assert toy.begun.acquire(timeout=20)
        channel.close()
        assert {each.result(20).code for each in found} == {Code.CANCELLED}
    channel.close()
    assert failing(lambda: channel.ask("/toy/Echo", 1, b"")).code is Code.CANCELLED


def test_a_message_that_is_too_long(channel: Channel) -> None:
    said = f"a message of {LONGEST + 1} bytes; {LONGEST} are the most"
    for work in (
        lambda: channel.ask("/toy/Echo", 20, bytes(LONGEST + 1)),
        lambda: channel.call("/toy/Many", 20, b"2 %d" % (LONGEST + 1)).receive(),
    ):
        error = failing(work)
        assert (error.code, error.says) == (Code.RESOURCE_EXHAUSTED, said)
    assert channel.ask("/toy/Echo", 20, b"on") == b"on"


def test_who_reads_no_answers_stops_nobody_else(channel: Channel) -> None:
    unread = [channel.call("/toy/Many", None, b"100000 100") for _ in range(5)]
    for _ in range(20):
        assert channel.ask("/toy/Echo", 20, bytes(100_000)) == bytes(100_000)
    for call in unread:
        call.cancel()


# ---- servers that come and go ---------------------------------------------------------------


def test_nobody_is_there_and_then_somebody_is(address: str, toy: Toy) -> None:
    with opened(address) as channel:
        error = failing(lambda: channel.ask("/toy/Echo", 5, b""))
        assert (error.code, error.says) == (Code.UNAVAILABLE, "no such file or directory")
        for _ in range(3):
            with served(address, toy):
                assert channel.ask("/toy/Echo", 5, b"on") == b"on"
        assert failing(lambda: channel.ask("/toy/Echo", 5, b"")).code is Code.UNAVAILABLE


def test_a_server_that_says_goodbye_finishes_what_it_began(address: str, toy: Toy) -> None:
    with served(address, toy) as server, opened(address) as channel:
        call = channel.call("/toy/Wait", 20, b"mine")
        assert toy.begun.acquire(timeout=20)
        stopped = server.stop(20)
        link = channel._link
        assert link is not None
        until(lambda: link.do(link.leaving), "the goodbye has come")
        assert failing(lambda: channel.ask("/toy/Echo", 5, b"")).code is Code.UNAVAILABLE
        toy.go.set()
        assert call.only() == b"mine"
        stopped.wait(20)


def test_a_server_that_breaks_off(tmp_path: Path) -> None:
    """In the middle of what it sends, and at once."""
    path = tmp_path / "broken"
    with socket.socket(socket.AF_UNIX) as at, opened(f"unix:{path}") as channel:
        at.bind(str(path))
        at.listen()
        for data in (b"", b"\0\0", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\0\0\0\4\0\0\0\0\0"):

            def answer(data: bytes = data) -> None:
                made, _ = at.accept()
                with made:
                    made.recv(1 << 16)
                    made.sendall(data)

            server = threading.Thread(target=answer)
            server.start()
            assert failing(lambda: channel.ask("/toy/Echo", 5, b"")).code is Code.UNAVAILABLE
            server.join()


def test_a_server_that_never_answers(tmp_path: Path) -> None:
    path = tmp_path / "silent"
    with socket.socket(socket.AF_UNIX) as at, opened(f"unix:{path}") as channel:
        at.bind(str(path))
        at.listen()
        begun = time.monotonic()
        error = failing(lambda: channel.ask("/toy/Echo", 0.2, b""))
        assert error.code is Code.DEADLINE_EXCEEDED and time.monotonic() < begun + 5


def test_pings_are_answered_while_nobody_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channels, "_LOOK", 0.01)
    path, asked = tmp_path / "asking", b"\0\0\x08\6\0\0\0\0\0whatever"
    with socket.socket(socket.AF_UNIX) as at, opened(f"unix:{path}") as channel:
        at.bind(str(path))
        at.listen()
        with channel.call("/toy/Echo", None, b""):
            made, _ = at.accept()
            with made:
                made.settimeout(20)
                made.sendall(b"\0\0\0\4\0\0\0\0\0" + asked)
                came = b""
                while b"\0\0\x08\6\1\0\0\0\0whatever" not in came:
                    came += made.recv(1 << 16) or pytest.fail("it was closed")


def test_tcp(toy: Toy) -> None:
    """A server that is gone without a word is noticed, also by who only listens."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with served(f"127.0.0.1:{port}", toy):
        for host in ("127.0.0.1", "localhost"):
            with opened(f"{host}:{port}") as channel:
                assert channel.ask("/toy/Echo", 5, b"on") == b"on"
                assert channel._link is not None
                at = channel._link._socket
                assert at.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
                assert at.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 20_000
    with opened(f"127.0.0.1:{port}") as channel:
        error = failing(lambda: channel.ask("/toy/Echo", 5, b""))
        assert (error.code, error.says) == (Code.UNAVAILABLE, "connection refused")


# ---- TLS ------------------------------------------------------------------------------------


def test_tls(tmp_path: Path, toy: Toy) -> None:
    certs, address = tmp_path / "certs", f"unix:{tmp_path / 'toy'}"
    make_authority(certs, [])
    make_authority(certs / "other", [])
    with served(address, toy, certs):
        ours, others = (read_identity(at / "admin") for at in (certs, certs / "other"))
        agent = read_identity(certs / "agent")
        good = Tls(ours.authority, ours.certificate, ours.key, "localhost")
        for tls in (good, good._replace(authority=agent.certificate)):
            with opened(address, tls) as channel:
                assert channel.ask("/toy/Echo", 5, b"on") == b"on"
        for tls, said in (
            (good._replace(authority=others.authority), "its certificate is refused: "),
            (good._replace(server_name="elsewhere"), "its certificate is refused: Hostname"),
            (good._replace(certificate=others.certificate, key=others.key), "lost: "),
        ):
            with opened(address, tls) as channel:
                error = failing(lambda channel=channel: channel.ask("/toy/Echo", 5, b""))  # type: ignore[misc]
                assert error.code is Code.UNAVAILABLE and said in error.says


def test_addresses_that_are_none() -> None:
    for none in ("a..b:1", f"{'a' * 70}:1", "unix:\0", f"unix:{'a' * 200}"):
        with opened(none) as channel:
            assert failing(lambda: channel.ask("/toy/Echo", 5, b"")).code is Code.UNAVAILABLE
    for wrong in ("", "unix", "host", "host:", "host:70000", "a b:1", "[::1]", "::1:5"):
        with pytest.raises(ValueError, match=r".*"):
            Channel(wrong, None, LONGEST)
