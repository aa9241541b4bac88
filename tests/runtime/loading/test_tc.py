"""Ports at tc, by tcx and by clsact: loaded, upgraded under traffic, repaired, unloaded; beside
programs of others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from errno import ENOENT
from pathlib import Path
from typing import Any, TypeVar

import pytest
from helioc.lang.contract.manifest.manifest import AttachPoint
from helioc.lang.contract.trace.schema import TracedBuild
from helioc.lang.text.diagnostics import Diagnostic, Refused
from helioc.runtime.edge.config import Config
from helioc.runtime.kernel.clsact import Clsact
from helioc.runtime.kernel.handles import BpfError, Program
from helioc.runtime.loading import attachments
from helioc.runtime.loading.attach import link_of
from helioc.runtime.loading.attachments import Filter, open_attachment
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.loading.integrity import defects, link_defects
from helioc.runtime.loading.loader import Loaded, unload
from helioc.runtime.loading.reader import Reader
from helioc.runtime.loading.releases import ROOT, release_of, remove_pinned
from helioc.runtime.loading.upgrade import repair, upgrade
from helioc.runtime.loading.upgrade_plan import plan_upgrade
from helioc.runtime.tracing.watch import TraceOptions, watch
from hop import PASSES, alone, built, config, foreign, programs_at, text
from lab import Lab, until
from numbered import Flow, flow
from relay import World, request
from traffic import drain, udp_socket

pytestmark = pytest.mark.usefixtures("kernel")
_Result = TypeVar("_Result")

SOL_UDP, UDP_SEGMENT = 17, 103  # of linux/udp.h
_IN: AttachPoint = "tc.ingress"
INGRESSES = built(text())
LARGER_ROUTE = (("rule ROUTE [64]", "rule ROUTE [128]"),)
LARGER = built(text(_IN, _IN, *LARGER_ROUTE))
PASSING = built(
    text(_IN, _IN, ("if not udp", "if ipv4 { if ipv4.ttl = 9 { pass } }\n    if not udp"))
)
#: One that changes to whom packets go, which may be there, too.
MOVES = (
    ("gives  interface", "gives  to"), ("  rule", "  ie to = 3, ip4\n\n  rule"),
    ("forward ROUTE.interface via ipv4.dst", "ipv4.dst = ROUTE.to\n    pass"),
)  # fmt: skip
#: Where somebody else's program is: its filter's priority, or 0 for a tcx link.
IN_FRONT, BEHIND = {"tcx": 0, "clsact": 7}, {"tcx": 0, "clsact": 65000}


@pytest.fixture(params=["tcx", "clsact"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How programs are attached: as a kernel before Linux 6.6 has it, too."""
    if request.param == "clsact":
        monkeypatch.setattr(attachments, "has_tcx", lambda: False)
    elif not attachments.has_tcx():
        pytest.skip("this kernel has no tcx")
    return str(request.param)


class Edge:
    """The hop, loaded."""

    def __init__(self, world: World, name: str) -> None:
        self.world, self.name = world, name

    def do(self, action: Callable[[Loaded], _Result]) -> _Result:
        """Call it with the loaded hop, in the edge's namespace."""

        def go() -> _Result:
            with Loaded.open(self.name) as loaded:
                return action(loaded)

        return self.world.edge.inside_thread(go)

    def upgrade(self, bundle: Bundle) -> None:
        self.do(lambda loaded: upgrade(loaded, plan_upgrade(loaded, bundle)).close())

    def defects(self) -> list[str]:
        return self.do(lambda loaded: defects(loaded) + link_defects(loaded))

    def counted(self) -> list[int]:
        """Packets of each route."""

        with Reader(self.name) as reader:
            counted = {c.rule.id: c.packets or 0 for c in reader.rules()}
        return [counted[number] for number in sorted(counted)]

    def leads_to(self) -> list[int]:
        """The program that each port's packets come to."""

        def read() -> list[int]:
            found = []
            for number in (1, 2):
                with open_attachment(link_of(self.name, number)) as each:
                    found.append(each.info().program_id)
            return found

        return self.world.edge.inside_thread(read)


@contextmanager
def running(
    world: World, name: str, bundle: Bundle = INGRESSES, given: Config | None = None
) -> Iterator[Edge]:
    """Whatever state it is left in, nothing is left of it."""
    given = given or config()
    world.edge.inside_thread(lambda: Loaded.load(bundle, given, name)).close()
    try:
        yield Edge(world, name)
    finally:
        world.edge.inside_thread(lambda: unload(name))
        assert not (ROOT / name).exists()


@contextmanager
def traffic(world: World, sender: Path, pins: Path) -> Iterator[Flow]:
    """From near to far; none of it is lost, and none comes twice."""
    with flow(world.near, world.far, world.frame(), sender, pins / "flow") as some:
        some.until(200)
        yield some
        some.until(200)
    assert some.journey.lost == 0
    assert (some.journey.times == 1).all()


