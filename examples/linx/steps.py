"""The steps of the sites. Each prints facts that it measured, and stops the demo if one fails."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from account import Account
from edges import Edge, compile_pipeline
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import GRE
from traffic import (
    TOS_EF,
    drain,
    ping,
    read_bulk,
    read_pings,
    received,
    serve_tcp,
    start_bulk,
    start_pings,
    tcp_bulk,
    tcp_round_trip,
    udp_flows,
    udp_round_trips,
    udp_socket,
    until_received,
)

from .captures import Capture, flows, outer_of, syn_mss
from .peer import KEY, Peer
from .world import HERE, MTU, PATHS, PEER_LAN_HOST, A, B, World


@dataclass(frozen=True)
class Sites:
    """Both sites, and what is said of them."""

    say: Account
    world: World
    edge_a: Edge
    edge_b: Edge
    bundle: Path


def compile_linx(say: Account, out: Path) -> None:
    say.step("Compile pipelines/linx.hp")
    table = compile_pipeline(out)
    rows = re.findall(r"^(\w+) +(lan|wan) +([\d,]+) +([\d,]+)", table, re.M)
    instructions, verified = (sum(int(row[i].replace(",", "")) for row in rows) for i in (2, 3))
    stages = len({row[0] for row in rows})
    say.fact(
        len(rows) == 2 * stages and verified > 0,
        f"{stages} stages for each of 2 port roles: {len(rows)} programs of {instructions:,} "
        f"instructions in all, which the kernel's verifier accepts",
    )
    say.fact((out / "manifest.json").exists(), f"all that took {say.step_seconds():.1f} s")


def load_edges(sites: Sites) -> None:
    say, world = sites.say, sites.world
    say.step("Load both edges and give them rules")
    for path in PATHS:  # this also resolves the kernels' neighbours
        said = ping(world.edge_a, B.wan[path], 2, "-I", A.wan[path])
        say.fact(
            said.lost == 0, f"the internet carries {path}: {A.wan[path]} reaches {B.wan[path]}"
        )
    said = ping(world.host_a, B.host, 2)
    say.fact(said.received == 0, "but no site's addresses: host A does not reach host B")
    for edge, letter in ((sites.edge_a, "a"), (sites.edge_b, "b")):
        edge.load(sites.bundle, HERE / f"edge-{letter}.yaml")
        edge.push(HERE / f"rules-{letter}.req")
        native = [device for device, mode in sorted(edge.modes().items()) if mode == "xdp"]
        say.fact(
            native == ["lan0", "wan1", "wan2"],
            f"edge {letter.upper()}: native XDP on {', '.join(native)}; "
            f"edge-{letter}.yaml and rules-{letter}.req are in force",
        )


def talk(sites: Sites) -> None:
    say, world = sites.say, sites.world
    say.step("Talk from site to site through GRE-WAN1")
    passing = Capture(world.net, "a1")
    for one, other, there in ((world.host_a, "A → B", B.host), (world.host_b, "B → A", A.host)):
        said = ping(one, there, 50)
        say.fact(said.lost == 0, f"ping {other}: {said.received} of {said.sent} answered")
    outer = outer_of(passing.tunnelled()[0])
    say.fact(
        (outer.ttl, outer.dont_fragment, outer.key, outer.inner_ttl) == (64, True, 7, 63),
        f"seen on the way: outer TTL {outer.ttl}, DF, GRE key {outer.key}; "
        f"inner TTL {outer.inner_ttl}, one less",
    )
    arrived, answers = udp_round_trips(world.host_a, world.host_b, B.host, 100)
    say.fact(arrived == answers == 100, f"UDP: {arrived} of 100 datagrams arrived, all answered")
    for way, options in (("A → B", ()), ("B → A", ("-R",))):
        bulk = tcp_bulk(world.host_a, world.host_b, B.host, 1, *options)
        rate = bulk.bits_per_second / 1e9
        say.fact(
            bulk.size > 1_000_000, f"TCP {way}: {bulk.size / 1e6:,.0f} MB at {rate:.1f} Gbit/s"
        )


def keep_packets_small(sites: Sites) -> None:
    say, world = sites.say, sites.world
    say.step("Fit packets into the tunnel")
    arriving = Capture(world.host_b, "eth0")
    tcp_round_trip(world.host_a, world.host_b, B.host)
    announced = {mss for frame in arriving.frames() if (mss := syn_mss(frame)) is not None}
    say.fact(announced == {1432}, "TCP: the MSS of 1460 arrives as 1432 (1500 - 28 of GRE - 40)")
    ping(world.host_a, B.host, 1, "-M", "do", "-s", str(1500 - 28))
    known = _path_mtu(sites)
    say.fact(known == 1472, f"a packet of 1500 is answered: host A's path MTU is now {known}")
    said = ping(world.host_a, B.host, 5, "-M", "do", "-s", str(1472 - 28))
    say.fact(said.lost == 0, "and packets of 1472 pass")


def _path_mtu(sites: Sites) -> int:
    """What host A's kernel has learned of the way to host B; 0 if nothing."""
    found = re.search(r"\bmtu (\d+)", sites.world.host_a.ip("route", "get", B.host))
    return int(found[1]) if found else 0


