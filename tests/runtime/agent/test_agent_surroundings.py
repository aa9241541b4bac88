"""What changes around an agent's pipelines, with packets before and after."""

from __future__ import annotations

import os
import select
import signal
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from agent_world import EDGE, TO_TUNNEL, World, texts
from edges import hear_answers
from helioc.runtime.client import Client, Rejected
from helioc.runtime.kernel.handles import Link, Map, Object
from helioc.runtime.kernel.net_monitor import EVERYTHING, Monitor
from helioc.runtime.loading.bundle import read_bundle
from helioc.runtime.loading.releases import release_of, remove_pinned
from helioc.runtime.rpc import control_pb2 as pb
from helioc.runtime.rules.moments import UTC_AHEAD
from lab import Lab, Namespace, Wire, until
from linx_maps import udp
from tinybpf import SMALL, build

pytestmark = pytest.mark.usefixtures("kernel")


@pytest.fixture
def lan(lab: Lab, here: World) -> Namespace:
    made = Namespace(f"{lab.prefix}lan", lab._stack)
    hear_answers([(made, "eth0")])
    return made


@pytest.fixture
def wan(lab: Lab, here: World) -> Namespace:
    return Namespace(f"{lab.prefix}wan", lab._stack)


@pytest.fixture
def agent(here: World, lan: Namespace) -> Iterator[Client]:
    with here.agent(), here.client() as client:
        client.load(read_bundle(here.directory / "bundle"), EDGE)
        client.apply(TO_TUNNEL)
        yield client


def port(client: Client, name: str = "WAN1") -> pb.Port:
    return next(p for p in client.status().pipelines[0].ports if p.name == name)


def frame(here: World, payload: int = 18, mark: int = 1000) -> bytes:
    to = bytes.fromhex(here.edge.mac("lan0").replace(":", ""))
    return to + udp("10.1.0.10", "10.2.0.5", mark, payload=b"x" * payload)[6:]


def tunnelled(mark: int) -> Callable[[bytes], bool]:
    """GRE with a key, and in it our datagram from that port."""
    expected = struct.pack("!H", mark)
    return lambda f: f[12:14] == b"\x08\x00" and f[23] == 47 and f[62:64] == expected


def crosses(here: World, sender: Wire, receiver: Wire, mark: int) -> bytes:
    sender.send(frame(here, mark=mark))
    return receiver.expect(tunnelled(mark))


def rewire(lab: Lab, here: World, wan: Namespace) -> None:
    lab.wire(wan, "eth0", here.edge, "wan0")
    here.edge.address("wan0", "192.0.2.1/24")
    here.edge.neighbour("wan0", "192.0.2.2", wan.mac("eth0"))


def arrives(here: World, sender: Wire, receiver: Wire, mark: int) -> Callable[[], bytes | None]:
    """Sends one, and has what came of it within a moment."""

    def attempt() -> bytes | None:
        sender.send(frame(here, mark=mark))
        seen = receiver.receive(0.05)
        return seen if seen is not None and tunnelled(mark)(seen) else None

    return attempt


def test_an_interface_goes_and_comes_back(
    here: World, agent: Client, lab: Lab, lan: Namespace, wan: Namespace
) -> None:
    sender = lan.wire("eth0")
    crosses(here, sender, wan.wire("eth0"), 1)
    before, revision = port(agent).ifindex, agent.status().pipelines[0].revision
    with here.client() as other, other.watch() as watch:
        here.edge.ip("link", "delete", "wan0")
        gone = next(event for event in watch if event.HasField("port"))
        assert (gone.port.port.name, gone.port.port.ifindex) == ("WAN1", 0)
        assert gone.revision > revision and port(agent).ifindex == 0
        rewire(lab, here, wan)
        back = next(event for event in watch if event.port.port.ifindex)
        assert back.port.port.ifindex == here.edge.ifindex("wan0") != before
    until(arrives(here, sender, wan.wire("eth0"), 2), "packets are forwarded again")
    until(lambda: not agent.status().pipelines[0].findings, "nothing is wrong any more")


