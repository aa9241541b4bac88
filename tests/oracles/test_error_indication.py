"""The UPF's error indications, and end markers that it hands on, dissected by scapy and tshark."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

from checked import checked
from helioc.compiler.captures.pcap import PcapWriter
from helioc.compiler.driver import lower_pipeline
from helioc.compiler.interpret.packet import Interpreter
from helioc.compiler.manifest import manifest_of
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.contract.world.environment import Environment, Limit, Outcome, Port
from helioc.lang.text.source import Source
from scapy.contrib.gtp import (
    IE_TEIDI,
    GTP_U_Header,
    GTP_UDPPort_ExtensionHeader,
    GTPErrorIndication,
    GTPPDUSessionContainer,
    IE_GSNAddress,
)
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet

UPF = Path(__file__).parents[2] / "pipelines" / "upf.hp"
PORTS = (
    Port(1, "N3", "n3", 11, 1500, bytes(6), 0xC0000201),
    Port(2, "N9", "n9", 12, 1500, bytes(6), 0xC0000241),
)
PEERS = {(1, 0xC0000202): bytes.fromhex("020000000302")}
RULES = """
create ENDPOINT [(local_ip, u32, 192.0.2.1), (unknown_teid, u8, ERROR_INDICATION)];
create ERROR_INDICATION 1 [(peer_teid, u32, 200), (peer_ip, u32, 192.0.2.2)];
create UPLINK 1 [(teid, u32, 400), (local_ip, u32, 192.0.2.65), (precedence, u32, 255),
                 FAR 1 [(action, u8, TUNNEL), (interface, u32, N3), (local_ip, u32, 192.0.2.1),
                        (peer_ip, u32, 192.0.2.2), (peer_teid, u32, 200), (qfi, u8, 9)]]
"""
LINK = Ether(src="02:00:00:00:00:02", dst="02:00:00:00:00:01")
UNKNOWN: Packet = (
    LINK / IP(src="192.0.2.2", dst="192.0.2.1", ttl=7) / UDP(sport=40000, dport=2152)
    / GTP_U_Header(teid=0xDEADBEEF, gtp_type=255) / GTPPDUSessionContainer(type=1, QFI=9)
    / IP(src="10.45.0.2", dst="198.51.100.9") / UDP(sport=1, dport=2) / b"question"
)  # fmt: skip
MARKER: Packet = (
    LINK / IP(src="192.0.2.66", dst="192.0.2.65", ttl=1) / UDP(sport=40000, dport=2152)
    / GTP_U_Header(teid=400, gtp_type=254)
)  # fmt: skip


@cache
def book() -> RuleBook:
    pipeline = checked(UPF)
    manifest = manifest_of(pipeline, lower_pipeline(pipeline))
    made = RuleBook(manifest, {"N3": 1, "N9": 2}, {1: 11, 2: 12})
    made.commit(made.plan(parse_request(Source("r", RULES))))
    return made


def upf(limit: Limit | None = None) -> Interpreter:
    return Interpreter(checked(UPF), Environment(ports=PORTS, neighbours=PEERS, icmp=limit))


def sent(packet: Packet, port: int) -> bytes:
    outcome = upf().run(book(), bytes(packet), port)
    assert outcome.verdict in ("tx", "redirect") and outcome.frame is not None
    return outcome.frame


def computed_again(frame: bytes) -> bytes:
    """The frame with scapy's own lengths and checksums."""
    again = Ether(frame)
    for layer in (IP, UDP):
        del again[layer].len, again[layer].chksum
    del again[GTP_U_Header].length
    return bytes(again)


def test_scapy_finds_the_tunnel_in_an_error_indication() -> None:
    frame = sent(UNKNOWN, 1)
    found = Ether(frame)
    assert (found.dst, found[IP].src, found[IP].dst) == (LINK.src, "192.0.2.1", "192.0.2.2")
    assert (found[UDP].sport, found[UDP].dport) == (2152, 2152)
    head = found[GTP_U_Header]
    assert (head.gtp_type, head.S, head.E, head.PN, head.teid) == (26, 1, 0, 0, 0)
    teid, address = found[GTPErrorIndication].IE_list
    assert isinstance(teid, IE_TEIDI) and teid.TEIDI == 0xDEADBEEF
    assert isinstance(address, IE_GSNAddress) and address.ipv4_address == "192.0.2.1"
    assert computed_again(frame) == frame


def test_scapy_finds_the_next_tunnel_in_an_end_marker() -> None:
    frame = sent(MARKER, 2)
    found = Ether(frame)
    assert (found[IP].src, found[IP].dst, found[IP].ttl) == ("192.0.2.1", "192.0.2.2", 63)
    assert (found[GTP_U_Header].gtp_type, found[GTP_U_Header].teid) == (254, 200)
    assert computed_again(frame) == frame


def test_one_with_the_udp_port_is_counted_by_its_tunnel() -> None:
    """As Open5GS sends it."""
    elements = [IE_TEIDI(TEIDI=200), IE_GSNAddress(length=4, ipv4_address="192.0.2.2")]
    received = (
        LINK / IP(src="192.0.2.2", dst="192.0.2.1") / UDP(sport=2152, dport=2152)
        / GTP_U_Header(gtp_type=26, S=1, E=1, next_ex=0x40)
        / GTP_UDPPort_ExtensionHeader(udp_port=2152) / GTPErrorIndication(IE_list=elements)
    )  # fmt: skip
    outcome = upf().run(book(), bytes(received), 1)
    assert outcome.events == (("verdict", "pass"),)
    assert [kind for kind, _ in outcome.counted] == ["ERROR_INDICATION"]


def test_error_indications_are_limited_as_icmp_errors_are() -> None:
    limited = upf(Limit(1, 2))

    def run() -> Outcome:
        return limited.run(book(), bytes(UNKNOWN), 1)

    assert [run().verdict for _ in range(3)] == ["tx", "tx", "drop"]
    assert ("count", "error_limited") in run().events
    limited.states.wait(1_000_000_000)
    assert [run().verdict for _ in range(2)] == ["tx", "drop"]


def test_tshark_finds_nothing_wrong(tshark: None, tmp_path: Path) -> None:
    capture = tmp_path / "messages.pcap"
    with capture.open("wb") as file:
        writer = PcapWriter(file)
        for frame in (sent(UNKNOWN, 1), sent(MARKER, 2)):
            writer.write(frame)
    asked = (
        "udp.checksum.status", "ip.checksum.status", "gtp.message", "gtp.teid", "gtp.teid_data",
        "gtp.gsn_ipv4", "gtp.length", "_ws.malformed",
    )  # fmt: skip
    command = ["tshark", "-r", str(capture), "-T", "fields", "-E", "separator=,"]
    command += ["-o", "udp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]
    command += [word for field in asked for word in ("-e", field)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == [
        "1,1,0x1a,0x00000000,0xdeadbeef,192.0.2.1,16,",
        "1,1,0xfe,0x000000c8,,,0,",
    ]
