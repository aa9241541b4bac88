"""Checksums over the payload of what is pushed, which may be of any length: interpreter, kernel and
scapy agree."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from helioc.compiler.bundle import compile_pipeline
from helioc.compiler.driver import check_file
from helioc.compiler.interpret.packet import Interpreter
from helioc.compiler.lower.unit import Join
from helioc.lang.contract.world.environment import Environment, Port
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.testrun.private_run import PrivateRun
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from linx_world import Book, mac
from scapy.layers.inet import GRE, IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw, bind_layers

SUMS = Path(__file__).parents[1] / "compiler/lower/cases/pushes/sums.hp"
WORLD = Environment(
    (
        Port(1, "P", "p", 11, 9000, mac("02:00:00:00:00:01"), 0),
        Port(2, "W", "w", 12, 9000, mac("02:00:00:00:00:02"), 0),
    )
)
JOINS: list[Join] = ["staged", "fused"]
LONGEST = 3300  # what the kernel test-runs in one piece, less the headers
PIPELINE = check_file(SUMS)
bind_layers(UDP, GRE, dport=4754)


@pytest.fixture(scope="module", params=JOINS)
def run(request: pytest.FixtureRequest, kernel: None) -> Iterator[PrivateRun]:
    bundle = compile_pipeline(PIPELINE, request.param)
    with PrivateRun(Bundle(bundle.manifest, bundle.object)) as run:
        run.set_environment(WORLD)
        yield run


def resummed(frame: bytes) -> bytes:
    """The frame with every length and checksum made again by scapy."""
    packet = layer = Ether(frame)
    while layer:
        left_out = isinstance(layer, UDP) and not layer.chksum
        for name in ("len",) if left_out else ("len", "chksum"):
            if name in layer.fields:
                delattr(layer, name)
        layer = layer.payload
    return bytes(packet)


@settings(deadline=None, database=None, max_examples=250, suppress_health_check=list(HealthCheck))
@given(
    st.integers(1, 5),
    st.one_of(st.integers(0, 80), st.integers(0, LONGEST)),
    st.booleans(),
    st.binary(max_size=20),
    st.randoms(use_true_random=False),
)
def test_sums(
    run: PrivateRun, which: int, length: int, zeros: bool, padding: bytes, random: Random
) -> None:
    payload = bytes(length) if zeros else random.randbytes(length)
    inner = IP(src=f"10.0.0.{which}", dst="10.9.9.9", proto=99) / Raw(payload)
    frame = bytes(Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:aa") / inner) + padding
    expected = Interpreter(PIPELINE, WORLD).run(Book(), frame, 1)
    got = run.run(frame, 1)
    assert (got.verdict, got.frame) == (expected.verdict, expected.frame)
    assert got.verdict == "tx" and got.frame is not None
    sent = Ether(got.frame)
    assert resummed(got.frame) == got.frame
    if which == 2:
        assert sent[UDP].chksum == 0
    if which in (1, 5):
        assert sent[UDP].chksum != 0
    if which in (3, 5):
        assert sent[GRE].chksum_present
