"""The health service of gRPC (grpc.health.v1): whether a service is served."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Condition
from typing import Any

from grpc_health.v1 import health_pb2

from ..front.calls import Call, Failed
from ..http2.codes import Code

_pb: Any = health_pb2
SERVING, NOT_SERVING, UNKNOWN = (
    _pb.HealthCheckResponse.SERVING,
    _pb.HealthCheckResponse.NOT_SERVING,
    _pb.HealthCheckResponse.SERVICE_UNKNOWN,
)


class Health:
    """Its methods, and what they tell. May be used by any thread."""

    def __init__(self) -> None:
        self._statuses: dict[str, int] = {}
        self._changed, self._ended = Condition(), False

    def set(self, name: str, status: int) -> None:
        """Of a service, or of all (empty)."""
        with self._changed:
            if not self._ended:
                self._statuses[name] = status
                self._changed.notify_all()

    def end(self) -> None:
        """Nothing is served any more."""
        with self._changed:
            self._statuses = dict.fromkeys(self._statuses, NOT_SERVING)
            self._ended = True
            self._changed.notify_all()

    def Check(self, request: Any, context: Call) -> Any:
        status = self._statuses.get(request.service)
        if status is None:
            raise Failed(Code.NOT_FOUND, "there is no such service")
        return _pb.HealthCheckResponse(status=status)

    def List(self, request: Any, context: Call) -> Any:
        made = _pb.HealthListResponse()
        for name, status in list(self._statuses.items()):
            made.statuses[name].status = status
        return made

    def Watch(self, request: Any, context: Call) -> Iterator[Any]:
        context.add_callback(self._wake)
        sent = None
        while True:
            with self._changed:
                if not context.is_active():  # asked outside, its end could be missed
                    return
                status = self._statuses.get(request.service, UNKNOWN)
                if status == sent:
                    self._changed.wait()
                    continue
            sent = status
            yield _pb.HealthCheckResponse(status=status)

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()
