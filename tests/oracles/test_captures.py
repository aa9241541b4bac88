"""tshark reads the same captures: cut by a snap length, of other link types, and of packets that
are yet to be segmented."""

from __future__ import annotations

import gzip
import subprocess
from pathlib import Path

import pytest
from checked import checked
from helioc.compiler.captures.reading import read_capture
from helioc.compiler.decoding.decoded import Decoded, Decoder
from oracle_packets import Maker
from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import CookedLinux, CookedLinuxV2, Ether
from scapy.packet import Packet, Raw
from scapy.utils import wrpcap, wrpcapng

EVERYTHING = Path(__file__).parent / "everything.hp"
#: Of tshark and of `decode`: the outermost of each.
FIELDS = {
    "eth.type": ("ethernet", "type"), "ip.src": ("ipv4", "src"), "ip.dst": ("ipv4", "dst"),
    "ipv6.src": ("ipv6", "src"), "tcp.srcport": ("tcp", "src"), "udp.srcport": ("udp", "src"),
    "gre.proto": ("gre", "protocol"), "arp.opcode": ("arp", "operation"),
}  # fmt: skip


@pytest.fixture(scope="module")
def packets(tshark: None) -> list[Packet]:
    return list(Maker(1).packets())[::3]


def dissected(capture: Path, *fields: str) -> list[dict[str, str]]:
    """The first value of each of these fields, by packet."""
    command = ["tshark", "-r", str(capture), "-T", "fields", "-E", "occurrence=f",
               "-o", "ip.defragment:FALSE", "-o", "ipv6.defragment:FALSE"]  # fmt: skip
    for field in fields:
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, timeout=120, check=True, text=True)
    return [dict(zip(fields, line.split("\t"), strict=True)) for line in done.stdout.splitlines()]


def decoded(capture: Path) -> list[Decoded]:
    decoder = Decoder(checked(EVERYTHING).graph, "any")
    return [decoder.decode(packet) for packet in read_capture(capture)]


def value(packet: Decoded, header: str, field: str) -> str:
    node = next((n for n in packet.nodes if n.header.name == header), None)
    return "" if node is None else str(node.fields[field])


def compare(capture: Path, made: bool = False) -> list[Decoded]:
    """Hold the two against each other. `made`: Ethernet headers that tshark does not see."""
    found = decoded(capture)
    fields = [name for name in FIELDS if not (made and name == "eth.type")]
    for ours, theirs in zip(found, dissected(capture, *fields, "_ws.short"), strict=True):
        if ours.result == "cut":
            assert theirs["_ws.short"], ours.to_tree()
        for name in fields:
            said, shown = value(ours, *FIELDS[name]), theirs[name]
            shown = str(int(shown, 16)) if shown.startswith("0x") else shown
            if said:  # of a header that is cut, tshark shows what there is
                assert said == shown, f"{name}: {said} and {shown}\n{ours.to_tree()}"
            else:
                assert not shown or ours.result == "cut", f"{name}: {shown}\n{ours.to_tree()}"
    return found


@pytest.mark.parametrize("snaplen", [40, 68, 96])
def test_a_snap_length(snaplen: int, packets: list[Packet], tmp_path: Path) -> None:
    wrpcapng(str(tmp_path / "whole.pcapng"), packets)
    cut = str(tmp_path / "cut.pcapng")
    subprocess.run(
        ["editcap", "-s", str(snaplen), str(tmp_path / "whole.pcapng"), cut], check=True, timeout=60
    )
    results = {packet.result for packet in compare(tmp_path / "cut.pcapng")}
    assert results == ({"ok", "cut"} if snaplen > 40 else {"cut"})


@pytest.mark.parametrize("link", [101, 113, 276])
def test_other_links(link: int, packets: list[Packet], tmp_path: Path) -> None:
    cooked = {113: CookedLinux(), 276: CookedLinuxV2()}.get(link)
    inside = [packet.payload for packet in packets if isinstance(packet.payload, IP | IPv6)]
    made = [bytes(cooked / p) if cooked is not None else bytes(p) for p in inside]
    wrpcap(str(tmp_path / "a.pcap"), [Raw(data) for data in made], linktype=link)
    found = compare(tmp_path / "a.pcap", made=True)
    assert len(found) > 20 and {packet.result for packet in found} == {"ok"}
    (tmp_path / "a.gz").write_bytes(gzip.compress((tmp_path / "a.pcap").read_bytes()))
    assert [p.to_json() for p in decoded(tmp_path / "a.gz")] == [p.to_json() for p in found]


@pytest.mark.usefixtures("packets")
def test_a_total_length_of_0(tmp_path: Path) -> None:
    """tshark presumes segmentation offload, too."""
    frames = [
        Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02")
        / IP(src="10.1.0.1", dst="10.2.0.2", len=0)
        / TCP(sport=size, dport=80)
        / Raw(bytes(size))
        for size in (20, 1460, 9000, 64000)
    ]
    wrpcap(str(tmp_path / "a.pcap"), frames)
    found = compare(tmp_path / "a.pcap")
    payloads = [int(value(p, "ipv4", "total_length")) - 40 for p in found]
    shown = dissected(tmp_path / "a.pcap", "tcp.len")
    assert payloads == [int(fields["tcp.len"]) for fields in shown] == [20, 1460, 9000, 64000]
