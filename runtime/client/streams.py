"""Long calls to the agent: requests without waiting for each answer, and events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...lang.contract.request.request import Request
from ..base.errors import refused
from ..base.outcome import Outcome
from ..channel.failures import Failed, Stopped, call_failed
from ..http2.codes import Code
from ..rpc import control_pb2 as pb
from ..rpc import replies
from ..rpc.failures import diagnostics_of
from ..rpc.methods import path, reply_of
from .calls import Rejected

if TYPE_CHECKING:
    from .client import Client


class Stream:
    """Requests that do not wait for each other's answers. `send` and `receive` may be called by
    different threads; answers come in the order of the requests."""

    def __init__(self, client: Client) -> None:
        self._client = client
        try:
            self._call = client._channel.call(path("Stream"), None)
        except Failed as error:
            raise client._rejected(error) from None

    def send(
        self, request: str | Request | bytes, *, if_revision: int | None = None, key: str = ""
    ) -> None:
        """Does not wait: what the agent does not take yet is kept, and is sent while somebody sends
        or receives."""
        message = self._client.message(request, if_revision=if_revision, key=key)
        try:
            self._call.send(message.SerializeToString())
        except Failed as error:
            raise self._client._rejected(error) from None

    def receive(self) -> Outcome:
        """The next answer. Raises `Rejected` for a refused request: the stream goes on. One that
        was made for the build before (H0765) may be sent again, as those after it."""
        try:
            answer = self._call.receive()
        except Failed as error:
            raise self._client._rejected(error) from None
        if answer is None:
            raise refused(call_failed(self._client.address, "it ended"))
        reply = reply_of("Stream", answer)
        if reply.HasField("failed"):
            failed = reply.failed
            rejected = Rejected(diagnostics_of(failed), Code(failed.status), failed.revision)
            self._client._forgotten(rejected)
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

    def __init__(self, client: Client, emitted: pb.EmittedFilter | None = None) -> None:
        self._client = client
        request = pb.WatchRequest(pipeline=client.pipeline, emitted=emitted)
        asked = request.SerializeToString()
        try:
            self._call = client._channel.call(path("Watch"), None, asked)
            self._call.answered(client.timeout)  # the agent says that it has begun to watch
        except Failed as error:
            raise client._rejected(error) from None

    def __iter__(self) -> Iterator[pb.Event]:
        try:
            while (answer := self._call.receive()) is not None:
                yield reply_of("Watch", answer)
        except Stopped:  # by `close`, or the client's
            return
        except Failed as error:
            raise self._client._rejected(error) from None

    def close(self) -> None:
        self._call.cancel()

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
