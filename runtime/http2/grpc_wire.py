"""gRPC in HTTP/2: messages in bytes, and header fields with status and deadline of a call.

Source: doc/PROTOCOL-HTTP2.md of gRPC.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from urllib.parse import quote_from_bytes, unquote_to_bytes

from .codes import Code
from .session import Fields

#: In front of each message: whether it is compressed, and its length.
PREFIX = 5
#: In front of answers, and of what gRPC does not understand.
ANSWER: Fields = (
    (b":status", b"200"), (b"content-type", b"application/grpc"),
    (b"grpc-accept-encoding", b"identity"),
)  # fmt: skip
#: Behind them, where a call succeeded.
DONE: Fields = ((b"grpc-status", b"0"),)
NO_GRPC: Fields = ((b":status", b"415"), (b"content-type", b"text/plain"))
_TIMEOUT = re.compile(rb"(\d{1,8})([HMSmun])")
_SECONDS = {b"H": 3600.0, b"M": 60.0, b"S": 1.0, b"m": 1e-3, b"u": 1e-6, b"n": 1e-9}
#: Bytes of the fields that end a call: libnghttp2 sends 64 KiB, our clients take 32. Where there
#: are more, characters of what is said.
_MOST, _SAYS = 16 << 10, 200
#: Characters of a status message that stand for themselves.
_PLAIN = "".join(chr(each) for each in range(0x20, 0x7F) if each != ord("%"))


class TooLong(Exception):
    """A message."""

    def __init__(self, length: int, most: int) -> None:
        super().__init__(f"a message of {length} bytes; {most} are the most")


class Compressed(Exception):
    """A message that is."""


class Messages:
    """The messages in a stream's bytes."""

    def __init__(self, longest: int) -> None:
        """`longest`: bytes that one may have."""
        self._longest, self._data = longest, bytearray()

    def feed(self, data: bytes | bytearray) -> list[bytes]:
        """Those that are whole now. Raises `TooLong`, `Compressed`."""
        found: list[bytes] = []
        at, held = 0, self._data
        if held:
            held += data
            data = held
        while (begin := at + PREFIX) <= len(data):
            length = int.from_bytes(data[at + 1 : begin], "big")
            if data[at]:
                raise Compressed
            if length > self._longest:
                raise TooLong(length, self._longest)
            if begin + length > len(data):
                break
            at = begin + length
            found.append(bytes(data[begin:at]))
        if data is held:
            del held[:at]
        else:
            held += data[at:]
        return found

    def clear(self) -> None:
        self._data.clear()

    def __len__(self) -> int:
        """Bytes of one that has not come whole."""
        return len(self._data)


def framed(message: bytes) -> bytes:
    return b"\0" + len(message).to_bytes(4, "big") + message


def status_fields(code: int, says: str, trailer: Iterable[tuple[str, bytes]] = ()) -> Fields:
    """`trailer`: metadata; names that end in `-bin` have any bytes. What nobody would take is left
    out: it, and most of a long `says`."""
    made = _status_fields(code, says, trailer)
    if sum(len(name) + len(value) for name, value in made) > _MOST:
        made = _status_fields(code, says[:_SAYS], ())
    return made


def _status_fields(code: int, says: str, trailer: Iterable[tuple[str, bytes]]) -> Fields:
    made = [(b"grpc-status", b"%d" % code)]
    if says:
        quoted = quote_from_bytes(says.encode(errors="replace"), safe=_PLAIN)
        made.append((b"grpc-message", quoted.encode()))
    for name, value in trailer:
        said = b64encode(value).rstrip(b"=") if name.endswith("-bin") else value
        made.append((name.encode(), said))
    return tuple(made)


def status_of(fields: Mapping[bytes, bytes]) -> tuple[Code, str] | None:
    """What a trailer says; None where it says nothing."""
    number = fields.get(b"grpc-status")
    if number is None:
        return None
    says = unquote_to_bytes(fields.get(b"grpc-message", b"")).decode(errors="replace")
    try:
        return Code(int(number)), says
    except ValueError:
        return Code.UNKNOWN, says


def bytes_of(fields: Mapping[bytes, bytes], name: bytes) -> bytes:
    """Of metadata whose name ends in `-bin`; of none, and of what is none, no bytes."""
    said = fields.get(name, b"").partition(b",")[0]
    try:
        return b64decode(said + b"=" * (-len(said) % 4), validate=True)
    except ValueError:
        return b""


def timeout_of(seconds: float) -> bytes:
    """A `grpc-timeout`."""
    micro = max(0, int(seconds * 1e6))
    return b"%du" % micro if micro < 10**8 else b"%dS" % min(micro // 10**6, 10**8 - 1)


def seconds_of(timeout: bytes) -> float | None:
    """Of a `grpc-timeout`; None where it is none."""
    found = _TIMEOUT.fullmatch(timeout)
    return int(found[1]) * _SECONDS[found[2]] if found is not None else None
