"""The health service of gRPC by itself."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread
from typing import Any

from grpc_health.v1 import health_pb2
from helioc.runtime.rpc.health import SERVING, Health

_pb: Any = health_pb2
ALL = _pb.HealthCheckRequest()


class Ending:
    """A call that ends just after it was asked for the second time whether it goes on."""

    def __init__(self, free: Callable[[], bool]) -> None:
        """`free`: whether the one that asks lets others tell it something."""
        self._free, self._asked, self._over, self._ended = free, 0, False, Event()

    def add_callback(self, work: Callable[[], object]) -> bool:
        self._work = work
        return True

    def is_active(self) -> bool:
        self._asked += 1
        if self._asked != 2:
            return not self._over
        Thread(target=self._end, daemon=True).start()
        assert self._ended.wait(20)
        return True

    def _end(self) -> None:
        self._over = True
        if self._free():
            self._work()
            self._ended.set()
        else:
            self._ended.set()
            self._work()


def test_a_watch_ends_with_its_call() -> None:
    """Also where that ends between the question whether it has and the wait for what changes."""
    health = Health()
    health.set("", SERVING)

    def free() -> bool:
        had = health._changed.acquire(blocking=False)
        if had:
            health._changed.release()
        return had

    call: Any = Ending(free)
    found = list[Any]()
    watch = Thread(target=lambda: found.extend(health.Watch(ALL, call)), daemon=True)
    watch.start()
    watch.join(20)
    waits = watch.is_alive()
    health.end()
    watch.join(20)
    assert not waits and [each.status for each in found] == [SERVING]
