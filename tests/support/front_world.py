"""A server of the front by itself, with methods of a test's own, at a Unix socket."""

from __future__ import annotations

import socket
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from helioc.runtime.front.budget import Budget
from helioc.runtime.front.calls import Call, Method
from helioc.runtime.front.listener import Peer
from helioc.runtime.front.server import Server

#: Bytes of a message.
LONGEST = 1 << 20


class Caller(NamedTuple):
    place: str = "here"
    known: bool = True


class Ordered:
    """Gives each request to `work`, which returns what waits for its answer."""

    over = False

    def __init__(self, work: Callable[[bytes], Callable[[], bytes]]) -> None:
        self.begin = work

    def cost(self, request: bytes) -> float:
        return 0.0

    def close(self) -> None:
        pass

    def settle(self) -> None:
        pass


def ordered(work: Callable[[bytes], Callable[[], bytes]], single: bool = False) -> Method:
    return Method(None, lambda call: Ordered(work), single, LONGEST, lambda _: True)


def method(work: Callable[[bytes], bytes], admits: bool = True, single: bool = True) -> Method:
    """It answers the first request."""

    def run(requests: Iterator[bytes], call: Call) -> Generator[bytes, None, None]:
        yield work(next(requests, b"none"))

    return Method(run, None, single, LONGEST, lambda _: admits)


def server(
    path: Path, methods: Mapping[str, Method], patience: float = 5.0,
    arriving: Budget = Budget(1 << 20, 1 << 21),  # noqa: B008
    caller: Callable[[Peer], Caller] = lambda _: Caller(),
    refused: Callable[[str, str, int], object] = lambda *_: None,
) -> Server:  # fmt: skip
    """One that listens, and is not started."""
    made = Server(
        {name.encode(): each for name, each in methods.items()}, caller,
        refused, threads=8, each=8, patience=patience, arriving=arriving,
    )  # fmt: skip
    at = socket.socket(socket.AF_UNIX)
    at.bind(str(path))
    at.listen()
    made.listen([at])
    return made


@contextmanager
def started(made: Server) -> Iterator[Any]:
    made.start()
    try:
        yield made
    finally:
        made.stop(0)
