"""A program: between a host on Ethernet and one behind an interface without link headers, which the
hop's second port is: GRE, IPIP, an XFRM interface, WireGuard. The argument is the bundle of hop.hp.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.text.source import Source
from helioc.runtime.edge.config import Config
from helioc.runtime.loading.bundle import read_bundle
from helioc.runtime.loading.loader import Loaded, unload
from helioc.runtime.loading.reader import Reader
from helioc.runtime.ports.ports import PortConfig
from lab import Lab, Namespace
from traffic import drain, udp_socket

RULES = """create ROUTE 1 [(dst_ip, u32, 10.2.0.0/16), (interface, u32, OUT)],
                  ROUTE 2 [(dst_ip, u32, 10.1.0.0/16), (interface, u32, IN)]"""
NAME, DEVICE, SOL_UDP, UDP_SEGMENT = "bare", "tunnel0", 17, 103
UNDERLAY = {"edge": "192.0.2.1", "far": "192.0.2.2"}
INSIDE = {"edge": "10.2.0.1", "far": "10.2.0.2"}
bundle = read_bundle(Path(sys.argv[1]))
request = parse_request(Source("rules", RULES))


def of_ip(kind: str) -> Callable[[Namespace, str, str], None]:
    def make(room: Namespace, here: str, there: str) -> None:
        ends = "local", UNDERLAY[here], "remote", UNDERLAY[there]
        room.ip("link", "add", DEVICE, "type", kind, *ends)

    return make


def xfrm(room: Namespace, here: str, there: str) -> None:
    """ESP in tunnel mode, for what goes by the interface."""
    room.ip("link", "add", DEVICE, "type", "xfrm", "dev", "lo", "if_id", "7")
    for number, (source, to) in enumerate(((here, there), (there, here)), 1):
        spi = str(0x100 + (source == "edge"))
        ends = "src", UNDERLAY[source], "dst", UNDERLAY[to]
        keys = "aead", "rfc4106(gcm(aes))", "0x" + "11" * 20, "128"
        room.ip("xfrm", "state", "add", *ends, "proto", "esp", "spi", spi, "mode", "tunnel",
                *keys, "if_id", "7")  # fmt: skip
        way = "out" if number == 1 else "in"
        room.ip("xfrm", "policy", "add", "src", "0.0.0.0/0", "dst", "0.0.0.0/0", "dir", way,
                "if_id", "7", "tmpl", *ends, "proto", "esp", "mode", "tunnel")  # fmt: skip


def wg(*words: str, given: str = "") -> str:
    done = subprocess.run(["wg", *words], input=given, capture_output=True, text=True, check=True)
    return done.stdout.strip()


KEYS = {end: wg("genkey") for end in UNDERLAY}


def wireguard(room: Namespace, here: str, there: str) -> None:
    room.ip("link", "add", DEVICE, "type", "wireguard")
    key = Path(f"/tmp/{here}.key")
    key.write_text(KEYS[here])
    peer = wg("pubkey", given=KEYS[there])
    room.run("wg", "set", DEVICE, "private-key", str(key), "listen-port", "51820", "peer", peer,
             "allowed-ips", "0.0.0.0/0", "endpoint", f"{UNDERLAY[there]}:51820")  # fmt: skip


KINDS = {"gre": of_ip("gre"), "ipip": of_ip("ipip"), "xfrm": xfrm, "wireguard": wireguard}


def counted() -> list[int]:
    with Reader(NAME) as reader:
        found = {c.rule.id: c.packets or 0 for c in reader.rules()}
    return [found[1], found[2]]


def exchange(near: Namespace, far: Namespace) -> None:
    """A datagram each way, many at once that stand for one packet, and what the edge answers."""
    with udp_socket(near, "10.1.0.2", 9) as one, udp_socket(far, INSIDE["far"], 7) as other:
        one.sendto(b"there", (INSIDE["far"], 7))
        assert drain(other, 1, 20)[0][0] == b"there"
        other.sendto(b"back", ("10.1.0.2", 9))
        assert drain(one, 1, 20)[0][0] == b"back"
        assert counted() == [1, 1]
        one.setsockopt(SOL_UDP, UDP_SEGMENT, 500)
        one.sendto(b"".join(bytes([i]) * 500 for i in range(20)), (INSIDE["far"], 7))
        assert [data for data, _ in drain(other, 20, 20)] == [bytes([i]) * 500 for i in range(20)]
    far.run("ping", "-c", "1", "-W", "20", INSIDE["edge"])


for kind, make in KINDS.items():
    with Lab("vm-") as lab:
        near, edge, far = (lab.namespace(name) for name in ("near", "edge", "far"))
        lab.wire(near, "eth0", edge, "in0")
        lab.wire(far, "eth0", edge, "out0")
        near.address("eth0", "10.1.0.2/16")
        edge.address("in0", "10.1.0.1/16")
        near.offload("eth0", tx="on")
        near.route("10.2.0.0/16", "10.1.0.1")
        for name, room, device in (("edge", edge, "out0"), ("far", far, "eth0")):
            room.address(device, f"{UNDERLAY[name]}/24")
            make(room, name, "far" if name == "edge" else "edge")
            room.ip("link", "set", DEVICE, "mtu", "1400", "up")
            room.address(DEVICE, f"{INSIDE[name]}/16")
        far.ip("route", "add", "10.1.0.0/16", "dev", DEVICE)
        near.neighbour("eth0", "10.1.0.1", edge.mac("in0"))
        edge.neighbour("in0", "10.1.0.2", near.mac("eth0"))
        ports = (
            PortConfig(1, "IN", 0, "in0", 0, "tc.ingress"),
            PortConfig(2, "OUT", 1, DEVICE, 0, "tc.ingress"),
        )
        config = Config(ports, None, "native", (request,))
        edge.inside_thread(partial(Loaded.load, bundle, config, NAME)).close()
        try:
            exchange(near, far)
        finally:
            edge.inside_thread(lambda: unload(NAME))
    sys.stdout.write(f"{kind}: both ways\n")
sys.stdout.write(f"no link headers under {os.uname().release}\n")
