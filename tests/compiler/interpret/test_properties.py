"""What holds for every packet: nothing raises, what leaves is sound, scapy reads it alike."""

from __future__ import annotations

from damage import damaged
from helioc.compiler.interpret.header_view import checksum, ones_sum, updated
from helioc.compiler.interpret.packet import Interpreter
from helioc.compiler.interpret.parse_packet import parse_packet
from helioc.lang.contract.world.environment import Outcome
from hypothesis import given, settings
from hypothesis import strategies as st
from linx_packets import anything, frames
from linx_world import LAN, RULES, WORLD, linx
from scapy.layers.inet import GRE, IP, TCP, UDP, IPerror
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import NoPayload, Packet, Padding, Raw

NAMES = {Ether: "ethernet", Dot1Q: "vlan", GRE: "gre", TCP: "tcp", UDP: "udp"}
INTERPRETER = Interpreter(linx(), WORLD)


def run(frame: bytes, port: int) -> Outcome:
    return INTERPRETER.run(RULES, frame, port)


def role(port: int) -> str:
    return "lan" if port == LAN else "wan"


def sound(outcome: Outcome, frame: bytes) -> None:
    """Nothing contradicts itself."""
    assert outcome.events[-1] == ("verdict", outcome.verdict)
    assert (outcome.frame is None) == (outcome.verdict == "drop")
    assert (outcome.egress is None) == (outcome.verdict in ("pass", "drop"))
    if outcome.frame is not None and outcome.egress is not None:
        port = WORLD.port(outcome.egress)
        assert port is not None
        sent = outcome.frame
        if port.vlan and outcome.verdict == "redirect":  # LINX does not read tags on the WAN
            assert sent[12:16] == b"\x81\x00" + port.vlan.to_bytes(2, "big")
            sent = sent[:12] + sent[16:]
        parsed = parse_packet(linx().graph, port.role, sent)
        assert parsed.result == "ok", parsed.reason
        front = next(x for x in parsed.layers if x.header.protocol == "ipv4")
        assert front.end - front.offset <= port.mtu or outcome.verdict == "tx"


@given(anything)
def test_bytes_out_of_nowhere(case: tuple[bytes, int]) -> None:
    sound(run(*case), case[0])


@settings(max_examples=300, deadline=None)
@given(damaged(frames()))
def test_damaged_packets(case: tuple[bytes, int]) -> None:
    sound(run(*case), case[0])


@settings(deadline=None)  # a busy machine is no fault
@given(frames())
def test_a_packet_cut_anywhere(case: tuple[bytes, int]) -> None:
    frame, port = case
    for end in range(0, min(len(frame), 110)):
        sound(run(frame[:end], port), frame[:end])


def seen(packet: Packet, port: int) -> list[tuple[str, int]]:
    """(node, offset) as scapy dissects the frame and LINX names it."""
    found: list[tuple[str, int]] = []
    at, fragment = 0, False
    while not isinstance(packet, NoPayload | Raw | Padding):
        kind = type(packet)
        if kind is IP:
            inside = port == LAN or any(name == "gre" for name, _ in found)
            name = "user" if inside else "outer"
        elif kind not in NAMES:
            break
        else:
            name = NAMES[kind]
        if name == "gre" and (packet.version or found[-1][0] != "outer" or fragment):
            break
        fragment = kind is IP and packet.flags.MF
        found.append((name, at))
        at += len(packet.self_build())
        packet = packet.payload
    return found


@settings(max_examples=300, deadline=None)
@given(frames())
def test_scapy_reads_the_same_headers(case: tuple[bytes, int]) -> None:
    frame, port = case
    parsed = parse_packet(linx().graph, role(port), frame)
    if parsed.result == "ok":
        found = seen(Ether(frame), port)
        # scapy takes what is left of a tiny fragment for the header that begins in it
        assert list(parsed.nodes) == (found[: len(parsed.nodes)] if parsed.tiny else found)


@given(frames())
def test_scapy_reads_the_same_fields(case: tuple[bytes, int]) -> None:
    frame, port = case
    packet = Ether(frame)
    for layer in parse_packet(linx().graph, role(port), frame).layers:
        fields = layer.fields
        if layer.header.protocol == "ipv4":
            ip = packet[IP] if layer.name == "outer" or port == LAN else packet[GRE].payload
            assert (fields["tos"], fields["ttl"], fields["protocol"]) == (ip.tos, ip.ttl, ip.proto)
            assert (fields["total_length"], fields["checksum"]) == (ip.len, ip.chksum)
            assert (fields["ihl"], fields["fragment_offset"]) == (ip.ihl, ip.frag)
        elif layer.name == "gre":
            gre = packet[GRE]
            assert fields.get("key") == (gre.key if gre.key_present else None)
            assert fields.get("checksum") == (gre.chksum if gre.chksum_present else None)
        elif layer.name in ("tcp", "udp"):
            head = packet[TCP] if layer.name == "tcp" else packet[UDP]
            assert (fields["src"], fields["dst"]) == (head.sport, head.dport)
            assert fields["checksum"] == head.chksum


def rebuilt(packet: Packet) -> bytes:
    """The packet with every checksum computed by scapy."""
    packet = packet.copy()
    layer = packet
    while not isinstance(layer, NoPayload | IPerror):  # what an error quotes is cut short
        if isinstance(layer, IP | TCP | UDP) or (isinstance(layer, GRE) and layer.chksum_present):
            del layer.chksum
        layer = layer.payload
    return bytes(packet)


@settings(max_examples=300, deadline=None)
@given(frames())
def test_scapy_agrees_on_every_checksum(case: tuple[bytes, int]) -> None:
    frame, port = case
    outcome = run(frame, port)
    whole = Ether(frame)
    if outcome.frame is None or rebuilt(whole) != frame:
        return  # scapy itself does not write again what it read: an inner fragment, say
    again = Ether(outcome.frame)
    assert rebuilt(again) == bytes(again) == outcome.frame


@given(st.binary(max_size=64))
def test_the_checksum_is_rfc_1071s(data: bytes) -> None:
    padded = data + b"\0" * (len(data) % 2)
    total = sum(int.from_bytes(padded[i : i + 2], "big") for i in range(0, len(padded), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    assert ones_sum(data) == total
    assert checksum(data) == total ^ 0xFFFF


@given(st.binary(min_size=4, max_size=40), st.integers(0, 0xFFFF), st.data())
def test_the_incremental_checksum_is_the_whole_ones(
    data: bytes, word: int, draw: st.DataObject
) -> None:
    data = data[: len(data) // 2 * 2]
    at = draw.draw(st.integers(0, len(data) // 2 - 1)) * 2
    new = data[:at] + word.to_bytes(2, "big") + data[at + 2 :]
    found = updated(checksum(data), data[at : at + 2], new[at : at + 2])
    # 0 and 0xffff are the same number in ones' complement.
    assert found % 0xFFFF == checksum(new) % 0xFFFF
