"""The interpreter against packets that scapy builds and reads."""

from __future__ import annotations

import pytest
from helioc.compiler.check.program import check
from helioc.compiler.interpret.packet import Interpreter
from helioc.lang.contract.world.environment import Outcome
from helioc.lang.syntax.parser import parse
from helioc.lang.text.source import Source
from linx_world import (
    HOST_MAC,
    LAN,
    LAN_MAC,
    PIPELINES,
    RULES,
    SITE1_MAC,
    SITE2_MAC,
    WAN1,
    WAN1_MAC,
    WAN2,
    WAN2_MAC,
    WORLD,
    Book,
    linx,
)
from scapy.layers.inet import GRE, ICMP, IP, TCP, UDP, IPerror
from scapy.layers.inet6 import ICMPv6ND_NS, IPv6
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.packet import Packet, Raw

LINX = linx()
ETHER = Ether(src=HOST_MAC, dst=LAN_MAC)
FROM_SITE = Ether(src=SITE1_MAC, dst=WAN1_MAC) / IP(src="192.0.2.2", dst="192.0.2.1", id=3)


def run(packet: Packet | bytes, port: int = LAN, rules: Book = RULES) -> Outcome:
    return Interpreter(LINX, WORLD).run(rules, bytes(packet), port)


def same(outcome: Outcome, expected: Packet) -> None:
    """Same bytes, shown as scapy reads them where they differ."""
    assert outcome.frame is not None, outcome.trace
    if outcome.frame != bytes(expected):
        assert Ether(outcome.frame).show2(dump=True) == Ether(bytes(expected)).show2(dump=True)
        assert outcome.frame.hex() == bytes(expected).hex()


def user(dst: str = "10.2.0.5", **more: object) -> Packet:
    return IP(src="10.1.0.10", dst=dst, **more)


def test_an_uplink_packet_is_wrapped_with_the_overlays_key() -> None:
    outcome = run(ETHER / user(tos=0xB9, ttl=64) / UDP(sport=4000, dport=53) / Raw(b"question"))
    assert (outcome.verdict, outcome.egress) == ("redirect", WAN1)
    same(
        outcome,
        Ether(src=WAN1_MAC, dst=SITE1_MAC)
        / IP(src="192.0.2.1", dst="192.0.2.2", tos=0xB9, ttl=64, flags="DF", id=0)
        / GRE(key_present=1, key=7)
        / user(tos=0xB9, ttl=63)
        / UDP(sport=4000, dport=53)
        / Raw(b"question"),
    )
    assert outcome.events == (("verdict", "redirect"),)
    assert outcome.counted == (("PDR", 301), ("FAR", 201), ("OVERLAY", 101))


def test_an_overlay_without_key_writes_none_and_a_tagged_port_its_tag() -> None:
    tagged = ETHER / Dot1Q(vlan=7) / user("10.3.0.5") / UDP(sport=1, dport=2) / Raw(b"odd")
    outcome = run(tagged)
    assert outcome.egress == WAN2
    same(
        outcome,
        Ether(src=WAN2_MAC, dst=SITE2_MAC)
        / Dot1Q(vlan=200)
        / IP(src="198.51.100.1", dst="198.51.100.2", flags="DF", id=0)
        / GRE()
        / user("10.3.0.5", ttl=63)
        / UDP(sport=1, dport=2)
        / Raw(b"odd"),
    )


@pytest.mark.parametrize("checksum", [0, 1])
@pytest.mark.parametrize("sequence", [0, 1])
def test_a_known_overlay_is_opened_at_its_true_length(checksum: int, sequence: int) -> None:
    gre = GRE(key_present=1, key=7, chksum_present=checksum, seqnum_present=sequence)
    gre.seqence_number = 99
    inner = IP(src="10.2.0.5", dst="10.1.0.10", ttl=9) / TCP(sport=80, dport=4000)
    outcome = run(FROM_SITE / gre / inner, WAN1)
    assert (outcome.verdict, outcome.egress) == ("redirect", LAN), outcome.trace
    inner.ttl = 8
    same(outcome, Ether(src=LAN_MAC, dst=HOST_MAC) / inner)
    assert outcome.counted == (("OVERLAY", 101), ("PDR", 304), ("FAR", 203))


