"""`helioc replay --kernel`: a capture on interpreter and kernel, and where the two differ."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from helioc.commands.helioc import cli
from helioc.compiler.captures.pcap import PcapWriter
from helioc.lang.contract.world.environment import Outcome
from helioc.runtime.testrun.private_run import PrivateRun
from linx_world import PIPELINES
from scapy.layers.inet import GRE, IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from scapy.utils import rdpcap, wrpcap

pytestmark = pytest.mark.usefixtures("kernel")

LINX, VXLAN = str(PIPELINES / "linx.hp"), str(PIPELINES / "vxlan_gateway.hp")
BARE = Path(__file__).parents[1] / "lower" / "cases" / "tunnels" / "bare_ports.hp"
MACS = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:0a")
USER = MACS / IP(src="10.1.0.10", dst="10.2.0.5") / UDP(sport=1, dport=2)
RULES = """
create OVERLAY 1 GRE-WAN1 [(local_ip, u32, 192.0.2.1), (remote_ip, u32, 192.0.2.2), (key, u32, 7),
                           (interface, u32, wan)];
create FAR 1 [(action, u8, REDIRECT), (interface, u32, GRE-WAN1)];
create PDR 1 [(dst_ip, u32, 10.2.0.0/16), FAR 1]
"""
SEGMENT = """
create VTEP 1 east [(local_ip, u32, 192.0.2.1), (remote_ip, u32, 192.0.2.9),
                     (interface, u32, underlay)];
create SEGMENT 1 north [(port, u32, access), (vni, u32, 77), (local_ip, u32, 192.0.2.1)]
"""


def replay(at: Path, pipeline: str, rules: str, packets: list[tuple[Packet, int]], *words: str,
           captured: int | None = None) -> Result:  # fmt: skip
    """Of packets with their times in seconds, of which so many bytes were captured."""
    with (at / "a.pcap").open("wb") as file:
        writer = PcapWriter(file)
        for packet, second in packets:
            frame = bytes(packet)
            writer.write(frame[:captured], second * 10**9, len(frame))
    (at / "rules.req").write_text(rules)
    command = ["replay", pipeline, str(at / "a.pcap"), "--rules", str(at / "rules.req")]
    return CliRunner().invoke(cli, [*command, "--kernel", *words], catch_exceptions=False)


def test_both_agree(tmp_path: Path) -> None:
    """Into a tunnel, as an ICMP error, and what is malformed; a payload that was not captured."""
    ended = USER.copy()
    ended.ttl = 1
    packets = [USER / Raw(b"hello"), ended, USER / Raw(bytes(1400)), Ether(bytes(USER)[:30])]
    done = replay(tmp_path, LINX, RULES, [(p, 0) for p in packets], "--json")
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.exit_code == 0, done.stdout
    assert [p["verdict"] for p in said] == ["redirect", "tx", "redirect", "drop"]
    assert all(p["differences"] == [] for p in said)
    assert done.stderr == "4 packets: interpreter and kernel agree\n"
    done = replay(tmp_path, LINX, RULES, [(packets[2], 0)], captured=60)
    lines = done.stdout.splitlines()
    assert lines[0].startswith("packet 1 on lan: redirect by wan")
    assert lines[-1] == "1 packet: interpreter and kernel agree"


def test_next_hops_that_packets_say_are_known_to_both(tmp_path: Path) -> None:
    """No rule names them: they are the packets' destinations."""
    rules = "create FAR 1 [(action, u8, REDIRECT), (interface, u32, wan)]; create PDR 1 [FAR 1]"
    packets = [MACS / IP(src="10.1.0.10", dst=f"10.2.0.{n}") / UDP() for n in (5, 6, 5)]
    done = replay(tmp_path, LINX, rules, [(p, 0) for p in packets], "--json")
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.exit_code == 0, done.stdout
    assert [p["packet"][:12] for p in said] == ["02000a020005", "02000a020006", "02000a020005"]


@pytest.mark.parametrize(("seconds", "verdict"), [(299, "drop"), (301, "redirect")])
def test_states_age_by_the_clock_of_the_capture(tmp_path: Path, seconds: int, verdict: str) -> None:
    """FDB ages 300 s. Until then it is known that the station is behind the port of arrival."""
    learnt = Ether(src="02:00:00:00:07:11", dst="02:00:00:00:07:22") / IP() / UDP()
    asked = Ether(src="02:00:00:00:07:22", dst="02:00:00:00:07:11") / IP() / UDP()
    done = replay(tmp_path, VXLAN, SEGMENT, [(learnt, 0), (asked, seconds)], "--json")
    assert done.exit_code == 0, done.stdout
    verdicts = [json.loads(line)["verdict"] for line in done.stdout.splitlines()]
    assert verdicts == ["redirect", verdict]


