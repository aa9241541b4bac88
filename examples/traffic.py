"""Traffic between namespaces, by sockets of this process and by ping and iperf3."""

from __future__ import annotations

import json
import re
import socket
import subprocess
from dataclasses import dataclass

from lab import PATIENCE, Background, LabError, Namespace, until

SO_RCVBUFFORCE = 33  # of asm-generic/socket.h; beyond net.core.rmem_max, for root
TOS_EF = 184  # the ToS byte of DSCP EF (RFC 3246)


def udp_socket(room: Namespace, address: str = "0.0.0.0", port: int = 0) -> socket.socket:
    """A UDP socket that stays in `room`. The caller closes it."""

    def make() -> socket.socket:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        made = socket.socket(family, socket.SOCK_DGRAM)
        try:
            made.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 16 << 20)
            made.bind((address, port))
        except OSError:
            made.close()
            raise
        return made

    return room.inside_thread(make)


def udp_round_trips(
    client: Namespace,
    server: Namespace,
    address: str,
    count: int,
    *,
    tos: int = 0,
    port: int = 7,
    seconds: float = PATIENCE,
) -> tuple[int, int]:
    """Send `count` datagrams, each answered in turn: (arrived at the server, answers). One that has
    not come after `seconds` is lost."""
    with udp_socket(client) as one, udp_socket(server, address, port) as other:
        one.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
        for number in range(count):
            one.sendto(b"%d" % number, (address, port))
        arrived = drain(other, count, seconds)
        for data, sender in arrived:
            other.sendto(data, sender)
        return len(arrived), len(drain(one, len(arrived), seconds))


def drain(
    receiver: socket.socket, count: int, seconds: float = PATIENCE
) -> list[tuple[bytes, tuple[str, int]]]:
    """Up to `count` datagrams and their senders; fewer when nothing comes for so long."""
    receiver.settimeout(seconds)
    got: list[tuple[bytes, tuple[str, int]]] = []
    try:
        while len(got) < count:
            got.append(receiver.recvfrom(65536))
    except TimeoutError:
        pass
    return got


def udp_flows(client: Namespace, address: str, flows: int, packets: int, port: int = 9) -> None:
    """Datagrams of many flows, each from a port of its own, `packets` of each."""
    for flow in range(flows):
        with udp_socket(client, port=20000 + flow) as one:
            for number in range(packets):
                one.sendto(b"%d" % number, (address, port))


def tcp_round_trip(
    client: Namespace, server: Namespace, address: str, port: int = 22, size: int = 10_000
) -> int:
    """Connect, send, and have it all sent back: the bytes that came back. Raises OSError."""

    family = socket.AF_INET6 if ":" in address else socket.AF_INET

    def listen() -> socket.socket:
        return socket.create_server((address, port), family=family)

    def connect() -> socket.socket:
        return socket.create_connection((address, port), timeout=5)

    with server.inside_thread(listen) as listening, client.inside_thread(connect) as one:
        listening.settimeout(5)
        other, _ = listening.accept()
        with other:
            return _back_and_forth(one, other, size)


def _back_and_forth(one: socket.socket, other: socket.socket, size: int) -> int:
    """Send bytes from one to other and back, in pieces that the sockets' buffers hold."""
    other.settimeout(5)
    back = 0
    while back < size:
        piece = min(size - back, 16384)
        for sender, receiver in ((one, other), (other, one)):
            sender.sendall(bytes(piece))
            got = 0
            while got < piece and (chunk := receiver.recv(piece - got)):
                got += len(chunk)
        back += got
    return back


@dataclass(frozen=True)
class Pings:
    """What ping says at its end."""

    sent: int
    received: int

    @property
    def lost(self) -> int:
        return self.sent - self.received


def read_pings(said: str) -> Pings:
    found = re.search(r"(\d+) packets transmitted, (\d+) received", said)
    return Pings(int(found[1]), int(found[2])) if found else Pings(0, 0)


def ping(room: Namespace, address: str, count: int = 3, *options: str) -> Pings:
    """Ping and wait; loss is no failure."""
    words = room.inside("ping", "-q", "-n", "-c", str(count), "-i", "0.01", "-W", "2", *options)
    done = subprocess.run((*words, address), capture_output=True, text=True, timeout=60)
    return read_pings(done.stdout)


def start_pings(room: Namespace, address: str, count: int, seconds: float) -> Background:
    """Pings at even intervals for `seconds`; `read_pings(process.wait())` has what came of them."""
    between = str(seconds / count)
    return room.start("ping", "-q", "-n", "-c", str(count), "-i", between, "-W", "5", address)


@dataclass(frozen=True)
class Bulk:
    """A TCP transfer as iperf3 measured it."""

    size: int
    bits_per_second: float
    mss: int


def tcp_bulk(
    client: Namespace, server: Namespace, address: str, seconds: float, *options: str
) -> Bulk:
    """One TCP connection from client to server; `options` are iperf3's: `-R` for the other way."""
    with_server = serve_tcp(server, address)
    said = client.run("iperf3", "-c", address, "-t", str(seconds), "-J", *options)
    with_server.stop()
    return read_bulk(said)


def serve_tcp(server: Namespace, address: str) -> Background:
    """An iperf3 server for one connection."""
    listening = server.start("iperf3", "-s", "-1", "-B", address, "--forceflush")
    listening.expect("Server listening")
    return listening


def start_bulk(client: Namespace, address: str, seconds: float, *options: str) -> Background:
    """The client of `serve_tcp`; `read_bulk(process.wait())` has what came of it."""
    return client.start("iperf3", "-c", address, "-t", str(seconds), "-J", *options)


def read_bulk(said: str) -> Bulk:
    """Raises LabError if this is no measurement."""
    try:
        found = json.loads(said)
        total = found["end"]["sum_received"]
        return Bulk(total["bytes"], total["bits_per_second"], found["start"]["tcp_mss_default"])
    except (ValueError, KeyError) as error:
        raise LabError(f"iperf3 measured nothing: {said[-300:]}") from error


def received(room: Namespace, device: str) -> int:
    """Frames that came in by a device so far."""
    said = json.loads(room.run("ip", "-json", "-statistics", "link", "show", device))
    return int(said[0]["stats64"]["rx"]["packets"])


def until_received(room: Namespace, device: str, count: int) -> int:
    """Wait until a device has received `count` frames in all."""
    what = f"{count} frames by {device}"
    return until(lambda: n if (n := received(room, device)) >= count else 0, what)