@pytest.mark.parametrize(
    "packet",
    [
        FROM_SITE / GRE(key_present=1, key=8) / user(),
        FROM_SITE / GRE() / user(),
        Ether() / IP(src="192.0.2.66", dst="192.0.2.1") / GRE(key_present=1, key=7) / user(),
        Ether() / IP(src="192.0.2.2", dst="192.0.2.99") / GRE(key_present=1, key=7) / user(),
    ],
    ids=["wrong key", "no key", "spoofed", "transit"],
)
def test_an_unknown_tunnel_is_the_kernels_and_counted(packet: Packet) -> None:
    outcome = run(packet, WAN1)
    assert outcome.verdict == "pass"
    assert outcome.frame == bytes(packet)
    assert outcome.events == (("miss", "OVERLAY"), ("verdict", "pass"))


def test_the_hosts_own_traffic_comes_out_of_the_tunnel() -> None:
    inner = IP(src="10.2.0.5", dst="10.1.0.1") / ICMP()
    outcome = run(FROM_SITE / GRE(key_present=1, key=7) / inner, WAN1)
    assert outcome.verdict == "pass"
    same(outcome, Ether(src=SITE1_MAC, dst=WAN1_MAC) / inner)


@pytest.mark.parametrize(
    "packet",
    [
        ETHER / ARP(),
        ETHER / user("10.1.0.1") / TCP(dport=22),
        ETHER / user("255.255.255.255") / UDP(sport=68, dport=67),
        ETHER / user("10.1.255.255") / UDP(),
        ETHER / user("224.0.0.5") / Raw(b"hello"),
        ETHER / IPv6(src="fe80::9", dst="ff02::1:ff00:1", hlim=255) / ICMPv6ND_NS(tgt="fe80::1"),
    ],
)
def test_the_hosts_own_traffic_is_not_touched(packet: Packet) -> None:
    outcome = run(packet)
    assert (outcome.verdict, outcome.frame) == ("pass", bytes(packet))
    assert outcome.counted == ()


# ---- ECN ------------------------------------------------------------------------------------


def test_ecn_is_joined_when_a_tunnel_is_opened() -> None:
    joined = (3, 1, 3), (3, 2, 3), (3, 3, 3), (1, 2, 1), (1, 0, 0), (1, 3, 3), (0, 3, 3), (2, 0, 0)
    for outer, inner, result in joined:
        packet = Ether() / IP(src="192.0.2.2", dst="192.0.2.1", tos=outer)
        packet /= GRE(key_present=1, key=7) / IP(src="10.2.0.5", dst="10.1.0.10", tos=0xB8 | inner)
        outcome = run(packet, WAN1)
        expected = IP(src="10.2.0.5", dst="10.1.0.10", tos=0xB8 | result, ttl=63)
        same(outcome, Ether(src=LAN_MAC, dst=HOST_MAC) / expected)


def test_congestion_that_the_inner_packet_cannot_tell_drops_it() -> None:
    packet = Ether() / IP(src="192.0.2.2", dst="192.0.2.1", tos=3) / GRE(key_present=1, key=7)
    outcome = run(packet / IP(src="10.2.0.5", dst="10.1.0.10", tos=0xB8), WAN1)
    assert outcome.events == (("drop", "ecn"), ("verdict", "drop"))
    assert outcome.frame is None


# ---- MSS ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        [("MSS", 1460), ("WScale", 7)],
        [("NOP", None), ("MSS", 1460), ("NOP", None)],
        [("WScale", 7), ("MSS", 1460)],
        [("NOP", None), ("NOP", None), ("SAckOK", b""), ("MSS", 65535)],
    ],
)
def test_the_mss_of_a_syn_is_lowered_at_any_offset(options: list[tuple[str, object]]) -> None:
    syn = TCP(sport=1000, dport=80, flags="S", options=options)
    outcome = run(ETHER / user() / syn)
    assert outcome.frame is not None
    found = Ether(outcome.frame)[TCP]
    assert dict(found.options)["MSS"] == 1500 - 28 - 40
    total, found.chksum = found.chksum, None
    inner = Ether(outcome.frame)[GRE].payload
    inner[TCP].chksum = None
    assert IP(bytes(inner))[TCP].chksum == total


