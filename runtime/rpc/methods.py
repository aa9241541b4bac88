"""The service's methods, read from control.proto, as gRPC wants them in servers and clients."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import grpc
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message_factory import GetMessageClass

from . import control_pb2 as pb

SERVICES = tuple(pb.DESCRIPTOR.services_by_name.values())
#: No two services have a method of one name.
METHODS: Mapping[str, MethodDescriptor] = {
    name: method for service in SERVICES for name, method in service.methods_by_name.items()
}

_KINDS = {
    (False, False): "unary_unary", (False, True): "unary_stream",
    (True, False): "stream_unary", (True, True): "stream_stream",
}  # fmt: skip


_LARGEST = 16 << 20
#: Octets of a message and of metadata, in clients and servers.
SIZES = (
    ("grpc.max_receive_message_length", _LARGEST),
    ("grpc.max_send_message_length", _LARGEST),
    ("grpc.max_metadata_size", 32 << 10),
    ("grpc.absolute_max_metadata_size", 64 << 10),
)


def path(name: str) -> str:
    """`/helio.control.v1.Control/Apply`"""
    return f"/{METHODS[name].containing_service.full_name}/{name}"


def handlers(
    service: object, guard: Callable[[MethodDescriptor, Callable[..., Any]], Callable[..., Any]],
    of: Iterable[ServiceDescriptor] = SERVICES,
) -> list[grpc.GenericRpcHandler]:  # fmt: skip
    """The methods that `service` has, each within `guard(described, method)`. What a method gives
    back is a message or its octets.

    To gRPC's server all of them take a stream of requests, which on the wire is the same: for a
    single one it would wait by itself, in a thread, for ever, and before anybody asks who calls."""
    return [_handler(described, service, guard) for described in of]


def _handler(
    of: ServiceDescriptor, service: object,
    guard: Callable[[MethodDescriptor, Callable[..., Any]], Callable[..., Any]],
) -> grpc.GenericRpcHandler:  # fmt: skip
    made: dict[str, grpc.RpcMethodHandler[Any, Any]] = {}
    for name, described in of.methods_by_name.items():
        method = getattr(service, name, None)
        if method is None:
            continue
        make = getattr(grpc, f"{_KINDS[True, described.server_streaming]}_rpc_method_handler")
        made[name] = make(
            guard(described, method),
            # by none: what cannot be parsed would end in gRPC's log, and its stream never
            request_deserializer=None,
            response_serializer=_octets,
        )
    return grpc.method_handlers_generic_handler(of.full_name, made)


def calls(channel: grpc.Channel) -> dict[str, Callable[..., Any]]:
    """What calls each method over a channel."""
    return {
        name: getattr(channel, _KINDS[described.client_streaming, described.server_streaming])(
            path(name),
            request_serializer=_octets,
            response_deserializer=GetMessageClass(described.output_type).FromString,
        )
        for name, described in METHODS.items()
    }


def _octets(message: Any) -> bytes:
    octets: bytes = message if type(message) is bytes else message.SerializeToString()
    return octets
