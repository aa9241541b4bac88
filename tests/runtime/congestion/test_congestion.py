"""When a pipeline counts as congested, and what that comes to in packets."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from agent_world import World
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.contract.rules.rules import Matcher
from helioc.lang.contract.rules.wire import encode
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from helioc.runtime.client import Client
from helioc.runtime.congestion.decide import PARTS, PeriodCounts, Queue, State, Verdict, step
from helioc.runtime.congestion.marks import request_for
from helioc.runtime.congestion.observer import Observer, Sample
from helioc.runtime.congestion.queue_counts import QueueCount
from helioc.runtime.congestion.watcher import WatchedPipeline, Watcher
from helioc.runtime.edge.congestion_settings import CONGESTION, Congestion, Shape, shape_of
from helioc.runtime.edge.read_config import Host, read_config
from helioc.runtime.kernel.ethtool import statistics
from helioc.runtime.kernel.maps import Map
from helioc.runtime.kernel.netlink import Link
from helioc.runtime.loading.bundle import read_bundle
from helioc.runtime.loading.loader import Loaded
from helioc.runtime.loading.releases import release_of, releases_of
from helioc.runtime.owner import host
from helioc.runtime.owner.events import Events
from helioc.runtime.owner.owner import Owner
from helioc.runtime.owner.requests import ApplyRequest
from hypothesis import given, settings
from hypothesis import strategies as st
from lab import Lab, Wire, until
from slice_world import EDGE, bundle, frame, intent, slice_pair, slice_world

USUAL = Congestion()
CALM, FULL = Queue(100, 0.0, 0.0, 0.1), Queue(1000, 0.0, 0.9, 0.6)
DROPS, BETWEEN = Queue(1000, 50.0, 0.0, 0.6), Queue(1000, 0.0, 0.0, 0.8)

# ---- the decision ---------------------------------------------------------------------------

parts, rates = st.floats(0, 1), st.sampled_from([0.0, 0.0, 0.5, 10.0])
queues = st.builds(Queue, st.integers(1, 1000), rates, parts, parts)
periods = st.builds(
    lambda seconds, queues, missed: PeriodCounts(seconds, dict(enumerate(queues)), 9, missed),
    st.floats(0.1, 2), st.tuples(queues, queues), rates,
)  # fmt: skip
#: Of a host that is busy and drops, by no packet of the pipeline.
without = st.builds(
    lambda seconds, shares, missed: PeriodCounts(
        seconds, {cpu: Queue(share=share) for cpu, share in enumerate(shares)}, 0, missed
    ),
    st.floats(0.1, 2), st.tuples(parts, parts), rates,
)  # fmt: skip


def run(seen: Sequence[PeriodCounts], state: State | None = None) -> list[State]:
    states = [state or State()]
    for each in seen:
        states.append(step(states[-1], each, USUAL))
    return states


def same(queue: Queue, seconds: float, missed: float = 0.0) -> list[PeriodCounts]:
    """So long the same, half a second each."""
    return [PeriodCounts(0.5, {0: queue, 1: CALM}, 9, missed)] * int(seconds / 0.5)


def pressed(queue: Queue) -> bool:
    full = queue.standing >= USUAL.backlog
    saturated = queue.standing > USUAL.backlog_calm and queue.share >= USUAL.cpu
    return queue.dropped >= USUAL.drops or full or saturated


@settings(max_examples=200, deadline=None)
@given(st.lists(periods, max_size=60))
def test_it_never_flaps_and_marks_only_while_congested(periods: list[PeriodCounts]) -> None:
    """Each step of a CPU's share, and the flag's end, takes `hold` of unbroken reason."""
    since: float | None = None
    changed: dict[int, float] = {}
    now = 0.0
    before = State()
    for period, state in zip(periods, run(periods)[1:], strict=True):
        now += period.seconds
        was, verdict = before.verdict, state.verdict
        hot = period.missed >= USUAL.drops or any(map(pressed, period.queues.values()))
        if hot:
            assert verdict.congested and state.why
        if not verdict.congested:
            assert not any(verdict.levels.values()) and not state.why
        if verdict.congested and not was.congested:
            assert hot
            since = now
        if was.congested and not verdict.congested:
            assert since is not None and now - since >= USUAL.hold - 1e-6 and not hot
        for cpu, level in verdict.levels.items():
            step_ = level - was.levels.get(cpu, 0)
            assert abs(step_) <= 1 and 0 <= level <= PARTS
            if step_:
                assert now - changed.get(cpu, -1e9) >= USUAL.hold - 1e-6
                assert was.congested
                changed[cpu] = now
        before = state


@settings(max_examples=200, deadline=None)
@given(st.lists(without, max_size=60))
def test_without_packets_of_the_pipeline_nothing_is_diverted(periods: list[PeriodCounts]) -> None:
    assert not any(state.verdict.congested for state in run(periods))


@settings(max_examples=100, deadline=None)
@given(st.lists(parts, max_size=50))
def test_a_busy_cpu_by_itself_diverts_nothing(shares: list[float]) -> None:
    seen = [PeriodCounts(0.5, {0: Queue(1000, 0.0, 0.0, share)}, 1000) for share in shares]
    assert not any(state.verdict.congested for state in run(seen))


@settings(max_examples=100, deadline=None)
@given(st.lists(periods, max_size=30), st.sampled_from([DROPS, FULL]))
def test_calm_ends_it_and_pressure_diverts_all(
    periods: list[PeriodCounts], pressure: Queue
) -> None:
    last = run(periods)[-1]
    calm = run([PeriodCounts(1.0, {0: CALM, 1: CALM})] * 60, last)[-1].verdict
    assert calm == Verdict(False, {0: 0, 1: 0})
    hot = run([PeriodCounts(1.0, {0: pressure, 1: CALM}, 9)] * 60, last)[-1].verdict
    assert hot.congested and hot.levels == {0: PARTS, 1: 0}


@pytest.mark.parametrize("pressure", [DROPS, FULL, Queue(1000, 0.0, 0.2, 0.95)])
def test_the_flag_comes_first_and_is_given_time_to_help(pressure: Queue) -> None:
    first, *_, last = run(same(pressure, 0.5) + same(BETWEEN, 60))[1:]
    assert first.verdict == last.verdict == Verdict(True, {0: 0, 1: 0})
    assert "the queue of CPU 0" in first.why
    assert run(same(pressure, 5.5))[-1].verdict.levels[0] == 1
    assert run(same(pressure, 5.0))[-1].verdict.levels[0] == 0


def test_what_the_ports_miss_diverts_only_with_packets_of_the_pipeline() -> None:
    assert run(same(CALM, 1, missed=1.0))[-1].verdict.congested
    alone = [PeriodCounts(0.5, {0: Queue()}, 0, 1000.0)] * 20
    assert not run(alone)[-1].verdict.congested


# ---- observing ------------------------------------------------------------------------------


class Recorded(Observer):
    """Plays samples."""

    def __init__(self, *samples: Sample) -> None:
        super().__init__()
        self._samples = iter(samples)

    def sample(self, *_: object) -> Sample:
        return next(self._samples)


def observed(*counts: QueueCount, busy: Sequence[float] = (), **more: int) -> list[PeriodCounts]:
    """Of one queue of 100 places, second by second."""
    samples = [
        Sample({0: count}, {0: 100}, {0: spent}, 0, {}) for count, spent in zip(
            counts, busy or [0.0] * len(counts), strict=True)
    ]  # fmt: skip
    observer, loaded = Recorded(*samples), SimpleNamespace(mode="native")
    looks = [observer.look(loaded, SHAPE, USUAL, float(now)) for now in range(len(samples))]  # type: ignore[arg-type]
    return [seen for seen in looks if seen is not None]


SHAPE = Shape("CONGESTION", "congested", ("SERVICE",))


def test_what_a_queue_did_is_read_from_its_counts() -> None:
    first, second, third = observed(
        QueueCount(0, 0, 0, 0), QueueCount(80, 0, 10, 7), QueueCount(380, 40, 300, 7),
        QueueCount(380, 40, 380, 7), busy=(0.0, 0.5, 1.25, 1.25),
    )  # fmt: skip
    assert first.queues[0] == Queue(80, 0.0, 0.0, 0.0)  # 70 in it, and none a second before
    assert second.queues[0] == Queue(340, 40.0, 0.7, 0.75) and second.packets == 340
    assert third.queues[0] == Queue(0, 0.0, 0.0, 0.0)


def test_frames_of_before_are_no_backlog_for_ever() -> None:
    """60 frames were in the queue when the counts began."""
    *_, last = observed(
        QueueCount(0, 0, 0, 0), QueueCount(10, 0, 70, 7), QueueCount(60, 0, 70, 7),
        QueueCount(60, 0, 70, 7),
    )  # fmt: skip
    assert last.queues[0].standing == 0.5


def test_a_queue_with_a_new_thread_has_lost_what_the_old_one_held() -> None:
    *_, last = observed(
        QueueCount(90, 0, 0, 7), QueueCount(90, 0, 0, 8), QueueCount(95, 0, 5, 8),
        QueueCount(95, 0, 5, 8),
    )  # fmt: skip
    assert last.queues[0].standing == 0.0


def test_a_card_drops_where_its_cpus_have_no_time_left() -> None:
    samples = (
        Sample({}, {}, {0: 0.0, 1: 0.0}, 0, {"nic0": 0}),
        Sample({}, {}, {0: 0.95, 1: 0.2}, 500, {"nic0": 30}),
    )
    observer, loaded = Recorded(*samples), SimpleNamespace(mode="offload")
    assert observer.look(loaded, SHAPE, USUAL, 0.0) is None  # type: ignore[arg-type]
    seen = observer.look(loaded, SHAPE, USUAL, 1.0)  # type: ignore[arg-type]
    assert seen == PeriodCounts(1.0, {0: Queue(500, 30.0, 0.0, 0.95), 1: Queue(500, 0.0, 0.0, 0.2)},
                        1500, 30.0)  # fmt: skip


# ---- reading --------------------------------------------------------------------------------

SOFTNET = """\
00302d25 00000003 000004b8 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000002 00000000 00000000
002dd0c5 0000000a 000004a4 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000005 00000000 00000000
"""  # noqa: E501
DEV = """\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo
    lo:  100       1    0    7    0     0          0         0      100       1    0    0    0
  nic0: 5000      50    0    4    2     0          0         0     5000      50    0    9    0
