"""A pipeline that tells of who knocks at which port (`knock.hp`), at an edge with an agent."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from agent_world import World
from helioc.compiler.bundle import compile_pipeline
from helioc.compiler.driver import check_file
from helioc.runtime.client import Client
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.loading.loader import unload
from helioc.runtime.loading.releases import ROOT
from lab import Lab, Wire
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

KNOCK = Path(__file__).with_name("knock.hp").read_text()
EDGE = "ports:\n  LAN: {role: lan, interface: lan0}\n"
_numbers = count(1)


def changed(*changes: tuple[str, str]) -> str:
    """The pipeline's text, changed."""
    text = KNOCK
    for before, after in changes:
        assert before in text, before
        text = text.replace(before, after)
    return text


@cache
def built(text: str = KNOCK) -> Bundle:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "knock.hp"
        file.write_text(text)
        made = compile_pipeline(check_file(file))
    return Bundle(made.manifest, made.object)


def frame(source: str = "10.1.0.10", port: int = 53, to: str = "02:00:00:00:00:01") -> bytes:
    packet = Ether(src="02:00:00:00:00:0a", dst=to) / IP(src=source, dst="10.1.0.1")
    return bytes(packet / UDP(sport=9, dport=port) / bytes(22))


class Knocker(World):
    """An edge whose lan0 is wired to a host that knocks."""

    wire: Wire

    def knock(self, source: str = "10.1.0.10", port: int = 53) -> None:
        self.wire.send(frame(source, port, self.edge.mac("lan0")))

    def load(self, client: Client, text: str = KNOCK) -> None:
        client.load(built(text), EDGE)

    def emitted(self, client: Client, event: str) -> int:
        """Records of an event that packets have written so far."""
        counts = {(e.group, e.reason): e.count for e in client.stats().events}
        return counts["emitted", event]


@contextmanager
def knocker(lab: Lab, directory: Path) -> Iterator[Knocker]:
    host, edge = lab.namespace("host"), lab.namespace("edge")
    lab.wire(host, "eth0", edge, "lan0")
    edge.address("lan0", "10.1.0.1/16")
    made = Knocker(edge, f"ht{os.getpid()}-k{next(_numbers)}", directory)
    made.wire = host.wire("eth0")
    try:
        yield made
    finally:
        if (ROOT / made.name).exists():
            unload(made.name)
