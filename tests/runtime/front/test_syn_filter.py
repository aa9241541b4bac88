"""What is dropped at a listening socket, and what is not."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from helioc.runtime.front.syn_filter import MOST, drop_from

#: Seconds in which nothing comes.
QUIET = 0.2


@pytest.fixture
def both() -> Iterator[socket.socket]:
    """Listens for IPv4 and IPv6."""
    with socket.create_server(
        ("", 0), family=socket.AF_INET6, dualstack_ipv6=True, backlog=16
    ) as made:
        yield made


def reaches(at: socket.socket, source: str) -> bool:
    family = socket.AF_INET6 if ":" in source else socket.AF_INET
    with socket.socket(family) as made:
        made.bind((source, 0))
        made.settimeout(QUIET)
        try:
            made.connect(("::1" if ":" in source else "127.0.0.1", at.getsockname()[1]))
        except TimeoutError:
            return False
        at.accept()[0].close()
        return True


def test_only_these_sources_are_dropped(both: socket.socket) -> None:
    drop_from(both, ["127.0.0.9", "127.0.0.7"])
    assert [reaches(both, f"127.0.0.{n}") for n in (7, 8, 9)] == [False, True, False]
    assert reaches(both, "::1")
    drop_from(both, ["::/64", "127.0.0.9"])
    assert not reaches(both, "::1") and not reaches(both, "127.0.0.9")
    assert reaches(both, "127.0.0.7")
    drop_from(both, [])
    assert reaches(both, "::1") and reaches(both, "127.0.0.9")
    drop_from(both, [])


def test_as_many_as_there_may_be(both: socket.socket) -> None:
    """Each jump fits; what is too much is not dropped."""
    drop_from(both, [*(f"127.0.1.{n}" for n in range(MOST + 1)), *["2001:db8::/64"] * MOST])
    assert [reaches(both, f"127.0.1.{n}") for n in (0, MOST - 1, MOST)] == [False, False, True]
    assert reaches(both, "::1")


def test_a_connection_goes_on(both: socket.socket) -> None:
    with ExitStack() as owned:
        client = owned.enter_context(socket.create_connection(both.getsockname()[:2]))
        made = owned.enter_context(both.accept()[0])
        drop_from(both, ["::/64"])
        client.sendall(b"x")
        made.settimeout(10)
        assert made.recv(1) == b"x"
