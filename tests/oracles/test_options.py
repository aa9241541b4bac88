"""TCP options as scapy builds and takes them apart, whole and hostile: what the pipeline reads of
them, on the interpreter and in the kernel."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helioc.compiler.bundle import compile_pipeline
from helioc.compiler.driver import check_file
from helioc.compiler.interpret.packet import Interpreter
from helioc.lang.contract.rules.rules import Rule
from helioc.lang.contract.world.environment import Environment, Port
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.testrun.private_run import PrivateRun
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether

PIPELINE = check_file(Path(__file__).with_name("options.hp"))
LAN = Port(1, "LAN", "lan", 1, 1500, bytes.fromhex("020000000001"))
TOLD = struct.Struct("!HHBBIII")
u8, u16, u32 = (st.integers(0, (1 << bits) - 1) for bits in (8, 16, 32))
#: Options as scapy names them.
KNOWN = st.one_of(
    st.tuples(st.just("MSS"), u16),
    st.tuples(st.just("WScale"), u8),
    st.tuples(st.just("SAckOK"), st.just(b"")),
    st.tuples(st.just("SAck"), st.tuples(u32, u32) | st.tuples(u32, u32, u32, u32)),
    st.tuples(st.just("Timestamp"), st.tuples(u32, u32)),
    st.tuples(st.just("NOP"), st.none()),
    st.tuples(st.sampled_from((6, 34, 77, 253)), st.binary(max_size=5)),
)
#: Bytes of options as nobody should send them.
HOSTILE = st.one_of(
    st.tuples(st.sampled_from((2, 3, 4, 5, 8, 77)), u8).map(bytes),
    st.tuples(st.sampled_from((2, 3, 4, 5, 8, 77)), st.integers(0, 3)).map(bytes),
    st.sampled_from(
        (b"\0", b"\1", b"\2\4\5\xb4", b"\2\4\5", b"\2", b"\3\3\7", b"\x08\x0a" + bytes(8))
    ),
    st.binary(max_size=6),
)


@pytest.fixture(scope="module")
def kernel() -> Iterator[PrivateRun]:
    bundle = compile_pipeline(PIPELINE)
    with PrivateRun(Bundle(bundle.manifest, bundle.object)) as private:
        private.set_environment(Environment((LAN,)))
        yield private


def frame(options: object, size: int | None = None) -> bytes:
    ip = IP(src="192.0.2.1", dst="198.51.100.1")
    tcp = TCP(sport=1, dport=2, flags="S", options=options, dataofs=size)
    return bytes(Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:0a") / ip / tcp / b"content")


def read(data: bytes, kernel: PrivateRun) -> tuple[int, ...] | str:
    """What the pipeline told, or why the packet was malformed."""
    outcomes = (
        Interpreter(PIPELINE, Environment((LAN,))).run(Nothing(), data, 1),
        kernel.run(data, 1),
    )
    one, other = ((o.verdict, o.frame, frozenset(o.events)) for o in outcomes)
    assert one == other
    why = next((why for group, why in outcomes[0].events if group == "malformed"), "")
    if why or outcomes[0].frame is None:
        return why
    return TOLD.unpack_from(outcomes[0].frame, 14)[1:]


class Nothing:
    def rules(self, kind: str) -> list[Rule]:
        return []


@settings(max_examples=300, deadline=None)
@given(st.lists(KNOWN, max_size=8))
def test_what_scapy_built_is_read(kernel: PrivateRun, options: list[tuple[object, object]]) -> None:
    whole = TCP(options=options)
    while len(bytes(whole)) > 60:
        options = options[:-1]
        whole = TCP(options=options)
    data = frame(options)
    first: dict[object, Any] = {}
    for name, value in Ether(data)[TCP].options:
        first.setdefault(name, value)
    value, echo = first.get("Timestamp", (0, 0))
    sack = first.get("SAck", (0,))
    expected = (
        first.get("MSS", 0), first.get("WScale", 0), 2 if "SAckOK" in first else 0,
        sack[0], value, echo,
    )  # fmt: skip
    assert read(data, kernel) == expected


@settings(max_examples=400, deadline=None)
@given(st.lists(HOSTILE, max_size=12).map(b"".join), st.integers(5, 15))
def test_what_nobody_should_send(kernel: PrivateRun, options: bytes, size: int) -> None:
    room = size * 4 - 20
    options = options[:room].ljust(room, b"\0")
    data = frame([], size)
    data = data[:54] + options + data[54:]
    data = data[:16] + struct.pack("!H", len(data) - 14) + data[18:]
    assert read(data, kernel) == _expected(options)


def _expected(data: bytes) -> tuple[int, ...] | str:
    """As RFC 9293 section 3.2 has it, from the bytes alone."""
    first: dict[int, bytes] = {}
    least = {2: 4, 3: 3, 4: 2, 5: 10, 8: 10}
    while data and data[0]:
        if data[0] == 1:
            data = data[1:]
            continue
        if len(data) < 2 or not 2 <= data[1] <= len(data):
            return "tcp: options"
        option, data = data[: data[1]], data[data[1] :]
        if len(option) >= least.get(option[0], 2):
            first.setdefault(option[0], option)
    number = int.from_bytes
    stamps = first.get(8, bytes(10))
    return (
        number(first.get(2, bytes(4))[2:4], "big"), first.get(3, bytes(3))[2],
        first[4][1] if 4 in first else 0, number(first.get(5, bytes(10))[2:6], "big"),
        number(stamps[2:6], "big"), number(stamps[6:10], "big"),
    )  # fmt: skip