def test_what_is_not_run_is_counted(tmp_path: Path) -> None:
    large = USER / Raw(bytes(8900))
    done = replay(tmp_path, LINX, RULES, [(USER, 0), (large, 0), (large, 0)])
    assert done.exit_code == 0
    *_, refused, first, second = done.stdout.splitlines()
    limits = "the kernel test-runs frames of 14 to 3,400 bytes"
    assert refused == f"packet 3 on lan: refused; refused: {limits}"
    assert first == "1 packet: interpreter and kernel agree"
    assert second == f"not run: 2 refused ({limits})"
    done = replay(tmp_path, LINX, RULES, [(USER, 0)], captured=20)
    assert done.exit_code == 1
    assert done.stdout.splitlines()[1:] == ["nothing was compared", "not run: 1 cut"]


def test_a_difference_is_shown_and_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = PrivateRun.run

    def lies(self: PrivateRun, frame: bytes, port: int, metadata: bytes = b"") -> Outcome:
        outcome = run(self, frame, port, metadata)
        if outcome.frame is None or outcome.verdict != "redirect":
            return outcome
        wrong = bytearray(outcome.frame)
        wrong[22] -= 1
        return replace(outcome, frame=bytes(wrong), egress=1)

    monkeypatch.setattr(PrivateRun, "run", lies)
    other = MACS / IP(src="10.1.0.10", dst="10.3.0.5") / UDP()
    packets: list[tuple[Packet, int]] = [(USER, 0), (other, 0)]
    done = replay(tmp_path, LINX, RULES, packets)
    assert done.exit_code == 1
    lines = done.stdout.splitlines()
    assert lines[2:4] == [
        "  interpreter and kernel: egress: 2 and 1",
        "  interpreter and kernel: outer.ttl: expected 64 (0x40), got 63 (0x3f)",
    ]
    assert lines[-1] == "interpreter and kernel disagree on 1 of 2 packets"
    done = replay(tmp_path, LINX, RULES, packets, "--json")
    first, second = (json.loads(line)["differences"] for line in done.stdout.splitlines())
    assert len(first) == 2 and second == []
    assert (done.exit_code, done.stderr) == (1, f"{lines[-1]}\n")
    done = replay(tmp_path, LINX, RULES, packets, "--trace")
    assert "  interpreter and kernel: egress: 2 and 1" in done.stdout.splitlines()


def test_without_it_nothing_is_compared(tmp_path: Path) -> None:
    (tmp_path / "a.pcap").write_bytes(b"")
    with (tmp_path / "a.pcap").open("wb") as file:
        PcapWriter(file).write(bytes(USER / GRE() / Raw(bytes(9000))))
    done = CliRunner().invoke(cli, ["replay", LINX, str(tmp_path / "a.pcap"), "--json"])
    assert json.loads(done.output)["differences"] is None


def test_ports_without_link_headers(tmp_path: Path) -> None:
    """Captures of raw IP and of frames say the same of them; what leaves is written as frames."""
    packet = IP(src="10.2.0.5", dst="10.1.0.5") / UDP(sport=7, dport=8) / Raw(bytes(30))
    rules, out = tmp_path / "rules.req", tmp_path / "out.pcap"
    rules.write_text("create ROUTE 1 [(dst_ip, u32, 10.1.0.0/16), (interface, u32, tunnel)]")
    wrpcap(str(tmp_path / "raw.pcap"), [packet], linktype=101)
    wrpcap(str(tmp_path / "frames.pcap"), [Ether() / packet, Ether(type=0x0806) / Raw(bytes(46))])
    asked = ("--rules", rules, "--port", "tunnel", "--json", "--kernel", "--write", out)
    for name in ("raw.pcap", "frames.pcap"):
        words = ["replay", str(BARE), str(tmp_path / name), *map(str, asked)]
        first, *others = map(json.loads, CliRunner().invoke(cli, words).stdout.splitlines())
        said = first["verdict"], first["egress"], first["differences"]
        assert said == ("redirect", "tunnel", [])
        (left,) = rdpcap(str(out))
        assert left[IP].ttl == 63 and bytes(left)[:14] == bytes(12) + b"\x08\x00"
        assert [other["events"] for other in others] == [["neither IPv4 nor IPv6"]] * len(others)
    assert len(others) == 1
