"""`helioc replay`: what becomes of a capture's packets under rules."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from helioc.commands.helioc import cli
from helioc.compiler.captures.pcap import PcapWriter
from helioc.compiler.captures.reading import read_capture
from helioc.lang.text.diagnostics import Refused
from linx_world import PIPELINES
from scapy.layers.inet import GRE, ICMP, IP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6, IPv6ExtHdrHopByHop
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from scapy.utils import wrpcap, wrpcapng

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
    shown = run(LINX, capture, "--rules", rules, "--write", out, "--json").splitlines()
    first, damaged, foreign = map(json.loads, shown)
    assert (first["verdict"], first["egress"], first["port"]) == ("redirect", "wan", "lan")
    assert first["counted"] == ["PDR 1", "FAR 1", "OVERLAY GRE-WAN1"]
    sent = Ether(bytes.fromhex(first["packet"]))
    assert (sent.dst, sent[IP].dst, sent[GRE].key) == ("02:00:c0:00:02:02", "192.0.2.2", 7)
    assert sent[GRE][IP].ttl == 63 and bytes(sent).endswith(b"hello")
    assert damaged["events"] == ["malformed: user: truncated", "hook: malformed"]
    assert (damaged["verdict"], damaged["packet"]) == ("drop", None)
    assert (foreign["verdict"], foreign["egress"], foreign["events"]) == ("pass", None, [])
    written = list(read_capture(out))
    assert [(p.data.hex(), p.time) for p in written] == [
        (said["packet"], time)
        for time, said in enumerate((first, damaged, foreign))
        if said["packet"]
    ]


def test_for_people(capture: Path, rules: Path) -> None:
    lines = run(LINX, capture, "--rules", rules).splitlines()
    assert lines[0].startswith("packet 1 on lan: redirect by wan; counted PDR 1, FAR 1, OVERLAY")
    assert lines[1].startswith("  0200c0000202")
    assert lines[2:] == [
        "packet 2 on lan: drop; malformed: user: truncated; hook: malformed",
        "packet 3 on lan: pass",
    ]


def test_packets_that_a_snap_length_cut(rules: Path, tmp_path: Path) -> None:
    """What their headers say is known, whole or not; what lies behind these is not written."""
    path, out = tmp_path / "cut.pcap", tmp_path / "out.pcap"
    length = len(PACKET)
    with path.open("wb") as file:
        writer = PcapWriter(file)
        for captured in (length, 44, 40, 20):
            writer.write(PACKET[:captured], 0, length)
    words = [LINX, path, "--rules", rules, "--write", out]
    whole, cut, *headless = map(json.loads, run(*words, "--json").splitlines())
    assert (cut["verdict"], cut["egress"], cut["counted"], cut["length"]) == (
        "redirect", "wan", whole["counted"], whole["length"],
    )  # fmt: skip
    assert cut["packet"] == whole["packet"][:-6]  # three of five bytes of payload
    assert [(p["verdict"], p["events"], p["packet"]) for p in headless] == [
        ("cut", ["cut: udp"], None), ("cut", ["cut: user"], None),
    ]  # fmt: skip
    written = [(len(p.data), p.length) for p in read_capture(out)]
    assert written == [(whole["length"], whole["length"]), (whole["length"] - 3, whole["length"])]
    assert "packet 3 on lan: cut; cut: udp" in run(*words).splitlines()
    assert "packet 3 on lan: cut; cut: udp" in run(*words, "--trace").splitlines()


ANSWERED = """import std.ethernet, std.ip, std.ipv6
pipeline answered {
  ports lan
  parser {
    ethernet -> ipv4 when type = 0x0800
    ethernet -> ipv6 when type = 0x86dd
  }
  state SEEN [4] { match mac : mac  gives port : port }
  default pass
  on ttl_expired { reply icmp }
  stage only {
    recall SEEN(mac = ethernet.dst) else { remember SEEN(mac = ethernet.src, port = port)  pass }
    remember SEEN(mac = ethernet.src, port = port)
    if ipv4 { forward SEEN.port via ipv4.dst }
    if ipv6 { forward SEEN.port via ipv6.dst }
    pass
  }
  run parser -> only
}
"""
V4, V6 = IP(src="10.1.0.10", dst="10.2.0.5", ttl=1), IPv6(src="fd::1", dst="fd::2", hlim=1)


@pytest.mark.parametrize(
    ("headers", "known", "reason"),
    [(V4 / ICMP(type=8), 0, "ipv4"), (V4 / ICMP(type=8), 1, ""), (V4 / UDP(), 0, ""),
     (V6 / ICMPv6EchoRequest(), 0, "ipv6"), (V6 / ICMPv6EchoRequest(), 1, ""),
     (V6 / IPv6ExtHdrHopByHop() / UDP(), 7, "ipv6"), (V6 / IPv6ExtHdrHopByHop() / UDP(), 8, ""),
     (V6 / IPv6ExtHdrHopByHop() / ICMPv6EchoRequest(), 8, "ipv6")],
)  # fmt: skip
def test_what_an_answer_depends_on_was_not_captured(
    tmp_path: Path, headers: Packet, known: int, reason: str
) -> None:
    """No error answers one (RFC 1122 section 3.2.2, RFC 4443 section 2.4): whether a packet is one
    its type says, behind the captured bytes. What is cut leaves nothing in a state, either."""
    path, source = tmp_path / "cut.pcap", tmp_path / "answered.hp"
    source.write_text(ANSWERED)
    a, b, c = (f"02:00:00:00:00:0{n}" for n in (1, 2, 3))
    first = bytes(Ether(src=b, dst=a, type=0x9000) / Raw(bytes(46)))
    asked = bytes(Ether(src=c, dst=b) / headers / Raw(bytes(20)))
    back = bytes(Ether(src=a, dst=c, type=0x9000) / Raw(bytes(46)))
    captured = 14 + len(V4 if IP in headers else V6) + known
    with path.open("wb") as file:
        writer = PcapWriter(file)
        writer.write(first, 0, len(first))
        writer.write(asked[:captured], 1, len(asked))
        writer.write(back, 2, len(back))
    _, shown, after = map(json.loads, run(source, path, "--json").splitlines())
    if reason:
        assert (shown["verdict"], shown["events"]) == ("cut", [f"cut: behind {reason}"])
    else:
        assert (shown["verdict"], shown["events"]) == ("tx", ["hook: ttl_expired"])
    assert ("miss: SEEN" in after["events"]) is bool(reason)


def test_raw_ip_and_standard_input(rules: Path, tmp_path: Path) -> None:
    wrpcap(str(tmp_path / "raw.pcap"), [Raw(PACKET[14:])], linktype=101)
    words = ["replay", LINX, "-", "--rules", str(rules), "--write", str(tmp_path / "-")]
    done = CliRunner().invoke(cli, words, input=(tmp_path / "raw.pcap").read_bytes())
    first = done.output.splitlines()[0]
    assert first.startswith("packet 1 on lan: redirect by wan; Ethernet header made for link type")
    assert done.exit_code == 0


def test_the_way_of_each_packet(capture: Path, rules: Path) -> None:
    words = [LINX, capture, "--rules", rules, "--trace"]
    said = run(*words)
    assert said.startswith(
        "packet 1 on lan, 47 bytes\n  parsed ethernet at 0 → user at 14 → udp at"
    )
    assert "    push outer / gre before user: outer.src 192.0.2.1" in said
    assert "packet 2 on lan, 30 bytes" in said and "malformed: user: truncated" in said
    shown = [json.loads(line) for line in run(*words, "--json").splitlines()]
    assert [packet["number"] for packet in shown] == [1, 2, 3]
    assert [packet["egress"] for packet in shown] == ["wan", None, None]
    assert [step["what"] for step in shown[0]["steps"]].count("rule") == 3


def test_an_edge_whose_interfaces_are_elsewhere(capture: Path) -> None:
    edge = EDGES / "edge-a.yaml"
    assert run(LINX, capture, "--edge", edge).startswith("packet 1 on LAN: pass; miss: PDR")
    shown = run(LINX, capture, "--edge", edge, "--rules", EDGES / "rules-a.req", "--port", "LAN")
    assert "packet 1 on LAN: " in shown


def test_the_host_has_addresses(capture: Path, rules: Path) -> None:
    shown = run(LINX, capture, "--rules", rules, "--local", "10.2.0.5").splitlines()
    assert shown[0] == "packet 1 on lan: pass"


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
        (lambda p: ["--ports", p / "none.yaml"], "H0109"),
        (lambda p: ["--ports", p / "rules.csv.txt"], "H0504"),
    ],
)  # fmt: skip
def test_refusals(
    make: Callable[[Path], list[object]], code: str, capture: Path, tmp_path: Path
) -> None:
    (tmp_path / "rules.csv.txt").write_text("nonsense")
    with pytest.raises(Refused) as refused:
        run(LINX, capture, *make(tmp_path))
    assert refused.value.diagnostics[0].code[:3] == code[:3]


UPF, VXLAN = str(PIPELINES / "upf.hp"), str(PIPELINES / "vxlan_gateway.hp")
SESSION = """
create FAR 2 [(action, u8, TUNNEL), (interface, u32, n3), (local_ip, u32, 192.0.2.1),
              (peer_ip, u32, 192.0.2.2), (peer_teid, u32, 200), (qfi, u8, 9)];
