"""Sessions between two agents, through seg6 and a relay: delay, loss, order, restarts."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from helioc.runtime.rpc import control_pb2 as pb
from lab import Lab, until
from path_relay import BACK, THERE
from scapy.layers.l2 import Ether
from scapy.utils import wrpcap
from set_clock import HOUR, clock
from stamp_world import (
    END,
    REFLECTOR4,
    REFLECTOR6,
    SENDER6,
    Ends,
    agents,
    stamp_ends,
)  # fmt: skip

pytestmark = pytest.mark.usefixtures("kernel")
#: Sessions by every way, by the options of `create_stamp_session`.
WAYS: dict[int, tuple[str, dict[str, Any]]] = {
    1: (REFLECTOR4, {}),
    2: (REFLECTOR6, {"mode": "STATEFUL"}),
    3: (REFLECTOR4, {"clock": "PTP", "length": 1000, "dscp": 46}),
    4: (REFLECTOR6, {"sids": [END], "way": "OWN_SRH"}),
    5: (REFLECTOR6, {"sids": [END, REFLECTOR6], "way": "H_ENCAPS", "sids_back": [END, SENDER6],
                     "way_back": "H_ENCAPS"}),
    6: (REFLECTOR4, {"sids": [END, REFLECTOR6], "way": "H_ENCAPS_RED", "sids_back": [END, SENDER6],
                     "way_back": "H_ENCAPS_RED", "outer_source_back": REFLECTOR6}),
    7: (REFLECTOR6, {"sids_back": [END, SENDER6], "way_back": "OWN_SRH", "source_port": 5000}),
    8: (REFLECTOR6, {"measure": "ONE_WAY"}),
}  # fmt: skip


@pytest.fixture
def ends(lab: Lab, tmp_path: Path) -> Iterator[Ends]:
    with stamp_ends(lab, tmp_path) as made, agents(made):
        yield made


def session(ends: Ends, ssid: int) -> pb.StampSession:
    (found,) = ends.client.stamp_sessions(ssid).sessions
    return found


def over(ends: Ends, ssid: int) -> pb.StampSession:
    """It has sent all that it should, and every packet is answered or lost."""

    def is_over() -> bool:
        now = session(ends, ssid)
        return bool(now.sent) and not now.running and not now.waiting

    until(is_over, f"session {ssid} is over")
    return session(ends, ssid)


def number_of(frame: bytes) -> int:
    """Of a test packet over IPv4: the sender's sequence number, there and back."""
    at = 14 + 20 + 8
    back = frame[at + 16 : at + 24] != bytes(8)
    return int.from_bytes(frame[at + 24 : at + 28] if back else frame[at : at + 4], "big")


def test_every_way_there_and_back(ends: Ends, tmp_path: Path) -> None:
    for ssid, (to, others) in WAYS.items():
        ends.measured(ssid, to, interval=0.02, timeout=0.5, **others)
        ends.client.start_stamp_session(ssid, 0.2)
    for ssid in WAYS:
        found = over(ends, ssid)
        assert (found.sent, found.answered, found.lost, found.why) == (10, 10, 0, ""), found
        assert not (found.invalid or found.strange or found.unsent or found.duplicates)
        assert 0 < found.forward.mean < 1 and found.forward.count == 10
        both = ssid != 8
        assert (found.backward.count, found.round_trip.count) == (10 * both, 10 * both)
        results = ends.client.stamp_results(ssid)
        assert [each.sequence for each in results] == list(range(10))
        assert {each.ttl for each in results} == {254 if ssid < 5 else results[0].ttl}
    assert session(ends, 2).lost_forward == 0
    assert not ends.client.stamp_sessions().foreign
    _dissected([frame for _, frame, *_ in ends.relay.passed], tmp_path)


def _dissected(frames: list[bytes], directory: Path) -> None:
    """tshark finds no fault in what was sent and what came back."""
    if shutil.which("tshark") is None:
        return
    path = directory / "seen.pcap"
    wrpcap(str(path), [Ether(frame) for frame in frames])
    words = ["tshark", "-r", str(path), "-d", "udp.port==862,twamp.test", "-o",
             "udp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-Y",
             "_ws.malformed or _ws.expert.severity >= 6291456 or udp.checksum.bad",
             ]  # fmt: skip
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    assert len(frames) >= 160 and done.stdout == ""


def test_a_delay_of_the_relay_is_measured_in_its_direction(ends: Ends) -> None:
    ends.relay.fate = lambda way, _: [0.03 if way == THERE else 0.01]
    ends.measured(5, interval=0.02, timeout=0.5)
    assert not session(ends, 5).sent and not session(ends, 5).running
    assert ends.client.start_stamp_session(5, 0.4).running
    found = over(ends, 5)
    assert (found.sent, found.answered, found.lost) == (20, 20, 0)
    assert 0.03 <= found.forward.least <= found.forward.mean < 0.05
    assert 0.01 <= found.backward.least <= found.backward.mean < 0.03
    apart = found.round_trip.mean - found.forward.mean - found.backward.mean
    assert abs(apart) < 1e-6
    assert found.forward.pairs == found.backward.pairs == 19


