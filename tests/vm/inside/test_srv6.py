"""The SRv6 edge against the kernel's seg6 with VRFs (End.DT4 and End.DT6 with `vrftable`): two
slices that have the same addresses.

blue 10.1.0.9 -- acc0 [edge fc00:a::/32] core0 -- [linux fc00:b::/32: VRFs] -- 10.2.0.9 blue
red  10.1.0.9 -- acc1                                                       -- 10.2.0.9 red
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from edges import Edge, running
from lab import Lab, Namespace
from traffic import ping

NEAR4, FAR4, NEAR6, FAR6 = "10.1.0.9", "10.2.0.9", "fd00:1::9", "fd00:2::9"
TABLES = {"blue": 100, "red": 200}
EDGE = """\
ports:
  BLUE: {role: access, interface: acc0}
  RED: {role: access, interface: acc1}
  CORE: {role: core, interface: core0}
"""
SLICE = """
create SID {name}4 [(sid, u128, fc00:a::{t}4), (behaviour, u8, END_DT4), (table, u32, {t})],
       SID {name}6 [(sid, u128, fc00:a::{t}6), (behaviour, u8, END_DT6), (table, u32, {t})];
create POLICY {name}4 [(source, u128, fc00:a::), (sids, u128, fc00:b::{t}4),
                       (headend, u8, {headend}), (interface, u32, CORE),
                       (gateway, u128, fc00:cc::2)],
       POLICY {name}6 [(source, u128, fc00:a::), (sids, u128, fc00:b::{t}6),
                       (headend, u8, {headend}), (interface, u32, CORE),
                       (gateway, u128, fc00:cc::2)];
create NEXT {t} [(interface, u32, {port}), (gateway4, u32, 10.1.0.9),
                  (gateway, u128, fd00:1::9)];
create SLICE {name} [(port, u32, {port}), (table, u32, {t})];
create ROUTE4 [(table, u32, {t}), (dst4, u32, 10.2.0.0/16), POLICY {name}4],
       ROUTE4 [(table, u32, {t}), (dst4, u32, 10.1.0.0/16), NEXT {t}],
       ROUTE6 [(table, u32, {t}), (dst6, u128, fd00:2::/64), POLICY {name}6],
       ROUTE6 [(table, u32, {t}), (dst6, u128, fd00:1::/64), NEXT {t}];
"""
CORE = (
    "create CORE 1 [(dst6, u128, fc00:b::/32), (interface, u32, CORE), (gateway, u128, fc00:cc::2)]"
)


@dataclass(frozen=True)
class Network:
    near: dict[str, Namespace]
    far: dict[str, Namespace]
    edge: Edge


@pytest.fixture
def network(lab: Lab, bundles: Path, tmp_path: Path) -> Iterator[Network]:
    edge, linux = lab.namespace("edge"), lab.namespace("linux")
    near = {name: lab.namespace(f"near-{name}") for name in TABLES}
    far = {name: lab.namespace(f"far-{name}") for name in TABLES}
    lab.wire(linux, "eth0", edge, "core0")
    edge.address("core0", "fc00:cc::1/64")
    linux.address("eth0", "fc00:cc::2/64")
    edge.neighbour("core0", "fc00:cc::2", linux.mac("eth0"))
    for name in ("net.ipv6.conf.all.forwarding", "net.ipv4.ip_forward", "net.vrf.strict_mode"):
        linux.sysctl(name, 1)
    for device in ("all", "eth0"):
        linux.sysctl(f"net.ipv6.conf.{device}.seg6_enabled", 1)
    linux.route("fc00:a::/32", "fc00:cc::1")
    for number, (name, table) in enumerate(TABLES.items()):
        _slice(lab, edge, linux, near[name], far[name], number, name, table)
    (tmp_path / "edge.yaml").write_text(EDGE)
    (tmp_path / "rules.req").write_text(_rules())
    paths = tmp_path / "edge.yaml", tmp_path / "rules.req"
    with running(edge, bundles / "srv6_edge", *paths) as loaded:
        yield Network(near, far, loaded)


def _slice(
    lab: Lab, edge: Namespace, linux: Namespace, near: Namespace, far: Namespace,
    number: int, name: str, table: int,
) -> None:  # fmt: skip
    """Both sites of a slice; the kernel's side of it is in a VRF of its own."""
    lab.wire(near, "eth0", edge, f"acc{number}", mtu=1400)
    lab.wire(far, "eth0", linux, f"far{number}", mtu=1400)
    linux.ip(*f"link add {name} type vrf table {table}".split())
    linux.ip("link", "set", name, "up")
    linux.sysctl(f"net.ipv6.conf.{name}.disable_ipv6", 0)
    linux.ip("link", "set", f"far{number}", "master", name)
    near.address("eth0", f"{NEAR4}/16", f"{NEAR6}/64")
    far.address("eth0", f"{FAR4}/16", f"{FAR6}/64")
    linux.address(f"far{number}", "10.2.0.1/16", "fd00:2::1/64")
    for host, site in ((near, 1), (far, 2)):
        host.route("default", f"10.{site}.0.1")
        host.route("default", f"fd00:{site}::1")
    for address in ("10.1.0.1", "fd00:1::1"):
        near.neighbour("eth0", address, edge.mac(f"acc{number}"))
    edge.address(f"acc{number}", "10.1.0.1/16", "fd00:1::1/64")
    for address in (NEAR4, NEAR6):
        edge.neighbour(f"acc{number}", address, near.mac("eth0"))
    for address in ("10.2.0.1", "fd00:2::1"):
        far.neighbour("eth0", address, linux.mac(f"far{number}"))
    linux.ip(*f"-6 route add fc00:a::/32 via fc00:cc::1 dev eth0 table {table}".split())
    for family, near_net, end in (("-4", "10.1.0.0/16", 4), ("-6", "fd00:1::/64", 6)):
        opened = f"encap seg6local action End.DT{end} vrftable {table} dev {name}"
        linux.ip(*f"-6 route add fc00:b::{table}{end}/128 {opened}".split())
        sent = f"encap seg6 mode encap segs fc00:a::{table}{end} dev eth0 table {table}"
        linux.ip(*f"{family} route add {near_net} {sent}".split())


def _rules() -> str:
    """One slice writes its segment into an SRH, the other leaves it out."""
    headends = {"blue": "H_ENCAPS_RED", "red": "H_ENCAPS"}
    slices = (
        SLICE.format(name=name, t=table, port=name.upper(), headend=headends[name]).strip(" ;\n")
        for name, table in TABLES.items()
    )
    return ";".join((CORE, *slices))


def test_slices_with_the_same_addresses(network: Network) -> None:
    for name in TABLES:
        for there, back in ((FAR4, NEAR4), (FAR6, NEAR6)):
            assert ping(network.near[name], there, 5).lost == 0, (name, there)
            assert ping(network.far[name], back, 5).lost == 0, (name, back)
    names = [f"{name}{family}" for name in TABLES for family in (4, 6)]
    for kind in ("POLICY", "SID"):  # five and their answers: from this side, and from the other
        assert network.edge.counted(kind) == dict.fromkeys(names, 10), kind
