"""SCHED_CLS programs: the packet tests of what ships and of each statement, what packets that stand
for segments show in a test run, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from helioc.commands.helioc import cli
from helioc.compiler.bundle import compile_for_tc, write_bundle
from helioc.compiler.check.program import check
from helioc.compiler.driver import lower_pipeline
from helioc.compiler.lower.unit import Join
from helioc.compiler.manifest import manifest_of
from helioc.compiler.model import Pipeline
from helioc.compiler.packettests.cases import read_tests
from helioc.lang.contract.manifest.read_manifest import from_json
from helioc.lang.syntax.parser import parse, read
from helioc.lang.text.diagnostics import Refused
from linx_world import GRE, PIPELINES, linx_gre
from packet_cases import packet_cases_hold_at_tc
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether
from tc_runs import REDIRECT, SHOT, TcBackend, gso_run

MANIFEST = manifest_of(linx_gre(), lower_pipeline(linx_gre()))
CASES = read_tests(linx_gre(), MANIFEST, read(GRE.with_suffix(".test.yaml")))
LOWERED = Path(__file__).parents[1] / "lower" / "cases"
SHIPPED = [
    PIPELINES / f"{name}.hp"
    for name in ("linx", "nodeport", "srv6_edge", "stamp", "upf", "vxlan_gateway")
]
#: It has `queue`.
STEERING = {"found"}
EACH = sorted(
    file.parent / f"{file.name.removesuffix('.test.yaml')}.hp"
    for file in LOWERED.rglob("*.test.yaml")
    if file.name.removesuffix(".test.yaml") not in STEERING
)


def _checked(file: Path) -> Pipeline:
    return check(parse(read(file)))


@pytest.mark.parametrize("join", ["staged", "fused"])
def test_packet_cases_hold(kernel: None, join: Join) -> None:
    assert packet_cases_hold_at_tc(GRE, join, lowered=True)


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.stem)
def test_packet_cases_of_what_ships_hold(kernel: None, file: Path) -> None:
    assert packet_cases_hold_at_tc(file)


@pytest.mark.parametrize("file", EACH, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_packet_cases_of_each_statement_hold(kernel: None, file: Path) -> None:
    assert packet_cases_hold_at_tc(file)


def test_traced_builds_load(kernel: None) -> None:
    compiled = compile_for_tc(linx_gre(), traced=True, tags_in_frame=True)
    with TcBackend(compiled, traced=True) as tc, tc.prepare(CASES[0]) as run:
        outcome = run(CASES[0].frame, CASES[0].port)
    assert outcome.parsed


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
        quoted = 20 + 20  # TCP's whole header, as of all whose checksum is partial
        assert len(left) == (len(frame) if found == SHOT else 14 + 28 + quoted)


# ---- what the target does not do ----------------------------------------------------------------


@pytest.mark.parametrize("name", ["linx_offload", "slice", "slice_offload"])
def test_a_receive_queue_is_refused(name: str) -> None:
    with pytest.raises(Refused) as refused:
        compile_for_tc(_checked(PIPELINES / f"{name}.hp"))
    (found,) = refused.value.diagnostics
    assert found.code == "H0540" and found.labels[0].span.text.startswith("queue ")


def test_what_is_not_segmented_is_said() -> None:
    (found,) = compile_for_tc(_checked(PIPELINES / "upf.hp")).warnings
    assert (found.code, found.severity) == ("H0541", "warning")
    assert all("/ gtpu {" in label.span.text for label in found.labels) and len(found.labels) == 4


def test_a_bundle_says_its_hook(tmp_path: Path) -> None:
    compiled = compile_for_tc(linx_gre())
    write_bundle(compiled, tmp_path)
    assert from_json((tmp_path / "manifest.json").read_text()).hook == "tc"
    assert "hook" not in MANIFEST.to_json().split('"counters"')[0]
    assert (tmp_path / "tc.bpf.h").exists()


def test_the_command(kernel: None, tmp_path: Path) -> None:
    words = ["compile", str(GRE), "--target", "tc", "--no-trace", "-o", str(tmp_path / "out")]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output
    assert from_json((tmp_path / "out" / "manifest.json").read_text()).hook == "tc"