create DOWNLINK 1 [(ue_ip, u32, 10.45.0.2), (precedence, u32, 255), FAR 2];
create DOWNLINK6 1 [(ue_ip6, u128, 2001:db8:45:2::/64), (precedence, u32, 255), FAR 2]
"""
MACS = Ether(dst="02:00:00:00:06:01", src="02:00:00:00:06:02")


def downlink(at: Path, *words: object, source: str = "ip") -> list[dict[str, Any]]:
    """What becomes of two packets to a UE: one whose TTL ends here, one of 1,480 bytes."""
    with (at / "down.pcap").open("wb") as file:
        writer = PcapWriter(file)
        for ttl, size in ((1, 0), (64, 1452)):
            ip = IP(src="198.51.100.9", dst="10.45.0.2", ttl=ttl, flags="DF")
            ip6 = IPv6(src="2001:db8:9::9", dst="2001:db8:45:2::7", hlim=ttl)
            packet = MACS / (ip if source == "ip" else ip6) / UDP(sport=53, dport=4000)
            writer.write(bytes(packet / Raw(bytes(size))))
    (at / "rules.req").write_text(SESSION)
    shown = run(UPF, at / "down.pcap", "--rules", at / "rules.req", "--json", *words)
    return [json.loads(line) for line in shown.splitlines()]


def test_errors_are_answered_from_addresses_that_are_assumed(tmp_path: Path) -> None:
    for source, layer, own in (("ip", IP, "192.0.0.8"), ("ip6", IPv6, "2001:db8::2")):
        shown = downlink(tmp_path, "--port", "n6", source=source)
        assert [t["verdict"] for t in shown] == ["tx", "tx"], shown
        for each in shown:
            sent = Ether(bytes.fromhex(each["packet"]))
            assert sent[layer].src == own and sent.src == MACS.dst


PORTS = """
ports:
  n3: {role: n3, mtu: 9000}
  n6: {role: n6, number: 7, address: 203.0.113.1, mac: 02:00:00:00:06:01}