def test_a_small_mss_and_a_packet_without_syn_are_left_alone() -> None:
    for flags, mss in (("S", 1400), ("A", 1460)):
        packet = user() / TCP(flags=flags, options=[("MSS", mss)])
        outcome = run(ETHER / packet)
        packet.ttl = 63
        assert outcome.frame is not None
        assert outcome.frame.endswith(bytes(packet))


# ---- replies --------------------------------------------------------------------------------


def error(outcome: Outcome, kind: int, code: int) -> Packet:
    assert outcome.frame is not None, outcome.trace
    answer = Ether(outcome.frame)
    rebuilt = Ether(outcome.frame)
    for layer in (IP, ICMP):
        del rebuilt[layer].chksum
    assert bytes(rebuilt) == outcome.frame  # scapy agrees on both checksums
    assert (answer[ICMP].type, answer[ICMP].code) == (kind, code)
    return answer


def test_an_expired_packet_is_answered_by_the_port_it_came_in_by() -> None:
    packet = ETHER / user(ttl=1) / UDP(sport=5, dport=6) / Raw(b"x" * 100)
    outcome = run(packet)
    assert (outcome.verdict, outcome.egress) == ("tx", LAN)
    assert outcome.events == (("hook", "ttl_expired"), ("verdict", "tx"))
    answer = error(outcome, 11, 0)
    assert (answer.src, answer.dst) == (LAN_MAC, HOST_MAC)
    ip = answer[IP]
    assert (ip.src, ip.dst, ip.tos, ip.ttl, ip.id) == ("10.1.0.1", "10.1.0.10", 0xC0, 64, 0)
    assert bytes(answer[IPerror]) == bytes(packet[IP])[:28]


def test_a_packet_too_big_for_the_tunnel_is_told_what_fits() -> None:
    for size, fits in ((1500 - 28, True), (1500 - 27, False)):
        packet = ETHER / user() / UDP() / Raw(b"x" * (size - 28))
        outcome = run(packet)
        assert (outcome.verdict == "redirect") is fits
    assert outcome.events == (("hook", "too_big"), ("verdict", "tx"))
    assert error(outcome, 3, 4)[ICMP].nexthopmtu == 1472


def test_a_packet_out_of_a_tunnel_is_answered_through_it() -> None:
    inner = IP(src="10.2.0.5", dst="10.1.0.10", ttl=1) / UDP()
    gre = GRE(key_present=1, key=7, seqnum_present=1, seqence_number=5, chksum_present=1)
    outcome = run(FROM_SITE / gre / inner, WAN1)
    assert (outcome.verdict, outcome.egress) == ("tx", WAN1)
    assert outcome.frame is not None
    answer = Ether(outcome.frame)
    head = Ether(src=WAN1_MAC, dst=SITE1_MAC)
    head /= IP(src="192.0.2.1", dst="192.0.2.2", flags="DF", id=0, proto=47)
    head /= GRE(key_present=1, key=7)
    head /= IP(src="192.0.2.1", dst="10.2.0.5", tos=0xC0, flags="DF", id=0)
    assert bytes(answer) == bytes(head / ICMP(type=11) / Raw(bytes(inner)[:28]))


@pytest.mark.parametrize(
    "packet",
    [
        user(ttl=1, frag=9, proto=17) / Raw(b"later"),
        user(ttl=1) / ICMP(type=3) / Raw(b"an error"),
    ],
)
def test_some_packets_must_not_be_answered(packet: Packet) -> None:
    outcome = run(ETHER / packet)
    assert outcome.events == (("hook", "ttl_expired"), ("verdict", "drop"))