"""
STAT = "cpu  2 2 2 8 2 0 0 0 9 0\ncpu0 1 1 1 4 1 1 1 0 9 0\ncpu3 5 0 0 5 0 0 0 0 0 0\nintr 1 2\n"


def test_the_kernels_counters_are_read() -> None:
    assert host.softnet_drops(SOFTNET) == {2: 3, 5: 10}
    old = "\n".join(line[:80] for line in SOFTNET.splitlines())  # before the CPU's number
    assert host.softnet_drops(old) == {0: 3, 1: 10}
    assert host.port_drops(DEV, ["nic0", "nic9"]) == {"nic0": 6}
    assert host.softirq_seconds("cpu3 5 0 0 5 0 0 250 0 0 0\n") == {
        3: 250 / os.sysconf("SC_CLK_TCK")
    }
    assert host.cpu_times(STAT) == {0: host.Busy(5, 10), 3: host.Busy(5, 10)}
    assert host.load(host.Busy(5, 10), host.Busy(8, 14)) == 0.75
    assert host.load(None, host.Busy(8, 14)) == host.load(host.Busy(8, 14), host.Busy(8, 14)) == 0
    assert host.since({1: 5, 2: 9}, {1: 7, 2: 3, 4: 100}) == 2


def test_the_queues_of_a_card_are_those_that_its_driver_names(tmp_path: Path) -> None:
    (tmp_path / "interrupts").write_text(
        "           CPU0       CPU1\n"
        " 24:          5          0  PCI-MSI 1-edge      nic0-rxtx-0\n"
        " 25:          0          7  PCI-MSI 2-edge      nic0-rxtx-1\n"
        " 26:          0          7  PCI-MSI 3-edge      nic01-rxtx-2\n"
        " 27:          0          7  PCI-MSI 4-edge      nic1-rxtx-1\n"
        " 28:          0          7  PCI-MSI 4-edge      nic1-rxtx-5\n"
        "LOC:          0          7  Local timer interrupts\n"
    )
    for irq, cpus in {24: "0", 25: "1-3", 26: "9", 27: "9", 28: "4,6"}.items():
        (tmp_path / "irq" / str(irq)).mkdir(parents=True)
        (tmp_path / "irq" / str(irq) / "effective_affinity_list").write_text(f"{cpus}\n")
    assert host.cpus_of_queues(["nic0", "nic1"], tmp_path) == {0: 0, 1: 1, 5: 4}
    assert host.cpus_of_queues(["eth9"], tmp_path) == {}
    assert host.cpus_of_queues(["eth9"], tmp_path / "nothing") == {}


def test_this_machines_own_files_are_understood() -> None:
    before = host.sample(["lo"])
    online = Path("/sys/devices/system/cpu/online").read_text()
    ranges = [tuple(map(int, r.split("-"))) for r in online.strip().split(",")]
    cpus = {cpu for r in ranges for cpu in range(r[0], r[-1] + 1)}
    assert set(before.cpus) == set(before.softnet) == cpus and set(before.ports) == {"lo"}
    ticks = os.sysconf("SC_CLK_TCK")

    def passed() -> host.Sample | None:
        now = host.sample(["lo"])
        return (
            now if all(now.cpus[c].all > before.cpus[c].all + ticks // 10 for c in cpus) else None
        )

    now = until(passed, "a tenth of a second")
    assert now is not None
    assert all(0 <= host.load(before.cpus[cpu], now.cpus[cpu]) <= 1 for cpu in cpus)
    spent = host.softirq_seconds(Path("/proc/stat").read_text())
    assert set(spent) == cpus and min(spent.values()) >= 0


def test_a_drivers_own_statistics_are_read(lab: Lab) -> None:
    """Of a veth, which has some for each queue; `lo` has none."""
    one, other = lab.namespace("one"), lab.namespace("other")
    lab.wire(one, "eth0", other, "eth0")
    found = one.inside_thread(lambda: statistics("eth0"))
    assert "rx_queue_0_drops" in found
    assert statistics("lo") == statistics("nothing") == {}


# ---- the edge's YAML ------------------------------------------------------------------------


def read(text: str) -> Congestion | None:
    links = (Link(2, "nic0", "", 1500, bytes(6), 0, 0, 0),)
    source = Source("edge.yaml", EDGE + text)
    return CONGESTION.of(read_config(source, bundle().manifest, Host(links, ()))[0].settings)


def test_the_edge_says_when() -> None:
    assert read("") is None
    assert read("congestion: {}\n") == USUAL
    found = read("congestion: {cpu: 80, calm: 50, drops: 100, period: 200 ms, hold: 1 min}\n")
    assert found == Congestion(0.8, 0.5, 100, 0.2, 60.0)
    assert read("congestion: {backlog: 30, backlog_calm: 5}\n") == Congestion(
        backlog=0.3, backlog_calm=0.05
    )
    old = {"cpu": 0.8, "calm": 0.5, "drops": 100, "period": 0.2, "hold": 60.0}
    assert CONGESTION.of({"congestion": old}) == found  # as releases before `backlog` noted it


@pytest.mark.parametrize(
    ("text", "code"),
    [("{cpu: 60}", "H0620"), ("{calm: 0}", "H0609"), ("{hold: soon}", "H0617"),
     ("{cpus: 1}", "H0604"), ("90", "H0602"), ("{cpu: 50, calm: 50}", "H0620"),
     ("{backlog: 10}", "H0620")],
)  # fmt: skip
def test_mistakes(text: str, code: str) -> None:
    with pytest.raises(Refused) as error:
        read(f"congestion: {text}\n")
    assert [found.code for found in error.value.diagnostics] == [code]


def test_other_pipelines_have_no_use_for_it() -> None:
    from linx_maps import bundle as linx

    source = Source("edge.yaml", "congestion: {}\n")
    with pytest.raises(Refused) as error:
        read_config(source, linx().manifest, Host((), ()))
    assert "H0604" in {found.code for found in error.value.diagnostics}


@pytest.mark.parametrize("congested", [True, False])
@pytest.mark.parametrize("there", ["", "YES", "NO", "YES NO"])
def test_the_flag_says_what_was_decided(congested: bool, there: str) -> None:
    """Whatever somebody else wrote: of a pipeline that also knows `congested` as NO."""
    manifest = bundle().manifest
    known = [replace(e, symbols={"NO": 0, "YES": 1}) if e.name == "congested" else e
             for e in manifest.elements]  # fmt: skip
    book = RuleBook(replace(manifest, elements=tuple(known), rules=tuple(
        replace(kind, capacity=max(1, len(there.split()))) for kind in manifest.rules
    )))  # fmt: skip
    for said in there.split():
        text = f"create CONGESTION [(congested, u8, {said})]"
        book.commit(book.plan(parse_request(Source("theirs", text))))
    shape = shape_of(manifest)
    assert shape is not None
    loaded: Any = SimpleNamespace(book=book)
    asked = request_for(Verdict(congested), loaded, shape, {})
    if asked.changes:
        book.commit(book.plan(asked))
    flags = [rule.match for rule in book.rules("CONGESTION")]
    assert flags == ([(("congested", Matcher("value", 1)),)] if congested else [])
    assert not request_for(Verdict(congested), loaded, shape, {}).changes


# ---- in packets -----------------------------------------------------------------------------

SERVERS = "create " + ", ".join(
    f"SERVER [(slot, u8, {slot}), (mac, u48, 02:00:00:00:0a:0a), (address, u32, 10.9.0.77)]"
    for slot in range(16)
)


def diverted(wire: Wire, data: bytes) -> bool:
    """Whether a frame comes back for the other server."""
    wire.send(data)
    answer = wire.receive(0.3)
    while answer is not None:
        if answer[:6] == bytes.fromhex("020000000a0a"):
            return True
        answer = wire.receive(0.3)
    return False


@pytest.mark.usefixtures("kernel")
def test_what_is_sent_on(lab: Lab, tmp_path: Path) -> None:
    """The flag and the marks, set and taken away by the watcher's own turns."""
    with slice_world(lab, tmp_path) as (world, wire, mac):
        priority, other = frame(mac), frame(mac, teid=9)
        with world.agent(), world.client() as client:
            client.load(read_bundle(world.directory / "bundle"), EDGE)
            client.apply(SERVERS)
            client.apply_intent(intent())
            assert not diverted(wire, other) and not diverted(wire, priority)
        scripted = Scripted()
        turns = FairLock(world, scripted)
        try:
            turns.see(scripted, CALM)
            assert not turns.flag and not turns.marked
            turns.see(scripted, DROPS)
            assert turns.flag and not turns.marked
            status = turns.watched.status()
            assert status.congested and "dropped 50 frames/s" in status.why
            assert set(status.queues) == set(range(os.cpu_count() or 1))
            assert diverted(wire, other) and not diverted(wire, priority)
            turns.request("delete CONGESTION 1")  # by somebody else
            turns.see(scripted, BETWEEN)
            assert turns.flag
            while not turns.marked:
                turns.see(scripted, DROPS)
            (service,) = turns.owner.loaded.book.rules("SERVICE")
            turns.request(f"update SERVICE {service.id} [(overloaded, u8, NO)]")
            turns.see(scripted, BETWEEN)
            assert turns.marked
            assert diverted(wire, priority) and max(turns.watched.status().diverted.values()) > 0
            while turns.marked:
                turns.see(scripted, CALM)
            assert turns.flag and diverted(wire, other) and not diverted(wire, priority)
            while turns.flag:
                turns.see(scripted, CALM)
            assert not diverted(wire, other) and not diverted(wire, priority)
            assert turns.watched.status().why == "" and turns.watched.status().since > status.since
            # what somebody else writes while it is calm is taken back
            for change in (
                "create CONGESTION [(congested, u8, YES)]",
                f"update SERVICE {service.id} [(overloaded, u8, YES)]",
            ):
                turns.see(scripted, CALM)
                assert turns.watched.settled == turns.owner.revision
                turns.request(change)
                assert turns.flag or turns.marked
                turns.turn()
                assert not turns.flag and not turns.marked, change
        finally:
            turns.close()


