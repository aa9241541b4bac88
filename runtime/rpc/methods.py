"""The service's methods, read from control.proto, and how clients call them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message_factory import GetMessageClass

from . import control_pb2 as pb

if TYPE_CHECKING:
    import grpc

SERVICES = tuple(pb.DESCRIPTOR.services_by_name.values())
#: No two services have a method of one name.
METHODS: Mapping[str, MethodDescriptor] = {
    name: method for service in SERVICES for name, method in service.methods_by_name.items()
}

_KINDS = {
    (False, False): "unary_unary", (False, True): "unary_stream",
    (True, False): "stream_unary", (True, True): "stream_stream",
}  # fmt: skip


#: Bytes of a message.
LONGEST = 16 << 20
#: What gRPC is told of sizes, of metadata too, in clients.
SIZES = (
    ("grpc.max_receive_message_length", LONGEST),
    ("grpc.max_send_message_length", LONGEST),
    ("grpc.max_metadata_size", 32 << 10),
    ("grpc.absolute_max_metadata_size", 64 << 10),
)


def path(name: str) -> str:
    return path_of(METHODS[name])


def path_of(described: MethodDescriptor) -> str:
    """`/helio.control.v1.Control/Apply`"""
    return f"/{described.containing_service.full_name}/{described.name}"


def calls(channel: grpc.Channel) -> dict[str, Callable[..., Any]]:
    """What calls each method over a channel."""
    return {
        name: getattr(channel, _KINDS[described.client_streaming, described.server_streaming])(
            path_of(described),
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=GetMessageClass(described.output_type).FromString,
        )
        for name, described in METHODS.items()
    }