def meet_the_peer(sites: Sites) -> None:
    say, world = sites.say, sites.world
    say.step("Meet a foreign GRE endpoint, and strangers")
    peer = Peer(world)
    pings = start_pings(world.host_a, PEER_LAN_HOST, 5, 0.25)
    for number in range(5):
        peer.echo(chksum_present=1, seqnum_present=1, sequence_number=number)
    said = read_pings(pings.wait())
    say.fact(
        said.received == 5,
        f"ping {PEER_LAN_HOST}: {said.received} of {said.sent} answered, by GRE with key, checksum "
        "and sequence number",
    )
    missed = sites.edge_a.event("miss", "OVERLAY")
    kernel, host = Capture(world.edge_a, "wan1"), Capture(world.host_a, "eth0")
    stray = IP(src=PEER_LAN_HOST, dst=A.host) / UDP(sport=1, dport=9) / b"let me in"
    for _ in range(20):
        peer.send(stray, A.wan["wan1"], key=KEY + 1)
        peer.send(stray, A.wan["wan1"], source="203.0.113.77")
    seen = [packet for packet in kernel.tunnelled(40) if packet[GRE].payload.dst == A.host]
    say.fact(
        len(seen) == 40, f"wrong key, spoofed source: the kernel got {len(seen)} of 40, unopened"
    )
    passed = [frame for frame in host.frames() if IP in frame and frame[IP].src == PEER_LAN_HOST]
    counted = sites.edge_a.event("miss", "OVERLAY") - missed
    say.fact(not passed and counted == 40, f"host A got none; the edge counted {counted} strangers")


def move_a_flow(sites: Sites) -> None:
    say, world = sites.say, sites.world
    say.step("Change a rule while traffic flows")
    before = {device: received(world.net, device) for device in ("a1", "a2")}
    serve_tcp(world.host_b, B.host)
    bulk = start_bulk(world.host_a, B.host, 3, "-b", "40M")
    # From host B, whose answers are what moves: ping's small buffer on host A would overflow with
    # the ICMP errors that are meant for the TCP connection.
    pings = start_pings(world.host_b, A.host, 600, 3)
    until_received(world.net, "a1", before["a1"] + 500)
    say.fact(received(world.net, "a2") - before["a2"] < 10, "ping and TCP flow through GRE-WAN1")
    sites.edge_a.push(HERE / "changes" / "move.req")
    old_path = Capture(world.net, "a1")
    until_received(world.net, "a2", before["a2"] + 500)
    left = len(old_path.tunnelled())
    say.fact(left == 0, f"update FAR 1: they flow through GRE-WAN2; {left} packets by the old way")
    sites.edge_a.push(HERE / "changes" / "move-back.req")
    said = read_pings(pings.wait())
    say.fact(
        said.sent == 600 and said.lost == 0,
        f"and back again, with {said.lost} of {said.sent} pings lost",
    )
    moved = read_bulk(bulk.wait())
    known, expected = _path_mtu(sites), MTU["wan2"] - 24
    say.fact(
        known == expected and moved.size > 10_000_000,
        f"the TCP connection shrank to the new path's MTU of {known} and carried "
        f"{moved.size / 1e6:.0f} MB",
    )


def drop_a_class(sites: Sites) -> None:
    say, world = sites.say, sites.world
    say.step("Drop one class of traffic")
    sites.edge_a.push(HERE / "changes" / "drop-ef.req")
    hosts = world.host_a, world.host_b
    passed, _ = udp_round_trips(*hosts, B.host, 50, tos=TOS_EF, seconds=0.3)
    counted = sites.edge_a.packets("PDR", 4)
    say.fact(
        passed == 0 and counted == 50,
        f"ToS 184 (expedited forwarding): {passed} of 50 datagrams arrive; the rule counted them",
    )
    arrived, _ = udp_round_trips(*hosts, B.host, 50)
    say.fact(arrived == 50, f"any other: {arrived} of 50")
    sites.edge_a.control("delete", *"PDR [(dst_ip, u32, 10.2.0.0/16), (dscp, u8, 46)]".split())
    again, _ = udp_round_trips(*hosts, B.host, 50, tos=TOS_EF)
    say.fact(again == 50, f"and without the rule, ToS 184 again: {again} of 50")


def balance(sites: Sites) -> None:
    say, world = sites.say, sites.world
    say.step("Spread flows over both overlays, three to one")
    sites.edge_a.push(HERE / "changes" / "balance.req")
    paths = Capture(world.net, "a1"), Capture(world.net, "a2")
    with udp_socket(world.host_b, B.host, 9) as server:
        udp_flows(world.host_a, B.host, 100, 5)
        arrived = len(drain(server, 500))
        first, second = (flows(path.tunnelled()) for path in paths)
    say.fact(
        arrived == sum(first.values()) + sum(second.values()) == 500,
        f"of 100 UDP flows {len(first)} took GRE-WAN1 and {len(second)} took GRE-WAN2",
    )
    say.fact(55 <= len(first) <= 92, "which is what a weight of 3 to 1 gives")
    say.fact(not first.keys() & second.keys(), "and no flow used both")


def count(sites: Sites) -> None:
    say = sites.say
    say.step("What edge A counted, rule by rule (helioctl show)")
    say.table(sites.edge_a.rules())
    edge = sites.edge_a
    carried = edge.packets("OVERLAY", "GRE-WAN1"), edge.packets("OVERLAY", "GRE-WAN2")
    say.fact(
        min(carried) > 500,
        f"GRE-WAN1 carried {carried[0]:,} packets both ways, GRE-WAN2 {carried[1]:,}",
    )
    asked = edge.packets("PDR", 1) + edge.packets("PDR", 5)
    sent = edge.packets("FAR", 1) + edge.packets("FAR", 2)
    say.fact(asked == sent, f"what PDR 1 and 5 matched, FAR 1 and 2 sent: {sent:,} packets")
