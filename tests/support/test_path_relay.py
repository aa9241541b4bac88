"""What the relay says it does, and how exactly: printed, since what is measured through it is no
better."""

from __future__ import annotations

import select
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from statistics import mean, median, quantiles

import pytest
from lab import Lab, Namespace, until
from path_relay import Impairment, Relay

pytestmark = pytest.mark.usefixtures("kernel")
_SO_TIMESTAMPNS, _SO_RCVBUFFORCE, _UDP = 35, 33, 17
COUNT, GAP = 300, 0.002
Seen = tuple[float, int]


class Path:
    """Numbered datagrams from one end to the other, with the kernel's times of their arrival."""

    def __init__(self, one: Namespace, other: Namespace, relay: Relay) -> None:
        def made() -> socket.socket:
            return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

        self.relay = relay
        self._out, self._in = one.inside_thread(made), other.inside_thread(made)
        self._in.bind(("192.0.2.2", 9))
        self._in.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        self._in.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 16 << 20)

    def close(self) -> None:
        self._out.close()
        self._in.close()

    def send(self, fate: Impairment, size: int = 100, gap: float = GAP) -> list[Seen]:
        """`COUNT` of them, of so many bytes with their headers. Returns for each that arrived its
        delay and its number, in their order."""
        self.relay.fate = fate
        content, sent = bytes(size - 14 - 20 - 8 - 8), list[float]()
        begin, before = time.monotonic(), len(self.relay.passed)
        for number in range(COUNT):
            select.select([], [], [], max(0.0, begin + number * gap - time.monotonic()))
            sent.append(time.time())
            self._out.sendto(struct.pack("!Q", number) + content, ("192.0.2.2", 9))
        until(lambda: len(self.relay.passed) - before == COUNT, "all came to the relay")
        copies = sum(len(each.delays) for each in self.relay.passed[before:])
        found = list[Seen]()
        self._in.settimeout(5)
        while len(found) < copies:
            data, about, _, _ = self._in.recvmsg(2048, 64)
            ((_, _, value),) = about
            seconds, nanoseconds = struct.unpack("=qq", value)
            (number,) = struct.unpack_from("!Q", data)
            found.append((seconds + nanoseconds / 1e9 - sent[number], number))
        return found


@pytest.fixture
def path(lab: Lab) -> Iterator[Path]:
    one, between, other = (lab.namespace(name) for name in ("one", "between", "other"))
    lab.wire(one, "eth0", between, "near")
    lab.wire(between, "far", other, "eth0")
    one.address("eth0", "192.0.2.1/30")
    other.address("eth0", "192.0.2.2/30")
    one.neighbour("eth0", "192.0.2.2", other.mac("eth0"))
    wires = between.wire("near"), between.wire("far")
    with (
        Relay(*wires, lambda f: f[12:14] == b"\x08\x00" and f[23] == _UDP) as relay,
        closing(Path(one, other, relay)) as made,
    ):
        yield made


Say = Callable[[str], None]


@pytest.fixture
def say(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> Say:
    def shown(text: str) -> None:
        with capsys.disabled():
            request.config.get_terminal_writer().line(f"\n  relay: {text}")

    return shown


def test_delay(path: Path, say: Say) -> None:
    own = [delay for delay, _ in path.send(Impairment())]
    found = [delay for delay, _ in path.send(Impairment(delay=0.02))]
    error = [delay - 0.02 for delay in found]
    say(f"adds {median(own) * 1e6:.0f} us; 20 ms {median(error) * 1e6:+.0f} us in the median, "
        f"{quantiles(error, n=100)[98] * 1e6:+.0f} us of one in a hundred")  # fmt: skip
    assert len(found) == COUNT and min(error) > 0 and median(error) < 0.02


def test_jitter(path: Path, say: Say) -> None:
    found = path.send(Impairment(delay=0.03, jitter=0.01), gap=0.025)
    delays = [delay for delay, _ in found]
    say(f"30 ms +- 10 ms: {min(delays) * 1e3:.1f} to {max(delays) * 1e3:.1f} ms, "
        f"mean {mean(delays) * 1e3:.1f} ms")  # fmt: skip
    assert 0.02 < min(delays) < 0.025 and 0.029 < mean(delays) < 0.05
    assert sum(delay > 0.036 for delay in delays) > COUNT / 10


def test_loss_order_and_copies(path: Path, say: Say) -> None:
    fate = Impairment(delay=0.01, loss=0.1, reorder=0.2, repeat=0.1)
    numbers = [number for _, number in path.send(fate)]
    lost, twice = 1 - len({*numbers}) / COUNT, len(numbers) - len({*numbers})
    late = sum(number < max(numbers[: at + 1]) for at, number in enumerate(numbers))
    say(f"loss 10 %: {lost:.1%}; {twice} twice; {late} behind later ones")
    assert 0.05 < lost < 0.15 and 10 < twice < 50 and late > 20
    assert fate.chance.random() != Impairment().chance.random()
    again = [number for _, number in path.send(Impairment(delay=0.01, loss=0.1))]
    assert again == sorted(again)


def test_rate(path: Path, say: Say) -> None:
    """A queue that grows: each waits for those before it."""
    found = path.send(Impairment(rate=1e6), size=1000, gap=0.0)
    bits = 8 * 1000 * (COUNT - 1) / (found[-1][0] - found[0][0])
    say(f"1 Mbit/s: {bits / 1e6:.4f} Mbit/s")
    assert 0.9e6 < bits < 1.1e6