def refused(action: Callable[[], object]) -> Diagnostic:
    with pytest.raises(Refused) as error:
        action()
    return error.value.diagnostics[0]


def send(world: World, frame: bytes) -> None:
    """From near."""
    with closing(world.near.room.wire("eth0")) as wire:
        wire.send(frame)


def nothing_at(world: World) -> bool:
    return all(not any(programs_at(world.edge, d).values()) for d in ("in0", "out0"))


# ---- load, upgrade, unload ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("inside", "outside"),
    [("tc.ingress", "tc.ingress"), ("tc.ingress", "xdp"), ("xdp", "tc.ingress")],
)
def test_packets_go_through(
    world: World, name: str, sender: Path, pins: Path, way: str,
    inside: AttachPoint, outside: AttachPoint,
) -> None:  # fmt: skip
    """And of ports at XDP and at tc there is one set of tables."""
    given = config(inside, outside)
    with running(world, name, built(text(inside, outside)), given) as edge:
        with traffic(world, sender, pins) as some:
            pass
        back = (world.far, world.near, world.frame(back=True), sender, pins / "flow")
        with flow(*back) as other:
            other.until(200)
        assert other.journey.lost == 0
        assert edge.counted() == [some.journey.sent, other.journey.sent]
        assert edge.defects() == []
    assert nothing_at(world)


def test_an_upgrade_loses_nothing(
    world: World, name: str, sender: Path, pins: Path, way: str
) -> None:
    with running(world, name) as edge, traffic(world, sender, pins) as some:
        for bundle in (LARGER, INGRESSES, alone(), LARGER, alone(), INGRESSES):
            before = edge.leads_to()
            edge.upgrade(bundle)
            assert not set(before) & set(edge.leads_to())
            some.until(200)
        assert edge.defects() == []
    assert nothing_at(world)


def test_a_lost_pin_is_repaired(
    world: World, name: str, sender: Path, pins: Path, way: str
) -> None:
    """Under traffic where packets still come to the programs."""
    with running(world, name) as edge:
        with traffic(world, sender, pins):
            entry, *_ = ROOT.glob(f"{name}/release-1/tc/entry_inside")
            entry.unlink()
            assert edge.defects() == ["tc/entry_inside: it has no pin"]
            edge.do(lambda loaded: repair(loaded, INGRESSES).close())
            assert edge.defects() == []
        link_of(name, 1).unlink()
        assert edge.defects() == ["link_1 (port IN): it has no pin"]
        assert edge.do(lambda loaded: loaded.refresh().attached) == ("IN",)
        with traffic(world, sender, pins):
            assert edge.defects() == []
    assert nothing_at(world)


def test_an_interface_that_comes_back(
    lab: Lab, world: World, name: str, sender: Path, pins: Path, way: str
) -> None:
    with running(world, name) as edge:
        world.edge.ip("link", "delete", "in0")
        assert edge.do(lambda loaded: loaded.refresh().gone) == ("IN",)
        lab.wire(world.near.room, "eth0", world.edge, "in0")
        assert edge.do(lambda loaded: loaded.refresh().attached) == ("IN",)
        assert edge.defects() == []
        with traffic(world, sender, pins):
            pass
    assert nothing_at(world)


@pytest.mark.parametrize("outside", ["tc.egress", "xdp"])
def test_what_this_host_sends(world: World, name: str, way: str, outside: AttachPoint) -> None:
    """At tc.egress its own traffic is seen, and what it forwards; and dropped where a rule is
    missing."""
    rules = (request("create ROUTE 2 [(dst_ip, u32, 10.1.0.0/16), (note, u8, 1)]"),)
    given = replace(config("tc.egress", outside), requests=rules)
    passing = built(text("tc.egress", outside, *PASSES))
    world.near.room.address("eth0", "10.1.0.2/16")
    with (
        running(world, name, passing, given) as edge,
        udp_socket(world.near.room, "10.1.0.2", 7) as receiver,
        udp_socket(world.edge) as one,
    ):
        one.sendto(b"heard", ("10.1.0.2", 7))
        assert drain(receiver, 1)[0][0] == b"heard"
        assert edge.counted() == [1]
        edge.do(lambda loaded: loaded.apply(request("delete ROUTE 2")))
        one.sendto(b"not heard", ("10.1.0.2", 7))
        assert not drain(receiver, 1, 0.3)
    assert nothing_at(world)


