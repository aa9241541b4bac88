"""Decodes messages from clients. Raises `Refused` where they are none, or names are too long."""

from __future__ import annotations

from functools import cache
from typing import Any

from google.protobuf.descriptor import Descriptor
from google.protobuf.message import DecodeError, Message

from ...lang.text.diagnostics import Diagnostic
from ..base import agent_errors as faults
from ..base.errors import refused
from . import control_pb2 as pb
from .methods import REQUEST, REQUESTS
from .recorded import Call

#: Bytes of a name, key or digest; of what diagnostics are to call a text, often a path; and texts.
_NAME, _CALLED = 256, 4096
_CALLS = ("config_name", "mapping_name", "ApplyIntentRequest.name")
_CONTENTS = ("text", "config", "mapping")


def parsed(name: str, kind: type[Message], request: bytes, call: Call) -> Message:
    """Raises `Refused`."""
    if name in REQUESTS and len(request) > REQUEST:
        call.asked(kind(), len(request))
        title = f"the request has more than {REQUEST >> 20} MiB"
        raise refused(faults.too_much(title, "split it, or send packed columns (BulkApply)"))
    try:
        message = kind.FromString(request)
    except DecodeError:
        title = f"what was sent for {name} is no {kind.DESCRIPTOR.full_name}"
        raise refused(faults.bad_message(title, "is it made from this control.proto?")) from None
    call.asked(message, len(request))
    if len(request) > _NAME:  # else nothing in it is longer
        _need_short(message.begin if isinstance(message, pb.BulkPart) else message)
    return message


def _need_short(message: Message) -> None:
    """Raises `Refused` where a name is too long."""
    for name, most in _names(message.DESCRIPTOR):
        if (size := len(getattr(message, name).encode())) > most:
            title = f"`{name}` has {size:,} bytes"
            raise refused(faults.bad_message(title, f"at most {most:,} bytes of UTF-8"))


@cache
def _names(described: Descriptor) -> list[tuple[str, int]]:
    """A message's fields that name something, and the bytes that each may have."""
    texts = [f.name for f in described.fields if f.type == f.TYPE_STRING and not f.is_repeated]
    named = [each for each in texts if each not in _CONTENTS]
    return [
        (each, _CALLED if {each, f"{described.name}.{each}"} & {*_CALLS} else _NAME)
        for each in named
    ]


def no_request() -> Diagnostic:
    return faults.bad_message("the call ended without a request", "send one message")


def bytes_of(message: Any) -> bytes:
    made: bytes = message if type(message) is bytes else message.SerializeToString()
    return made
