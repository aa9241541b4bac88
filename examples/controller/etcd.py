"""The desired state in etcd: read once, then watched, and resumed after a break.

    PREFIX/edges/NAME                  where the edge's agent is, if it did not announce itself
    PREFIX/edges/NAME/PIPELINE         its rules in request text, or none
    PREFIX/edges/NAME/PIPELINE/ANY     more of them: a key for each rule, say
    PREFIX/announced/NAME              what the edge has announced, in JSON: the controller where it
                                       enrolled writes that down for all

What one etcd transaction changes is seen at once and becomes one request.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import grpc
from helioc.runtime.base.identity import read_identity

from . import etcd_pb2 as pb
from .desired_state import DesiredState, Edge, Piece, Rules

PREFIX = "/helio"
PAUSE, PAGE = 0.5, 1000
_OPTIONS = (
    ("grpc.max_receive_message_length", 64 << 20),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2_000),
)
#: Seconds until a server that says nothing is asked whether it is there (etcd allows no less), and
#: until it is given up.
SILENCE, GRACE = 5.0, 2.0
_log = logging.getLogger("controller.etcd")


class Etcd:
    """Reports the desired state, at first and after each change, and publishes what edges announce.
    `start` it, `stop` it."""

    def __init__(
        self, address: str, report: Callable[[DesiredState], None], prefix: str = PREFIX,
        identity: Path | None = None, timeout: float = 5.0,
        announced: Callable[[], Mapping[str, Any]] = dict, silence: float = SILENCE,
    ) -> None:  # fmt: skip
        """`identity`: for TLS, as `helioctl` takes it. `announced`: what edges said here."""
        self.address, self.report, self.timeout = address, report, timeout
        self.prefix, self.announced = f"{prefix}/".encode(), announced
        self._end = self.prefix[:-1] + bytes([self.prefix[-1] + 1])  # behind all that begin so
        self._channel = _channel(address, identity, silence)
        self._range = self._channel.unary_unary(
            "/etcdserverpb.KV/Range", pb.RangeRequest.SerializeToString,
            pb.RangeResponse.FromString,
        )  # fmt: skip
        self._put = self._channel.unary_unary(
            "/etcdserverpb.KV/Put", pb.PutRequest.SerializeToString, pb.PutResponse.FromString
        )
        self._watch = self._channel.stream_stream(
            "/etcdserverpb.Watch/Watch", pb.WatchRequest.SerializeToString,
            pb.WatchResponse.FromString,
        )  # fmt: skip
        self._pairs: dict[bytes, bytes] = {}
        self._revision = 0  # what `_pairs` are of; 0: not read yet
        self._stopping, self._call = threading.Event(), None
        self._thread = threading.Thread(target=self._run, name="etcd", daemon=True)
        self.error = ""  # why etcd does not answer

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._channel.close()  # ends its calls
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                if not self._revision:
                    self._read()
                self._publish()
                self._follow()
            except grpc.RpcError as error:
                self._lost(error)
            except ValueError:  # the channel is closed
                return

    def _lost(self, error: Any) -> None:
        if self._stopping.is_set():
            return
        if not self.error:
            _log.error("etcd at %s does not answer: %s", self.address, error.details())
        self.error = error.details() or error.code().name
        self._stopping.wait(PAUSE)

    def _heard(self) -> None:
        if self.error:
            _log.info("etcd at %s answers again", self.address)
        self.error = ""

    def _read(self) -> None:
        """Everything, of one revision."""
        pairs, first, revision = dict[bytes, bytes](), self.prefix, 0
        while True:
            asked = pb.RangeRequest(key=first, range_end=self._end, limit=PAGE, revision=revision)
            found = self._range(asked, timeout=self.timeout)
            pairs |= {kv.key: kv.value for kv in found.kvs}
            revision = revision or found.header.revision
            if not found.more:
                break
            first = found.kvs[-1].key + b"\0"
        self._pairs, self._revision = pairs, revision
        self._heard()
        self.report(self._desired_state())

    def publish(self) -> None:
        """Write new announcements of edges to etcd; if it does not answer now, when it answers
        again."""
        try:
            self._publish()
        except (grpc.RpcError, ValueError) as error:  # ValueError: the channel is closed
            _log.warning("what an edge has announced waits for etcd: %s", error)

    def _publish(self) -> None:
        for name, said in self.announced().items():
            key, value = self.prefix + f"announced/{name}".encode(), json.dumps(said).encode()
            if self._revision and self._pairs.get(key) != value:
                self._put(pb.PutRequest(key=key, value=value), timeout=self.timeout)

    def _follow(self) -> None:
        """What changes from the known revision on, until the watch breaks."""
        done = threading.Event()
        call = self._watch(self._asking(done))
        try:
            for response in call:
                past = response.header.revision < self._revision  # restored, or another etcd
                if response.canceled or past:
                    _log.warning("etcd: %s", response.cancel_reason or "its revision went back")
                    self._revision = 0  # compacted: read everything
                    return
                self._heard()
                for event in response.events:
                    self._revision = max(self._revision, event.kv.mod_revision)
                    if event.type == pb.Event.DELETE:
                        self._pairs.pop(event.kv.key, None)
                    else:
                        self._pairs[event.kv.key] = event.kv.value
                if response.events:
                    self.report(self._desired_state())
        finally:
            done.set()
            call.cancel()

    def _asking(self, done: threading.Event) -> Iterator[pb.WatchRequest]:
        create = pb.WatchCreateRequest(
            key=self.prefix, range_end=self._end, start_revision=self._revision + 1
        )
        yield pb.WatchRequest(create_request=create)
        done.wait()

    def _desired_state(self) -> DesiredState:
        return desired_state_of(self._pairs, self.prefix)


def desired_state_of(pairs: Mapping[bytes, bytes], prefix: bytes) -> DesiredState:
    """Keys and values as a desired state."""
    addresses, announced = dict[str, str](), dict[str, str]()
    pieces: dict[str, dict[str, list[Piece]]] = {}
    for key, value in sorted(pairs.items()):
        origin, text = key.decode("utf-8", "replace"), value.decode("utf-8", "replace")
        what, _, rest = origin[len(prefix) :].partition("/")
        name, *below = rest.split("/", 2)
        if what == "announced":
            announced[name] = _address(text)
        elif what == "edges" and below:
            edge = pieces.setdefault(name, {})
            edge.setdefault(below[0], []).append(Piece(origin, text))
        elif what == "edges":
            addresses[name] = text.strip()
    return {
        name: Edge(
            addresses.get(name) or announced.get(name, ""),
            {pipeline: Rules(tuple(of)) for pipeline, of in pipelines.items()},
        )
        for name, pipelines in pieces.items()
    }


def _address(announced: str) -> str:
    try:
        return str(json.loads(announced)["address"])
    except (ValueError, KeyError, TypeError):
        return ""


def _channel(address: str, identity: Path | None, silence: float) -> grpc.Channel:
    options = (
        *_OPTIONS,
        ("grpc.keepalive_time_ms", int(silence * 1000)),
        # gRPC's core uses the second of these, other than its manual says.
        ("grpc.keepalive_timeout_ms", int(GRACE * 1000)),
        ("grpc.http2.ping_timeout_ms", int(GRACE * 1000)),
    )
    if identity is None:
        return grpc.insecure_channel(address, options)
    found = read_identity(identity)
    credentials = grpc.ssl_channel_credentials(found.authority, found.key, found.certificate)
    return grpc.secure_channel(address, credentials, options)
