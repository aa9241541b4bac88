"""Two sites talk through two live edges: native XDP on veth, real kernels at both ends."""

from __future__ import annotations

import socket
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from edges import HELIOCTL, Edge
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.text.source import Source
from helioc.runtime.loading.loader import Loaded
from lab import Lab, LabError, Namespace
from leaks import PREFIX
from linx.captures import Capture, outer_of, syn_mss
from linx.world import HERE, A, B, World, build
from linx_live import Linx, meet_neighbours
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import GRE, Dot1Q, Ether
from traffic import (
    TOS_EF,
    ping,
    read_pings,
    start_pings,
    tcp_round_trip,
    udp_round_trips,
    udp_socket,
)


@pytest.fixture(params=["A to B", "B to A"])
def way(request: pytest.FixtureRequest, linx: Linx) -> tuple[Namespace, Namespace, str]:
    """(from, to, address of to)"""
    world = linx.world
    if request.param == "A to B":
        return world.host_a, world.host_b, B.host
    return world.host_b, world.host_a, A.host


def test_ping(way: tuple[Namespace, Namespace, str]) -> None:
    one, _, there = way
    assert ping(one, there, 20).lost == 0


@pytest.mark.parametrize("tos", [0, TOS_EF])
def test_udp(way: tuple[Namespace, Namespace, str], tos: int) -> None:
    assert udp_round_trips(*way, 50, tos=tos) == (50, 50)


def test_tcp(way: tuple[Namespace, Namespace, str]) -> None:
    assert tcp_round_trip(*way, size=1_000_000) == 1_000_000


def test_the_mss_is_clamped_both_ways(way: tuple[Namespace, Namespace, str]) -> None:
    one, other, _ = way
    captures = Capture(one, "eth0"), Capture(other, "eth0")
    assert tcp_round_trip(*way) > 0
    for capture in captures:  # the SYN at one end, the SYN-ACK at the other
        announced = {mss for f in capture.frames() if (mss := syn_mss(f)) is not None}
        assert announced == {1500 - 20 - 8 - 40}


def test_what_the_outer_header_says(linx: Linx) -> None:
    passing = Capture(linx.world.net, "a1")
    ping(linx.world.host_a, B.host, 2, "-Q", str(TOS_EF))
    for packet in passing.tunnelled():
        outer = outer_of(packet)
        assert (outer.ttl, outer.dont_fragment, outer.tos, outer.key) == (64, True, TOS_EF, 7)
        assert outer.inner_ttl == 63
        assert (packet.src, packet.dst, packet.id) == (A.wan["wan1"], B.wan["wan1"], 0)
        assert bytes(IP(bytes(packet))) == bytes(_with_fresh_checksum(packet))


def _with_fresh_checksum(packet: IP) -> IP:
    fresh = packet.copy()
    del fresh.chksum, fresh.len, fresh[GRE].payload.chksum
    return IP(bytes(fresh))


# ---- too big, too old -----------------------------------------------------------------------


def test_the_kernel_learns_the_path_mtu(linx: Linx) -> None:
    host = linx.world.host_a
    host.ip("route", "flush", "cache")
    too_big = linx.a.event("hook", "too_big")
    said = _ping_words(host, B.host, "-M", "do", "-s", "1472")
    assert f"From {A.lan} icmp_seq=1 Frag needed and DF set (mtu = 1472)" in said
    assert "mtu 1472" in host.ip("route", "get", B.host)
    assert linx.a.event("hook", "too_big") == too_big + 1
    assert ping(host, B.host, 3, "-M", "do", "-s", "1444").lost == 0
    # A UDP socket that asked for it is told as well: EMSGSIZE, by its own kernel.
    with udp_socket(host) as client:
        client.setsockopt(socket.IPPROTO_IP, 10, 2)  # IP_MTU_DISCOVER, IP_PMTUDISC_DO
        with pytest.raises(OSError, match="Message too long"):
            client.sendto(bytes(1472), (B.host, 9))
    host.ip("route", "flush", "cache")


