"""The UPF against the kernel's own GTP-U (`gtp` device), which plays the access side of a session.

access: gtp0, UE 10.45.0.2 -- n3 [UPF] n6 -- network 198.51.100.9
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from edges import Edge, hear_answers, running
from lab import Lab, Namespace
from leaks import PREFIX
from traffic import ping, tcp_round_trip

EXAMPLE = Path(__file__).parents[3] / "examples" / "upf"
UE, SERVER = "10.45.0.2", "198.51.100.9"
UE6, SERVER6 = "2001:db8:45:2::", "2001:db8:9::9"  # the kernel knows a UE by its whole prefix

# linux/genetlink.h, linux/gtp.h
_GENERIC, _CTRL, _GETFAMILY, _FAMILY_ID, _FAMILY_NAME, _MCAST_GROUPS = 16, 16, 3, 1, 2, 7
_SOL_NETLINK, _ADD_MEMBERSHIP = 270, 1
_NEW_PDP, _ECHO, _LINK, _VERSION, _PEER, _MS, _I_TEI, _O_TEI = 0, 3, 1, 2, 4, 5, 8, 9
_MS6, _FAMILY = 12, 13


def new_pdp(device: str, peer: str, ue: str, incoming: int, outgoing: int) -> None:
    """Add a PDP context to a gtp device of this namespace. Raises OSError."""
    teids = [(_I_TEI, struct.pack("=I", incoming)), (_O_TEI, struct.pack("=I", outgoing))]
    if ":" in ue:
        user = (_MS6, socket.inet_pton(socket.AF_INET6, ue)), (_FAMILY, bytes([socket.AF_INET6]))
    else:
        user = (_MS, socket.inet_aton(ue)), (_FAMILY, bytes([socket.AF_INET]))
    _tell(_NEW_PDP, device, (_PEER, socket.inet_aton(peer)), *user, *teids)


def ask_echo(device: str, peer: str, own: str) -> None:
    """Let a gtp device of this namespace send an echo request. Raises OSError."""
    _tell(_ECHO, device, (_PEER, socket.inet_aton(peer)), (_MS, socket.inet_aton(own)))


@contextmanager
def echo_answers() -> Iterator[Callable[[], bytes]]:
    """What gtp devices of this namespace hear: the peer's address of the next echo response."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _GENERIC) as raw:
        groups = _attributes(_attributes(_family(raw))[_MCAST_GROUPS])
        (group,) = (_attributes(each) for each in groups.values())
        raw.setsockopt(_SOL_NETLINK, _ADD_MEMBERSHIP, struct.unpack("=I", group[2][:4])[0])
        raw.settimeout(20)
        yield lambda: _attributes(raw.recv(65536)[20:])[_PEER][:4]


def _family(raw: socket.socket) -> bytes:
    return _ask(raw, _CTRL, _GETFAMILY, 1, _attribute(_FAMILY_NAME, b"gtp\0"))


def _tell(command: int, device: str, *values: tuple[int, bytes]) -> None:
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _GENERIC) as raw:
        number = struct.unpack_from("=H", _attributes(_family(raw))[_FAMILY_ID])[0]
        link = (_LINK, struct.pack("=I", socket.if_nametoindex(device)))
        about = link, (_VERSION, struct.pack("=I", 1))
        body = b"".join(_attribute(*value) for value in (*about, *values))
        _ask(raw, number, command, 0, body)


def _attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", len(value) + 4, kind) + value + bytes(-len(value) % 4)


def _attributes(data: bytes) -> dict[int, bytes]:
    found, at = {}, 0
    while at < len(data):
        size, kind = struct.unpack_from("=HH", data, at)
        found[kind] = data[at + 4 : at + size]
        at += (size + 3) & ~3
    return found


