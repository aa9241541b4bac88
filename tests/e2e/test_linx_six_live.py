"""Users of both versions through an overlay over IPv6 between two edges, and a frame with two tags
and a label that reaches its rule. Native XDP on veth."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from edges import Edge, hear_answers, pinned, running
from lab import Lab, Namespace
from leaks import PREFIX
from scapy.contrib.mpls import MPLS
from scapy.layers.inet import UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1AD, Dot1Q, Ether
from scapy.packet import Raw
from traffic import ping, tcp_round_trip, udp_socket

CONFIG = """default: pass
mode: native
ports:
  LAN: {role: lan, interface: lan0}
  WAN: {role: wan, interface: wan0}
"""
#: What is for the other site goes into the overlay, what is for this one to the LAN.
RULES = """create OVERLAY6 SIX [(local_ip6, u128, 2001:db8::%(own)d), (key, u32, 7),
                    (remote_ip6, u128, 2001:db8::%(other)d), (interface, u32, WAN)];
create FAR 1 [(action, u8, REDIRECT), (interface, u32, SIX)];
create FAR 2 [(action, u8, REDIRECT), (interface, u32, LAN)];
create PDR 1 [(dst_ip, u32, 10.%(other)d.0.0/16), FAR 1];
create PDR 2 [(dst_ip, u32, 10.%(own)d.0.0/16), FAR 2];
create PDR6 1 [(dst_ip6, u128, fd00:%(other)d::/64), FAR 1];
create PDR6 2 [(dst_ip6, u128, fd00:%(own)d::/64), FAR 2];
create PDR6 3 [(service_id, u16, 300), (vlan_id, u16, 20), (mpls_label, u32, 1000),
               (priority, u16, 9), FAR 1]
"""


@dataclass(frozen=True)
class Site:
    """A host of both versions, and its edge."""

    number: int
    host: Namespace
    room: Namespace

    @property
    def addresses(self) -> tuple[str, str]:
        return f"10.{self.number}.0.9", f"fd00:{self.number}::9"

    @property
    def edge(self) -> Edge:
        return Edge(self.room)


@pytest.fixture(scope="module")
def sites(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, Site]]:
    prefix = f"{PREFIX}six-"
    with ExitStack() as owned:
        lab = owned.enter_context(Lab(prefix))
        one, two = (Site(n, lab.namespace(f"host{n}"), lab.namespace(f"edge{n}")) for n in (1, 2))
        lab.wire(one.room, "wan0", two.room, "wan0")
        for site in (one, two):
            _connect(lab, site)
        for site, other in ((one, two), (two, one)):
            for address in (*site.addresses, f"2001:db8::{other.number}"):
                assert ping(site.room, address, 1).lost == 0  # so that the next hops are known
        for site, other in ((one, two), (two, one)):
            folder = tmp_path_factory.mktemp("six")
            config, rules = folder / "edge.yaml", folder / "rules.req"
            config.write_text(CONFIG)
            rules.write_text(RULES % {"own": site.number, "other": other.number})
            edge = owned.enter_context(running(site.room, bundle, config, rules))
            assert edge.modes() == {"lan0": "xdp", "wan0": "xdp"}
        yield one, two
    assert pinned(prefix) == []


def _connect(lab: Lab, site: Site) -> None:
    lab.wire(site.host, "eth0", site.room, "lan0")
    four, six = site.addresses
    site.host.address("eth0", f"{four}/24", f"{six}/64")
    site.room.address("lan0", f"10.{site.number}.0.1/24", f"fd00:{site.number}::1/64")
    site.room.address("wan0", f"2001:db8::{site.number}/64")
    site.host.route("default", f"10.{site.number}.0.1")
    site.host.route("default", f"fd00:{site.number}::1")
    hear_answers([(site.host, "eth0")])


@pytest.mark.parametrize("version", [0, 1], ids=["IPv4", "IPv6"])
def test_users_of_both_versions_talk(sites: tuple[Site, Site], version: int) -> None:
    for site, other in (sites, sites[::-1]):
        carried = site.edge.packets("OVERLAY6", "SIX")
        assert ping(site.host, other.addresses[version], 20).lost == 0
        assert site.edge.packets("OVERLAY6", "SIX") == carried + 2 * 20
        there = other.addresses[version]
        assert tcp_round_trip(site.host, other.host, there, size=300_000) == 300_000


def test_two_tags_and_a_label_reach_their_rule(sites: tuple[Site, Site]) -> None:
    """Tags and label stay on the LAN; a label that no rule has is left to the kernel."""
    one, two = sites
    (_, near), (_, far) = one.addresses, two.addresses
    frame = Ether(src=one.host.mac("eth0"), dst=one.room.mac("lan0"))
    frame /= Dot1AD(vlan=300) / Dot1Q(vlan=20) / MPLS(label=1000, ttl=9)
    frame /= IPv6(src=near, dst=far) / UDP(sport=4000, dport=4001) / Raw(b"labelled")
    with closing(one.host.wire("eth0")) as wire, udp_socket(two.host, far, 4001) as server:
        server.settimeout(5)
        for label in (1000, 1001, 1000):
            frame[MPLS].label = label
            wire.send(bytes(frame))
        assert [server.recv(100) for _ in range(2)] == [b"labelled"] * 2
    assert one.edge.packets("PDR6", 3) == 2
    assert one.edge.event("count", "mpls") == 1