def test_losses_are_those_of_the_relay_to_the_packet(ends: Ends) -> None:
    gone = {THERE: {3, 4, 17, 39}, BACK: {0, 9, 20, 21, 22}}

    def fate(way: str, frame: bytes) -> list[float]:
        return [] if number_of(frame) in gone[way] else [0.0]

    ends.relay.fate = fate
    ends.measured(5, interval=0.01, timeout=0.3, mode="STATEFUL")
    ends.client.start_stamp_session(5, 0.4)
    found = over(ends, 5)
    assert (found.sent, found.answered, found.lost) == (40, 31, 9)
    assert found.lost_forward == 3  # of 39 no later answer tells
    dropped = [way for way, frame, *_ in ends.relay.passed if number_of(frame) in gone[way]]
    assert (dropped.count(THERE), dropped.count(BACK)) == (4, 5)
    numbers = [each.sequence for each in ends.client.stamp_results(5)]
    assert numbers == sorted(set(range(40)) - gone[THERE] - gone[BACK])


def test_duplicates_reordering_and_late_answers(ends: Ends) -> None:
    fates = {(BACK, 2): [0.0, 0.0, 0.005], (THERE, 5): [0.0, 0.0], (BACK, 8): [0.055],
             (THERE, 12): [0.6]}  # fmt: skip

    def fate(way: str, frame: bytes) -> list[float]:
        return fates.get((way, number_of(frame)), [0.0])

    ends.relay.fate = fate
    ends.measured(5, interval=0.02, timeout=0.3)
    ends.client.start_stamp_session(5, 0.4)
    over(ends, 5)
    until(lambda: session(ends, 5).late == 1, "the late answer came")
    found = session(ends, 5)
    assert (found.sent, found.answered, found.lost) == (20, 19, 1)
    assert (found.duplicates, found.reordered, found.strange) == (3, 1, 0)
    late = [each for each in ends.client.stamp_results(5) if each.late]
    assert [each.sequence for each in late] == [12]


def test_results_come_to_whoever_watches(ends: Ends) -> None:
    ends.measured(5, interval=0.01)
    ends.measured(6, interval=0.01)
    with closing(ends.client.watch_stamp_results(6)) as watching:
        first = ends.client.watch_stamp_results()
        ends.client.start_stamp_session(5, 0.1)
        ends.client.start_stamp_session(6)
        seen = list(next(watching).results)
        assert {each.ssid for each in seen} == {6} and seen[0].sequence == 0
        assert seen[0].round_trip > 0 and not seen[0].late
        first.close()
    ends.client.stop_stamp_session(6)
    counter = ends.client.stamp_results_counter(6)
    assert counter.waiting >= 1 and not counter.dropped
    assert len(ends.client.stamp_results(6, 1)) == 1  # they are kept all the same


def test_an_agent_that_is_killed_goes_on_where_it_was(lab: Lab, tmp_path: Path) -> None:
    """Its counts are whole: each packet that was sent is answered or lost once."""
    with stamp_ends(lab, tmp_path) as ends, ExitStack() as owned:
        with agents(ends):
            ends.measured(5, interval=0.005, timeout=0.5)
            ends.measured(6)
            ends.client.start_stamp_session(5)
            until(lambda: session(ends, 5).sent > 50, "some were sent")
        with ends.reflector.agent():
            process = owned.enter_context(ends.sender.agent())
            with ends.sender.client() as ends.client:
                again = session(ends, 5)
                assert again.running and again.sent > 50
                until(lambda: session(ends, 5).sent > again.sent + 50, "it goes on")
            process.stop(signal.SIGKILL)
            with ends.sender.agent(), ends.sender.client() as ends.client:
                killed = session(ends, 5)
                assert killed.running and killed.sent > again.sent + 50
                until(lambda: session(ends, 5).sent > killed.sent + 50, "it goes on again")
                ends.client.stop_stamp_session(5)
                found = over(ends, 5)
                sent = {number_of(f) for way, f, *_ in ends.relay.passed if way == THERE}
                assert not session(ends, 6).running and not session(ends, 6).sent
    there = [number_of(frame) for way, frame, *_ in ends.relay.passed if way == THERE]
    assert len(there) == len(sent) == found.sent and sent == set(range(found.sent))
    assert found.answered + found.lost == found.sent and found.lost <= 4
    assert not (found.duplicates or found.strange or found.reordered)