def _ask(raw: socket.socket, family: int, command: int, version: int, body: bytes) -> bytes:
    """Send a generic netlink request (with NLM_F_REQUEST | NLM_F_ACK); its answer's attributes."""
    payload = struct.pack("=BBH", command, version, 0) + body
    raw.send(struct.pack("=IHHII", len(payload) + 16, family, 5, 1, 0) + payload)
    answer = b""
    while True:
        data = raw.recv(65536)
        while data:
            size, kind = struct.unpack_from("=IH", data)
            if kind == 2:  # NLMSG_ERROR, also of 0
                error = -struct.unpack_from("=i", data, 16)[0]
                if error:
                    raise OSError(error, os.strerror(error))
                return answer
            answer += data[20:size]
            data = data[size:]


@dataclass(frozen=True)
class Network:
    access: Namespace
    network: Namespace
    upf: Edge


@pytest.fixture(scope="module")
def network(bundles: Path) -> Iterator[Network]:
    """Loaded once: to verify the programs and give them rules takes an emulated kernel seconds."""
    with Lab(f"{PREFIX}gtp-") as lab:
        yield from _network(lab, bundles)


def _network(lab: Lab, bundles: Path) -> Iterator[Network]:
    access, upf, network = (lab.namespace(n) for n in ("access", "upf", "dn"))
    lab.wire(access, "eth0", upf, "n3")
    lab.wire(network, "eth0", upf, "n6")
    lab.wire(network, "eth1", upf, "n6b")
    access.address("eth0", "192.0.2.2/24")
    upf.address("n3", "192.0.2.1/24")
    upf.address("n6", "203.0.113.1/24", "2001:db8:6::1/64")
    network.address("eth0", "203.0.113.2/24", "2001:db8:6::2/64")
    network.address("lo", f"{SERVER}/32", f"{SERVER6}/128")
    network.route("10.45.0.0/16", "203.0.113.1")
    network.route("2001:db8:45::/48", "2001:db8:6::1")
    network.neighbour("eth0", "2001:db8:6::1", upf.mac("n6"))
    upf.neighbour("n3", "192.0.2.2", access.mac("eth0"))
    for gateway in ("203.0.113.2", "2001:db8:6::2"):
        upf.neighbour("n6", gateway, network.mac("eth0"))
    access.ip("link", "add", "gtp0", "type", "gtp", "role", "sgsn")
    access.ip("link", "set", "gtp0", "up", "mtu", "1400")
    access.sysctl("net.ipv6.conf.gtp0.disable_ipv6", 0)
    access.address("lo", f"{UE}/32", f"{UE6}/128")
    for ue, server in ((UE, SERVER), (UE6, SERVER6)):
        access.inside_thread(partial(new_pdp, "gtp0", "192.0.2.1", ue, 200, 100))
        access.ip("route", "add", server, "dev", "gtp0", "src", ue)
    with running(upf, bundles / "upf", EXAMPLE / "edge.yaml", EXAMPLE / "rules.req") as edge:
        yield Network(access, network, edge)


@pytest.mark.parametrize(("ue", "server", "version"), [(UE, SERVER, ""), (UE6, SERVER6, "6")])
def test_a_session_through_the_kernels_gtp(
    network: Network, ue: str, server: str, version: str
) -> None:
    up, down = f"UPLINK{version}", f"DOWNLINK{version}"
    assert ping(network.access, server, 5, "-I", ue).lost == 0
    assert ping(network.network, ue, 5, "-I", server).lost == 0
    assert tcp_round_trip(network.access, network.network, server, 80, 100_000) == 100_000
    assert network.upf.packets(up, 1) >= 20 and network.upf.packets(down, 1) >= 20
    assert network.upf.event("miss", up) == 0


def test_the_kernel_hears_that_the_upf_is_alive(network: Network) -> None:
    hear_answers([(network.access, "eth0")])

    def asked() -> bytes:
        with echo_answers() as answer:
            ask_echo("gtp0", "192.0.2.1", "192.0.2.2")
            return answer()

    assert network.access.inside_thread(asked) == socket.inet_aton("192.0.2.1")
    assert network.upf.packets("ENDPOINT", 1) == 1