@pytest.mark.usefixtures("kernel")
def test_two_congested_servers_that_name_each_other(lab: Lab, tmp_path: Path) -> None:
    """A frame goes to the other server, once, and stays there."""
    with slice_pair(lab, tmp_path) as (one, two):
        for here, there, address in (one, two, "10.9.0.3"), (two, one, "10.9.0.1"):
            here.ctl("--local", "load", "bundle", "--config", "edge.yaml")
            server = f"(mac, u48, {there.edge.mac('nic0')}), (address, u32, {address})"
            rules = ", ".join(f"SERVER [(slot, u8, {slot}), {server}]" for slot in range(16))
            here.ctl("--local", "create", f"{rules}, CONGESTION [(congested, u8, YES)]")
        two.edge.wire("nic0").send(frame(one.edge.mac("nic0"), teid=9))

        def events(world: World) -> dict[str, dict[str, int]]:
            found: dict[str, dict[str, int]] = json.loads(world.ctl("--local", "stats", "--json"))[
                "events"
            ]
            return found

        until(lambda: events(two)["count"]["not_diverted"] == 1, "it stays with the other server")
        assert (events(one)["verdict"]["tx"], events(two)["verdict"]["tx"]) == (1, 0)


def overwhelm(world: World, wire: Wire, data: bytes) -> None:
    """Send more frames than the queues of the CPUs have places for: eight, from now on."""
    release = release_of(world.name, releases_of(world.name)[-1])
    with Map.open_pinned(release / "maps" / "cpus") as cpus:
        for cpu in list(cpus.keys()):
            if cpus.lookup(cpu) != (few := (8).to_bytes(4, "little")):
                cpus.update(cpu, few)
    for _ in range(2000):
        wire.send(data)