@pytest.mark.parametrize("tx", ["on", "off"])
def test_datagrams_that_this_host_sends_at_once(world: World, name: str, tx: str) -> None:
    """UDP_SEGMENT: their checksums follow an address, also where the kernel is to sum each by
    itself, and keeps no more than the pseudo header's meanwhile (CHECKSUM_NONE, Linux 6.11)."""
    rules = (request("create ROUTE 1 [(dst_ip, u32, 10.1.0.3), (to, u32, 10.1.0.2)]"),)
    given = replace(config("tc.egress"), requests=rules)
    world.near.room.address("eth0", "10.1.0.2/16")
    world.edge.neighbour("in0", "10.1.0.3", world.near.room.mac("eth0"))
    world.edge.offload("in0", tx=tx)
    with (
        running(world, name, built(text("tc.egress", _IN, *MOVES)), given) as edge,
        udp_socket(world.near.room, "10.1.0.2", 7) as receiver,
        udp_socket(world.edge) as sender,
    ):
        sender.setsockopt(SOL_UDP, UDP_SEGMENT, 1000)
        sender.sendto(b"".join(bytes([i]) * 1000 for i in range(30)), ("10.1.0.3", 7))
        got = [data for data, _ in drain(receiver, 30, 5)]
        assert edge.counted() == [1]
    assert got == [bytes([i]) * 1000 for i in range(30)]


def untraced_at_tc(inside: AttachPoint, outside: AttachPoint) -> Bundle:
    """As a compiler of before made bundles: with a traced build for XDP alone."""
    bundle = built(text(inside, outside), traced=True)
    assert bundle.traced is not None
    schema = replace(bundle.traced.schema, tc="", tc_size=0)
    return replace(bundle, traced=TracedBuild(bundle.traced.object, schema))


def test_a_trace_of_a_port_that_has_no_traced_build_is_refused(world: World, name: str) -> None:
    """Nothing would come, while the other port's packets are traced."""

    def trace(port: str) -> None:
        with watch(name, TraceOptions(port=port)):
            pass

    with running(world, name, untraced_at_tc("xdp", _IN), config("xdp", _IN)):
        world.edge.inside_thread(lambda: trace("IN"))
        assert refused(lambda: world.edge.inside_thread(lambda: trace("OUT"))).code == "H0567"
    with running(world, name, untraced_at_tc(_IN, _IN)):
        assert refused(lambda: world.edge.inside_thread(lambda: trace(""))).code == "H0567"


@pytest.mark.parametrize(("inside", "outside"), [("xdp", _IN), (_IN, _IN)])
def test_packets_are_traced_at_either(
    world: World, name: str, inside: AttachPoint, outside: AttachPoint
) -> None:
    """Of a bundle with both kinds; and behind that the plain builds are there again."""
    frames = {"IN": world.frame(), "OUT": world.frame(back=True)}
    ends = {"IN": world.near, "OUT": world.far}
    bundle = built(text(inside, outside), traced=True)
    with running(world, name, bundle, config(inside, outside)) as edge:
        before = edge.leads_to()

        def traced(port: str) -> str:
            with watch(name, TraceOptions(port=port, count=1)) as output:
                with closing(ends[port].room.wire("eth0")) as wire:
                    wire.send(frames[port])
                return next(output.texts())

        for port, other in (("IN", "OUT"), ("OUT", "IN")):
            said = world.edge.inside_thread(lambda port=port: traced(port))  # type: ignore[misc]
            assert "ROUTE" in said and f"redirect by {other}" in said, said
            assert edge.leads_to() == before and edge.defects() == []


@pytest.mark.parametrize("inside", ["xdp", "tc.ingress"])
def test_packets_without_ethernet_are_no_frames(
    world: World, name: str, inside: AttachPoint
) -> None:
    """At tc the kernel would take a part of an address for what is behind an Ethernet header."""
    world.edge.ip("tuntap", "add", "tun0", "mode", "tun")
    given = config(inside, _IN)
    first, second = given.ports
    given = replace(given, ports=(replace(first, interface="tun0"), second), mode="generic")
    bundle = built(text(inside, _IN))
    found = refused(lambda: world.edge.inside_thread(lambda: Loaded.load(bundle, given, name)))
    assert found.code == "H0737" and "no Ethernet header" in found.title
    assert not (ROOT / name).exists()


def test_a_port_stays_where_it_is(world: World, name: str) -> None:
    """An upgrade moves none, and changes nothing then; the edge's YAML may have moved one."""
    with running(world, name) as edge:
        before = edge.leads_to()
        for other in (text("xdp", "tc.ingress"), text("xdp", "xdp")):
            assert refused(lambda other=other: edge.upgrade(built(other))).code == "H0565"  # type: ignore[misc]
        assert edge.leads_to() == before and edge.defects() == []
    moved = built(text("xdp", "tc.ingress"))
    with running(world, name, moved, config()) as edge:
        edge.upgrade(built(text("xdp", _IN, *LARGER_ROUTE)))
        edge.upgrade(INGRESSES)
        assert edge.defects() == []


