"""Overlays that die and come back under an agent, with flows spread over them."""

from __future__ import annotations

import os
import shutil
import signal
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from agent_world import World as Agent
from edges import PIPELINES, Edge
from helioc.compiler.bundle import compile_pipeline
from helioc.compiler.driver import check_file
from helioc.runtime.client import Client
from helioc.runtime.loading.bundle import Bundle, read_bundle
from helioc.runtime.loading.loader import Loaded, unload
from helioc.runtime.loading.releases import ROOT, remove_pinned
from helioc.runtime.loading.upgrade import upgrade
from helioc.runtime.loading.upgrade_plan import plan_upgrade
from helioc.runtime.rpc import control_pb2 as pb
from lab import Lab, Wire, until
from linx.peer import KEY, Peer
from linx.world import PEER, PEER_LAN_HOST, A, B, Site, World, build
from linx_live import meet_neighbours
from scapy.layers.inet import ICMP
from scapy.layers.l2 import GRE
from traffic import udp_socket

pytestmark = pytest.mark.usefixtures("kernel")

FLOWS = 128
#: Of each overlay: its path, its key (and number), its weight.
OVERLAYS = (("wan1", 1, 3), ("wan1", 2, 1), ("wan2", 3, 2), ("wan2", 4, 2))
ALIVE, DEAD = pb.Overlay.ALIVE, pb.Overlay.DEAD
LIVENESS = "liveness: {interval: 100 ms, multiplier: 3, hold_down: 500 ms}\n"


def edge_yaml(own: Site, other: Site) -> str:
    lines = ["ports:", "  LAN: {role: lan, interface: lan0}"]
    lines += [f"  {path.upper()}: {{role: wan, interface: {path}}}" for path in ("wan1", "wan2")]
    lines.append("overlays:")
    for path, key, _ in OVERLAYS:
        local, remote = own.wan[path], other.wan[path]
        lines.append(f"  GRE-{key}: {{id: {key}, local_ip: {local}, remote_ip: {remote}, "
                     f"key: {key}, interface: {path.upper()}}}")  # fmt: skip
    return "\n".join(lines) + "\n"


def rules(to: str) -> str:
    fars = ", ".join(f"FAR {key} [(action, u8, REDIRECT), (interface, u32, GRE-{key})]"
                     for _, key, _ in OVERLAYS)  # fmt: skip
    members = ", ".join(f"FAR {key} [(weight, u16, {weight})]" for _, key, weight in OVERLAYS)
    return (
        f"create {fars}; create LBR 9 [{members}], LBR 10 [FAR 1 [(weight, u16, 1)], "
        f"FAR 3 [(weight, u16, 1)]]; create PDR [(dst_ip, u32, {to}), LBR 9]"
    )


@dataclass
class Sites:
    world: World
    agent: Agent
    other: Edge
    wires: tuple[Wire, ...]
    round: int = 0

    def flows(self) -> dict[int, int]:
        """The overlay that each flow takes, by its key."""
        self.round += 1
        mark = b"round %08d" % self.round
        for flow in range(FLOWS):
            with udp_socket(self.world.host_a, port=20000 + flow) as one:
                one.sendto(mark, (B.host, 9))
        found: dict[int, int] = {}
        deadline = time.monotonic() + 0.5
        for wire in self.wires:
            while (frame := wire.receive(max(0, deadline - time.monotonic()))) is not None:
                # GRE with a key, then IPv4 and UDP, behind outer IPv4; probes are none of these
                content = frame[23:24] + frame[51:52] + frame[70:]
                if content.startswith(b"\x2f\x11" + mark):
                    port = struct.unpack("!H", frame[62:64])[0]
                    found[port - 20000] = int.from_bytes(frame[38:42], "big")
                if len(found) == FLOWS:
                    return found
        return found

    def takes(self, expected: Callable[[dict[int, int]], bool], what: str) -> dict[int, int]:
        return until(lambda: found if expected(found := self.flows()) else {}, what)


@pytest.fixture
def sites(lab: Lab, bundle: Path, tmp_path: Path) -> Iterator[Sites]:
    world = build(lab)
    meet_neighbours(world)
    (tmp_path / "edge.yaml").write_text(edge_yaml(A, B) + LIVENESS)
    (tmp_path / "b.yaml").write_text(edge_yaml(B, A))
    (tmp_path / "bundle").symlink_to(bundle)
    agent = Agent(world.edge_a, f"{lab.prefix}live", tmp_path)
    with ExitStack() as owned:
        other = Edge(world.edge_b)
        owned.callback(other.forget)
        other.load(bundle, tmp_path / "b.yaml")
        owned.callback(_forget, agent.name)
        yield Sites(world, agent, other, (world.net.wire("a1"), world.net.wire("a2")))