@pytest.mark.usefixtures("kernel")
def test_what_full_queues_drop_is_seen(lab: Lab, tmp_path: Path) -> None:
    """By the watcher, on idle CPUs; and in reports, where it bounds what an intent lost."""
    with slice_world(lab, tmp_path) as (world, wire, mac):
        with world.agent(), world.client() as client:
            client.load(read_bundle(world.directory / "bundle"), EDGE)
            client.apply_intent(intent())
            with closing(client.reports(period=0.1)) as reports:
                assert next(reports).host.queue_drops == 0
                lost: list[tuple[int, int]] = []

                def dropped() -> bool:
                    overwhelm(world, wire, frame(mac))
                    report = next(reports)
                    lost.append((report.intents[0].new_lost_at_most, report.host.queue_drops))
                    return lost[-1][0] > 0

                until(dropped, "a queue is full")
                assert lost[-1][0] == lost[-1][1]  # all went to one queue
        turns = FairLock(world, Observer())
        try:
            turns.turn()
            turns.turn()
            assert not turns.flag

            def flagged() -> bool:
                overwhelm(world, wire, frame(mac))
                turns.turn()
                return turns.flag

            until(flagged, "the pipeline is congested")
            busiest = max(turns.watched.queues.values(), key=lambda queue: queue.packets)
            assert busiest.packets and busiest.dropped and 0 <= busiest.share <= 1
        finally:
            turns.close()


