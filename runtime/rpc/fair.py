"""The threads that calls are carried out by, so many at a time for each host: who has more of them
going waits for its own, and nobody else does.

gRPC hands a call over before anybody has asked who calls. Its peer is found in what is handed over;
if a release of gRPC hands over something else, all are one host, and wait for each other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Any

Task = tuple[Future[Any], Callable[..., Any], tuple[Any, ...], dict[str, Any]]


class Fair(ThreadPoolExecutor):
    """As any executor; what it is given waits in the order in which it came."""

    def __init__(self, threads: int, each: int, host: Callable[[str], str]) -> None:
        """`each`: at a time of one host. `host`: that of gRPC's peer."""
        super().__init__(threads, "rpc")
        self._host, self._each, self._turns = host, each, Lock()
        self._going: dict[str, int] = {}
        self._waiting: dict[str, deque[Task]] = {}

    def submit(self, work: Callable[..., Any], /, *args: Any, **named: Any) -> Future[Any]:
        who, task = self._host(peer_of(args)), (Future[Any](), work, args, named)
        with self._turns:
            going = self._going.get(who, 0)
            if going >= self._each:
                self._waiting.setdefault(who, deque()).append(task)
                return task[0]
            self._going[who] = going + 1
        super().submit(self._do, who, task)
        return task[0]

    def _do(self, who: str, task: Task) -> None:
        made, work, args, named = task
        try:
            made.set_result(work(*args, **named))
        except BaseException as error:
            made.set_exception(error)
        with self._turns:
            waiting = self._waiting.get(who)
            if not waiting:
                self._waiting.pop(who, None)
                self._going[who] -= 1
                if not self._going[who]:
                    del self._going[who]
                return
            task = waiting.popleft()
        super().submit(self._do, who, task)  # behind what others have waiting


def peer_of(args: tuple[Any, ...]) -> str:
    """What gRPC says of the other end of the connection."""
    for each in args:
        call = getattr(each, "call", None)
        if call is not None and hasattr(call, "peer"):
            peer: bytes = call.peer()
            return peer.decode()
    return ""