def test_a_clock_that_is_set_gives_no_negative_delay(lab: Lab, tmp_path: Path) -> None:
    """The sender's, an hour ahead, then an hour behind: T1 is of it at once, T4 a while later."""
    made = clock(tmp_path)
    with (
        stamp_ends(lab, tmp_path) as ends, ends.reflector.agent(), ends.sender.agent(by=made.by),
        ends.sender.client() as ends.client, ends.reflector.client() as ends.other,
    ):  # fmt: skip
        ends.load()
        ends.measured(5, interval=0.01, timeout=0.5)
        ends.client.start_stamp_session(5)
        for seconds in (0, HOUR, -2 * HOUR, HOUR):
            made.jump(seconds)
            wanted = session(ends, 5).answered + 10
            until(partial(answered, ends, 5, wanted), "answers come")
        ends.client.stop_stamp_session(5)
        found = over(ends, 5)
    assert found.invalid + found.out_of_step >= 10
    assert found.answered == found.sent and not found.lost
    assert found.round_trip.count == found.answered - found.invalid
    assert found.forward.count == found.backward.count >= 10
    for delay in (found.forward, found.backward, found.round_trip):
        assert 0 <= delay.least <= delay.most < 0.5


def answered(ends: Ends, ssid: int, wanted: int) -> bool:
    return session(ends, ssid).answered > wanted


def test_a_session_that_is_destroyed_leaves_nothing(ends: Ends) -> None:
    before = sorted(rule.text for rule in ends.client.rules())
    ends.client.init_stamp(source_port=4000)
    ends.client.create_stamp_session(5, REFLECTOR4, interval=0.01)
    ends.client.create_stamp_session(6, REFLECTOR6, source_port=5000)
    assert [r.kind for r in ends.client.rules()].count("ENDPOINT") == 2
    ends.client.start_stamp_session(5)
    ends.client.destroy_stamp_session(6)
    assert [r.kind for r in ends.client.rules()].count("ENDPOINT") == 1
    assert ends.client.reset_stamp() == 1
    assert sorted(rule.text for rule in ends.client.rules()) == before
    assert not ends.client.stamp_sessions().sessions and ends.client.reset_stamp() == 0


def test_answers_to_others_rules_are_counted_and_those_to_none_are_dropped(ends: Ends) -> None:
    ends.measured(5, interval=0.01)
    ends.client.start_stamp_session(5)
    until(lambda: session(ends, 5).answered > 3, "answers come")
    (rule,) = ends.client.rules(kinds=["COLLECTOR"])
    ends.client.apply(f"delete COLLECTOR {rule.id}")
    assert "deleted by somebody else" in session(ends, 5).why
    missed = {(e.group, e.reason): e.count for e in ends.client.stats().events}
    until(lambda: {(e.group, e.reason): e.count for e in ends.client.stats().events}[
        "miss", "COLLECTOR"] > missed["miss", "COLLECTOR"], "the pipeline drops them")  # fmt: skip
    ends.client.apply(
        f"create COLLECTOR {rule.id} other [(ssid, 5), (peer4, {REFLECTOR4}), (clock, NTP)]"
    )
    until(lambda: ends.client.stamp_sessions().foreign > 3, "they are another's")
    answered = session(ends, 5).answered
    ends.client.destroy_stamp_session(5)  # the rule of that id is not its own
    assert [each.name for each in ends.client.rules(kinds=["COLLECTOR"])] == ["other"]
    assert answered > 3


def test_sessions_by_helioctl(ends: Ends) -> None:
    said = ends.sender.ctl("stamp", "create", "5", REFLECTOR4, "--interval", "0.02", "--name", "x")
    ends.other.apply(said.partition("at the reflector: ")[2].strip())
    assert "x" in ends.sender.ctl("stamp", "list") and "stopped" in ends.sender.ctl("stamp", "list")
    assert ends.sender.ctl("stamp", "start", "5", "--duration", "0.2") == "started 5\n"
    over(ends, 5)
    until(lambda: 'what="answered"} 10.0' in ends.sender.ctl("metrics"), "metrics have it")
    assert "helio_stamp_running{" in ends.sender.ctl("metrics")
    (found,) = json.loads(ends.sender.ctl("stamp", "list", "5", "--json"))["sessions"]
    assert (found["sent"], found["answered"], found["state"]) == (10, 10, "stopped")
    assert found["forward"]["count"] == 10 and found["lost_forward"] is None
    assert "10 wait" in ends.sender.ctl("stamp", "results", "5", "--count")
    text = ends.sender.ctl("stamp", "results", "5", "--most", "1")
    assert text.startswith("5  #0  there ") and "round trip" in text
    assert len(json.loads(ends.sender.ctl("stamp", "results", "5", "--json"))) == 9
    assert ends.sender.ctl("stamp", "results", "5") == "there are no results\n"
    assert ends.sender.ctl("stamp", "stop", "5") == "stopped 5\n"
    assert "H0840" in ends.sender.ctl("stamp", "start", "6", status=1)
    assert ends.sender.ctl("stamp", "destroy", "5") == "destroyed 5\n"
    assert ends.sender.ctl("stamp", "reset") == "destroyed 0 sessions\n"
    assert ends.sender.ctl("stamp", "list") == "there are no sessions\n"
    until(lambda: "helio_stamp" not in ends.sender.ctl("metrics"), "metrics have it no more")
    assert "port 4000" in ends.sender.ctl("stamp", "init", "--source-port", "4000")
