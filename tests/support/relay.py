"""A relay between two hosts, and the builds of it that tests upgrade to."""

from __future__ import annotations

import tarfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, cast

from helioc.compiler.bundle import compile_pipeline, write_bundle
from helioc.compiler.driver import check_file
from helioc.lang.contract.manifest.read_manifest import from_json
from helioc.lang.contract.request.request import Request
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.text.source import Source
from helioc.runtime.edge.config import Config
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.ports.ports import PortConfig
from lab import Lab, Namespace
from numbered import End
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

RELAY = Path(__file__).with_name("relay.hp").read_text()
PORTS = (PortConfig(1, "IN", 0, "in0", 0), PortConfig(2, "OUT", 1, "out0", 0))
RULES = """create ROUTE 1 [(dst_ip, u32, 10.2.0.0/16), (way, u8, ON), (interface, u32, OUT)],
                  ROUTE 2 [(dst_ip, u32, 10.1.0.0/16), (way, u8, ON), (interface, u32, IN)]"""


def request(text: str) -> Request:
    return parse_request(Source("<test>", text))


CONFIG = Config(PORTS, None, "native", (request(RULES),))


def marked(mark: int, *changes: tuple[str, str]) -> str:
    """The relay that writes this mark, changed."""
    text = RELAY.replace("tos = 1", f"tos = {mark}").replace("src = 1", f"src = {mark}")
    for before, after in changes:
        assert before in text, before
        text = text.replace(before, after)
    return text


@cache
def built(text: str) -> Bundle:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "relay.hp"
        file.write_text(text)
        made = compile_pipeline(check_file(file))
    return Bundle(made.manifest, made.object)


def layout1() -> Bundle:
    """The relay as the compiler of 2863c61e built it: counters lie in a map of each kind."""
    return _recorded(1)


def layout3() -> Bundle:
    """As that of 10795649 built it: a rule's two records lie side by side."""
    return _recorded(3)


def _recorded(layout: int) -> Bundle:
    with tarfile.open(Path(__file__).with_name(f"relay-layout{layout}.tar.xz")) as recorded:
        manifest, object_ = (
            cast("IO[bytes]", recorded.extractfile(name)).read()
            for name in ("manifest.json", "relay.bpf.o")
        )
    return Bundle(from_json(manifest.decode()), object_)


def write(text: str, directory: Path) -> Path:
    """As a bundle that `helioctl` reads."""
    file = directory.with_suffix(".hp")
    file.write_text(text)
    write_bundle(compile_pipeline(check_file(file)), directory)
    return directory


@dataclass(frozen=True)
class World:
    near: End
    edge: Namespace
    far: End

    def frame(self, back: bool = False) -> bytes:
        """64 bytes, from near to far or back; numbers go behind the headers."""
        hosts, addresses = [self.near, self.far], ["10.1.0.2", "10.2.0.2"]
        device = "out0" if back else "in0"
        if back:
            hosts.reverse()
            addresses.reverse()
        link = Ether(src=hosts[0].room.mac("eth0"), dst=self.edge.mac(device))
        packet = link / IP(src=addresses[0], dst=addresses[1]) / UDP(sport=9, dport=9)
        packet[UDP].chksum = 0
        return bytes(packet / bytes(22))


def build(lab: Lab) -> World:
    near, edge, far = (lab.namespace(name) for name in ("near", "edge", "far"))
    lab.wire(near, "eth0", edge, "in0")
    lab.wire(far, "eth0", edge, "out0")
    edge.address("in0", "10.1.0.1/16")
    edge.address("out0", "10.2.0.1/16")
    edge.neighbour("in0", "10.1.0.2", near.mac("eth0"))
    edge.neighbour("out0", "10.2.0.2", far.mac("eth0"))
    return World(End(near, "eth0"), edge, End(far, "eth0"))
