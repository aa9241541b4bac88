"""An edge with an agent that runs `linx`, a far edge that opens its tunnels, and between them a
relay that a test tells what becomes of each overlay's packets, by its key.

    host eth0 == lan0 edge wan0 == near [relay] far == wan0 site

The kernel of `site` answers probes; users' packets end there.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path

from agent_world import World
from edges import Edge, hear_answers
from helioc.runtime.client import Client
from helioc.runtime.loading.bundle import read_bundle
from helioc.runtime.loading.loader import unload
from helioc.runtime.loading.releases import ROOT
from helioc.runtime.rpc import control_pb2 as pb
from lab import Lab, Namespace, until
from path_relay import THERE, Fate, Relay, at_once
from traffic import ping, udp_socket

HOST, LAN, NEAR, FAR, USERS = "10.1.0.10", "10.1.0.1", "192.0.2.1", "192.0.2.2", "10.2.0.0/16"
#: Of overlays: their keys and ids, those of their FARs, and the weights of their members.
WEIGHTS = {1: 3, 2: 1, 3: 2, 4: 2}
FLOWS, INTERVAL = 128, 0.2
LIVENESS = "liveness: {interval: 200 ms, multiplier: 50, hold_down: 1 s}\n"
_numbers = count(1)


def edge_yaml(local: str, remote: str) -> str:
    overlays = [f"  GRE-{key}: {{id: {key}, local_ip: {local}, remote_ip: {remote}, key: {key}, "
                "interface: WAN}\n" for key in WEIGHTS]  # fmt: skip
    ports = "  LAN: {role: lan, interface: lan0}\n  WAN: {role: wan, interface: wan0}\n"
    return f"ports:\n{ports}overlays:\n{''.join(overlays)}"


def key_of(frame: bytes) -> int:
    """Of the overlay through which a frame goes; 0 of others."""
    gre = frame[12:14] == b"\x08\x00" and frame[23] == 47
    return int.from_bytes(frame[38:42], "big") if gre else 0


def is_ip(frame: bytes) -> bool:
    return frame[12:14] == b"\x08\x00"


class ByOverlay:
    """A fate for each overlay's packets there; all others pass at once."""

    def __init__(self) -> None:
        self.fates: dict[int, Fate] = {}

    def __call__(self, way: str, frame: bytes) -> list[float]:
        fate = self.fates.get(key_of(frame), at_once) if way == THERE else at_once
        return fate(way, frame)


@dataclass
class Paths:
    agent: World
    host: Namespace
    between: Namespace
    site: Namespace
    relay: Relay
    fates: ByOverlay = field(default_factory=ByOverlay)
    client: Client = field(init=False)
    round: int = 0

    def load(self, *asks: str, liveness: str = LIVENESS) -> None:
        """With an LBR 9 over all overlays that asks for these."""
        bundle = read_bundle(self.agent.directory / "bundle")
        self.client.load(bundle, edge_yaml(NEAR, FAR) + liveness)
        fars = ", ".join(f"FAR {key} [(action, u8, REDIRECT), (interface, u32, GRE-{key})]"
                         for key in WEIGHTS)  # fmt: skip
        members = [f"FAR {key} [(weight, u16, {weight})]" for key, weight in WEIGHTS.items()]
        self.client.apply(f"create {fars}; create LBR 9 [{', '.join([*asks, *members])}]; "
                          f"create PDR [(dst_ip, u32, {USERS}), LBR 9]")  # fmt: skip

    def flows(self) -> dict[int, int]:
        """The overlay that each flow takes, by its key: sent now, and seen at the relay."""
        self.round += 1
        mark, begin = b"round %08d" % self.round, len(self.relay.passed)
        for flow in range(FLOWS):
            with udp_socket(self.host, port=20000 + flow) as one:
                one.sendto(mark, ("10.2.0.10", 9))

        def seen() -> dict[int, int]:
            found = {}
            for way, frame, *_ in self.relay.passed[begin:]:
                # GRE with a key, then IPv4 and UDP, behind outer IPv4
                if way == THERE and key_of(frame) and frame[70:].startswith(mark):
                    found[struct.unpack("!H", frame[62:64])[0] - 20000] = key_of(frame)
            return found

        return until(lambda: found if len(found := seen()) == FLOWS else {}, "flows pass")

    def takes(self, keys: Collection[int]) -> dict[int, int]:
        """Flows take these overlays and no others, some time."""
        return until(lambda: f if {*(f := self.flows()).values()} == {*keys} else {},
                     f"{sorted(keys)} take all flows")  # fmt: skip

    def takes_like(self, before: dict[int, int]) -> None:
        until(lambda: self.flows() == before, "all flows are where they were")

    def probes(self, key: int, since: float, until_: float = float("inf")) -> int:
        """Of an overlay that came to the relay."""
        return sum(p.way == THERE and since <= p.at < until_ and key_of(p.frame) == key
                   and p.frame[51] == 1 for p in self.relay.passed)  # fmt: skip

    def spread(self) -> pb.SteeredSpread:
        (found,) = self.client.status().pipelines[0].steered
        return found

    def members(self) -> dict[int, pb.SteeredMember]:
        return {member.rule.id: member for member in self.spread().members}

    def measured(self, holds: Callable[[dict[int, pb.SteeredMember]], bool], what: str) -> None:
        until(lambda: bool(self.client.status().pipelines[0].steered) and holds(self.members()),
              what)  # fmt: skip


@contextmanager
def steered_paths(lab: Lab, bundle: Path, directory: Path) -> Iterator[Paths]:
    with ExitStack() as owned:
        rooms = [lab.namespace(name) for name in ("host", "edge", "relay", "site")]
        host, edge, between, site = rooms
        lab.wire(host, "eth0", edge, "lan0")
        lab.wire(edge, "wan0", between, "near")
        lab.wire(between, "far", site, "wan0")
        lab.wire(site, "lan0", between, "other")
        host.address("eth0", f"{HOST}/24")
        host.route("default", LAN)
        edge.address("lan0", f"{LAN}/24")
        edge.address("wan0", f"{NEAR}/30")
        site.address("wan0", f"{FAR}/30")
        hear_answers([(host, "eth0"), (between, "near"), (between, "far"), (between, "other")])
        relay = owned.enter_context(Relay(between.wire("near"), between.wire("far"), is_ip))
        until(partial(_reached, edge, FAR), "the far end answers")
        (directory / "site.yaml").write_text(edge_yaml(FAR, NEAR))
        (directory / "bundle").symlink_to(bundle)
        other = Edge(site)
        owned.callback(other.forget)
        other.load(bundle, directory / "site.yaml")
        agent = World(edge, f"ht{os.getpid()}-s{next(_numbers)}", directory)
        owned.callback(unload_if_there, agent.name)
        made = Paths(agent, host, between, site, relay)
        relay.fate = made.fates
        yield made


def _reached(room: Namespace, address: str) -> bool:
    return ping(room, address, 1).lost == 0


def unload_if_there(name: str) -> None:
    if (ROOT / name).exists():
        unload(name)