@pytest.mark.parametrize("source", ["0.0.0.0", "224.0.0.1", "255.255.255.255"])
def test_no_answer_goes_to_what_is_no_host(source: str) -> None:
    """Of a LINX that counts such packets and does not drop them."""
    text = (PIPELINES / "linx.hp").read_text()
    dropped = "count martian  // 0/8, 127/8, groups and 240/4\n        drop\n"
    assert dropped in text
    pipeline = check(parse(Source("linx.hp", text.replace(dropped, "count martian\n"))))
    frame = bytes(ETHER / IP(src=source, dst="10.2.0.5", ttl=1) / UDP())
    events = Interpreter(pipeline, WORLD).run(RULES, frame, LAN).events
    assert events == (("count", "martian"), ("hook", "ttl_expired"), ("verdict", "drop"))


def test_ping_is_answered_though_it_is_icmp() -> None:
    assert run(ETHER / user(ttl=1) / ICMP(type=8)).verdict == "tx"


# ---- the rest -------------------------------------------------------------------------------


def test_an_unknown_neighbour_leaves_the_packet_to_the_kernel() -> None:
    packet = FROM_SITE / GRE(key_present=1, key=7) / IP(src="10.2.0.5", dst="10.1.0.77") / UDP()
    outcome = run(packet, WAN1)
    assert outcome.events == (("hook", "unresolved"), ("verdict", "pass"))
    same(outcome, Ether(src=SITE1_MAC, dst=WAN1_MAC) / packet[GRE].payload)


def test_padding_stays_and_is_not_counted() -> None:
    packet = bytes(ETHER / user() / UDP(dport=9)) + bytes(18)
    outcome = run(packet)
    assert outcome.frame is not None
    assert outcome.frame.endswith(bytes(18))
    assert Ether(outcome.frame)[IP].len == 20 + 8 + 28


def test_options_are_walked() -> None:
    packet = user(options=b"\x07\x07\x04" + bytes(5)) / UDP(sport=3, dport=4) / Raw(b"data")
    outcome = run(ETHER / packet)
    packet.ttl = 63
    assert outcome.frame is not None
    assert outcome.frame.endswith(bytes(packet))
    assert ("udp", 14 + 28) in outcome.parsed


def test_actions_of_the_far() -> None:
    assert run(ETHER / user("10.5.0.1") / UDP()).verdict == "drop"
    packet = ETHER / user("10.6.0.1") / UDP()
    assert run(packet).frame == bytes(packet)
    assert run(ETHER / user("172.16.0.1") / UDP()).events == (("miss", "PDR"), ("verdict", "pass"))


def test_a_spread_uses_its_members_by_weight() -> None:
    ways = [run(ETHER / user("10.4.0.1") / UDP(sport=p, dport=53)).egress for p in range(1, 401)]
    assert set(ways) == {WAN1, WAN2}
    assert 250 < ways.count(WAN1) < 350


def test_fragments_of_a_datagram_share_a_way() -> None:
    first = user("10.4.0.1", flags="MF") / UDP(sport=7, dport=8) / Raw(bytes(8))
    later = user("10.4.0.1", frag=2, proto=17) / Raw(b"\xff" * 30)
    assert run(ETHER / first).egress == run(ETHER / later).egress


@pytest.mark.parametrize(
    ("cut", "reason"), [(13, "ethernet"), (20, "user"), (33, "user"), (34, "user"), (40, "user")]
)
def test_a_truncated_packet_is_malformed(cut: int, reason: str) -> None:
    frame = bytes(ETHER / user() / UDP())[:cut]
    outcome = run(frame)
    assert outcome.verdict == "drop"
    group, said = outcome.events[0]
    assert group == "malformed"
    assert said.startswith(reason)
    assert outcome.events[1:] == (("hook", "malformed"), ("verdict", "drop"))


def test_a_port_that_is_not_there_is_said() -> None:
    with pytest.raises(LookupError, match="no port 9"):
        run(ETHER, 9)
