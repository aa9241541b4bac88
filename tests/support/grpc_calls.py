"""gRPC's own client of an agent, beside ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import grpc
from helioc.runtime.client import Client
from helioc.runtime.rpc.methods import METHODS, path, reply_of

Calls = Mapping[str, Callable[..., Any]]

_KINDS = {
    (False, False): "unary_unary", (False, True): "unary_stream",
    (True, False): "stream_unary", (True, True): "stream_stream",
}  # fmt: skip


@contextmanager
def channel_beside(client: Client) -> Iterator[grpc.Channel]:
    """To the same agent, as the same caller."""
    tls, address = client._tls, client.address
    if tls is None:
        made = grpc.insecure_channel(address)
    else:
        shown = grpc.ssl_channel_credentials(tls.authority, tls.key, tls.certificate)
        named = [("grpc.ssl_target_name_override", tls.server_name)] if tls.server_name else []
        made = grpc.secure_channel(address, shown, named)
    with made as channel:
        yield channel


@contextmanager
def calls_beside(client: Client) -> Iterator[Calls]:
    """The methods by their names."""
    with channel_beside(client) as channel:
        yield {name: _call(channel, name) for name in METHODS}


def _call(channel: grpc.Channel, name: str) -> Callable[..., Any]:
    method = METHODS[name]
    make: Any = getattr(channel, _KINDS[method.client_streaming, method.server_streaming])
    made: Callable[..., Any] = make(
        path(name), lambda message: message.SerializeToString(), partial(reply_of, name)
    )
    return made