neighbours: {n6: {203.0.113.2: 02:00:00:00:06:02}}
"""


def test_ports_and_neighbours_that_are_said(tmp_path: Path) -> None:
    """As in packet tests: a larger MTU takes the packet, and no neighbour is known but that one."""
    (tmp_path / "ports.yaml").write_text(PORTS)
    ended, large = downlink(tmp_path, "--port", "n6", "--ports", tmp_path / "ports.yaml")
    assert Ether(bytes.fromhex(ended["packet"]))[IP].src == "203.0.113.1"
    assert "hook: unresolved" in large["events"]
    (tmp_path / "ports.yaml").write_text(PORTS.replace("neighbours", "default: pass #"))
    _, large = downlink(tmp_path, "--port", "n6", "--ports", tmp_path / "ports.yaml")
    assert (large["verdict"], large["egress"]) == ("redirect", "n3")


def test_ports_are_laid_over_the_edge(tmp_path: Path) -> None:
    edge = tmp_path / "edge.yaml"
    edge.write_text("icmp: {rate: 1, burst: 1}\nports: {n3: {role: n3, interface: a}, "
                    "n6: {role: n6, interface: b}}\n")  # fmt: skip
    (tmp_path / "ports.yaml").write_text("ports: {n6: {address: 203.0.113.1}}\n")
    words = ["--edge", edge, "--port", "n6", "--ports", tmp_path / "ports.yaml"]
    ended, large = downlink(tmp_path, *words)
    assert Ether(bytes.fromhex(ended["packet"]))[IP].src == "203.0.113.1"
    assert "drop: icmp limit" in large["events"]


def test_a_packet_test_file_says_it_too(tmp_path: Path) -> None:
    words = ["--ports", PIPELINES / "upf.test.yaml", "--port", "N6"]
    ended, _ = downlink(tmp_path, *words)
    sent = Ether(bytes.fromhex(ended["packet"]))
    assert (ended["port"], sent[IP].src) == ("N6", "203.0.113.1")


def test_states_age_by_the_clock_of_the_capture(tmp_path: Path) -> None:
    """FDB ages 300 s: what was learnt is known 300 s later, not after 301; where times go back
    nothing ages."""
    (tmp_path / "rules.req").write_text(
        "create SEGMENT 1 north [(port, u32, access), (vni, u32, 77), (local_ip, u32, 192.0.2.1)]"
    )
    learnt = bytes(Ether(src="02:00:00:00:07:11", dst="02:00:00:00:07:02") / IP() / UDP())
    asked = bytes(Ether(src="02:00:00:00:07:22", dst="02:00:00:00:07:11") / IP() / UDP())
    for second, known in ((1300, True), (1301, False), (1, True)):
        with (tmp_path / "a.pcap").open("wb") as file:
            writer = PcapWriter(file)
            writer.write(learnt, 1000 * 10**9)
            writer.write(asked, second * 10**9)
        said = run(VXLAN, tmp_path / "a.pcap", "--rules", tmp_path / "rules.req", "--trace")
        assert ("recalled FDB" in said.split("packet 2")[1]) == known, said


def refused_code(*arguments: object) -> str:
    with pytest.raises(Refused) as refused:
        run(*arguments)
    (found,) = refused.value.diagnostics
    assert found.help
    return found.code


@pytest.mark.parametrize("link", [None, Path.symlink_to, Path.hardlink_to])
def test_what_is_read_is_not_written(
    link: Callable[[Path, Path], None] | None, capture: Path, rules: Path
) -> None:
    whole = capture.read_bytes()
    for read in (capture, rules):
        out = read
        if link:
            out = read.with_name(f"link to {read.name}")
            link(out, read)
        before = read.read_bytes()
        assert refused_code(LINX, capture, "--rules", rules, "--write", out) == "H0815"
        assert read.read_bytes() == before and out.exists()
    assert capture.read_bytes() == whole
    assert refused_code(LINX, capture, "--write", LINX) == "H0815"


def test_what_stood_there_stays_until_all_is_written(capture: Path, tmp_path: Path) -> None:
    """A capture that ends too early, and one that is none."""
    out, link, cut = tmp_path / "good.pcap", tmp_path / "link", tmp_path / "cut.pcap"
    out.write_bytes(b"good")
    out.chmod(0o640)
    link.symlink_to(out)
    cut.write_bytes(capture.read_bytes()[:-5])
    assert refused_code(LINX, cut, "--write", link) == "H0803"
    cut.write_bytes(b"")
    assert refused_code(LINX, cut, "--write", link) == "H0801"
    assert out.read_bytes() == b"good"
    run(LINX, capture, "--write", link)
    assert len(list(read_capture(out))) == 2
    assert link.is_symlink() and out.stat().st_mode & 0o777 == 0o640
    cut.write_bytes(capture.read_bytes()[:-5])
    assert refused_code(LINX, cut, "--write", tmp_path / "new") == "H0803"
    (tmp_path / "new").unlink()  # nothing stood there: what could be read is
    assert {path.name for path in tmp_path.iterdir()} == {p.name for p in (out, link, cut, capture)}


def test_where_nothing_can_be_written(capture: Path, tmp_path: Path) -> None:
    assert refused_code(LINX, capture, "--write", tmp_path / "none" / "x") == "H0309"
    assert refused_code(LINX, capture, "--write", tmp_path) == "H0309"


@pytest.mark.parametrize("out", ["/dev/stdout", "FIFO", "-> /dev/stdout"])
def test_pipes_are_written_as_they_are(out: str, capture: Path, tmp_path: Path) -> None:
    """Also where standard output is a file."""
    at, said = tmp_path / "out", tmp_path / "said"
    command = [sys.executable, "-m", "helioc.commands.helioc", "replay", LINX, str(capture),
               "--write"]  # fmt: skip
    if out == "FIFO":
        os.mkfifo(at)
        done = subprocess.Popen([*command, str(at)], stdout=subprocess.DEVNULL)
        written = at.read_bytes()
        assert done.wait(60) == 0 and at.is_fifo()
    else:
        if out != "/dev/stdout":
            at.symlink_to("/dev/stdout")
            out = str(at)
        with said.open("ab") as file:
            subprocess.run([*command, out], stdout=file, check=True, timeout=60)
        written = said.read_bytes()
    assert b"\x4d\x3c\xb2\xa1" in written and PACKET[20:] in written


def test_nobody_need_read_to_the_end(tmp_path: Path) -> None:
    path = tmp_path / "many.pcap"
    with path.open("wb") as file:
        writer = PcapWriter(file)
        for _ in range(2000):
            writer.write(PACKET)
    program = f"{sys.executable} -m helioc.commands.helioc decode {LINX} {path} | head -1"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {program}"], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr, len(done.stdout.splitlines())) == (141, "", 1)