def _forget(name: str) -> None:
    if (ROOT / name).exists():
        unload(name)


def load(sites: Sites, client: Client) -> None:
    text = (sites.agent.directory / "edge.yaml").read_text()
    client.load(read_bundle(sites.agent.directory / "bundle"), text)
    client.apply(rules("10.2.0.0/16"))


def states(client: Client) -> dict[str, int]:
    return {o.name: o.state for o in client.status().pipelines[0].overlays}


def until_states(client: Client, **expected: int) -> None:
    names = {name.replace("_", "-"): state for name, state in expected.items()}
    until(lambda: states(client).items() >= names.items(), f"{names}: {states(client)}")


def until_alive(client: Client) -> None:
    until_states(client, **{f"GRE_{key}": ALIVE for _, key, _ in OVERLAYS})


def test_dead_overlays_are_left_out_and_come_back(sites: Sites) -> None:
    with sites.agent.agent(), sites.agent.client() as client:
        load(sites, client)
        until_alive(client)
        for overlay in client.status().pipelines[0].overlays:
            assert overlay.loss == 0 and 0 < overlay.delay < 0.05 and overlay.answered
        before = sites.takes(lambda f: len(f) == FLOWS, "all flows arrive")
        counts = Counter(before.values())
        assert set(counts) == {1, 2, 3, 4} and counts[1] > counts[2]
        text, revision = client.rule("LBR", 9).text, client.status().pipelines[0].revision
        with client.watch() as watch:
            sites.other.control("delete", "OVERLAY 1")
            event = next(event for event in watch if event.HasField("overlay"))
        assert (event.overlay.name, event.overlay.state) == ("GRE-1", DEAD)
        after = sites.takes(lambda f: len(f) == FLOWS and 1 not in f.values(), "nobody takes it")
        assert all(after[flow] == key for flow, key in before.items() if key != 1)
        assert len({after[flow] for flow, key in before.items() if key == 1}) == 3
        # Both spreads in one transaction, and nobody's wishes changed.
        assert client.status().pipelines[0].revision == revision + 1
        assert client.rule("LBR", 9).text == text
        # What is asked for now is made, but for what is dead.
        client.apply("update LBR 10 [FAR 1 [(weight, u16, 60)]]; update LBR 9 "
                     "[FAR 2 [(weight, u16, 1)]]")  # fmt: skip
        assert sites.flows() == after
        sites.other.control("create", f"OVERLAY 1 GRE-1 [(local_ip, u32, {B.wan['wan1']}), "
                            f"(remote_ip, u32, {A.wan['wan1']}), (key, u32, 1), "
                            "(interface, u32, WAN1)]")  # fmt: skip
        until_states(client, GRE_1=ALIVE)
        assert sites.takes(lambda f: f == before, "all is as it was")


def test_a_path_that_breaks(sites: Sites) -> None:
    with sites.agent.agent(), sites.agent.client() as client:
        load(sites, client)
        until_alive(client)
        before = sites.flows()
        sites.world.net.ip("link", "set", "b1", "down")
        until_states(client, GRE_1=DEAD, GRE_2=DEAD, GRE_3=ALIVE, GRE_4=ALIVE)
        after = sites.takes(lambda f: {*f.values()} == {3, 4}, "the other path takes all")
        assert all(after[flow] == key for flow, key in before.items() if key > 2)
        # The last resort: where all are dead, all are taken.
        sites.world.net.ip("link", "set", "b2", "down")
        until_states(client, GRE_3=DEAD, GRE_4=DEAD)
        assert sites.takes(lambda f: f == before, "as if none was")


def test_an_interface_that_goes(sites: Sites) -> None:
    """Probes would not find that out in the time that is waited for here."""
    path = sites.agent.directory / "edge.yaml"
    path.write_text(edge_yaml(A, B) + "liveness: {interval: 5 s, hold_down: 0 s}\n")
    with sites.agent.agent(), sites.agent.client() as client:
        load(sites, client)
        sites.takes(lambda f: len(f) == FLOWS, "all flows arrive")
        sites.world.edge_a.ip("link", "delete", "wan1")
        until_states(client, GRE_1=DEAD, GRE_2=DEAD)
        wires, sites.wires = sites.wires, sites.wires[1:]  # the other end went, too
        sites.takes(lambda f: {*f.values()} == {3, 4}, "the other path takes all")
        sites.wires = wires


def right_sum(layer: Any) -> int:
    """What scapy would have written."""
    fresh = layer.copy()
    del fresh.chksum
    return int(type(layer)(bytes(fresh)).chksum)


