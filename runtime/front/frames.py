"""What a client's HTTP/2 frames cost the agent, by their headers alone (RFC 9113 section 4.1).

gRPC takes frames as fast as they come, and some cost the agent far more than the client: streams
that are opened and reset, header blocks that name one large header thousands of times, settings,
pings. So each source has a number of tokens a second, each frame takes some, and who has none left
waits. What calls and streams send costs next to nothing.
"""

from __future__ import annotations

from ..base.source_limits import Bucket
from .secured import Secured

_PREFACE, _HEAD = 24, 9
_DATA, _HEADERS, _PRIORITY, _RST_STREAM, _SETTINGS, _, _PING, _, _WINDOW_UPDATE, _CONTINUATION = (
    range(10)
)
_END_STREAM, _END_HEADERS = 1, 4
_COSTS = {_PRIORITY: 5.0, _RST_STREAM: 40.0, _SETTINGS: 20.0, _PING: 5.0, _WINDOW_UPDATE: 0.2,
          _HEADERS: 1.0, _CONTINUATION: 10.0}  # fmt: skip
#: Of frames that no client sends often, or at all.
_OTHERS = 20.0
#: Of DATA: with a part of a message; that ends a stream; and for nothing.
_PART, _END, _NOTHING = 0.1, 0.5, 5.0
#: Of TLS: for a record, and for a byte of records that carry nothing.
_RECORD, _WASTED = 0.05, 0.2
#: Bytes of a header block that cost as much as its frame: each may stand for 4 KiB (RFC 7541).
_BYTES = 256
#: Bytes of a header block; gRPC takes 32 KiB of headers, before they are packed.
LARGEST = 48 << 10
#: Seconds that a client without tokens waits at least: many frames are looked at together. And how
#: long its frames may wait: who is gone is not noticed before them.
PAUSE, LONGEST = 0.005, 10.0


class Excessive(Exception):
    """What the client sends is not taken: the connection has to end."""


class Gate:
    """Of one connection; its source's connections share the tokens."""

    def __init__(self, bucket: Bucket, tls: Secured | None = None) -> None:
        self._bucket, self._tls = bucket, tls
        self._ahead = _PREFACE  # bytes to the next frame
        self._block = 0  # of the header block that is not ended
        self._waiting: float | None = None  # since when some of its frames do

    def pause(self, now: float) -> float:
        """Seconds in which nothing is to be read. Raises `Excessive`."""
        bucket = self._bucket
        if bucket.tokens > 0:
            return 0.0
        bucket.fill(now)
        if bucket.tokens > 0:
            return 0.0
        if self._waiting is None:
            self._waiting = now
        elif now - self._waiting > LONGEST:
            raise Excessive("its address floods the agent with frames")
        return max(PAUSE, -bucket.tokens / bucket.rate)

    def admit(self, data: bytes, now: float) -> tuple[int, float]:
        """How many of the bytes that were read may go on, and in how many seconds to ask again for
        the rest; where nothing is said of a rest (0) more bytes are needed. Raises `Excessive`."""
        bucket, at = self._bucket, self._ahead
        if (tls := self._tls) is not None:
            bucket.tokens -= tls.records * _RECORD + tls.wasted * _WASTED
            tls.records = tls.wasted = 0
        while at + _HEAD <= len(data):
            if bucket.tokens <= 0 and (pause := self.pause(now)):
                self._ahead = 0
                return at, pause
            length, kind = int.from_bytes(data[at : at + 3], "big"), data[at + 3]
            if kind == _DATA and length:
                bucket.tokens -= _PART
            else:
                bucket.tokens -= self._cost(kind, data[at + 4], length)
            at += _HEAD + length
        self._waiting = None
        if at > len(data):
            self._ahead = at - len(data)
            return len(data), 0.0
        self._ahead = 0
        return at, 0.0

    def _cost(self, kind: int, flags: int, length: int) -> float:
        if kind == _DATA:  # without data
            return _END if flags & _END_STREAM else _NOTHING
        cost = _COSTS.get(kind, _OTHERS)
        if kind in (_HEADERS, _CONTINUATION):
            self._block += length
            if self._block > LARGEST:
                raise Excessive("its headers are too large")
            if flags & _END_HEADERS:
                self._block = 0
            cost += length / _BYTES
        return cost
