"""Long calls to the agent: requests without waiting for each answer, and events."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...lang.contract.request.request import Request
from ..base.errors import refused
from ..base.outcome import Outcome
from ..channel.failures import Failed, Stopped, call_failed
from ..http2.codes import Code
from ..rpc import control_pb2 as pb
from ..rpc import replies
from ..rpc.failures import diagnostics_of
from ..rpc.methods import path, reply_of
from .calls import Calls, Rejected


class Stream:
    """Requests that do not wait for each other's answers. `send` and `receive` may be called by
    different threads; answers come in the order of the requests."""

    def __init__(
        self, calls: Calls, encoded: Callable[..., pb.ApplyRequest],
        refused: Callable[[Rejected], object],
    ) -> None:  # fmt: skip
        """`encoded`: `Client.message`; `refused`: is called with each refusal."""
        self._calls, self._encoded, self._refused = calls, encoded, refused
        try:
            self._call = calls.channel.call(path("Stream"), None)
        except Failed as error:
            raise calls.rejected(error) from None

    def send(
        self, request: str | Request | bytes, *, if_revision: int | None = None, key: str = ""
    ) -> None:
        """Does not wait: what the agent does not take yet is kept, and is sent while somebody sends
        or receives."""
        message = self._encoded(request, if_revision=if_revision, key=key)
        try:
            self._call.send(message.SerializeToString())
        except Failed as error:
            raise self._calls.rejected(error) from None

    def receive(self) -> Outcome:
        """The next answer. Raises `Rejected` for a refused request: the stream goes on. One that
        was made for the build before (H0765) may be sent again, as those after it."""
        try:
            answer = self._call.receive()
        except Failed as error:
            raise self._calls.rejected(error) from None
        if answer is None:
            raise refused(call_failed(self._calls.address, "it ended"))
        reply = reply_of("Stream", answer)
        if reply.HasField("failed"):
            failed = reply.failed
            rejected = Rejected(diagnostics_of(failed), Code(failed.status), failed.revision)
            self._refused(rejected)
            raise rejected
        return replies.outcome(reply.done)

    def close(self) -> None:
        self._call.cancel()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Watch:
    """Events from the moment of its making on: of what changes, or with `emitted` what packets
    raise. Iterate, and close it."""

    def __init__(
        self, calls: Calls, pipeline: str, emitted: pb.EmittedFilter | None = None
    ) -> None:
        self._calls = calls
        request = pb.WatchRequest(pipeline=pipeline, emitted=emitted)
        asked = request.SerializeToString()
        try:
            self._call = calls.channel.call(path("Watch"), None, asked)
            self._call.answered(calls.timeout)  # the agent says that it has begun to watch
        except Failed as error:
            raise calls.rejected(error) from None

    def __iter__(self) -> Iterator[pb.Event]:
        try:
            while (answer := self._call.receive()) is not None:
                yield reply_of("Watch", answer)
        except Stopped:  # by `close`, or the client's
            return
        except Failed as error:
            raise self._calls.rejected(error) from None

    def close(self) -> None:
        self._call.cancel()

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