def test_a_foreign_peer_that_answers_by_the_tunnel(sites: Sites) -> None:
    """As scapy reads and writes it: probes between inner addresses, there and back in GRE."""
    overlay = (f"  GRE-C: {{id: 9, local_ip: {A.wan['wan1']}, remote_ip: {PEER}, key: {KEY}, "
               "interface: WAN1}\n")  # fmt: skip
    others = ", ".join(f"GRE-{key}: none" for _, key, _ in OVERLAYS)
    expected = (f"liveness: {{interval: 200 ms, from: {A.lan}, "
              f"to: {{GRE-C: {PEER_LAN_HOST}, {others}}}}}\n")  # fmt: skip
    (sites.agent.directory / "edge.yaml").write_text(edge_yaml(A, B) + overlay + expected)
    peer = Peer(sites.world)
    with sites.agent.agent(), sites.agent.client() as client:
        load(sites, client)
        asked = [peer.echo() for _ in range(5)][-1]
        assert (asked.src, asked.dst, asked[GRE].key) == (A.wan["wan1"], PEER, KEY)
        inner = asked[GRE].payload
        assert (inner.src, inner.dst, inner.tos) == (A.lan, PEER_LAN_HOST, 0xC0)
        assert all(x.chksum == right_sum(x) for x in (asked, inner, inner[ICMP]))
        (found,) = client.status().pipelines[0].overlays
        assert found.name == "GRE-C" and found.answered >= 3
        until_states(client, GRE_C=DEAD)  # now that nobody answers


@pytest.mark.parametrize("end", ["killed", "rebooted"])
def test_what_is_dead_is_known_after_a_kill(sites: Sites, end: str) -> None:
    """By what the records leave out; after a reboot it is found out again."""
    with sites.agent.agent(), sites.agent.client() as client:
        load(sites, client)
        until_alive(client)
        sites.other.control("delete", "OVERLAY 1")
        until_states(client, GRE_1=DEAD)
        after = sites.takes(lambda f: len(f) == FLOWS and 1 not in f.values(), "nobody takes it")
        text = client.rule("LBR", 9).text
        os.kill(client.status().pid, signal.SIGKILL)
    assert sites.flows() == after
    if end == "rebooted":
        remove_pinned(sites.agent.name)
    with sites.agent.agent(), sites.agent.client() as client:
        if end == "killed":
            assert sites.flows() == after
            client.apply("update LBR 9 [FAR 2 [(weight, u16, 1)]]")
            assert sites.flows() == after and states(client)["GRE-1"] == DEAD
        until_states(client, GRE_1=DEAD, GRE_2=ALIVE)
        assert sites.takes(lambda f: f == after, "nobody takes it again")
        assert client.rule("LBR", 9).text == text


def test_an_upgrade_keeps_the_dead_out(sites: Sites, tmp_path: Path) -> None:
    """Where spreads are written anew, since the new build has room for more of them."""
    with sites.agent.agent(), sites.agent.client() as client:
        load(sites, client)
        until_alive(client)
        sites.other.control("delete", "OVERLAY 1")
        after = sites.takes(lambda f: len(f) == FLOWS and 1 not in f.values(), "nobody takes it")
    shutil.copytree(PIPELINES, tmp_path / "larger")
    source = tmp_path / "larger" / "linx.hp"
    source.write_text(source.read_text().replace("FAR[1..16]", "FAR[1..17]"))
    made = compile_pipeline(check_file(source))

    def go() -> int:
        running = Loaded.open(sites.agent.name)
        weighed = plan_upgrade(running, Bundle(made.manifest, made.object))
        with closing(upgrade(running, weighed)):
            return len(weighed.rules)

    assert sites.world.edge_a.inside_thread(go) >= 2
    assert sites.flows() == after
    with sites.agent.agent(), sites.agent.client() as client:
        assert states(client)["GRE-1"] == DEAD


def test_another_yaml_ends_probing_and_begins_it_again(sites: Sites) -> None:
    """With nothing left out where nobody probes. Another interval changes nothing."""
    with sites.agent.agent(), sites.agent.client() as client:
        load(sites, client)
        until_alive(client)
        before = sites.takes(lambda f: len(f) == FLOWS, "all flows arrive")
        sites.other.control("delete", "OVERLAY 1")
        sites.takes(lambda f: len(f) == FLOWS and 1 not in f.values(), "nobody takes it")
        plain = edge_yaml(A, B)
        client.upgrade(None, config=plain)
        assert sites.flows() == before
        until(lambda: not states(client), "none is probed")
        client.upgrade(None, config=plain + LIVENESS)
        sites.takes(lambda f: len(f) == FLOWS and 1 not in f.values(), "nobody takes it again")
        until_states(client, GRE_1=DEAD, GRE_2=ALIVE)
        client.upgrade(None, config=plain + LIVENESS.replace("100 ms", "150 ms"))
        until_states(client, GRE_1=DEAD, GRE_2=ALIVE)
        assert sites.takes(lambda f: len(f) == FLOWS and 1 not in f.values(), "it stays so")
