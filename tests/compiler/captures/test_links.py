"""Packets that did not come by Ethernet, and those that a card is yet to segment."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import pytest
from helioc.compiler.captures.links import as_frame
from helioc.compiler.captures.packets import ETHERNET, Captured
from helioc.compiler.captures.reading import read_capture, read_packets
from helioc.compiler.decoding.decoded import Decoded, Decoder
from helioc.compiler.interpret.header_view import checksum
from helioc.lang.text.diagnostics import Refused
from linx_world import linx
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import CookedLinux, CookedLinuxV2, Dot1Q, Ether
from scapy.packet import Packet, Raw
from scapy.utils import wrpcap

MAC = "02:00:00:00:00:07"
FOUR = IP(src="10.1.0.1", dst="10.2.0.2") / UDP(sport=1, dport=2) / Raw(b"hello")
SIX = IPv6(src="2001:db8::1", dst="2001:db8::2") / TCP(sport=1, dport=2)


def read(at: Path, packet: Packet, link: int) -> Captured:
    wrpcap(str(at / "a.pcap"), [Raw(bytes(packet))], linktype=link)
    (found,) = read_capture(at / "a.pcap")
    return found


@pytest.mark.parametrize(
    ("link", "packet", "type_"),
    [
        (101, FOUR, 0x0800), (101, SIX, 0x86DD), (12, FOUR, 0x0800), (14, SIX, 0x86DD),
        (228, FOUR, 0x0800), (229, SIX, 0x86DD),
    ],
)  # fmt: skip
def test_raw_ip(link: int, packet: Packet, type_: int, tmp_path: Path) -> None:
    found = read(tmp_path, packet, link)
    assert found.data == bytes(12) + type_.to_bytes(2, "big") + bytes(packet)
    assert (found.link, found.length) == (ETHERNET, 14 + len(packet))
    assert found.notes[0].startswith("Ethernet header made for link type")


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("packet_type", "to"), [(0, bytes(6)), (1, b"\xff" * 6), (2, b"\1" + bytes(5)), (4, bytes(6))]
)
@pytest.mark.parametrize("device", [1, 772, 65534])
def test_linux_cooked(
    version: int, packet_type: int, to: bytes, device: int, tmp_path: Path
) -> None:
    cooked = {1: CookedLinux, 2: CookedLinuxV2}[version]
    source = bytes.fromhex(MAC.replace(":", ""))
    head = cooked(pkttype=packet_type, lladdrtype=device, lladdrlen=6, src=source)
    for packet, type_ in ((FOUR, 0x0800), (SIX, 0x86DD), (Dot1Q(vlan=7) / FOUR, 0x8100)):
        found = read(tmp_path, head / packet, {1: 113, 2: 276}[version])
        assert found.data == to + source + type_.to_bytes(2, "big") + bytes(packet)
        assert (found.link, found.length) == (ETHERNET, len(found.data))
        assert "Linux cooked" in found.notes[0]


def test_an_address_that_is_no_mac_is_left_out(tmp_path: Path) -> None:
    found = read(tmp_path, CookedLinux(lladdrtype=65534, lladdrlen=0) / FOUR, 113)
    assert found.data[:12] == bytes(12)


@pytest.mark.parametrize(
    ("link", "data", "words"),
    [
        (101, b"", ""),
        (101, b"\x50" + bytes(30), "protocol 0x0005"),
        (113, bytes(15), ""),
        (
            113,
            bytes(CookedLinux(lladdrtype=1, proto=4) / Raw(bytes(40))),
            "protocol 0x0004 of device type 1",
        ),
        (113, bytes(CookedLinux(lladdrtype=824) / FOUR), "protocol 0x0800 of device type 824"),
        (276, bytes(CookedLinuxV2(lladdrtype=803) / FOUR), "protocol 0x0800 of device type 803"),
        (276, bytes(19), ""),
    ],
)
def test_what_no_ethernet_frame_could_be(link: int, data: bytes, words: str) -> None:
    found = as_frame(Captured(1, data, len(data), link))
    assert (found.link, found.data, found.notes) == (link, data, (words,) if words else ())
    decoded = Decoder(linx().graph, "lan").decode(found)
    assert decoded.result == "foreign"


def test_a_cut_cooked_packet_is_as_long_as_on_the_wire() -> None:
    head = bytes(CookedLinux() / FOUR)
    found = as_frame(Captured(1, head[:40], len(head), 113))
    assert (len(found.data), found.length) == (38, 14 + len(FOUR))


# ---- segmentation offload -----------------------------------------------------------------------


def offloaded(length: int, cut: int | None = None, tags: int = 0, sum_: int | None = None) -> bytes:
    """What a sender captures of a packet that its card segments."""
    ip = IP(src="10.1.0.1", dst="10.2.0.2", len=0, chksum=sum_)
    frame = Ether(dst=MAC, src=MAC)
    for _ in range(tags):
        frame /= Dot1Q(vlan=7)
    return bytes(frame / ip / TCP(sport=1, dport=2) / Raw(bytes(length - 40)))[:cut]


@pytest.mark.parametrize("tags", [0, 1, 2])
@pytest.mark.parametrize("length", [40, 9000, 65535])
def test_a_total_length_of_0_is_the_frames(length: int, tags: int) -> None:
    frame = offloaded(length, tags=tags)
    ip = frame[14 + 4 * tags :]
    assert ip[2:4] == bytes(2) and checksum(ip[:20]) == 0
    for captured in (frame, frame[: 14 + 4 * tags + 40]):
        found = as_frame(Captured(1, captured, len(frame)))
        assert found.notes == (f"IPv4 total length 0 read as {length}",)
        made = found.data[14 + 4 * tags :]
        assert int.from_bytes(made[2:4], "big") == length and checksum(made[:20]) == 0
        assert len(found.data) == len(captured) and made[20:] == ip[20 : len(made)]
    decoded = Decoder(linx().graph, "lan").decode(as_frame(Captured(1, frame, len(frame))))
    if tags < 2:  # of LINX
        assert (decoded.result, decoded.nodes[-1].name) == ("ok", "tcp")
        assert '"notes": ["IPv4 total length 0 read as' in decoded.to_json()
        assert decoded.to_tree().splitlines()[0].endswith(f"read as {length}")


@pytest.mark.parametrize(
    "frame",
    [
        offloaded(65536),  # more than the field can say
        offloaded(40, cut=33),
        offloaded(40, cut=14),
        bytes(Ether() / IP(len=39) / TCP()),
        bytes(12) + b"\x08\0\x65" + bytes(40),
        bytes(12) + b"\x08\x06\x45" + bytes(40),
        b"",
    ],
)
def test_other_lengths_stay_as_they_are(frame: bytes) -> None:
    assert as_frame(Captured(1, frame, len(frame))) == Captured(1, frame, len(frame))


def test_inside_of_a_file_too(tmp_path: Path) -> None:
    """Cooked, cut, and a length of 0 at once."""
    packet = offloaded(3000)[14:]
    head = bytes(CookedLinux(lladdrlen=6, src=b"abcdef") / Raw(packet))
    (tmp_path / "a.pcap").write_bytes(
        struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 96, 113)
        + struct.pack("<4I", 0, 0, 96, len(head)) + head[:96]
    )  # fmt: skip
    (found,) = read_capture(tmp_path / "a.pcap")
    assert len(found.notes) == 2 and (len(found.data), found.length) == (94, 3014)
    assert Decoder(linx().graph, "lan").decode(found).result == "ok"


# ---- cut ----------------------------------------------------------------------------------------

TUNNELLED = bytes.fromhex("02000000000102000000000208004500004400010000402f")


def decoded(frame: bytes, captured: int) -> Decoded:
    return Decoder(linx().graph, "lan").decode(Captured(1, frame[:captured], len(frame)))


def test_every_cut_of_a_packet() -> None:
    """A header that is not there whole is asked for in vain; a payload is not asked for."""
    frame = bytes(Ether(dst=MAC, src=MAC) / IP() / TCP(options=[("MSS", 1460)]) / Raw(bytes(40)))
    ends = {"ethernet": 14, "user": 34, "tcp": 58}
    whole = decoded(frame, len(frame))
    assert [n.name for n in whole.nodes] == list(ends)
    for captured in range(len(frame)):
        result = decoded(frame, captured)
        there = [name for name, end in ends.items() if end <= captured]
        assert [n.name for n in result.nodes] == there
        missing = [name for name in ends if name not in there]
        assert (result.result, result.reason) == (("cut", missing[0]) if missing else ("ok", "")), (
            captured
        )
    short = Decoder(linx().graph, "lan").decode(Captured(1, frame[:40], 40))
    assert (short.result, short.reason) == ("malformed", "user: length")


def test_what_is_malformed_on_the_wire_is_so_when_cut() -> None:
    frame = bytes(Ether(dst=MAC, src=MAC) / IP(len=900) / TCP() / Raw(bytes(40)))
    result = decoded(frame, 60)
    assert (result.result, result.reason) == ("malformed", "user: length")


def test_a_length_that_lies_takes_no_memory() -> None:
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 96, 1)
    data = head + struct.pack("<4I", 0, 0, 20, 0xFFFFFFFF) + bytes(20)
    (found,) = read_packets("a.pcap", io.BytesIO(data))
    assert (found.length, len(found.whole)) == (0xFFFFFFFF, 1 << 18)
    with pytest.raises(Refused, match="H0803"):
        list(read_packets("a.pcap", io.BytesIO(data[:-1])))
