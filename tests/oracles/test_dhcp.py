"""What scapy builds of DHCP is what a pipeline reads of it, options too, wherever they stand."""

from __future__ import annotations

from ipaddress import IPv4Address
from pathlib import Path

from helioc.compiler.driver import check_file
from helioc.compiler.interpret.parse_packet import parse_packet
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.dhcp import BOOTP, DHCP
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

LEASES = check_file(Path(__file__).with_name("leases.hp"))
ADDRESSES = st.integers(0, (1 << 32) - 1).map(lambda number: str(IPv4Address(number)))
#: Of scapy's names, ours, and values.
OPTIONS = {
    "message-type": ("message.type", st.integers(1, 8)),
    "lease_time": ("lease.seconds", st.integers(0, (1 << 32) - 1)),
    "requested_addr": ("requested.address", ADDRESSES),
    "server_id": ("server.address", ADDRESSES),
    "subnet_mask": ("subnet_mask.value", ADDRESSES),
}
OTHERS = st.sampled_from(["pad", ("hostname", b"a"), ("vendor_class_id", b"x" * 200)])
SAID = st.lists(st.sampled_from(sorted(OPTIONS)), unique=True).flatmap(
    lambda names: st.tuples(*(st.tuples(st.just(n), OPTIONS[n][1]) for n in names))
)
MACS = st.binary(min_size=6, max_size=6)


@given(st.sampled_from((1, 2)), ADDRESSES, ADDRESSES, MACS, SAID, st.lists(OTHERS, max_size=4),
       st.booleans())  # fmt: skip
def test_what_scapy_says_is_read(
    op: int, your: str, relay: str, mac: bytes, said: tuple[tuple[str, int | str], ...],
    others: list[str | tuple[str, bytes]], ends: bool,
) -> None:  # fmt: skip
    bootp = BOOTP(op=op, xid=7, yiaddr=your, giaddr=relay, chaddr=mac, secs=3, flags="B")
    options = [*others, *said, *(["end"] if ends else [])]
    frame = Ether() / IP(dst="10.0.0.1") / UDP(sport=67, dport=68) / bootp / DHCP(options=options)
    parsed = parse_packet(LEASES.graph, "any", bytes(frame))
    assert parsed.result == "ok"
    view = parsed.by_name["dhcp"].view
    assert [view.number(n) for n in ("op", "transaction", "seconds", "broadcast")] == [op, 7, 3, 1]
    assert view.number("your_ip") == int(IPv4Address(your))
    assert view.number("relay_ip") == int(IPv4Address(relay))
    assert view.number("client_mac") == int.from_bytes(mac, "big")
    expected = {OPTIONS[name][0]: value for name, value in said}
    for ours, _ in OPTIONS.values():
        value = expected.get(ours)
        number = int(IPv4Address(value)) if isinstance(value, str) else value
        assert view.get(ours) == number, ours