def test_an_interface_by_another_name_is_another_one(
    here: World, agent: Client, lab: Lab, lan: Namespace, wan: Namespace
) -> None:
    """While packets cross: the old interface stays, but is no port any more."""
    here.edge.ip("link", "set", "wan0", "down")
    here.edge.ip("link", "set", "wan0", "name", "old0")
    other = lab.namespace("wan-b")
    rewire(lab, here, other)
    until(arrives(here, lan.wire("eth0"), other.wire("eth0"), 3), "packets take the new one")
    # The agent attaches to the new interface before it leaves the old one.
    until(lambda: "xdp" not in here.edge.ip("link", "show", "old0"), "the old one is no port")


def test_what_goes_elsewhere_loses_nothing(
    here: World, lab: Lab, lan: Namespace, wan: Namespace
) -> None:
    """While another port's interface goes and comes back ten times, and neighbours come and go."""
    other, count = lab.namespace("wan-c"), 20_000
    lab.wire(other, "eth0", here.edge, "wan1")
    edge = EDGE.replace("overlays:", "  WAN2: {role: wan, interface: wan1}\noverlays:")
    sender, receiver = lan.wire("eth0"), wan.wire("eth0")
    data = frame(here, mark=11)
    got = list[bytes]()

    def drain(seconds: float) -> None:
        while (seen := receiver.receive(seconds)) is not None:
            if tunnelled(11)(seen):
                got.append(seen)

    def traffic() -> None:
        for number in range(count):
            sender.send(data)
            if number % 50 == 0:
                select.select([], [], [], 0.005)

    with here.agent(), here.client() as client:
        client.load(read_bundle(here.directory / "bundle"), edge)
        client.apply(TO_TUNNEL)
        thread = threading.Thread(target=traffic)
        thread.start()
        for last in range(10, 20):
            here.edge.ip("link", "delete", "wan1")
            until(lambda: port(client, "WAN2").ifindex == 0, "it is gone")
            lab.wire(other, "eth0", here.edge, "wan1")
            here.edge.neighbour("wan0", f"192.0.2.{last}", "02:00:00:00:00:09")
            index = here.edge.ifindex("wan1")
            until(lambda: port(client, "WAN2").ifindex == index, "it is back")  # noqa: B023
            drain(0.001)
        drain(0.001)
        thread.join()
        drain(0.5)
        assert len(got) == count and len({data[:18] + data[26:] for data in got}) == 1
        client.unload()


@pytest.mark.parametrize("end", ["killed", "rebooted"])
def test_requests_name_interfaces_by_name_and_number(
    here: World, agent: Client, lab: Lab, wan: Namespace, end: str
) -> None:
    """And mean the same when the journal is replayed, whatever the number is by then."""
    first = here.edge.ifindex("wan0")
    agent.apply(f"create FAR 11 [(action, u8, REDIRECT), (ifindex, u32, {first})]")
    here.edge.ip("link", "delete", "wan0")
    rewire(lab, here, wan)
    second = here.edge.ifindex("wan0")
    until(lambda: port(agent).ifindex == second, "the port is back")
    agent.apply(f"create FAR 12 [(action, u8, REDIRECT), (ifindex, u32, {second})]")
    agent.apply("create FAR 13 [(action, u8, REDIRECT), (interface, u32, WAN1)]")
    with pytest.raises(Rejected, match=str(first)):
        agent.apply(f"create FAR 14 [(action, u8, REDIRECT), (ifindex, u32, {first})]")
    before, revision = texts(agent), agent.status().pipelines[0].revision
    assert sum("(interface, u32, WAN1)" in text for text in before if "FAR 1" in text) == 3
    os.kill(agent.status().pid, signal.SIGKILL)
    if end == "rebooted":
        remove_pinned(here.name)
        here.edge.ip("link", "delete", "wan0")
        rewire(lab, here, wan)
        assert here.edge.ifindex("wan0") not in (first, second)
    with here.agent(), here.client() as client:
        (found,) = client.status().pipelines
        assert texts(client) == before and not found.findings and found.revision >= revision
        third = here.edge.ifindex("wan0")
        client.apply(f"create FAR 15 [(action, u8, REDIRECT), (ifindex, u32, {third})]")
        now = texts(client)
        os.kill(client.status().pid, signal.SIGKILL)
    with here.agent(), here.client() as client:
        assert texts(client) == now


