"""Overlays that are steered by what is measured of them, with flows over a relay."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import cycle
from pathlib import Path

import pytest
from edges import PIPELINES, Edge, compile_pipeline, hear_answers
from helioc.compiler import bundle as bundles
from helioc.compiler.driver import check_file
from helioc.runtime.client import Client
from helioc.runtime.edge.steering_status import last_steering
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.loading.releases import remove_pinned
from lab import Lab, Namespace, until
from path_relay import BACK, Fate, Impairment, Relay, at_once
from set_clock import HOUR, clock
from stamp_world import EDGE, ENDPOINT, is_test
from stamp_world import bundle as stamp_bundle
from steering_world import INTERVAL, LIVENESS, WEIGHTS, Paths, steered_paths, unload_if_there
from traffic import ping

pytestmark = pytest.mark.usefixtures("kernel")
DELAY = "(max_delay, u32, 60000)"
QUICK = "liveness: {interval: 100 ms, multiplier: 100, hold_down: 1 s}\n"
SLOW, GONE = Impairment(delay=0.12), Impairment(loss=1.0)


@pytest.fixture
def paths(lab: Lab, bundle: Path, tmp_path: Path) -> Iterator[Paths]:
    with steered_paths(lab, bundle, tmp_path) as made:
        yield made


@pytest.fixture
def running(paths: Paths) -> Iterator[Paths]:
    with paths.agent.agent(), paths.agent.client() as paths.client:
        yield paths


def all_measured(paths: Paths) -> None:
    paths.measured(lambda m: all(x.HasField("jitter") for x in m.values()), "all are measured")


@pytest.mark.parametrize(("fate", "why"), [(SLOW, "at most 60 ms"), (GONE, "at most 20 %")])
def test_a_path_that_degrades_loses_new_flows_within_three_probes(
    running: Paths, fate: Fate, why: str
) -> None:
    running.load(DELAY, "(max_loss, u16, 200)")
    all_measured(running)
    before = running.takes(WEIGHTS)
    text, revision = running.client.rule("LBR", 9).text, running.spread().changes
    with running.client.watch() as watch:
        since = time.monotonic()
        running.fates.fates[1] = fate
        event = next(event for event in watch if event.HasField("steered"))
        seen = time.monotonic()
    assert running.probes(1, since, seen) <= 3
    out = next(m for m in event.steered.members if m.rule.id == 1)
    assert (out.overlay, out.weight, out.in_force) == ("GRE-1", 3, 0) and why in out.why
    assert [m.in_force for m in event.steered.members if m.rule.id != 1] == [1, 2, 2]
    after = running.takes({2, 3, 4})
    assert all(after[flow] == key for flow, key in before.items() if key != 1)
    assert running.client.rule("LBR", 9).text == text  # nobody's wishes changed
    assert running.spread().changes == revision + 1
    running.fates.fates.clear()
    running.takes_like(before)


def test_top_status_and_metrics_show_it(running: Paths) -> None:
    running.load(DELAY)
    running.fates.fates[2] = SLOW
    running.takes({1, 3, 4})
    said = until(lambda: s if "GRE-2" in (s := running.agent.ctl("status")) and "0 of 1" in s
                 else "", "the status says so")  # fmt: skip
    assert "at most 60 ms" in said
    said = running.agent.ctl("top", "--once", "--interval", "0.1")
    assert "0 of 1" in said and "at most 60 ms" in said
    said = running.agent.ctl("metrics")
    labels = f'member="FAR 2",overlay="GRE-2",pipeline="{running.agent.name}",rule="LBR 9"'
    assert f'helio_steering_weight{{kind="LBR",{labels}}} 0' in said
    (found,) = json.loads(running.agent.ctl("status", "--json"))["pipelines"]
    assert [m["in_force"] for m in found["steered"][0]["members"]] == [3, 0, 2, 2]


def test_nobody_measures(running: Paths) -> None:
    running.load(DELAY, liveness="")
    until(lambda: [f.code for f in running.client.status().pipelines[0].findings] == ["H0881"],
          "the status says so")  # fmt: skip
    running.client.apply("update LBR 9 [(max_delay, u32, 1)]")
    running.client.apply("delete PDR 1; delete LBR 9")
    until(lambda: not running.client.status().pipelines[0].findings, "no more")


def test_noise_of_a_tenth_moves_nobody(running: Paths) -> None:
    """Below a bound and above it."""
    running.load("(max_delay, u32, 200000)", liveness=QUICK)
    running.fates.fates |= {1: Impairment(delay=0.1, jitter=0.01),
                            2: Impairment(delay=0.3, jitter=0.03)}  # fmt: skip
    running.takes({1, 3, 4})
    changes, since = running.spread().changes, time.monotonic()
    until(lambda: running.probes(1, since) > 40 and running.probes(2, since) > 40, "probes")
    assert running.spread().changes == changes and {*running.flows().values()} == {1, 3, 4}


def test_jitter_and_loss(running: Paths) -> None:
    running.load("(max_jitter, u32, 60000)", "(max_loss, u16, 30)")
    all_measured(running)
    turns = cycle((0.0, 0.12))
    running.fates.fates |= {2: GONE, 4: lambda *_: [next(turns)]}
    running.takes({1, 3})
    why = {key: member.why for key, member in running.members().items()}
    assert "loss" in why[2] and "at most 3 %" in why[2] and "at most 60 ms" in why[4]
    # Reordering and duplicates alone are no harm.
    running.fates.fates |= {1: Impairment(delay=0.004, reorder=0.3, repeat=0.5)}
    changes, since = running.spread().changes, time.monotonic()
    until(lambda: running.probes(1, since) > 20, "probes")
    assert running.spread().changes == changes


def test_where_all_are_bad_the_nearest_take_flows(running: Paths) -> None:
    running.load("(max_delay, u32, 30000)")
    running.fates.fates |= {key: Impairment(delay=0.1 if key < 3 else 0.4) for key in WEIGHTS}
    running.takes({1, 2})
    assert running.members()[1].why.endswith("no member is within its bounds")


def test_the_controller_wins(running: Paths) -> None:
    """What it asks for meanwhile is made, and then steered by what it asks for now."""
    running.load(DELAY)
    before = running.takes(WEIGHTS)
    running.fates.fates |= {1: SLOW, 2: SLOW}
    running.takes({3, 4})
    running.client.apply("update LBR 9 [FAR 4 [(weight, u16, 60)]]")
    assert {*running.flows().values()} <= {3, 4}  # still out of its bounds
    running.client.apply("update LBR 9 [FAR 4 [(weight, u16, 2)]]; update LBR 9 [(max_delay, u32, "
                         "500000)]")  # fmt: skip
    running.takes_like(before)
    running.fates.fates |= {3: Impairment(delay=0.05), 4: Impairment(delay=0.05)}
    running.client.apply("update LBR 9 [(prefer, u8, DELAY)]")
    running.takes({3, 4})
    running.client.apply("delete LBR 9 [FAR 3]")
    assert {*running.flows().values()} == {4}
    assert not any(found.code for found in running.client.status().pipelines[0].findings)


@pytest.mark.parametrize("end", ["killed", "stopped", "rebooted"])
def test_a_dead_agent(paths: Paths, end: str) -> None:
    """Packets go on as they were; whoever comes next begins from there."""
    with paths.agent.agent(), paths.agent.client() as paths.client:
        paths.load(DELAY)
        paths.takes(WEIGHTS)
        paths.fates.fates[1] = SLOW
        after = paths.takes({2, 3, 4})
        assert paths.spread().due > time.time() - 1
        if end != "stopped":
            os.kill(paths.client.status().pid, signal.SIGKILL)
    assert paths.flows() == after
    (spread,) = last_steering(paths.agent.name)
    assert [m.in_force for m in spread.members] == [0, 1, 2, 2]
    if end == "rebooted":
        remove_pinned(paths.agent.name)
    with paths.agent.agent(), paths.agent.client() as paths.client:
        if end != "rebooted":
            assert paths.flows() == after
        assert paths.takes({2, 3, 4}) == after
        until(lambda: paths.members()[1].HasField("delay"), "it is measured")
        assert paths.takes({2, 3, 4}) == after


def test_an_upgrade_keeps_what_is_left_out(running: Paths, tmp_path: Path) -> None:
    """Where spreads are written anew, since the new build has room for more members."""
    running.load(DELAY)
    running.fates.fates[1] = SLOW
    after = running.takes({2, 3, 4})
    shutil.copytree(PIPELINES, tmp_path / "larger")
    source = tmp_path / "larger" / "linx.hp"
    source.write_text(source.read_text().replace("FAR[1..16]", "FAR[1..17]"))
    larger = bundles.compile_pipeline(check_file(source))
    changes = running.spread().changes
    running.client.upgrade(Bundle(larger.manifest, larger.object))
    assert running.flows() == after
    since = time.monotonic()
    until(lambda: running.probes(1, since) > 6, "it is measured")
    assert running.flows() == after and running.spread().changes == changes
    running.fates.fates.clear()
    running.takes(WEIGHTS)


def test_clocks_that_are_set_and_answers_that_lie(lab: Lab, bundle: Path, tmp_path: Path) -> None:
    made = clock(tmp_path)
    with (
        steered_paths(lab, bundle, tmp_path) as paths, paths.agent.agent(by=made.by),
        paths.agent.client() as paths.client,
    ):  # fmt: skip
        paths.load("(max_delay, u32, 400000)", "(prefer, u8, DELAY)", liveness=QUICK)
        paths.fates.fates |= {key: Impairment(delay=0.1) for key in WEIGHTS}
        all_measured(paths)
        changes = paths.spread().changes
        for seconds in (0, HOUR, -2 * HOUR, HOUR):
            made.jump(seconds)
            _lie(paths)
            since = time.monotonic()
            until(lambda: paths.probes(1, since) > 5, "probes")  # noqa: B023
            for member in paths.members().values():
                assert 0.1 <= member.delay < 0.2 and member.in_force
        assert paths.spread().changes == changes


def test_a_session_of_stamp_measures_an_overlay(lab: Lab, bundle: Path, tmp_path: Path) -> None:
    """By a port of its own beside the overlays', where their provider measures."""
    with ExitStack() as owned:
        paths = owned.enter_context(steered_paths(lab, bundle, tmp_path))
        edge, between, site = paths.agent.edge, paths.between, paths.site
        lab.wire(edge, "meas0", between, "near-m")
        lab.wire(between, "far-m", site, "meas0")
        edge.address("meas0", "198.51.100.1/30")
        site.address("meas0", "198.51.100.2/30")
        hear_answers([(between, "near-m"), (between, "far-m")])
        relay = owned.enter_context(Relay(between.wire("near-m"), between.wire("far-m"), is_test))
        until(lambda: ping(edge, "198.51.100.2", 1).lost == 0, "the far end answers")
        there = owned.enter_context(reflecting(site, tmp_path))
        owned.callback(unload_if_there, f"{paths.agent.name}-m")
        owned.enter_context(paths.agent.agent())
        paths.client = owned.enter_context(paths.agent.client())
        meter = owned.enter_context(Client(paths.agent.address, f"{paths.agent.name}-m"))
        none = ", ".join(f"GRE-{key}: none" for key in WEIGHTS)
        told = f", to: {{{none}}}, stamp: {{GRE-3: session-7}}}}"
        paths.load(DELAY, liveness=LIVENESS.replace("}", told))
        meter.load(stamp_bundle(), EDGE.replace("wan0", "meas0"))
        made = meter.create_stamp_session(7, "198.51.100.2", interval=INTERVAL, timeout=0.5)
        owned.callback(meter.destroy_stamp_session, 7)  # its counts would stay
        there.control("create", made.reflector.removeprefix("create "))
        paths.takes(WEIGHTS)
        meter.start_stamp_session(7)
        relay.fate = SLOW
        paths.takes({1, 2, 4})
        assert paths.members()[3].delay > 0.1
        relay.fate = at_once
        paths.takes(WEIGHTS)
        meter.stop_stamp_session(7)
        until(lambda: not paths.members()[3].HasField("delay"), "nothing measures it")
        assert paths.members()[3].in_force


@contextmanager
def reflecting(site: Namespace, directory: Path) -> Iterator[Edge]:
    """The far end's reflector, without an agent."""
    made = Edge(site)
    made.name += "-m"
    compile_pipeline(directory / "stamp", "stamp")
    (directory / "reflector.yaml").write_text(EDGE.replace("wan0", "meas0"))
    made.load(directory / "stamp", directory / "reflector.yaml")
    try:
        made.control("create", ENDPOINT.removeprefix("create "))
        yield made
    finally:
        made.forget()


def _lie(paths: Paths) -> None:
    """Old answers again, cut ones, and ones of a token of their own."""
    answers = [p.frame for p in paths.relay.passed if p.way == BACK and p.frame[23] == 1][-40:]
    assert answers
    wire = paths.relay.wires[BACK][1]
    for frame in answers:
        for bad in (frame, frame[:50], frame[:34], frame[:42] + os.urandom(len(frame) - 42)):
            wire.send(bad)
