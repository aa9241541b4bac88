"""HTTP/2 connections (RFC 9113) of a client that may break every rule.

hpack and hyperframe make what is well-formed; `raw` makes the rest.
"""

from __future__ import annotations

import select
import socket
import ssl
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from hpack import Decoder, Encoder
from hyperframe.frame import ContinuationFrame, DataFrame, Frame, HeadersFrame, SettingsFrame

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#: Frame types (RFC 9113 section 6).
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = (
    range(10)
)
END_STREAM, ACK, END_HEADERS, PADDED = 1, 1, 4, 8
REFUSED_STREAM, CANCEL = 7, 8
_PATIENCE = 10.0


class Closed(Exception):
    """The other end has had enough."""


def raw(kind: int, flags: int, stream: int, content: bytes = b"", length: int = -1) -> bytes:
    """A frame, whatever it is; `length`: what it says of itself, if not the truth."""
    said = len(content) if length < 0 else length
    return said.to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + content


def message(content: bytes, compressed: int = 0, length: int = -1) -> bytes:
    """A message as gRPC writes it in DATA frames."""
    said = len(content) if length < 0 else length
    return bytes((compressed,)) + said.to_bytes(4, "big") + content


def headers(path: str, **others: str) -> list[tuple[str, str]]:
    """Those of a call; `others` by their names, `_` for `-`, and `__` in front for `:`."""
    made = {":method": "POST", ":scheme": "http", ":path": path, ":authority": "agent",
            "te": "trailers", "content-type": "application/grpc"}  # fmt: skip
    made.update((n.replace("__", ":").replace("_", "-"), v) for n, v in others.items())
    return list(made.items())


def plain(fields: Iterable[tuple[str, str]]) -> bytes:
    """A header block that is the same on any connection: nothing of it is indexed."""
    return b"".join(
        b"\x00" + bytes((len(n),)) + n.encode() + bytes((len(v),)) + v.encode() for n, v in fields
    )


@dataclass(frozen=True)
class Target:
    """Where the agent listens: `unix`, or `host` and `port`, by TLS with `identity` (empty: without
    a certificate of ours) where it `secure`s. `source`: the address to come from."""

    unix: str = ""
    host: str = "127.0.0.1"
    port: int = 0
    secure: bool = False
    identity: str = ""
    source: str = ""

    def reach(self) -> socket.socket:
        """A connection without TLS."""
        made = socket.socket(socket.AF_UNIX if self.unix else socket.AF_INET)
        made.settimeout(_PATIENCE)
        try:
            if self.source and not self.unix:
                made.bind((self.source, 0))
            made.connect(self.unix or (self.host, self.port))
            if not self.unix:
                made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            made.close()
            raise Closed from error
        return made

    def connect(self) -> socket.socket:
        made = self.reach()
        if not self.secure:
            return made
        try:
            return self.context().wrap_socket(made)
        except OSError as error:
            made.close()
            raise Closed from error

    def context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_alpn_protocols(["h2"])
        if self.identity:
            context.load_cert_chain(f"{self.identity}.pem", f"{self.identity}.key")
        return context


@dataclass
class Answer:
    """What a stream came to: `fields` of its headers and trailers, `content` of its DATA."""

    fields: dict[str, str] = field(default_factory=dict)
    content: bytes = b""
    ended: bool = False
    reset: int | None = None

    @property
    def status(self) -> int | None:
        """gRPC's."""
        said = self.fields.get("grpc-status")
        return None if said is None else int(said)