def test_the_mtu_changes(here: World, agent: Client, lan: Namespace) -> None:
    """The path MTU that senders are told is that of the moment."""
    sender = lan.wire("eth0")

    def announced(mtu: int) -> Callable[[], bool]:
        def attempt() -> bool:
            sender.send(frame(here, payload=1300))
            said = sender.receive(0.05)
            return said is not None and said[34:36] == b"\x03\x04" and said[40:42] == (
                struct.pack("!H", mtu - 28))  # fmt: skip

        return attempt

    for mtu in (1200, 1000):
        here.edge.ip("link", "set", "wan0", "mtu", str(mtu))
        until(announced(mtu), f"an MTU of {mtu - 28} within GRE with a key")


def test_the_next_hop_has_another_mac(
    here: World, agent: Client, lan: Namespace, wan: Namespace
) -> None:
    sender, receiver = lan.wire("eth0"), wan.wire("eth0")
    assert crosses(here, sender, receiver, 1)[:6].hex(":") == wan.mac("eth0")
    here.edge.neighbour("wan0", "192.0.2.2", "02:00:00:00:00:77")
    attempt = arrives(here, sender, receiver, 2)
    until(lambda: (attempt() or b"")[:6].hex(":") == "02:00:00:00:00:77", "the new MAC")
    here.edge.ip("link", "set", "wan0", "address", "02:00:00:00:00:55")
    here.edge.neighbour("wan0", "192.0.2.2", wan.mac("eth0"))  # the kernel forgot it
    until(lambda: (attempt() or b"")[6:12].hex(":") == "02:00:00:00:00:55", "our own new MAC")


def test_the_route_leads_elsewhere(
    here: World, agent: Client, lan: Namespace, wan: Namespace
) -> None:
    for last, mac in ((8, "02:00:00:00:00:08"), (9, "02:00:00:00:00:09")):
        here.edge.neighbour("wan0", f"192.0.2.{last}", mac)
    agent.apply(
        "create OVERLAY FAR-OFF [(local_ip, u32, 192.0.2.1), (remote_ip, u32, 203.0.113.9), "
        "(key, u32, 9), (interface, u32, WAN1)]; update FAR 1 [(interface, u32, FAR-OFF)]"
    )
    attempt = arrives(here, lan.wire("eth0"), wan.wire("eth0"), 4)
    for last in (8, 9):
        here.edge.ip("route", "replace", "203.0.113.0/24", "via", f"192.0.2.{last}")
        until(lambda: (attempt() or b"")[:6].hex() == f"02000000000{last}", f"by 192.0.2.{last}")  # noqa: B023


def test_a_neighbour_that_moves_without_a_word(
    here: World, agent: Client, lan: Namespace, wan: Namespace
) -> None:
    """Frames that XDP forwards do not make the kernel ask again who has an address: the agent
    does. The kernel here is quicker than usual to doubt."""
    wan.address("eth0", "192.0.2.2/24")
    for name, value in (("delay_first_probe_time", 1), ("base_reachable_time_ms", 1000),
                        ("retrans_time_ms", 100)):  # fmt: skip
        here.edge.sysctl(f"net.ipv4.neigh.wan0.{name}", value)
    here.edge.ip("neighbour", "delete", "192.0.2.2", "dev", "wan0")
    sender, receiver = lan.wire("eth0"), wan.wire("eth0")
    agent.refresh()
    attempt = arrives(here, sender, receiver, 5)
    until(attempt, "the neighbour is found")
    wan.ip("link", "set", "eth0", "address", "02:00:00:00:00:66")
    until(lambda: (attempt() or b"")[:6].hex() == "020000000066", "it is found again", 40)


