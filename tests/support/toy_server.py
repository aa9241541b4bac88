"""A server of gRPC by gRPC's own library, and what tests of our client do with it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from helioc.runtime.base.identity import read_identity
from helioc.runtime.channel.calls import Call
from helioc.runtime.channel.channel import Channel
from helioc.runtime.channel.connect import Tls
from helioc.runtime.channel.failures import Failed

LONGEST = 1 << 20
DETAILS = b"\x00details\xff" * 40
WORKERS = "toy-server"  # what names of its threads begin with


class Toy:
    """What the server does; `begun` counts calls, `go` lets those go on that wait."""

    def __init__(self) -> None:
        self.begun, self.go, self.ended = threading.Semaphore(0), threading.Event(), list[str]()

    def handlers(self) -> grpc.GenericRpcHandler:
        made: dict[str, Any] = {
            "Echo": grpc.unary_unary_rpc_method_handler(lambda asked, _: asked),
            "Fail": grpc.unary_unary_rpc_method_handler(self.fail),
            "Wait": grpc.unary_unary_rpc_method_handler(self.wait),
            "Many": grpc.unary_stream_rpc_method_handler(self.many),
            "Sum": grpc.stream_unary_rpc_method_handler(
                lambda parts, _: b"%d" % sum(map(len, parts))
            ),
            "Each": grpc.stream_stream_rpc_method_handler(lambda parts, _: parts),
            "Stop": grpc.stream_stream_rpc_method_handler(lambda parts, _: iter([next(parts)])),
        }
        return grpc.method_handlers_generic_handler("toy", made)

    def fail(self, asked: bytes, context: Any) -> bytes:
        context.set_trailing_metadata((("grpc-status-details-bin", DETAILS),))
        context.abort(grpc.StatusCode.ABORTED, "naïve\n100 %")
        return b""

    def wait(self, asked: bytes, context: Any) -> bytes:
        context.add_callback(lambda: self.ended.append("wait"))
        self.begun.release()
        self.go.wait(20)
        return asked

    def many(self, asked: bytes, context: Any) -> Iterator[bytes]:
        context.add_callback(lambda: self.ended.append("many"))
        count, size = map(int, asked.split())
        for number in range(count):
            yield b"%d" % number * size


@contextmanager
def served(address: str, toy: Toy, certs: Path | None = None) -> Iterator[grpc.Server]:
    """At the end no thread of the server is at a call any more: what one holds of a call that was
    cancelled is a cycle, and behind the collection that looks for leaks it would stay."""
    workers = ThreadPoolExecutor(8, WORKERS)
    server = grpc.server(workers, options=(("grpc.so_reuseport", 0),))
    server.add_generic_rpc_handlers((toy.handlers(),))
    if certs is None:
        server.add_insecure_port(address)
    else:
        shown = read_identity(certs / "agent")
        server.add_secure_port(address, grpc.ssl_server_credentials(
            [(shown.key, shown.certificate)], shown.authority, require_client_auth=True
        ))  # fmt: skip
    server.start()
    try:
        yield server
    finally:
        toy.go.set()
        server.stop(None).wait()  # for the calls, not for who is at them
        workers.shutdown()


@contextmanager
def opened(address: str, tls: Tls | None = None) -> Iterator[Channel]:
    made = Channel(address, tls, LONGEST)
    try:
        yield made
    finally:
        made.close()


def failing(work: Callable[[], object]) -> Failed:
    with pytest.raises(Failed) as error:
        work()
    return error.value


def rest(call: Call) -> list[bytes]:
    return list(iter(call.receive, None))