@pytest.mark.parametrize(
    "ttl, hop", [(1, A.lan), (2, B.wan["wan1"])], ids=["edge A", "edge B, through the tunnel"]
)
def test_an_expired_ttl_is_answered(linx: Linx, ttl: int, hop: str) -> None:
    edge = linx.a if ttl == 1 else linx.b
    expired = edge.event("hook", "ttl_expired")
    said = _ping_words(linx.world.host_a, B.host, "-t", str(ttl))
    assert f"From {hop} icmp_seq=1 Time to live exceeded" in said
    assert edge.event("hook", "ttl_expired") == expired + 1
    assert ping(linx.world.host_a, B.host, 2, "-t", "3").lost == 0


def _ping_words(room: Namespace, address: str, *options: str) -> str:
    words = room.inside("ping", "-n", "-c", "1", "-W", "2", *options, address)
    return subprocess.run(words, capture_output=True, text=True, timeout=30).stdout


def test_an_unknown_neighbour_is_left_to_the_kernel(linx: Linx) -> None:
    linx.world.host_a.address("eth0", "10.1.0.12/24")
    unresolved = linx.a.event("hook", "unresolved")
    assert ping(linx.world.host_b, "10.1.0.12", 5).lost == 0
    assert linx.a.event("hook", "unresolved") > unresolved


# ---- which way ------------------------------------------------------------------------------


@pytest.fixture
def change(linx: Linx) -> Iterator[Callable[[str], None]]:
    """Changes to edge A's rules, undone at the end by those that are given for that."""
    undo: list[str] = []

    def make(file: str, *undoing: str) -> None:
        linx.a.push(HERE / "changes" / f"{file}.req")
        undo.extend(undoing)

    yield make
    for request in undo:
        linx.a.control(*request.split(maxsplit=1))


def test_an_update_moves_the_flow(linx: Linx, change: Callable[..., None]) -> None:
    change("move", "update FAR 1 [(interface, u32, GRE-WAN1)]")
    paths = [Capture(linx.world.net, device) for device in ("a1", "a2")]
    assert ping(linx.world.host_a, B.host, 10).lost == 0
    first, second = (path.tunnelled() for path in paths)
    assert (len(first), len(second)) == (0, 10)
    assert all(packet[GRE].key_present == 0 for packet in second)


def test_a_class_is_dropped_and_counted(linx: Linx, change: Callable[..., None]) -> None:
    change("drop-ef", "delete PDR 4")
    hosts = linx.world.host_a, linx.world.host_b
    assert udp_round_trips(*hosts, B.host, 20, tos=TOS_EF, seconds=0.3) == (0, 0)
    assert udp_round_trips(*hosts, B.host, 20, tos=TOS_EF ^ 4) == (20, 20)
    assert linx.a.packets("PDR", 4) == 20


def test_fragments_follow_one_path(linx: Linx, change: Callable[..., None]) -> None:
    change("balance", "delete PDR 5", "delete LBR 9")
    world = linx.world
    world.host_a.ip("route", "replace", "default", "via", A.lan, "mtu", "1300")
    paths = [Capture(world.net, device) for device in ("a1", "a2")]
    with udp_socket(world.host_b, B.host, 9) as server:
        server.settimeout(5)
        for number in range(20):
            with udp_socket(world.host_a, port=21000 + number) as client:
                client.sendto(bytes([number]) * 4000, (B.host, 9))
            assert server.recv(65536) == bytes([number]) * 4000
    world.host_a.ip("route", "replace", "default", "via", A.lan)
    taken: dict[int, set[int]] = defaultdict(set)
    pieces: dict[int, int] = defaultdict(int)
    for index, path in enumerate(paths):
        for packet in path.tunnelled():
            inner = packet[GRE].payload
            taken[inner.id].add(index)
            pieces[inner.id] += 1
    assert all(len(ways) == 1 for ways in taken.values())
    assert sorted(pieces.values()) == [4] * 20