def test_a_storm_of_changes(here: World, agent: Client, lan: Namespace, wan: Namespace) -> None:
    """More than the kernel keeps for us; requests are answered meanwhile, and all is well then."""
    lines = "".join(
        f"neighbour replace 192.0.{2 + n // 200}.{20 + n % 200} lladdr 02:00:00:00:{round:02x}:01 "
        "dev wan0 nud stale\n"
        for round in range(20) for n in range(200)
    )  # fmt: skip
    batch = here.directory / "batch"
    batch.write_text(lines)
    storm = here.edge.start("ip", "-batch", str(batch))
    slowest = 0.0
    while storm.running:
        begun = time.monotonic()
        agent.apply("update FAR 1 [(action, u8, REDIRECT)]")
        slowest = max(slowest, time.monotonic() - begun)
    assert slowest < 1
    here.edge.neighbour("wan0", "192.0.2.2", "02:00:00:00:00:78")
    attempt = arrives(here, lan.wire("eth0"), wan.wire("eth0"), 6)
    until(lambda: (attempt() or b"")[:6].hex() == "020000000078", "the new MAC")


def test_what_the_kernel_had_to_drop_may_be_anything(here: World) -> None:
    with closing(here.edge.inside_thread(lambda: Monitor(buffer=2048))) as monitor:
        assert monitor.changed() == frozenset()
        here.edge.neighbour("wan0", "192.0.2.9", "02:00:00:00:00:09")
        monitor.wait(5)
        assert monitor.changed() == {"neighbours"}
        here.edge.ip("link", "set", "wan0", "mtu", "1400")
        monitor.wait(5)
        assert "links" in monitor.changed()
        for last in range(10, 60):
            here.edge.neighbour("wan0", f"192.0.2.{last}", "02:00:00:00:00:09")
        monitor.wait(5)
        assert monitor.changed() == EVERYTHING
        assert monitor.changed() == frozenset()
        monitor.wake()
        monitor.wait(5)
        assert monitor.changed() == frozenset()


def test_another_program_on_an_interface_that_is_back(
    here: World, agent: Client, lab: Lab, lan: Namespace, wan: Namespace
) -> None:
    """It is said, and once that program is gone the port works by itself."""
    here.edge.ip("link", "delete", "wan0")
    until(lambda: port(agent).ifindex == 0, "the port is missing")
    # Under another name first, so that the other program is there before the port.
    lab.wire(wan, "eth0", here.edge, "new0")
    with Object.open(build(SMALL), name="small") as small:
        small.load()
        dropper, index = small.programs()["dropper"], here.edge.ifindex("new0")
        with here.edge.inside_thread(lambda: Link.attach_xdp(dropper, index)):
            here.edge.ip("link", "set", "new0", "down")
            here.edge.ip("link", "set", "new0", "name", "wan0")
            here.edge.ip("link", "set", "wan0", "up")
            (found,) = until(lambda: agent.status().pipelines[0].findings, "it is said")
            assert found.code == "H0724" and "wan0" in found.title
            with pytest.raises(Rejected, match="wan0"):
                agent.refresh()
    here.edge.address("wan0", "192.0.2.1/24")
    here.edge.neighbour("wan0", "192.0.2.2", wan.mac("eth0"))
    until(arrives(here, lan.wire("eth0"), wan.wire("eth0"), 7), "packets are forwarded")
    until(lambda: not agent.status().pipelines[0].findings, "nothing is wrong any more")


def test_the_wall_clock_is_published_again(here: World, agent: Client) -> None:
    """At the load, and by the agent from then on: whatever stood there."""
    path = release_of(here.name, 1) / "maps" / "control"
    with Map.open_pinned(path) as control:
        words = control.mmap().cast("Q")
        ahead = time.time_ns() - time.monotonic_ns()
        assert abs(words[UTC_AHEAD] - ahead) < 1_000_000_000
        words[UTC_AHEAD] = 0
        until(lambda: words[UTC_AHEAD] != 0, "the clock is published again")
        assert abs(words[UTC_AHEAD] - ahead) < 1_000_000_000
        words.release()
