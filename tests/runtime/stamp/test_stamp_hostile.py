"""What clients may get wrong, or mean badly: clear answers, and nothing is lost or grows."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from agent_world import World
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from helioc.runtime.agent.agent import Agent
from helioc.runtime.client import Client, Rejected
from helioc.runtime.http2.codes import Code
from helioc.runtime.rpc import control_pb2 as pb
from helioc.runtime.rpc.access import NEEDED
from helioc.runtime.stamp.kept import MOST
from helioc.runtime.stamp.manager import RATE, StampManager
from helioc.runtime.stamp.parameters import Parameters
from knock import built
from lab import Lab, Namespace, Wire, until
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from stamp_world import EDGE, bundle, unload_world

pytestmark = pytest.mark.usefixtures("kernel")
FAR = "198.51.100.2"
_numbers = count(1)


@pytest.fixture
def here(lab: Lab, tmp_path: Path) -> Iterator[World]:
    """An edge with a route to nobody."""
    edge, other = lab.namespace("edge"), lab.namespace("wan")
    lab.wire(other, "eth0", edge, "wan0")
    edge.address("wan0", "192.0.2.2/24")
    edge.neighbour("wan0", "192.0.2.1", other.mac("eth0"))
    edge.route("198.51.100.0/24", "192.0.2.1")
    made = World(edge, f"ht{os.getpid()}-h{next(_numbers)}", tmp_path)
    yield made
    unload_world(made)


@pytest.fixture
def wan(lab: Lab, here: World) -> Wire:
    return Namespace(f"{lab.prefix}wan", lab._stack).wire("eth0")


@pytest.fixture
def client(here: World) -> Iterator[Client]:
    with here.agent(), here.client() as made:
        made.load(bundle(), EDGE)
        yield made


def refused(call: Any, *words: Any, **others: Any) -> tuple[str, Code]:
    with pytest.raises(Rejected) as caught:
        call(*words, **others)
    return caught.value.diagnostics[0].code, caught.value.status


def test_what_is_taken_is_said(client: Client) -> None:
    client.create_stamp_session(5, FAR, name="a")
    for again in ((5, "b"), (6, "a")):
        found = refused(client.create_stamp_session, again[0], FAR, name=again[1])
        assert found == ("H0841", Code.ALREADY_EXISTS)
    client.apply(f"create COLLECTOR 9 mine [(ssid, 7), (peer4, {FAR}), (clock, NTP)]")
    assert refused(client.create_stamp_session, 7, FAR)[0] == "H0841"
    client.create_stamp_session(7, "198.51.100.3")  # of another reflector
    assert [each.parameters.ssid for each in client.stamp_sessions().sessions] == [5, 7]


def test_a_port_of_the_pipeline_and_a_name_of_several_words(client: Client) -> None:
    client.init_stamp(4000, interface="WAN")
    made = client.create_stamp_session(5, FAR, name="to the core")
    client.create_stamp_session(6, FAR, source_port=862)
    texts = {rule.kind: rule.text for rule in client.rules(kinds=["COLLECTOR"], name="to the core")}
    assert '"to the core"' in texts["COLLECTOR"]
    found = endpoints(client)
    assert len(found) == 2 and all("(interface, u32, WAN)" in each for each in found)
    client.apply(made.reflector)  # here, as it may be anywhere
    assert refused(client.create_stamp_session, 7, FAR, name="TO THE CORE")[0] == "H0841"


def endpoints(client: Client) -> list[str]:
    return sorted(rule.text for rule in client.rules(kinds=["ENDPOINT"]))


def test_answers_come_by_the_port_that_was_said_last(client: Client) -> None:
    client.init_stamp()
    client.create_stamp_session(5, FAR, source_port=5000)
    assert len(endpoints(client)) == 2 and not any("WAN" in each for each in endpoints(client))
    client.init_stamp(interface="WAN")
    assert len(endpoints(client)) == 2 and all("WAN" in each for each in endpoints(client))
    client.init_stamp(4000, interface="WAN")  # nobody has 862 any more
    found = endpoints(client)
    assert len(found) == 2 and "4000" in found[0] + found[1] and "862" not in found[0] + found[1]


def test_a_session_that_is_refused_leaves_no_rule(client: Client) -> None:
    client.apply("create COLLECTOR 1 other [(ssid, 900), (peer4, 192.0.2.9), (clock, NTP)]")
    for port in (5000, 5001):
        assert refused(client.create_stamp_session, 30, FAR, name="other", source_port=port)
    assert endpoints(client) == []


def test_names_are_as_long_as_those_of_rules(client: Client) -> None:
    for name in ("\u754c" * 22, "a" * 64, "  "):
        assert refused(client.create_stamp_session, 5, FAR, name=name)[0] == "H0842"
    client.create_stamp_session(5, FAR, name="\u754c" * 21)


def test_what_is_not_there_is_said(client: Client) -> None:
    for call in (client.start_stamp_session, client.stop_stamp_session, client.stamp_sessions,
                 client.destroy_stamp_session, client.stamp_results, client.stamp_results_counter,
                 lambda ssid: next(client.watch_stamp_results(ssid))):  # fmt: skip
        assert refused(call, 5) == ("H0840", Code.NOT_FOUND)


def test_what_cannot_be_changes_nothing(client: Client) -> None:
    before = client.status().pipelines[0].revision
    for change in (
        {"interval": 0.0}, {"interval": 1e308}, {"interval": float("nan")}, {"interval": -1.0},
        {"timeout": 1e9}, {"length": 45}, {"length": 2**32 - 1}, {"port": 2**32 - 1},
        {"dscp": 64}, {"name": "x" * 200}, {"name": "\x1b[2J"}, {"clock": 7}, {"way": -1},
        {"sids": ["fc00::1"] * 4000, "way": "H_ENCAPS"}, {"source": "x" * 60_000},
    ):  # fmt: skip
        assert refused(client.create_stamp_session, 5, FAR, **change) == (
            "H0842", Code.INVALID_ARGUMENT), change  # fmt: skip
    assert refused(client.create_stamp_session, 0, FAR)[0] == "H0842"
    assert refused(client.create_stamp_session, 2**32 - 1, FAR)[0] == "H0842"
    assert refused(client.create_stamp_session, 5, FAR, authenticated=True) == (
        "H0843", Code.FAILED_PRECONDITION)  # fmt: skip
    assert refused(client.init_stamp, 22)[0] == "H0842"
    assert refused(client.init_stamp, 4000, interface="LAN")[0] == "H0842"
    assert not client.stamp_sessions().sessions and not list(client.rules())
    assert client.status().pipelines[0].revision == before
    client.create_stamp_session(5, FAR)
    for seconds in (0.0, -1.0, float("nan"), float("inf"), 1e300):
        assert refused(client.start_stamp_session, 5, seconds)[0] == "H0842"


def test_there_is_a_way_to_the_reflector_and_the_source_is_ours(client: Client) -> None:
    for to, others in (
        ("203.0.113.1", {}), ("fc00:b::2", {}), (FAR, {"sids": ["fc00::1"], "way": "H_ENCAPS"}),
        (FAR, {"source": "192.0.2.3"}), (FAR, {"source": "10.0.0.1"}),
    ):  # fmt: skip
        assert refused(client.create_stamp_session, 5, to, **others) == (
            "H0846", Code.FAILED_PRECONDITION)  # fmt: skip
    assert refused(client.init_stamp, source4="192.0.2.3")[0] == "H0846"


def test_a_session_whose_rule_is_gone_is_not_started(client: Client) -> None:
    client.create_stamp_session(5, FAR)
    client.apply("delete COLLECTOR 1; create COLLECTOR 1 session-5 [(ssid, 5), (clock, PTP)]")
    assert refused(client.start_stamp_session, 5) == ("H0848", Code.FAILED_PRECONDITION)
    client.destroy_stamp_session(5)
    assert [rule.kind for rule in client.rules()].count("COLLECTOR") == 1  # somebody else's


def test_a_rule_of_somebody_else_is_not_taken_over_by_a_restart(here: World) -> None:
    with here.agent(), here.client() as client:
        client.load(bundle(), EDGE)
        client.create_stamp_session(5, FAR, clock="PTP")
        theirs = f"COLLECTOR 1 session-5 [(ssid, 5), (peer4, {FAR}), (clock, NTP)]"
        client.apply(f"delete COLLECTOR 1; create {theirs}")
    with here.agent(), here.client() as client:
        assert refused(client.start_stamp_session, 5)[0] == "H0848"
        client.destroy_stamp_session(5)
        assert [rule.kind for rule in client.rules()].count("COLLECTOR") == 1


def test_two_pipelines_do_not_share_answers(lab: Lab, here: World, client: Client) -> None:
    lab.wire(Namespace(f"{lab.prefix}wan", lab._stack), "eth1", here.edge, "wan1")
    with Client(here.address, f"{here.name}c") as other:
        other.load(bundle(), EDGE.replace("wan0", "wan1"))
        try:
            client.create_stamp_session(5, FAR)
            assert refused(other.create_stamp_session, 5, FAR)[0] == "H0841"
            other.create_stamp_session(5, FAR, source_port=5000)
        finally:
            other.unload()


def test_a_route_that_goes_is_counted_and_said(here: World, client: Client) -> None:
    client.create_stamp_session(5, FAR, interval=0.01)
    client.start_stamp_session(5)
    until(lambda: client.stamp_sessions(5).sessions[0].sent > 3, "it sends")
    here.edge.ip("route", "delete", "198.51.100.0/24")
    until(lambda: client.stamp_sessions(5).sessions[0].unsent > 3, "the kernel refuses")
    assert "unreachable" in client.stamp_sessions(5).sessions[0].why
    here.edge.route("198.51.100.0/24", "192.0.2.1")
    until(lambda: not client.stamp_sessions(5).sessions[0].why, "it sends again")


def test_so_many_sessions_and_so_fast_and_no_more(here: World) -> None:
    """By an agent of this process, without a journal: that would wait for the disk 2,000 times."""

    def body() -> None:
        agent = Agent()
        agent.open_all()
        try:
            agent.load(bundle(), Source("<edge>", EDGE), here.name)
            _fill(agent.stamp)
            assert list(agent.owner().loaded.book.rules("COLLECTOR")) == []
        finally:
            agent.close()

    here.edge.inside_thread(body)


def _fill(stamp: StampManager) -> None:
    def code(call: Callable[[], object]) -> str:
        with pytest.raises(Refused) as caught:
            call()
        return caught.value.diagnostics[0].code

    for number in range(MOST):
        stamp.create("", Parameters(number + 1, FAR, interval=0.01, timeout=60.0))
    assert code(lambda: stamp.create("", Parameters(5000, FAR))) == "H0844"
    for number in range(RATE // 100):
        stamp.begin("", number + 1)
    assert code(lambda: stamp.begin("", MOST)) == "H0844"
    stamp.begin("", 1, 5.0)  # it is going on
    stamp.halt("", 1)
    stamp.begin("", MOST)
    assert sum(each.running for each in stamp.find(stamp._owner("").name)) == RATE // 100
    assert stamp.reset("") == MOST and stamp.reset("") == 0


def test_a_pipeline_without_a_collector_is_no_use(here: World) -> None:
    with here.agent(), here.client() as client:
        here.edge.ip("link", "add", "lan0", "type", "veth", "peer", "name", "lan1")
        client.load(built(), "ports:\n  LAN: {role: lan, interface: lan0}\n")
        assert refused(client.create_stamp_session, 5, FAR) == ("H0845", Code.FAILED_PRECONDITION)
        assert refused(client.init_stamp)[0] == "H0845"
        assert client.reset_stamp() == 0 and not client.stamp_sessions().sessions


def test_forged_answers_leave_nothing(here: World, client: Client, wan: Wire) -> None:
    """Truncated, of numbers that were never sent, replayed: counted, and no state grows."""
    client.create_stamp_session(5, FAR, interval=0.05)
    client.start_stamp_session(5)
    until(lambda: client.stamp_sessions(5).sessions[0].sent > 2, "it sends")
    to = Ether(dst=here.edge.mac("wan0")) / IP(src=FAR, dst="192.0.2.2") / UDP(sport=862, dport=862)
    wan.send(bytes(to / bytes(20)))
    for number in (2**31, 2**32 - 1, 10**6, *[0] * 50):
        fields = number, 3, 1, 5, 2, number, 1, 1, 0, 60
        wan.send(bytes(to / struct.pack("!IQHHQIQHHB3x", *fields)))
    until(lambda: client.stamp_sessions(5).sessions[0].duplicates >= 49, "they came")
    found = client.stamp_sessions(5).sessions[0]
    assert (found.strange, found.answered + found.late) == (3, 1)
    assert client.stamp_results_counter(5).waiting == 1


def test_who_may_call_what() -> None:
    """Who only reads takes no results from others."""
    methods = pb.DESCRIPTOR.services_by_name["Stamp"].methods_by_name
    read = {"ListStampSessions", "GetStampSessionResultsCounter", "WatchStampResults"}
    assert {name: NEEDED[name] for name in methods} == {
        name: "read" if name in read else "rules" for name in methods
    }


def test_without_the_capability_it_is_said(here: World) -> None:
    with here.agent(by=("setpriv", "--bounding-set", "-net_raw")), here.client() as client:
        client.load(bundle(), EDGE)
        client.create_stamp_session(5, FAR)
        found = refused(client.start_stamp_session, 5)
        assert found == ("H0847", Code.FAILED_PRECONDITION)
        assert not client.stamp_sessions(5).sessions[0].running


def test_changes_are_in_the_audit(here: World) -> None:
    with here.agent() as process, here.client() as client:
        client.load(bundle(), EDGE)
        client.create_stamp_session(5, FAR)
        assert refused(client.start_stamp_session, 6)[0] == "H0840"
        said = process.expect("method=StartStampSession")
    lines = [line for line in (said + process.stop()).splitlines() if "StampSession" in line]
    assert "INFO" in lines[0] and "session=5" in lines[0] and "answer=OK" in lines[0]
    assert "WARNING" in lines[1] and "session=6" in lines[1] and "answer=H0840" in lines[1]
