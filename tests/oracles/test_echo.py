"""The UPF's echo responses, dissected by scapy and tshark."""

from __future__ import annotations

import subprocess
from pathlib import Path

from checked import checked
from helioc.compiler.captures.pcap import PcapWriter
from helioc.compiler.driver import lower_pipeline
from helioc.compiler.interpret.packet import Interpreter
from helioc.compiler.manifest import manifest_of
from helioc.lang.contract.manifest.manifest import Manifest
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.contract.world.environment import Environment, Port
from helioc.lang.text.source import Source
from scapy.contrib.gtp import (
    GTP_U_Header,
    GTPEchoRequest,
    GTPEchoResponse,
    IE_PrivateExtension,
    IE_Recovery,
)
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet

UPF = Path(__file__).parents[2] / "pipelines" / "upf.hp"
WORLD = Environment(ports=(Port(1, "N3", "n3", 11, 1500, bytes(6), 0xC0000201),))
ASKED = [
    "udp.srcport", "udp.dstport", "udp.checksum.status", "ip.checksum.status", "gtp.message",
    "gtp.seq_number", "gtp.length", "gtp.recovery", "_ws.malformed",
]  # fmt: skip


def answered(request: Packet) -> bytes:
    pipeline = checked(UPF)
    manifest: Manifest = manifest_of(pipeline, lower_pipeline(pipeline))
    book = RuleBook(manifest, {"N3": 1}, {1: 11})
    plan = book.plan(parse_request(Source("r", "create ENDPOINT [(local_ip, u32, 192.0.2.1)]")))
    book.commit(plan)
    outcome = Interpreter(pipeline, WORLD).run(book, bytes(request), 1)
    assert outcome.verdict == "tx" and outcome.frame is not None
    return outcome.frame


def requests() -> list[Packet]:
    link = Ether(src="02:00:00:00:00:02", dst="02:00:00:00:00:01")
    ip = IP(src="192.0.2.2", dst="192.0.2.1", ttl=7)
    own = IE_PrivateExtension(extention_value="secret")
    return [
        link / ip / UDP(sport=port, dport=2152) / GTP_U_Header(gtp_type=1, S=1, seq=seq) / echo
        for port, seq, echo in (
            (2152, 7, GTPEchoRequest()),
            (40000, 0xFFFF, GTPEchoRequest()),
            (3386, 1, GTPEchoRequest() / own),
        )
    ]


def test_scapy_finds_what_the_standard_asks_for() -> None:
    for request in requests():
        answer = Ether(answered(request))
        assert (answer.dst, answer[IP].dst, answer[UDP].dport) == (
            request.src, request[IP].src, request[UDP].sport,
        )  # fmt: skip
        head = answer[GTP_U_Header]
        assert (head.gtp_type, head.S, head.seq, head.teid) == (2, 1, request.seq, 0)
        (recovery,) = answer[GTPEchoResponse].IE_list
        assert isinstance(recovery, IE_Recovery) and recovery.restart_counter == 0
        again = answer.copy()
        for layer, names in ((IP, ("len", "chksum")), (UDP, ("len", "chksum"))):
            for name in names:
                delattr(again[layer], name)
        del again[GTP_U_Header].length
        assert bytes(again) == bytes(answer)


def test_tshark_finds_nothing_wrong(tshark: None, tmp_path: Path) -> None:
    capture = tmp_path / "echo.pcap"
    with capture.open("wb") as file:
        writer = PcapWriter(file)
        for request in requests():
            writer.write(answered(request))
    command = ["tshark", "-r", str(capture), "-T", "fields", "-E", "separator=,"]
    command += ["-o", "udp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]
    command += [word for field in ASKED for word in ("-e", field)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == [
        f"2152,{port},1,1,0x02,{seq:#06x},6,0,"
        for port, seq in ((2152, 7), (40000, 0xFFFF), (3386, 1))
    ]