def test_changing_rules_under_traffic_loses_nothing(linx: Linx) -> None:
    world, edge = linx.world, linx.a
    counted = edge.packets("FAR", 1)
    carried = [edge.packets("OVERLAY", name) for name in ("GRE-WAN1", "GRE-WAN2")]
    pings = start_pings(world.host_a, B.host, 1000, 2)
    changes = 0
    with closing(edge.room.inside_thread(lambda: Loaded.open(edge.name))) as loaded:
        while pings.running:
            for overlay in ("GRE-WAN2", "GRE-WAN1"):
                text = f"update FAR 1 [(interface, u32, {overlay})]"
                loaded.apply(parse_request(Source("a test", text)))
                changes += 1
    said = read_pings(pings.wait())
    pings.stop()
    assert (said.sent, said.lost) == (1000, 0)
    assert changes > 100
    assert edge.packets("FAR", 1) == counted + 1000
    now = [edge.packets("OVERLAY", name) for name in ("GRE-WAN1", "GRE-WAN2")]
    # Both ways were taken; how often each is the scheduler's choice.
    assert all(new > old for new, old in zip(now, carried, strict=True))


# ---- a tagged LAN ---------------------------------------------------------------------------


def test_a_tagged_lan(bundle: Path, tmp_path: Path) -> None:
    """Frames lose their VLAN tag on the way into the tunnel, and get it on the way out.

    The host on the tagged LAN is scapy, since not every kernel has VLAN devices."""
    config = (HERE / "edge-a.yaml").read_text().replace("lan0}", "lan0, vlan: 100}")
    (tmp_path / "edge.yaml").write_text(config)
    tagged = "(dst_ip, u32, 10.2.0.0/16), (vlan_id, u16, 100)"
    rules = (HERE / "rules-a.req").read_text().replace("(dst_ip, u32, 10.2.0.0/16)", tagged)
    (tmp_path / "rules.req").write_text(rules)
    with Lab(f"{PREFIX}tagged-") as lab:
        world = build(lab)
        world.edge_a.neighbour("lan0", A.host, world.host_a.mac("eth0"))
        meet_neighbours(world)
        a, b = Edge(world.edge_a), Edge(world.edge_b)
        try:
            a.load(bundle, tmp_path / "edge.yaml")
            a.push(tmp_path / "rules.req")
            b.load(bundle, HERE / "edge-b.yaml")
            b.push(HERE / "rules-b.req")
            _talk_tagged(world)
            assert a.packets("PDR", 1) == 1
        finally:
            a.forget()
            b.forget()


def _talk_tagged(world: World) -> None:
    host, passing = world.host_a.wire("eth0"), Capture(world.net, "a1")
    own, edge = world.host_a.mac("eth0"), world.edge_a.mac("lan0")
    question = IP(src=A.host, dst=B.host) / UDP(sport=4000, dport=53) / b"question"
    with udp_socket(world.host_b, B.host, 53) as server:
        server.settimeout(5)
        for tag in (100, 101):  # no rule is for 101
            host.send(bytes(Ether(src=own, dst=edge) / Dot1Q(vlan=tag, prio=5) / question))
        data, sender = server.recvfrom(100)
        assert data == b"question"
        server.sendto(b"answer", sender)
        answer = Ether(host.expect(lambda frame: b"answer" in frame))
    assert (answer.src, answer.dst, answer[Dot1Q].vlan) == (edge, own, 100)
    assert (answer[IP].src, answer[IP].dst, answer[UDP].sport) == (B.host, A.host, 53)
    sent = passing.tunnelled()
    assert len(sent) == 1
    assert Dot1Q not in sent[0]


# ---- who may ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code"),
    [
        *((words, "H0763") for words in (  # an agent may well be there, at a socket closed to them
            ("show",), ("stats",), ("create", "FAR 9 [(action, u8, DROP)]"), ("refresh",),
            ("unload",),
        )),
        (("trace",), "H0720"),
        (("--local", "show"), "H0720"),
    ],
)  # fmt: skip
def test_nobody_may_touch_it(linx: Linx, words: tuple[str, ...], code: str) -> None:
    nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    with pytest.raises(LabError, match=rf"exit 1: error\[{code}\]"):
        linx.a.room.run(*nobody, HELIOCTL, "--name", linx.a.name, *words)
