"""When the host counts as congested, and what that comes to in packets."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from agent_world import World
from helioc.lang.diagnostics import Refused
from helioc.lang.source import Source
from helioc.runtime.agent.owner import Owner
from helioc.runtime.client import Client
from helioc.runtime.congestion.decide import PARTS, Seen, State, Verdict, step
from helioc.runtime.congestion.settings import Congestion
from helioc.runtime.congestion.watcher import Watcher, seen
from helioc.runtime.edge.reading import Host, read_config
from helioc.runtime.intents import host
from helioc.runtime.kernel.maps import Map
from helioc.runtime.kernel.netlink import Link
from helioc.runtime.loading.bundle import read_bundle
from helioc.runtime.loading.loader import Loaded
from helioc.runtime.loading.releases import release_of
from hypothesis import given, settings
from hypothesis import strategies as st
from lab import Lab, Wire, until
from slice_world import EDGE, bundle, frame, intent, slice_world

USUAL = Congestion()
HOT, CALM, BETWEEN = 1.0, 0.0, 0.8

# ---- the decision ---------------------------------------------------------------------------

loads = st.floats(0, 1)
periods = st.builds(
    lambda seconds, cpus, dropped, ports: Seen(seconds, dict(enumerate(cpus)), {0: dropped}, ports),
    st.floats(0.1, 2), st.tuples(loads, loads), st.sampled_from([0.0, 0.0, 0.5, 10.0]),
    st.sampled_from([0.0, 0.0, 0.5, 10.0]),
)  # fmt: skip


def run(seen: Sequence[Seen], state: State | None = None) -> list[State]:
    states = [state or State()]
    for each in seen:
        states.append(step(states[-1], each, USUAL))
    return states


def same(load: float, seconds: float, **more: float) -> list[Seen]:
    """So long the same, half a second each."""
    return [Seen(0.5, {0: load, 1: CALM}, **more)] * int(seconds / 0.5)  # type: ignore[arg-type]


@settings(max_examples=200, deadline=None)
@given(st.lists(periods, max_size=60))
def test_it_never_flaps_and_marks_only_while_congested(periods: list[Seen]) -> None:
    """Each step of a CPU's share, and the flag's end, takes `hold` of unbroken reason."""
    since: float | None = None
    changed: dict[int, float] = {}
    now = 0.0
    before = State()
    for period, state in zip(periods, run(periods)[1:], strict=True):
        now += period.seconds
        was, verdict = before.verdict, state.verdict
        hot = period.ports >= USUAL.drops or any(
            load >= USUAL.cpu or period.dropped.get(cpu, 0) >= USUAL.drops
            for cpu, load in period.cpus.items()
        )
        if hot:
            assert verdict.congested
        if not verdict.congested:
            assert not any(verdict.levels.values())
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


@settings(max_examples=100, deadline=None)
@given(st.lists(periods, max_size=30))
def test_calm_ends_it_and_heat_sends_all_on(periods: list[Seen]) -> None:
    last = run(periods)[-1]
    calm = run([Seen(1.0, {0: CALM, 1: CALM})] * 60, last)[-1].verdict
    assert calm == Verdict(False, {0: 0, 1: 0})
    hot = run([Seen(1.0, {0: HOT, 1: CALM})] * 60, last)[-1].verdict
    assert hot.congested and hot.levels == {0: PARTS, 1: 0}


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(0, 0.89), max_size=50))
def test_what_is_never_hot_is_never_congested(loads: list[float]) -> None:
    assert not any(s.verdict.congested for s in run([Seen(0.5, {0: load}) for load in loads]))


def test_the_flag_comes_first_and_is_given_time_to_help() -> None:
    first, *_, last = run(same(HOT, 0.5) + same(BETWEEN, 60))[1:]
    assert first.verdict == last.verdict == Verdict(True, {0: 0, 1: 0})
    assert run(same(HOT, 5.5))[-1].verdict.levels[0] == 1
    assert run(same(HOT, 5.0))[-1].verdict.levels[0] == 0
    assert run(same(CALM, 1, ports=1.0))[-1].verdict.congested
    assert run(same(CALM, 1, dropped={0: 1.0}))[-1].verdict.congested  # type: ignore[arg-type]


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
    found = seen(before, now, 0.1)
    assert set(found.cpus) == cpus and all(0 <= load <= 1 for load in found.cpus.values())
    assert found.ports == 0 and all(rate >= 0 for rate in found.dropped.values())


# ---- the edge's YAML ------------------------------------------------------------------------


def read(text: str) -> Congestion | None:
    links = (Link(2, "nic0", "", 1500, bytes(6), 0, 0, 0),)
    source = Source("edge.yaml", EDGE + text)
    return read_config(source, bundle().manifest, Host(links, ()))[0].congestion


def test_the_edge_says_when() -> None:
    assert read("") is None
    assert read("congestion: {}\n") == USUAL
    found = read("congestion: {cpu: 80, calm: 50, drops: 100, period: 200 ms, hold: 1 min}\n")
    assert found == Congestion(0.8, 0.5, 100, 0.2, 60.0)


@pytest.mark.parametrize(
    ("text", "code"),
    [("{cpu: 60}", "H0620"), ("{calm: 0}", "H0609"), ("{hold: soon}", "H0617"),
     ("{cpus: 1}", "H0604"), ("90", "H0602"), ("{cpu: 50, calm: 50}", "H0620")],
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


# ---- in packets -----------------------------------------------------------------------------

SERVERS = "create " + ", ".join(
    f"SERVER [(slot, u8, {slot}), (mac, u48, 02:00:00:00:0a:0a), (address, u32, 10.9.0.77)]"
    for slot in range(16)
)


def diverted(wire: Wire, octets: bytes) -> bool:
    """Whether a frame comes back for the other server."""
    wire.send(octets)
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
        turns = Turns(world)
        try:
            turns.see(0.0)
            assert not turns.flag and not turns.marked
            turns.see(1.0)
            assert turns.flag and not turns.marked
            assert diverted(wire, other) and not diverted(wire, priority)
            while not turns.marked:
                turns.see(1.0)
            assert diverted(wire, priority)
            while turns.marked:
                turns.see(0.0)
            assert turns.flag and diverted(wire, other) and not diverted(wire, priority)
            while turns.flag:
                turns.see(0.0)
            assert not diverted(wire, other) and not diverted(wire, priority)
        finally:
            turns.close()


def overwhelm(world: World, wire: Wire, octets: bytes) -> None:
    """Send more frames than the queues of the CPUs have places for: eight, from now on."""
    with Map.open_pinned(release_of(world.name, 1) / "maps" / "cpus") as cpus:
        for cpu in list(cpus.keys()):
            cpus.update(cpu, (8).to_bytes(4, "little"))
    for _ in range(2000):
        wire.send(octets)


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
                    told = next(reports)
                    lost.append((told.intents[0].new_lost_at_most, told.host.queue_drops))
                    return lost[-1][0] > 0

                until(dropped, "a queue is full")
                assert lost[-1][0] == lost[-1][1]  # all went to one queue
        turns = Turns(world)
        try:
            turns.see(0.0)
            turns.see(0.0)
            assert not turns.flag

            def flagged() -> bool:
                overwhelm(world, wire, frame(mac))
                turns.see(0.0)
                return turns.flag

            until(flagged, "the host is congested")
        finally:
            turns.close()


class Turns:
    """The watcher's turns one by one, with loads of our own."""

    def __init__(self, world: World) -> None:
        from helioc.runtime.agent.events import Events
        from helioc.runtime.congestion.settings import shape_of
        from helioc.runtime.congestion.watcher import Watched

        loaded = world.edge.inside_thread(lambda: Loaded.open(world.name))
        self.owner = Owner(loaded, Events())
        self.now, self.ticks = 0.0, 0
        self.busy = 0
        shape = shape_of(loaded.manifest)
        assert shape is not None
        self.watcher = Watcher(list, lambda _: self.sample())
        self.watched = Watched(self.owner, Congestion(), shape)

    def close(self) -> None:
        self.watched.drops.close()
        self.owner.close()

    def sample(self) -> host.Sample:
        cpus = range(os.cpu_count() or 1)
        return host.Sample({}, {}, {cpu: host.Busy(self.busy, self.ticks) for cpu in cpus})

    def see(self, load: float) -> None:
        self.now += 1.0
        self.ticks += 100
        self.busy += int(100 * load)
        self.watcher.turn(self.watched, self.now)

    @property
    def flag(self) -> bool:
        return self.owner.loaded.book.count("CONGESTION") == 1

    @property
    def marked(self) -> bool:
        return any(
            dict(rule.values)["overloaded"] for rule in self.owner.loaded.book.rules("SERVICE")
        )


@pytest.mark.usefixtures("kernel")
def test_the_agent_watches_and_leaves_nothing_behind(lab: Lab, tmp_path: Path) -> None:
    """With thresholds that any machine passes, and back by the agent's end."""
    with slice_world(lab, tmp_path) as (world, _, _):

        def flagged(client: Client) -> bool:
            return bool(list(client.rules(kinds=["CONGESTION"])))

        with world.agent(), world.client() as client:
            edge = EDGE + "congestion: {cpu: 2, calm: 1, period: 100 ms, hold: 60 min}\n"
            client.load(read_bundle(world.directory / "bundle"), edge)

            def hot() -> bool:
                sum(range(200_000))  # or the machine might be idle
                return flagged(client)

            until(hot, "the host is congested")
        shown = world.ctl("--local", "show", "CONGESTION")
        assert not re.search(r"CONGESTION \d", shown)
        with world.agent(), world.client() as client:
            until(lambda: flagged(client) or not sum(range(200_000)), "it goes on watching")
            client.unload()
            client.load(read_bundle(world.directory / "bundle"), EDGE)
            assert not flagged(client)
