"""The service's methods, read from control.proto."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message_factory import GetMessageClass

from . import control_pb2 as pb

SERVICES = tuple(pb.DESCRIPTOR.services_by_name.values())
#: No two services have a method of one name.
METHODS: Mapping[str, MethodDescriptor] = {
    name: method for service in SERVICES for name, method in service.methods_by_name.items()
}
#: Bytes of a message to a method that takes a build, columns or a backup; of a request of IEs, and
#: of an intent; of any other message; and of one to a method that anybody may call.
LONGEST, REQUEST, SMALL, SHORT = 16 << 20, 4 << 20, 64 << 10, 4 << 10
#: Methods that take more than small messages, and those of them that take requests.
REQUESTS = ("Apply", "Stream", "ApplyIntent")
LARGE = (*REQUESTS, "BulkApply", "Load", "Upgrade", "Shadow", "Restore")
#: Calls that may last as their clients read, and how many of them the reader answers at a time.
LISTING, LISTINGS = ("List", "Entries"), 8
#: What the reader may take long for: it has a process of its own, so that what does not waits for
#: none of it.
LONG = (*LISTING, "Flush")


def path(name: str) -> str:
    return path_of(METHODS[name])


def path_of(described: MethodDescriptor) -> str:
    """`/helio.control.v1.Control/Apply`"""
    return f"/{described.containing_service.full_name}/{described.name}"


def reply_of(name: str, data: bytes) -> Any:
    """A method's answer."""
    return _reply(name).FromString(data)


@cache
def _reply(name: str) -> Any:
    return GetMessageClass(METHODS[name].output_type)
