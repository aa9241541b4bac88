"""Traffic between namespaces, by sockets of this process and by ping and iperf3."""

from __future__ import annotations

import json
import re
import socket
import subprocess
from dataclasses import dataclass

from lab import Background, Namespace, until

TOS_EF = 184  # the ToS byte of DSCP EF (RFC 3246)


def udp_socket(room: Namespace, address: str = "0.0.0.0", port: int = 0) -> socket.socket:
    """A UDP socket that stays in `room`. The caller closes it."""

    def make() -> socket.socket:
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            made.bind((address, port))
        except OSError:
            made.close()
            raise
        return made

    return room.inside_thread(make)


def udp_round_trips(
    client: Namespace, server: Namespace, address: str, count: int, *, tos: int = 0, port: int = 7
) -> tuple[int, int]:
    """Send `count` datagrams, each answered in turn: (arrived at the server, answers)."""
    with udp_socket(client) as one, udp_socket(server, address, port) as other:
        one.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
        for number in range(count):
            one.sendto(b"%d" % number, (address, port))
        arrived = _drain(other, count)
        for octets, sender in arrived:
            other.sendto(octets, sender)
        return len(arrived), len(_drain(one, len(arrived)))


def _drain(receiver: socket.socket, count: int) -> list[tuple[bytes, tuple[str, int]]]:
    """Up to `count` datagrams; fewer when nothing comes for half a second."""
    receiver.settimeout(0.5)
    got: list[tuple[bytes, tuple[str, int]]] = []
    try:
        while len(got) < count:
            got.append(receiver.recvfrom(65536))
    except TimeoutError:
        pass
    return got


def udp_flows(client: Namespace, address: str, flows: int, packets: int, port: int = 9) -> None:
    """Datagrams of many flows at once, `packets` of each, which nobody answers."""
    for _ in range(flows):
        with udp_socket(client) as one:
            for number in range(packets):
                one.sendto(b"%d" % number, (address, port))


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
    words = room.inside("ping", "-q", "-n", "-c", str(count), "-i", "0.01", "-W", "1", *options)
    done = subprocess.run((*words, address), capture_output=True, text=True, timeout=60)
    return read_pings(done.stdout)


class SteadyPing:
    """Pings every 5 ms until they are told to end: `with SteadyPing(room, address) as pings: …`"""

    def __init__(self, room: Namespace, address: str) -> None:
        self._process: Background = room.start(
            "ping", "-q", "-n", "-i", "0.005", "-W", "1", address
        )

    def end(self) -> Pings:
        """End it, as Ctrl-C does; ping then says what it counted."""
        import signal

        return read_pings(self._process.stop(signal.SIGINT))


@dataclass(frozen=True)
class Bulk:
    """A TCP transfer as iperf3 measured it."""

    octets: int
    bits_per_second: float
    mss: int


def tcp_bulk(
    client: Namespace, server: Namespace, address: str, seconds: float, *, reverse: bool = False
) -> Bulk:
    """One TCP connection at full speed from client to server, or the other way."""
    listening = server.start("iperf3", "-s", "-1", "-B", address, "--forceflush")
    listening.expect("Server listening")
    words = ["iperf3", "-c", address, "-t", str(seconds), "-J"] + ["-R"] * reverse
    said = json.loads(client.run(*words))
    listening.stop()
    total = said["end"]["sum_received"]
    return Bulk(total["bytes"], total["bits_per_second"], said["start"]["tcp_mss_default"])


def received(room: Namespace, device: str) -> int:
    """Frames that came in by a device so far."""
    said = json.loads(room.run("ip", "-json", "-statistics", "link", "show", device))
    return int(said[0]["stats64"]["rx"]["packets"])


def until_received(room: Namespace, device: str, count: int) -> int:
    """Wait until a device has received `count` frames in all."""
    what = f"{count} frames by {device}"
    return until(lambda: n if (n := received(room, device)) >= count else 0, what)