class Peer:
    """A connection. Close it."""

    def __init__(self, target: Target, settings: Mapping[int, int] | None = None) -> None:
        """Sends preface and settings. Raises `Closed`."""
        self.socket = target.connect()
        self.encoder, self._decoder = Encoder(), Decoder()
        self.answers: dict[int, Answer] = {}
        self.gone = False
        self._next, self._received, self._block = 1, b"", b""
        self.send(PREFACE + SettingsFrame(0, settings=dict(settings or {})).serialize())

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def stream(self) -> int:
        """The number of another stream."""
        self._next += 2
        return self._next - 2

    def send(self, chunk: bytes) -> None:
        """Raises `Closed`, also where the other end does not read."""
        try:
            self.socket.sendall(chunk)
        except OSError as error:
            raise Closed from error

    def call(self, fields: Iterable[tuple[str, str]], body: bytes | None) -> int:
        """Begin a call; with a body it is also ended. Returns its stream."""
        stream = self.stream()
        begun = HeadersFrame(stream, self.encoder.encode(fields))
        begun.flags.add("END_HEADERS")
        chunk: bytes = begun.serialize()
        if body is not None:
            for at in range(0, max(1, len(body)), 16384):
                part = DataFrame(stream, body[at : at + 16384])
                if at + 16384 >= len(body):
                    part.flags.add("END_STREAM")
                chunk += part.serialize()
        self.send(chunk)
        return stream

    def drop(self) -> None:
        """Read what has come, and forget it."""
        try:
            while self._ready(0.0):
                if not self.socket.recv(1 << 16):
                    raise Closed
        except OSError as error:
            raise Closed from error

    def _ready(self, seconds: float) -> bool:
        if isinstance(self.socket, ssl.SSLSocket) and self.socket.pending():
            return True
        return bool(select.select([self.socket], [], [], seconds)[0])

    def frames(self, seconds: float) -> Iterator[Frame]:
        """What comes, until nothing does for so long. Raises `Closed` at the end."""
        while True:
            while len(self._received) >= 9:
                found, length = Frame.parse_frame_header(memoryview(self._received[:9]))
                if len(self._received) < 9 + length:
                    break
                found.parse_body(memoryview(self._received[9 : 9 + length]))
                self._received = self._received[9 + length :]
                yield found
            if not self._ready(seconds):
                return
            try:
                chunk = self.socket.recv(1 << 16)
            except OSError as error:
                raise Closed from error
            if not chunk:
                raise Closed
            self._received += chunk

    def wait(self, stream: int, seconds: float = _PATIENCE) -> Answer:
        """What a call came to, or how far it came in that time. Raises `Closed`."""
        mine, deadline = self.answers.setdefault(stream, Answer()), time.monotonic() + seconds
        while not mine.ended and (left := deadline - time.monotonic()) > 0:
            for each in self.frames(left):
                self._take(each)
                if mine.ended:
                    break
        return self.answers.pop(stream)

    def listen(self, seconds: float) -> None:
        """Answer what wants an answer, for so long. Raises `Closed`."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            for each in self.frames(left):
                self._take(each)

    def _take(self, found: Frame) -> None:
        if found.type == SETTINGS and "ACK" not in found.flags:
            self.send(raw(SETTINGS, ACK, 0))
        elif found.type == PING and "ACK" not in found.flags:
            self.send(raw(PING, ACK, 0, found.opaque_data))
        elif found.type == GOAWAY:
            self.gone = True
        elif found.stream_id:
            self._take_part(found, self.answers.setdefault(found.stream_id, Answer()))

    def _take_part(self, found: Frame, answer: Answer) -> None:
        if isinstance(found, HeadersFrame | ContinuationFrame):
            self._block += found.data
            if "END_HEADERS" in found.flags:
                block, self._block = self._block, b""
                for name, value in self._decoder.decode(block):
                    answer.fields[str(name)] = str(value)
        elif isinstance(found, DataFrame):
            answer.content += found.data
            if found.flow_controlled_length:
                more = found.flow_controlled_length.to_bytes(4, "big")
                self.send(
                    raw(WINDOW_UPDATE, 0, 0, more) + raw(WINDOW_UPDATE, 0, found.stream_id, more)
                )
        elif found.type == RST_STREAM:
            answer.reset, answer.ended = found.error_code, True
        answer.ended = answer.ended or "END_STREAM" in found.flags
