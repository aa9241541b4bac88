"""LINX against the kernel's own GRE devices, both ways: the tunnels' other end is Linux, not Helio.

host 10.1.0.10 -- lan0 [edge: LINX] wan0 -- 192.0.2.2, .3 site: gre1 10.2.0.1, gre2 10.3.0.1
     fd00:1::10                              2001:db8::2        six 10.4.0.1, fd00:4::1
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from edges import Edge, running
from lab import Lab, Namespace
from traffic import ping

EDGE = """\
ports:
  LAN: {role: lan, interface: lan0}
  WAN: {role: wan, interface: wan0}
overlays:
  KEYED: {local_ip: 192.0.2.1, remote_ip: 192.0.2.2, key: 7, interface: WAN}
  PLAIN: {local_ip: 192.0.2.1, remote_ip: 192.0.2.3, interface: WAN}
"""
RULES = """\
create OVERLAY6 SIX [(local_ip6, u128, 2001:db8::1), (remote_ip6, u128, 2001:db8::2), (key, u32, 7),
                     (interface, u32, WAN)];
create FAR 4 [(action, u8, REDIRECT), (interface, u32, SIX)];
create FAR 1 [(action, u8, REDIRECT), (interface, u32, KEYED)],
       FAR 2 [(action, u8, REDIRECT), (interface, u32, PLAIN)],
       FAR 3 [(action, u8, REDIRECT), (interface, u32, LAN)];
create PDR 1 [(dst_ip, u32, 10.2.0.0/16), FAR 1], PDR 2 [(dst_ip, u32, 10.3.0.0/16), FAR 2],
       PDR 3 [(dst_ip, u32, 10.1.0.0/16), FAR 3], PDR 4 [(dst_ip, u32, 10.4.0.0/16), FAR 4];
create PDR6 1 [(dst_ip6, u128, fd00:4::/64), FAR 4], PDR6 2 [(dst_ip6, u128, fd00:1::/64), FAR 3]
"""


@dataclass(frozen=True)
class Network:
    """The two ends, and the edge between them."""

    host: Namespace
    site: Namespace
    edge: Edge

    def tunnel(self, device: str, remote: str, address: str, options: str) -> None:
        """Make the site's end of a tunnel anew."""
        self.site.ip(
            *f"link add {device} type gre local {remote} remote 192.0.2.1 {options}".split()
        )
        self.site.ip("link", "set", device, "up")
        self.site.address(device, f"{address}/16")
        self.site.ip("route", "replace", "10.1.0.0/16", "dev", device, "src", address)

    def tunnel_over_ipv6(self, options: str) -> None:
        ends = "local 2001:db8::2 remote 2001:db8::1"
        self.site.ip(*f"link add six type ip6gre {ends} {options}".split())
        self.site.ip("link", "set", "six", "up")
        self.site.address("six", "10.4.0.1/16", "fd00:4::1/64")
        self.site.ip("route", "replace", "10.1.0.0/16", "dev", "six", "src", "10.4.0.1")
        self.site.ip("-6", "route", "replace", "fd00:1::/64", "dev", "six", "src", "fd00:4::1")


@pytest.fixture
def network(lab: Lab, bundles: Path, tmp_path: Path) -> Iterator[Network]:
    host, edge, site = (lab.namespace(n) for n in ("host", "edge", "site"))
    lab.wire(host, "eth0", edge, "lan0")
    lab.wire(site, "eth0", edge, "wan0")
    host.address("eth0", "10.1.0.10/16", "fd00:1::10/64")
    host.route("default", "10.1.0.1")
    host.route("default", "fd00:1::1")
    edge.address("lan0", "10.1.0.1/16", "fd00:1::1/64")
    edge.address("wan0", "192.0.2.1/24", "2001:db8::1/64")
    site.address("eth0", "192.0.2.2/24", "192.0.2.3/24", "2001:db8::2/64")
    for address in ("192.0.2.2", "192.0.2.3", "2001:db8::2"):
        edge.neighbour("wan0", address, site.mac("eth0"))
    for address in ("10.1.0.10", "fd00:1::10"):
        edge.neighbour("lan0", address, host.mac("eth0"))
    (tmp_path / "edge.yaml").write_text(EDGE)
    (tmp_path / "rules.req").write_text(RULES)
    with running(edge, bundles / "linx", tmp_path / "edge.yaml", tmp_path / "rules.req") as linx:
        yield Network(host, site, linx)


def test_ping_both_ways(network: Network) -> None:
    """With and without key; the kernel's checksum and sequence number are there in some."""
    for options in ("key 7", "key 7 ocsum", "key 7 oseq ocsum"):
        network.tunnel("gre1", "192.0.2.2", "10.2.0.1", options)
        assert ping(network.host, "10.2.0.1", 5).lost == 0, options
        assert ping(network.site, "10.1.0.10", 5).lost == 0, options
        network.site.ip("link", "delete", "gre1")
    for options in ("", "oseq", "ocsum"):
        network.tunnel("gre2", "192.0.2.3", "10.3.0.1", options)
        assert ping(network.host, "10.3.0.1", 5).lost == 0, options
        assert ping(network.site, "10.1.0.10", 5).lost == 0, options
        network.site.ip("link", "delete", "gre2")
    counted = [network.edge.packets("OVERLAY", name) for name in ("KEYED", "PLAIN")]
    assert counted == [60, 60]  # 10 each way a tunnel
    assert network.edge.event("miss", "OVERLAY") == 0


def test_ping_both_ways_over_ipv6(network: Network) -> None:
    """Users of both versions; the kernel's destination options, which it writes unless it is told
    not to (RFC 2473 section 4.1.1), checksum and sequence number are there in some."""
    for options in ("key 7", "key 7 encaplimit none", "key 7 encaplimit none oseq ocsum"):
        network.tunnel_over_ipv6(options)
        for there, here in (("10.4.0.1", "10.1.0.10"), ("fd00:4::1", "fd00:1::10")):
            assert ping(network.host, there, 5).lost == 0, (options, there)
            assert ping(network.site, here, 5).lost == 0, (options, here)
        network.site.ip("link", "delete", "six")
    counted = network.edge.packets("OVERLAY6", "SIX")
    assert 3 * 2 * 20 <= counted <= 3 * (2 * 20 + 5)  # the device solicits routers, too
    assert network.edge.event("miss", "OVERLAY6") == 0
