"""How long an answer to a probe took, whatever becomes of the wall clock meanwhile."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import closing
from types import SimpleNamespace

import pytest
from helioc.runtime.liveness import echo
from helioc.runtime.liveness.echo import Echoes, Path

SECOND, DAY = 1_000_000_000, 86_400_000_000_000
PATH = Path(1, bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2]), None, bytes(4), bytes(4))
#: Of a probe: IPv4 and GRE around the packet that its peer answers.
AROUND = 24


class Clocks:
    def __init__(self) -> None:
        self.wall, self.machine = 1_700_000_000 * SECOND, 5 * SECOND

    def time_ns(self) -> int:
        return self.wall

    def monotonic_ns(self) -> int:
        return self.machine

    def pass_(self, nanoseconds: int) -> None:
        self.wall += nanoseconds
        self.machine += nanoseconds


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    made = Clocks()
    monkeypatch.setattr(echo, "time", made)
    return made


@pytest.fixture
def echoes(kernel: None) -> Iterator[Echoes]:
    with closing(Echoes()) as made:
        yield made


def sent(echoes: Echoes, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """A probe, as its peer sees it and sends it back."""
    out = list[bytes]()
    with closing(echoes._out):
        fake = SimpleNamespace(sendmsg=lambda parts, *_: out.extend(parts), close=lambda: None)
        monkeypatch.setattr(echoes, "_out", fake)
    echoes.send(PATH, 3, 7)
    return out[0][AROUND:]


@pytest.mark.parametrize("jump", [0, DAY, -DAY])
def test_a_clock_that_is_set_changes_no_delay(
    echoes: Echoes, clocks: Clocks, monkeypatch: pytest.MonkeyPatch, jump: int
) -> None:
    data = sent(echoes, monkeypatch)
    clocks.pass_(SECOND // 10)
    clocks.wall += jump
    came = struct.pack("=qq", *divmod(clocks.wall, SECOND))
    clocks.pass_(SECOND // 5)  # nobody has read it yet
    stamp = (socket.SOL_SOCKET, echo._SO_TIMESTAMPNS, came)
    answer = echoes._read(data, [stamp])
    assert answer == echo.Answer(3, 7, 0.1)


@pytest.mark.parametrize(("jump", "least"), [(DAY, 0.3), (-DAY, 0.3)])
def test_one_that_is_set_before_an_answer_is_read_makes_it_no_longer(
    echoes: Echoes, clocks: Clocks, monkeypatch: pytest.MonkeyPatch, jump: int, least: float
) -> None:
    data = sent(echoes, monkeypatch)
    clocks.pass_(SECOND // 10)
    came = struct.pack("=qq", *divmod(clocks.wall, SECOND))
    clocks.wall += jump
    clocks.pass_(SECOND // 5)
    answer = echoes._read(data, [(socket.SOL_SOCKET, echo._SO_TIMESTAMPNS, came)])
    assert answer is not None and answer.delay == least


@pytest.mark.parametrize("part", range(28))
def test_who_sees_a_probe_answers_no_other(
    echoes: Echoes, monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    """Neither that of another overlay, nor the next one of its own, nor this one earlier."""
    data = bytearray(sent(echoes, monkeypatch))
    assert echoes._read(bytes(data), []) is not None
    data[len(data) - 28 + part] ^= 1
    assert echoes._read(bytes(data), []) is None


def test_a_flood_has_an_end(echoes: Echoes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Probes are sent and judged meanwhile, also where answers come faster than they are read."""
    other: tuple[bytes, list[object], int, None] = bytes(60), [], 0, None
    with closing(echoes._in):
        fake = SimpleNamespace(recvmsg=lambda *_: other, close=lambda: None)
        monkeypatch.setattr(echoes, "_in", fake)
    assert not list(echoes.answers())
