"""`std.ipv6` written by the interpreter and read by it, against scapy."""

from __future__ import annotations

from ipaddress import IPv6Address

from check_frame import checked
from helioc.compiler.interpret.build_packet import Heading, build
from helioc.compiler.interpret.parse_packet import parse_packet
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

PIPELINE, FOUND = checked(
    """import std.ethernet, std.ip, std.ipv6
pipeline p {
  ports lan
  parser {
    ethernet -> ipv6 when type = 0x86dd
    ipv6 -> tcp when next_header = 6
    ipv6 -> udp when next_header = 17
    ipv6 -> icmpv6 when next_header = 58
  }
  default pass
  stage s { pass }
  run parser -> s
}
"""
)
assert PIPELINE is not None, FOUND
GRAPH = PIPELINE.graph
ADDRESSES = st.integers(0, (1 << 128) - 1)
UPPER = st.sampled_from((TCP(flags="SA", seq=7), UDP(dport=53), ICMPv6EchoRequest(id=3, seq=4)))


@given(ADDRESSES, ADDRESSES, st.integers(0, 255), st.integers(0, 0xFFFFF), UPPER, st.binary())
def test_headers_agree_with_scapy(
    src: int, dst: int, traffic_class: int, label: int, upper: Packet, payload: bytes
) -> None:
    ip = IPv6(src=str(IPv6Address(src)), dst=str(IPv6Address(dst)), tc=traffic_class, fl=label)
    frame = bytes(
        Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02", type=0x86DD)
        / ip
        / upper
        / Raw(payload)
    )
    parsed = parse_packet(GRAPH, "lan", frame)
    assert [layer.name for layer in parsed.layers][:2] == ["ethernet", "ipv6"]
    found = parsed.by_name["ipv6"].fields
    assert (found["src"], found["dst"]) == (src, dst)
    assert (found["traffic_class"], found["dscp"], found["ecn"], found["flow_label"]) == (
        traffic_class, traffic_class >> 2, traffic_class & 3, label,
    )  # fmt: skip
    derived = {"payload_length", "checksum"}
    headings = [
        Heading(
            layer.name,
            layer.header,
            {name: value for name, value in layer.fields.items() if name not in derived},
        )
        for layer in parsed.layers
    ]
    behind = parsed.layers[-1].behind
    assert build(headings, frame[behind:]) == frame[:behind]
