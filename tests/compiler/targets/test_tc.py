"""LINX as SCHED_CLS programs: its packet tests, what packets that stand for segments show in a test
run, and what is refused."""

from __future__ import annotations

import pytest
from helioc.compiler.bundle import compile_for_tc
from helioc.compiler.check.program import check
from helioc.compiler.driver import lower_pipeline
from helioc.compiler.lower.unit import Join
from helioc.compiler.manifest import manifest_of
from helioc.compiler.packettests.cases import read_tests
from helioc.compiler.packettests.runs import Interpreted, run_case
from helioc.compiler.targets.tc import Unsupported
from helioc.lang.syntax.parser import parse, read
from linx_world import GRE, PIPELINES, linx_gre
from lowered_runs import Lowered
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether
from tc_runs import REDIRECT, SHOT, TcBackend, gso_run

MANIFEST = manifest_of(linx_gre(), lower_pipeline(linx_gre()))
CASES = read_tests(linx_gre(), MANIFEST, read(GRE.with_suffix(".test.yaml")))
#: What a test run at tc does not show, or not as a wire does.
ELSEWHERE = {
    "a WAN port with a VLAN tags what leaves by it": "in the metadata: tests/e2e/test_tc_live.py",
    "an answer keeps the VLAN tag": "a tag within the frame: no device hands that to tc",
    "IPv6 is not touched, and counted": "the kernel test-runs no skb with less than an IP header",
    "half an IPv4 header": "the same",
}
JOINS: tuple[Join, ...] = ("staged", "fused")


@pytest.mark.parametrize("join", JOINS)
def test_packet_cases_hold(kernel: None, join: Join) -> None:
    lowered = Lowered(linx_gre(), lower_pipeline(linx_gre(), join, target="tc"))
    with TcBackend(compile_for_tc(linx_gre(), join)) as tc:
        for case in CASES:
            at_tc = () if case.name in ELSEWHERE else (tc,)
            result = run_case(linx_gre(), case, (Interpreted(linx_gre()), lowered, *at_tc))
            assert result.ok, "\n".join((case.name, *result.problems))


def test_what_is_left_out_is_there() -> None:
    assert ELSEWHERE.keys() <= {case.name for case in CASES}


# ---- packets that stand for segments ------------------------------------------------------------

#: Bytes in front of a segment's payload: IPv4 and TCP with time stamps, and what LINX puts around.
HEADERS, TUNNEL, MTU = 20 + 32, 20 + 8, 1500


@pytest.mark.parametrize(
    ("size", "verdict", "events"),
    [
        (MTU - HEADERS - TUNNEL, SHOT, {("hook", "no_headroom"), ("verdict", "drop")}),
        (MTU - HEADERS - TUNNEL + 1, REDIRECT, {("hook", "too_big"), ("verdict", "tx")}),
    ],
)
def test_segments_are_held_against_the_mtu(
    kernel: None, size: int, verdict: int, events: set[tuple[str, str]]
) -> None:
    """What fits is not encapsulated in a test run: the kernel sets `gso_size` there but no
    `gso_type`, and bpf_skb_adjust_room takes GSO of TCP alone (seen on Linux 6.18). So this shows
    that nothing leaves without its tunnel; that real ones do in it, tests/e2e/test_tc_live.py."""
    ethernet = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:0a")
    tcp = TCP(sport=1, dport=2, flags="A", options=[("NOP", 0), ("NOP", 0), ("Timestamp", (1, 2))])
    frame = bytes(ethernet / IP(src="10.1.0.10", dst="10.2.0.5", flags="DF") / tcp / bytes(2800))
    with TcBackend(compile_for_tc(linx_gre())) as tc, tc.prepare(CASES[0]):
        run = tc.run
        before = run.events()
        found, left = gso_run(run, frame, CASES[0].port, size)
        assert found == verdict
        assert set(run.events() - before) == events
        assert len(left) == (len(frame) if found == SHOT else 14 + 28 + 28)  # ICMP, and its quote


# ---- what the target does not do ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("upf", "IPv6, at tc"),
        ("linx_offload", "a receive queue, at tc"),
    ],
)
def test_is_refused(name: str, what: str) -> None:
    pipeline = check(parse(read(PIPELINES / f"{name}.hp")))
    with pytest.raises(Unsupported, match=what):
        lower_pipeline(pipeline, target="tc")


def test_a_traced_build_is_refused() -> None:
    with pytest.raises(Unsupported, match="a traced build, at tc"):
        lower_pipeline(linx_gre(), traced=True, target="tc")