class Scripted(Observer):
    """Sees what it is given, on every CPU."""

    seen: PeriodCounts | None = None

    def look(self, *_: object) -> PeriodCounts | None:
        return self.seen


class FairLock:
    """The watcher's turns one by one."""

    def __init__(self, world: World, observer: Observer) -> None:
        loaded = world.edge.inside_thread(lambda: Loaded.open(world.name))
        self.owner = Owner(loaded, Events())
        shape = shape_of(loaded.manifest)
        assert shape is not None
        self.watcher = Watcher(list)
        self.watched = WatchedPipeline(self.owner, Congestion(), shape, observer)

    def close(self) -> None:
        self.watched.observer.close()
        self.owner.close()

    def turn(self) -> None:
        self.watcher.turn(self.watched, time.monotonic())

    def request(self, text: str) -> None:
        """By somebody else."""
        asked = parse_request(Source("request", text))
        self.owner.apply(ApplyRequest(encode(asked, self.owner.codecs)))

    def see(self, scripted: Scripted, queue: Queue) -> None:
        scripted.seen = PeriodCounts(
            1.0, dict.fromkeys(range(os.cpu_count() or 1), queue), queue.packets
        )
        self.turn()

    @property
    def flag(self) -> bool:
        return self.owner.loaded.book.count("CONGESTION") == 1

    @property
    def marked(self) -> bool:
        return any(
            dict(rule.values)["overloaded"] for rule in self.owner.loaded.book.rules("SERVICE")
        )


