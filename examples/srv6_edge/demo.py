"""The SRv6 edge at work: the far edge is the Linux kernel's own seg6.

    .venv/bin/python examples/srv6_edge/demo.py [--prefix srv6-]

Needs root. Everything happens in network namespaces whose names begin with the prefix; they, and
what is loaded into the kernel, are gone at the end, also after Ctrl-C or a failure. Every fact
that is printed was measured: if one does not hold the demo says so, stops, and exits with 1.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from account import Account
from edges import Edge, hear_answers
from lab import Lab, Namespace
from showing import Demo, run
from traffic import ping, tcp_round_trip

HERE = Path(__file__).parent
TITLE = "an SRv6 edge beside the kernel's seg6"
PICTURE = """
  near 10.1.0.9 ── blue0 [edge fc00:a::/32] ══ SRv6 ══ [linux fc00:b::/32: seg6] ── 10.2.0.9 far
       fd00:1::9                                                                    fd00:2::9"""
NEAR4, FAR4, NEAR6, FAR6 = "10.1.0.9", "10.2.0.9", "fd00:1::9", "fd00:2::9"
MTU = 1400  # what leaves room for IPv6 and three segments
VIA = "fc00:b::9", "fc00:a::1"  # End of the kernel, and of this edge


@dataclass(frozen=True)
class World:
    near: Namespace
    edge: Namespace
    linux: Namespace
    far: Namespace


def build(lab: Lab) -> World:
    world = World(*(lab.namespace(name) for name in ("near", "edge", "linux", "far")))
    lab.wire(world.near, "eth0", world.edge, "blue0", mtu=MTU)
    lab.wire(world.linux, "eth0", world.edge, "core0")
    lab.wire(world.far, "eth0", world.linux, "far0", mtu=MTU)
    world.near.address("eth0", f"{NEAR4}/16", f"{NEAR6}/64")
    world.edge.address("blue0", "10.1.0.1/16", "fd00:1::1/64")
    world.edge.address("core0", "fc00:cc::1/64")
    world.linux.address("eth0", "fc00:cc::2/64")
    world.linux.address("far0", "10.2.0.1/16", "fd00:2::1/64")
    world.far.address("eth0", f"{FAR4}/16", f"{FAR6}/64")
    for host, site in ((world.near, 1), (world.far, 2)):
        host.route("default", f"10.{site}.0.1")
        host.route("default", f"fd00:{site}::1")
    for room in (world.edge, world.linux):
        room.sysctl("net.ipv6.conf.all.forwarding", 1)
        room.sysctl("net.ipv4.ip_forward", 1)
    for device in ("all", "eth0"):
        world.linux.sysctl(f"net.ipv6.conf.{device}.seg6_enabled", 1)
    world.linux.route("fc00:a::/32", "fc00:cc::1")
    behaviours = (
        ("fc00:b::4", f"action End.DX4 nh4 {FAR4}"),
        ("fc00:b::6", f"action End.DX6 nh6 {FAR6}"),
        ("fc00:b::9", "action End"),
    )
    for sid, action in behaviours:
        local = f"-6 route add {sid}/128 encap seg6local {action} dev far0"
        world.linux.ip(*local.split())
    steer(world, "fc00:a::4", "fc00:a::6")
    for room, neighbours in (
        (world.edge, (NEAR4, NEAR6, "fc00:cc::2")),
        (world.linux, (FAR4, FAR6)),
    ):
        for address in neighbours:
            assert ping(room, address, 1).lost == 0  # so that the next hops are known
    return world


def steer(world: World, four: str, six: str) -> None:
    """Let the kernel send towards the near site by these segments, first to last."""
    for prefix, segments in (("10.1.0.0/16", four), ("fd00:1::/64", six)):
        family = "-6" if ":" in prefix else "-4"
        words = f"{family} route replace {prefix} encap seg6 mode encap segs {segments} dev eth0"
        world.linux.ip(*words.split())


def talk(say: Account, world: World, what: str) -> None:
    for name, address in (("IPv4", FAR4), ("IPv6", FAR6)):
        found = ping(world.near, address, 5)
        say.fact(found.lost == 0, f"{name} {what}: {found.received} of {found.sent} pings")


def both_ways(say: Account, world: World, edge: Edge) -> None:
    say.step("One segment: encapsulated here and opened there, and the reverse")
    talk(say, world, "from near to far")
    back = ping(world.far, NEAR4, 5).received, ping(world.far, NEAR6, 5).received
    say.fact(back == (5, 5), "and from far to near")
    size = tcp_round_trip(world.near, world.far, FAR4, 5001, 1_000_000)
    say.fact(size == 1_000_000, "TCP: a million bytes and back")
    counted = [edge.packets("POLICY", name) for name in ("far4", "far6")]
    say.fact(min(counted) >= 10, f"by policy far4 {counted[0]:,} packets, by far6 {counted[1]:,}")


def three_segments(say: Account, world: World, edge: Edge) -> None:
    say.step("Three segments written by the kernel: this edge, the kernel's End, this edge again")
    steer(world, "fc00:a::1,fc00:b::9,fc00:a::4", "fc00:a::1,fc00:b::9,fc00:a::6")
    before = edge.packets("SID", "waypoint")
    talk(say, world, "answers by three segments")
    passed = edge.packets("SID", "waypoint") - before
    say.fact(passed == 10, f"End took {passed} packets on to their second segment")


def lists(say: Account, world: World, edge: Edge) -> None:
    say.step("Segment lists written here, and opened by the kernel")
    for headend, written in (("H_ENCAPS", "all"), ("H_ENCAPS_RED", "all but the first")):
        for count in (1, 2, 3, 8):
            path = (VIA * 4)[: count - 1]
            for name, last in (("far4", "fc00:b::4"), ("far6", "fc00:b::6")):
                sids = ", ".join([*path, last])
                edge.control(
                    "update", f"POLICY {name} [(sids, u128, {sids}), (headend, u8, {headend})]"
                )
            what = f"by {count} segment{'s' * (count > 1)}, {written} in the SRH"
            pings = [ping(world.near, address, 3).received for address in (FAR4, FAR6)]
            say.fact(pings == [3, 3], f"IPv4 and IPv6 {what}")
    hear_answers([(world.near, "eth0")])  # what is too large for eight segments: the edge says so
    size = tcp_round_trip(world.near, world.far, FAR4, 5002, 1_000_000)
    say.fact(size == 1_000_000, "TCP by eight segments: a million bytes and back")


def strangers(say: Account, world: World, edge: Edge) -> None:
    say.step("Segments that are not ours")
    steer(world, "fc00:a::99", "fc00:a::99")
    before = edge.event("miss", "SID")
    lost = ping(world.far, NEAR4, 2).lost
    say.fact(lost == 2, "nothing comes through")
    say.fact(edge.event("miss", "SID") >= before + 2, "it went to the kernel, and was counted")


def show(demo: Demo) -> None:
    say = demo.say
    say.step("Compile and load")
    world = build(demo.lab)
    edge = demo.running("srv6_edge", world.edge, HERE)
    both_ways(say, world, edge)
    three_segments(say, world, edge)
    lists(say, world, edge)
    strangers(say, world, edge)


if __name__ == "__main__":
    sys.exit(run(show, TITLE, PICTURE, prefix="srv6-"))
