"""gRPC's words in HTTP/2, there and back."""

from __future__ import annotations

import pytest
from helioc.runtime.http2 import grpc_wire as wire
from helioc.runtime.http2.codes import Code
from hypothesis import example, given
from hypothesis import strategies as st


@given(st.lists(st.binary(max_size=50)), st.lists(st.integers(0, 300)))
def test_messages_are_whole_however_they_come(messages: list[bytes], cuts: list[int]) -> None:
    data = b"".join(map(wire.framed, messages))
    reader, found, at = wire.Messages(50), list[bytes](), 0
    for end in [*sorted(cuts), len(data)]:
        found += reader.feed(data[at:end])
        at = max(at, end)
    assert found == messages and len(reader) == 0


def test_messages_are_bounded() -> None:
    with pytest.raises(wire.TooLong, match="a message of 11 bytes; 10 are the most"):
        wire.Messages(10).feed(wire.framed(bytes(11))[:5])
    with pytest.raises(wire.Compressed):
        wire.Messages(10).feed(b"\1\0\0\0\0")


@given(st.sampled_from(Code), st.text(), st.binary())
def test_a_status(code: Code, says: str, details: bytes) -> None:
    fields = dict(wire.status_fields(code, says, [("a-bin", details), ("b", b"c")]))
    assert all(32 <= octet < 127 for value in fields.values() for octet in value)
    assert wire.bytes_of(fields, b"a-bin") == details and fields[b"b"] == b"c"
    said = says.encode(errors="replace").decode()
    assert wire.status_of(fields) == (code, said)


@pytest.mark.parametrize(("says", "details"), [("é" * 100_000, b""), ("no", bytes(100_000))])
def test_a_status_that_is_too_large_to_be_sent_is_short(says: str, details: bytes) -> None:
    fields = wire.status_fields(Code.NOT_FOUND, says, [("a-bin", details)])
    assert wire.status_of(dict(fields)) == (Code.NOT_FOUND, says[:200])
    assert sum(len(value) for _, value in fields) < 2000


def test_a_status_that_is_none() -> None:
    assert wire.status_of({}) is None
    for number in (b"", b"x", b"17", b"-1"):
        assert wire.status_of({b"grpc-status": number}) == (Code.UNKNOWN, "")
    says = wire.status_of({b"grpc-status": b"0", b"grpc-message": b"%ff%4"})
    assert says == (Code.OK, "\N{REPLACEMENT CHARACTER}%4")
    assert wire.bytes_of({b"a-bin": b"%"}, b"a-bin") == wire.bytes_of({}, b"a-bin") == b""


@given(st.floats(0, 1e12))
@example(99.999999)
@example(100.0)
def test_a_timeout(seconds: float) -> None:
    """To the microsecond, or of long ones to the second."""
    said = wire.seconds_of(wire.timeout_of(seconds))
    assert said is not None
    assert said <= seconds and (seconds - said <= 1.001 or said == 99_999_999)
    assert seconds >= 100 or seconds - said < 1.1e-6
    assert wire.timeout_of(-1) == b"0u"