def test_from_another_namespace(world: World, name: str, way: str) -> None:
    """A link is removed from anywhere; a filter only where it is, and the pipeline stays whole."""
    with running(world, name) as edge:
        if way == "clsact":
            assert refused(lambda: unload(name)).code == "H0711"
            assert edge.defects() == []
    world.edge.inside_thread(lambda: Loaded.load(INGRESSES, config(), name)).close()
    if way == "clsact":
        world.edge.inside_thread(lambda: remove_pinned(name))
    else:
        unload(name)
    assert nothing_at(world)


def test_a_load_that_fails_leaves_nothing(
    world: World, name: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second port cannot be attached: the first is no longer, and there is no qdisc."""
    real = attachments.attach

    def fails(*given: Any) -> None:
        if given[2] == world.edge.ifindex("out0"):
            raise BpfError("attach", ENOENT)
        real(*given)

    monkeypatch.setattr(attachments, "attach", fails)
    why = refused(lambda: world.edge.inside_thread(lambda: Loaded.load(INGRESSES, config(), name)))
    assert why.code == "H0738" and "tc.ingress" in why.title
    assert not (ROOT / name).exists() and nothing_at(world)


# ---- others ---------------------------------------------------------------------------------


@pytest.mark.parametrize("drops", [False, True])
def test_a_program_in_front(world: World, name: str, pins: Path, way: str, drops: bool) -> None:
    """What it drops we do not see; and what goes on from it comes to us."""
    here = world.edge, "in0", drops, pins / "foreign", IN_FRONT[way]
    with foreign(*here) as other, running(world, name) as edge:
        for number, bundle in enumerate((LARGER, INGRESSES), 1):
            send(world, world.frame())
            until(lambda number=number: other.seen == number, "the packet")  # type: ignore[misc]
            assert edge.counted() == [number * (not drops), 0]
            edge.upgrade(bundle)
        assert edge.defects() == []
    if way == "clsact":
        assert "clsact" in "".join(programs_at(world.edge, "in0")["qdisc"])


def test_a_program_behind(world: World, name: str, pins: Path, way: str) -> None:
    """It sees what we pass, and nothing else."""
    behind = world.edge, "in0", True, pins / "foreign", BEHIND[way]
    passed = bytearray(world.frame())
    passed[22] = 9  # TTL; nobody looks at the checksum
    with running(world, name, PASSING) as edge, foreign(*behind) as other:
        send(world, world.frame())
        until(lambda: edge.counted() == [1, 0], "our own count")
        assert other.seen == 0
        send(world, bytes(passed))
        until(lambda: other.seen == 1, "what we pass")
        assert edge.counted() == [1, 0]


def test_what_others_have_at_clsact_stays(world: World, name: str, pins: Path, way: str) -> None:
    """Our own go."""
    with foreign(world.edge, "in0", False, pins / "foreign", 7):
        before = programs_at(world.edge, "in0")
        with running(world, name) as edge:
            edge.upgrade(LARGER)
        assert programs_at(world.edge, "in0") == before
        assert not any(programs_at(world.edge, "out0").values())


def put(ours: Filter, name: str) -> None:
    """A filter of somebody else, where ours is."""
    pin = release_of(name, 1) / "tc" / "entry_inside"
    with Clsact() as netlink, Program.open_pinned(pin) as program:
        netlink.attach(ours._place, program, "somebody", replace=True)


def test_a_foreign_filter_is_not_ours(
    world: World, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At our own place: it is neither taken for ours nor removed."""
    monkeypatch.setattr(attachments, "has_tcx", lambda: False)
    with running(world, name) as edge:
        ours = Filter.open_pinned(link_of(name, 1))

        world.edge.inside_thread(lambda: put(ours, name))
        assert edge.leads_to()[0] == 0
        assert edge.defects() == ["link_1 (port IN): it is detached"]
        seen = edge.do(lambda loaded: loaded.refresh())
        assert not seen.attached and [each.code for each in seen.findings] == ["H0739"]
    assert "somebody" in "".join(programs_at(world.edge, "in0")["ingress"])


def test_a_qdisc_in_the_way(world: World, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An `ingress` qdisc does for ingress, and excludes the clsact one that egress needs."""
    monkeypatch.setattr(attachments, "has_tcx", lambda: False)
    world.edge.run("tc", "qdisc", "add", "dev", "in0", "ingress")
    with running(world, name) as edge:
        assert edge.defects() == []
    egress = built(text("tc.egress", "tc.ingress"))
    given = config("tc.egress")
    why = refused(lambda: world.edge.inside_thread(lambda: Loaded.load(egress, given, name)))
    assert why.code == "H0739"
    assert not (ROOT / name).exists()
    assert "ingress" in world.edge.run("tc", "qdisc", "show", "dev", "in0")
    assert not any(programs_at(world.edge, "out0").values())
