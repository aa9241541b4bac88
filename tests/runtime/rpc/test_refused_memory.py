"""A call that was refused leaves nothing for Python's collector: what is there as a large request
comes is never looked at by it (gc_pause.py)."""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, cast

import pytest
from front_world import server, started
from helioc.runtime.base.agent_errors import bad_message, revoked
from helioc.runtime.base.errors import refused
from helioc.runtime.base.identity import Role
from helioc.runtime.front.calls import Failed
from helioc.runtime.http2.codes import Code
from helioc.runtime.rpc import control_pb2 as pb
from helioc.runtime.rpc.callers import Caller
from helioc.runtime.rpc.clients import Limits
from helioc.runtime.rpc.guard import Guard
from helioc.runtime.rpc.methods import METHODS, path
from helioc.runtime.rpc.ordered import Begun
from helioc.runtime.rpc.service import ORDERED
from http2 import Peer, Target, headers, message
from lab import until

Why = Callable[[], Exception]
WRONG: dict[str, Why] = {
    "refused": lambda: refused(bad_message("x", "y")),
    "failed": lambda: Failed(Code.NOT_FOUND, "there is none"),
    "a fault": lambda: ZeroDivisionError("x"),
}  # fmt: skip


def method(door: Guard, name: str, why: Why, late: bool) -> Any:
    """One that raises: as a request is made in force, or `late`, as its answer is waited for."""

    def fails(*_: object) -> Any:
        raise why()

    def begin(_: object) -> Begun:
        return Begun(pb.ApplyReply(), None, fails) if late else fails()

    def events(*_: object) -> Generator[pb.Event, None, None]:
        if late:
            yield pb.Event()
        raise why()

    described = METHODS[name]
    if name in ORDERED:
        return door.ordered(described, lambda _: begin)
    return door.method(described, events if name == "Watch" else fails)


@contextmanager
def leaves_nothing() -> Iterator[None]:
    """Of ours, and of frames of ours."""
    gc.collect()
    gc.disable()
    try:
        yield
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        found = [each for each in map(_ours, gc.garbage) if each]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert found == []


def _ours(found: object) -> str:
    if isinstance(found, FrameType):
        module, name = str(found.f_globals.get("__name__")), found.f_code.co_qualname
    else:
        module, name = type(found).__module__, type(found).__qualname__
    return name if module.startswith("helioc.") else ""


def ask(at: Path, name: str, times: int, body: bytes | None) -> None:
    with Peer(Target(unix=str(at))) as peer:
        for _ in range(times):
            found = peer.wait(peer.call(headers(path(name)), body))
            assert found.ended and found.status


def tried(
    tmp_path: Path, door: Guard, made: Any, name: str, role: Role | None = "admin",
    body: bytes = message(b""), times: int = 2,
) -> None:  # fmt: skip
    caller = Caller("me", role, "192.0.2.9", 4711, "00")
    front = server(tmp_path / "s", {path(name): made}, caller=lambda _: cast(Any, caller))
    with started(front):
        ask(tmp_path / "s", name, 1, body)  # what is made once is made
        until(lambda: not front._clients, "the connection is over")
        with leaves_nothing():
            ask(tmp_path / "s", name, times, body)
            until(lambda: not front._clients and not front._threads._going, "all is over")


@pytest.mark.parametrize("late", [False, True], ids=["at once", "late"])
@pytest.mark.parametrize("name", ["Apply", "Stream", "ApplyIntent", "BulkApply", "Watch"])
@pytest.mark.parametrize("why", WRONG)
def test_of_what_a_method_refuses(tmp_path: Path, why: str, name: str, late: bool) -> None:
    door = Guard()
    tried(tmp_path, door, method(door, name, WRONG[why], late), name)


@pytest.mark.parametrize("name", ["Apply", "Stream", "Status", "Watch"])
@pytest.mark.parametrize("body", [message(b"\xff\xff"), b"", message(b"", compressed=1)],
                         ids=["junk", "nothing", "compressed"])  # fmt: skip
def test_of_what_is_no_request(tmp_path: Path, name: str, body: bytes) -> None:
    if (name, body) == ("Stream", b""):
        return
    door = Guard()
    tried(tmp_path, door, method(door, name, WRONG["refused"], True), name, body=body)


class _Revoked:
    def need_valid(self, fingerprint: str, method: str) -> None:
        raise refused(revoked(method))


@pytest.mark.parametrize("name", ["Apply", "Stream", "Status", "Watch"])
@pytest.mark.parametrize("why", ["no role", "revoked", "too many calls"])
def test_of_who_is_turned_away(tmp_path: Path, name: str, why: str) -> None:
    """The second at once, the others after a while."""
    door = Guard(Limits(rate=60.0, calls=0 if why == "too many calls" else 32))
    if why == "revoked":
        door.revoked = _Revoked()  # type: ignore[assignment]
    made = method(door, name, WRONG["refused"], True)
    tried(tmp_path, door, made, name, role=None if why == "no role" else "admin", times=5)
