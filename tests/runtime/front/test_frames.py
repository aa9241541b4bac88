"""What a client's frames cost it."""

from __future__ import annotations

import pytest
from helioc.runtime.base.source_limits import Bucket
from helioc.runtime.front.frames import LARGEST, LONGEST, Excessive, Gate
from http2 import (
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PREFACE,
    RST_STREAM,
    SETTINGS,
    headers,
    message,
    plain,
    raw,
)

CALL = raw(HEADERS, END_HEADERS, 1, plain(headers("/a/b"))) + raw(
    DATA, END_STREAM, 1, message(bytes(100))
)
RESET = raw(HEADERS, END_HEADERS, 1, b"\x82") + raw(RST_STREAM, 0, 1, bytes(4))


def bucket(tokens: float) -> Bucket:
    return Bucket(tokens, 100.0, tokens, 0.0)


def test_what_an_honest_client_sends_waits_for_nothing() -> None:
    gate = Gate(bucket(500.0))
    data = PREFACE + raw(SETTINGS, 0, 0) + CALL * 200
    assert gate.admit(data, 0.0) == (len(data), 0.0)
    stream = raw(DATA, 0, 1, message(bytes(100))) * 1000
    assert gate.admit(stream, 0.0) == (len(stream), 0.0)


def test_streams_that_are_reset_wait() -> None:
    shared = Bucket(50.0, 1000.0, 50.0, 0.0)
    gate, left, passed, now = Gate(shared), PREFACE + RESET * 100, 0, 0.0
    while True:
        count, pause = gate.admit(left, now)
        passed, left, now = passed + count, left[count:], now + pause
        if not pause:
            break
        assert (passed - len(PREFACE)) % len(RESET) in (0, len(RESET) - 13), "whole frames"
    assert not left
    assert 4.0 < now < 4.2  # 4,100 tokens, of which 50 were there


def test_frames_do_not_wait_for_ever() -> None:
    """Their client may be gone meanwhile: its connection is not read."""
    gate, left, now = Gate(bucket(50.0)), PREFACE + RESET * 100, 0.0
    with pytest.raises(Excessive):
        while left:
            count, pause = gate.admit(left, now)
            left, now = left[count:], now + pause
    assert LONGEST < now < LONGEST + 1


@pytest.mark.parametrize("size", [1, 2, 7, 8, 9, 10, 33, 200])
def test_frames_in_pieces_cost_the_same(size: int) -> None:
    whole, parts = bucket(500.0), bucket(500.0)
    data = PREFACE + (CALL + RESET) * 10
    assert Gate(whole).admit(data, 0.0) == (len(data), 0.0)
    gate, left, passed = Gate(parts), b"", 0
    for at in range(0, len(data), size):
        left += data[at : at + size]
        count, pause = gate.admit(left, 0.0)
        assert not pause and len(left) - count < 9, "what waits is less than a frame's head"
        left, passed = left[count:], passed + count
    assert passed == len(data)
    assert parts.tokens == pytest.approx(whole.tokens)


def test_connections_share_what_their_source_has() -> None:
    shared = bucket(100.0)
    first, second = Gate(shared), Gate(shared)
    assert first.admit(PREFACE + RESET * 10, 0.0)[1] > 0
    count, pause = second.admit(PREFACE + CALL, 0.0)
    assert count == len(PREFACE) and 0 < pause < 0.3


@pytest.mark.parametrize("size", [1000, 16384])
def test_a_header_block_has_an_end(size: int) -> None:
    gate = Gate(bucket(1e6))
    begun = PREFACE + raw(HEADERS, 0, 1, bytes(size))
    assert gate.admit(begun, 0.0) == (len(begun), 0.0)
    part = raw(CONTINUATION, 0, 1, bytes(size))
    with pytest.raises(Excessive):
        for _ in range(LARGEST // size + 1):
            gate.admit(part, 0.0)


def test_header_blocks_that_end_are_looked_at_one_by_one() -> None:
    gate = Gate(bucket(1e6))
    for _ in range(10):
        data = raw(HEADERS, 0, 1, bytes(16384)) + raw(CONTINUATION, END_HEADERS, 1, bytes(9000))
        gate.admit(data, 0.0)


def test_blocks_cost_by_their_size() -> None:
    """A byte may name a header of 4 KiB."""
    gate, small = Gate(bucket(100.0)), Gate(bucket(100.0))
    data = raw(HEADERS, END_HEADERS, 1, b"\xbe" * 12000)
    assert gate.admit(PREFACE + data * 10, 0.0)[0] <= len(PREFACE) + 3 * len(data)
    data = raw(HEADERS, END_HEADERS, 1, b"\xbe" * 12)
    assert small.admit(PREFACE + data * 10, 0.0)[0] == len(PREFACE) + 10 * len(data)
