"""`helioc replay`: what becomes of a capture's packets under rules."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from helioc.compiler.captures.pcap import PcapWriter
from helioc.compiler.captures.reading import read_capture
from helioc.compiler.cli import cli
from helioc.lang.diagnostics import Refused
from linx_world import PIPELINES
from scapy.layers.inet import GRE, IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.utils import wrpcapng

LINX = str(PIPELINES / "linx.hp")
EDGES = PIPELINES.parent / "examples" / "linx"
PACKET = bytes(
    Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:0a")
    / IP(src="10.1.0.10", dst="10.2.0.5")
    / UDP(sport=1, dport=2)
    / Raw(b"hello")
)
RULES = """
create OVERLAY 1 GRE-WAN1 [(local_ip, u32, 192.0.2.1), (remote_ip, u32, 192.0.2.2), (key, u32, 7),
                           (interface, u32, wan)];
create FAR 1 [(action, u8, REDIRECT), (interface, u32, GRE-WAN1)];
create PDR 1 [(dst_ip, u32, 10.2.0.0/16), FAR 1]
"""


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    path = tmp_path / "some.pcap"
    with path.open("wb") as file:
        writer = PcapWriter(file)
        for time, frame in enumerate((PACKET, PACKET[:30], bytes(12) + b"\x08\x06" + bytes(46))):
            writer.write(frame, time)
    return path


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "rules.req"
    path.write_text(RULES)
    return path


def run(*arguments: object) -> str:
    words = ["replay", *map(str, arguments)]
    return CliRunner().invoke(cli, words, catch_exceptions=False).output


def test_verdict_egress_and_packet(capture: Path, rules: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.pcap"
    told = run(LINX, capture, "--rules", rules, "--write", out, "--json").splitlines()
    first, damaged, foreign = map(json.loads, told)
    assert (first["verdict"], first["egress"], first["port"]) == ("redirect", "wan", "lan")
    assert first["counted"] == ["PDR 1", "FAR 1", "OVERLAY GRE-WAN1"]
    sent = Ether(bytes.fromhex(first["packet"]))
    assert (sent.dst, sent[IP].dst, sent[GRE].key) == ("02:00:c0:00:02:02", "192.0.2.2", 7)
    assert sent[GRE][IP].ttl == 63 and bytes(sent).endswith(b"hello")
    assert damaged["events"] == ["malformed: user: truncated", "hook: malformed"]
    assert (foreign["verdict"], foreign["egress"], foreign["events"]) == ("pass", None, [])
    written = list(read_capture(out))
    assert [(p.octets.hex(), p.time) for p in written] == [
        (json.loads(line)["packet"], time) for time, line in enumerate(told)
    ]


def test_for_people(capture: Path, rules: Path) -> None:
    lines = run(LINX, capture, "--rules", rules).splitlines()
    assert lines[0].startswith("packet 1 on lan: redirect by wan; counted PDR 1, FAR 1, OVERLAY")
    assert lines[1].startswith("  0200c0000202")
    assert lines[2:] == [
        "packet 2 on lan: pass; malformed: user: truncated; hook: malformed",
        "packet 3 on lan: pass",
    ]


def test_the_way_of_each_packet(capture: Path, rules: Path) -> None:
    words = [LINX, capture, "--rules", rules, "--trace"]
    said = run(*words)
    assert said.startswith(
        "packet 1 on lan, 47 octets\n  parsed ethernet at 0 → user at 14 → udp at"
    )
    assert "    push outer / gre before user: outer.src 192.0.2.1" in said
    assert "packet 2 on lan, 30 octets" in said and "malformed: user: truncated" in said
    told = [json.loads(line) for line in run(*words, "--json").splitlines()]
    assert [packet["number"] for packet in told] == [1, 2, 3]
    assert [packet["egress"] for packet in told] == ["wan", None, None]
    assert [step["what"] for step in told[0]["steps"]].count("rule") == 3


def test_an_edge_whose_interfaces_are_elsewhere(capture: Path) -> None:
    edge = EDGES / "edge-a.yaml"
    assert run(LINX, capture, "--edge", edge).startswith("packet 1 on LAN: pass; miss: PDR")
    told = run(LINX, capture, "--edge", edge, "--rules", EDGES / "rules-a.req", "--port", "LAN")
    assert "packet 1 on LAN: " in told


def test_the_host_has_addresses(capture: Path, rules: Path) -> None:
    told = run(LINX, capture, "--rules", rules, "--local", "10.2.0.5").splitlines()
    assert told[0] == "packet 1 on lan: pass"


def test_packets_of_an_interface_come_by_its_port(tmp_path: Path) -> None:
    edge = tmp_path / "edge.yaml"
    edge.write_text("ports: {A: {role: lan, interface: e1}, B: {role: wan, interface: e2}}\n")
    packet = Ether(PACKET)
    packet.sniffed_on = "e2"
    wrpcapng(str(tmp_path / "a.pcapng"), [packet])
    assert run(LINX, tmp_path / "a.pcapng", "--edge", edge).startswith("packet 1 on B: pass")


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda p: ["--port", "wam"], "H0813"),
        (lambda p: ["--local", "10.1.0"], "H0814"),
        (lambda p: ["--local", "02:00:00:00:00:01"], "H0814"),
        (lambda p: ["--rules", p / "rules.csv.txt"], "H0401"),
        (lambda p: ["--edge", p / "none.yaml"], "H0711"),
    ],
)  # fmt: skip
def test_refusals(
    make: Callable[[Path], list[object]], code: str, capture: Path, tmp_path: Path
) -> None:
    (tmp_path / "rules.csv.txt").write_text("nonsense")
    with pytest.raises(Refused) as refused:
        run(LINX, capture, *make(tmp_path))
    assert refused.value.diagnostics[0].code[:3] == code[:3]


def test_nobody_need_read_to_the_end(tmp_path: Path) -> None:
    path = tmp_path / "many.pcap"
    with path.open("wb") as file:
        writer = PcapWriter(file)
        for _ in range(2000):
            writer.write(PACKET)
    program = f"{sys.executable} -m helioc.compiler.cli decode {LINX} {path} | head -1"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {program}"], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr, len(done.stdout.splitlines())) == (141, "", 1)
