"""The VXLAN gateway against the kernel's own vxlan devices, each in a VRF: two tenants that have
the same addresses.

blue 10.7.0.11 -- acc0 [gateway 192.0.2.1] under0 -- 192.0.2.2 linux: VNI 77 in VRF blue, 10.7.0.2
red  10.7.0.11 -- acc1                                               VNI 78 in VRF red,  10.7.0.2
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from edges import Edge, running
from lab import Lab, Namespace
from traffic import ping

NEAR, FAR = "10.7.0.11", "10.7.0.2"
VNIS = {"blue": 77, "red": 78}
EDGE = """\
ports:
  ACC1: {role: access, interface: acc0}
  ACC2: {role: access, interface: acc1}
  UNDERLAY: {role: underlay, interface: under0}
"""
RULES = """\
create VTEP 1 linux [(local_ip, u32, 192.0.2.1), (remote_ip, u32, 192.0.2.2),
                     (interface, u32, UNDERLAY)];
create SEGMENT 1 blue [(port, u32, ACC1), (vni, u32, 77), (local_ip, u32, 192.0.2.1)],
       SEGMENT 2 red [(port, u32, ACC2), (vni, u32, 78), (local_ip, u32, 192.0.2.1)];
create TENANT 1 blue [(vni, u32, 77), (port, u32, ACC1)],
       TENANT 2 red [(vni, u32, 78), (port, u32, ACC2)]
"""


@dataclass(frozen=True)
class Network:
    stations: dict[str, Namespace]
    linux: Namespace
    gateway: Edge


@pytest.fixture
def network(lab: Lab, bundles: Path, tmp_path: Path) -> Iterator[Network]:
    gateway, linux = lab.namespace("gateway"), lab.namespace("linux")
    stations = {name: lab.namespace(name) for name in VNIS}
    lab.wire(linux, "eth0", gateway, "under0")
    gateway.address("under0", "192.0.2.1/24")
    linux.address("eth0", "192.0.2.2/24")
    gateway.neighbour("under0", "192.0.2.2", linux.mac("eth0"))
    for number, (tenant, vni) in enumerate(VNIS.items()):
        lab.wire(stations[tenant], "eth0", gateway, f"acc{number}", mtu=1450)
        stations[tenant].address("eth0", f"{NEAR}/24")
        linux.ip(*f"link add {tenant} type vrf table {100 + number}".split())
        linux.ip("link", "set", tenant, "up")
        how = "remote 192.0.2.1 local 192.0.2.2 dev eth0 dstport 4789"
        linux.ip(*f"link add vx{vni} type vxlan id {vni} {how}".split())
        linux.ip("link", "set", f"vx{vni}", "master", tenant, "up")
        linux.offload(f"vx{vni}", tx="off")
        linux.address(f"vx{vni}", f"{FAR}/24")
    (tmp_path / "edge.yaml").write_text(EDGE)
    (tmp_path / "rules.req").write_text(RULES)
    with running(
        gateway, bundles / "vxlan_gateway", tmp_path / "edge.yaml", tmp_path / "rules.req"
    ) as edge:
        yield Network(stations, linux, edge)


def test_tenants_with_the_same_addresses(network: Network) -> None:
    for tenant in VNIS:
        assert ping(network.stations[tenant], FAR, 5).lost == 0, tenant
        assert ping(network.linux, NEAR, 5, "-I", tenant).lost == 0, tenant
    macs = [network.linux.run("ip", "neighbour", "show", "vrf", tenant) for tenant in VNIS]
    for tenant, known in zip(VNIS, macs, strict=True):
        assert network.stations[tenant].mac("eth0") in known
    assert network.gateway.packets("TENANT", "blue") >= 10
    assert network.gateway.packets("TENANT", "red") >= 10
    assert network.gateway.event("miss", "TENANT") == 0