@contextmanager
def busy_loops(count: int) -> Iterator[Callable[[], float]]:
    """So many processes that only compute, for 60 s at most; yields what they took of CPU time."""
    loop = "import time\nwhile time.process_time() < 60: pass"
    processes = [subprocess.Popen([sys.executable, "-c", loop]) for _ in range(count)]
    ticks = os.sysconf("SC_CLK_TCK")

    def spent() -> float:
        stats = [Path(f"/proc/{p.pid}/stat").read_text().rpartition(") ")[2] for p in processes]
        return min(sum(map(int, stat.split()[11:13])) / ticks for stat in stats)

    try:
        yield spent
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.mark.usefixtures("kernel")
def test_the_agent_watches_its_own_queues_and_leaves_nothing_behind(
    lab: Lab, tmp_path: Path
) -> None:
    """Busy loops are no congestion, without packets and with few; full queues are; and all is taken
    back by the agent's end."""
    with slice_world(lab, tmp_path) as (world, wire, mac):

        def flagged(client: Client) -> bool:
            return bool(list(client.rules(kinds=["CONGESTION"])))

        edge = EDGE + "congestion: {period: 100 ms, hold: 60 min}\n"
        with world.agent(), world.client() as client:
            client.load(read_bundle(world.directory / "bundle"), edge)
            client.apply_intent(intent())
            with busy_loops(os.cpu_count() or 1) as spent:
                for packets, seconds in (0, 0.5), (1, 0.8):

                    def longer(packets: int = packets, seconds: float = seconds) -> bool:
                        for _ in range(packets):
                            wire.send(frame(mac))
                        assert not flagged(client)
                        return spent() > seconds

                    until(longer, "the CPUs were busy for a while")

            def congested() -> bool:
                overwhelm(world, wire, frame(mac))
                return flagged(client)

            until(congested, "the pipeline is congested")
        shown = world.ctl("--local", "show", "CONGESTION")
        assert not re.search(r"CONGESTION \d", shown)
        with world.agent(), world.client() as client:
            until(congested, "it goes on watching")
            client.upgrade(None, config=EDGE)  # which has no `congestion`
            until(lambda: not flagged(client), "it is taken back")
            client.upgrade(None, config=edge)
            until(congested, "it watches again")
            client.unload()
            client.load(read_bundle(world.directory / "bundle"), EDGE)
            assert not flagged(client)
