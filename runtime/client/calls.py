"""gRPC calls to the agent, and what they raise."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ...lang.contract.request.request import Request
from ...lang.text.diagnostics import Diagnostic, Refused
from ..base import agent_errors as errors
from ..base.errors import refused
from ..channel.channel import Channel
from ..channel.connect import Tls
from ..channel.failures import Failed, call_failed, unreachable
from ..http2 import nghttp2
from ..http2.codes import Code
from ..http2.sockets import failure
from ..rpc.failures import diagnostics_of, failure_of
from ..rpc.methods import LONGEST, path, reply_of

if TYPE_CHECKING:
    pass


class Rejected(Refused):
    """The agent said no. `status` is gRPC's; `revision` the pipeline's where that matters."""

    def __init__(self, diagnostics: Sequence[Diagnostic], status: Code, revision: int = 0) -> None:
        super().__init__(diagnostics)
        self.status, self.revision = status, revision


class Calls:
    """A connection to an agent."""

    def __init__(
        self, address: str, identity: Path | str | None, server_name: str, authority: bytes,
        timeout: float,
    ) -> None:  # fmt: skip
        """See `Client`."""
        self.address, self.timeout = address, timeout
        self._tls = _tls(identity, server_name, authority)
        self.channel = _channel(address, self._tls)

    def close(self) -> None:
        """May be called again."""
        self.channel.close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self.close()

    def _call(self, name: str, message: Any, request: Request | None = None) -> Any:
        asked = message.SerializeToString()
        try:
            answer = self.channel.ask(path(name), self.timeout, asked)
        except Failed as error:
            raise self.rejected(error, request) from None
        return reply_of(name, answer)

    def _sent(self, name: str, messages: Iterable[Any], timeout: float | None) -> Any:
        """A call with many messages and an answer."""
        try:
            with self.channel.call(path(name), timeout) as call:
                for message in messages:
                    call.send(message.SerializeToString(), wait=True)
                call.end()
                return reply_of(name, call.only())
        except Failed as error:
            raise self.rejected(error) from None

    def _parts(self, name: str, message: Any, timeout: float | None = None) -> Iterator[Any]:
        """A call with a message and many answers."""
        asked = message.SerializeToString()
        try:
            with self.channel.call(path(name), timeout, asked) as call:
                while (answer := call.receive()) is not None:
                    yield reply_of(name, answer)
        except Failed as error:
            raise self.rejected(error) from None

    def rejected(self, error: Failed, request: Request | None = None) -> Refused:
        failed = failure_of(error.details)
        if failed is not None and failed.findings:
            return Rejected(diagnostics_of(failed, request), error.code, failed.revision)
        why = error.says or error.code.name.lower()
        if error.code == Code.UNAVAILABLE:
            closed = _closed(self.address)
            found = unreachable(self.address, why, self._tls is not None, closed, error.tls)
        else:
            found = call_failed(self.address, why)
        return Rejected([found], error.code)


def _tls(identity: Path | str | None, server_name: str, authority: bytes) -> Tls | None:
    """Raises `Refused`."""
    if identity is None:
        return None
    from ..base.identity import read_identity  # no identity by a Unix socket

    found = read_identity(Path(identity))
    return Tls(authority or found.authority, found.certificate, found.key, server_name)


def _channel(address: str, tls: Tls | None) -> Channel:
    """Raises `Refused`."""
    try:
        nghttp2.library()
    except OSError:
        raise refused(errors.no_library(nghttp2.NAME, nghttp2.PACKAGE)) from None
    try:
        return Channel(address, tls, LONGEST)
    except ValueError:
        raise refused(errors.bad_address(address)) from None
    except OSError as error:
        why = failure(error)
        raise refused(unreachable(address, why, True, False, why.tls)) from None


def _closed(address: str) -> bool:
    """Whether it is a socket that this user must not open."""
    if address.startswith("unix:"):
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.setblocking(False)  # others may wait to be accepted
                probe.connect(address.removeprefix("unix:"))
            except PermissionError:
                return True
            except OSError:
                pass
    return False
