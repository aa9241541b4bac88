"""Upgrades under traffic in both directions: every packet is numbered, and each of the two stages
that it meets writes into it which build that was. On the maps, and by the agent beside requests."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import TypeVar

import agent_world
import numpy as np
import pytest
import relay
from helioc.runtime.client import Client, Rejected
from helioc.runtime.kernel.handles import Link, Program
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.loading.loader import Loaded, unload
from helioc.runtime.loading.reader import Reader
from helioc.runtime.loading.releases import ROOT, incomplete_names, releases_of
from helioc.runtime.loading.upgrade import upgrade
from helioc.runtime.loading.upgrade_plan import plan_upgrade
from lab import Background, Lab, until
from leaks import PREFIX
from numbered import Flow, Journey, flow, sender
from relay import CONFIG, World, built, marked

UPGRADES = int(os.environ.get("HELIO_UPGRADES", "6"))
KILLS = int(os.environ.get("HELIO_KILLS", "8"))
LARGER = ("rule ROUTE [64]", "rule ROUTE [128]")
NOTES = (("  rule", "  ie note = 9, u64\n\n  rule"), ("gives  way,", "gives  note, way,"))
KIND = (
    ("  rule", "  ie arrival = 7, port\n  rule MARK [8] { match arrival exact port }\n\n  rule"),
    ("stage second {", "stage second {\n    if ipv4.ttl = 9 { find MARK else { pass } }"),
)  # fmt: skip
#: A mark each: other stages only, a larger table, more in a rule, a new kind.
BUILDS = [marked(1), marked(2), marked(3, LARGER), marked(4, *NOTES), marked(5, *KIND)]
NAME = f"{PREFIX}relay"
_Result = TypeVar("_Result")


@pytest.fixture(scope="module")
def world(kernel: None) -> Iterator[World]:
    for text in BUILDS:
        built(text)  # not while packets are sent, of which there is an end
    with Lab(f"{PREFIX}up-") as lab:
        yield relay.build(lab)


@dataclass(frozen=True)
class Edge:
    """The relay, loaded, and what may pass through it."""

    world: World
    program: Path
    pins: Path

    def do(self, action: Callable[[Loaded], _Result]) -> _Result:
        """Call it with the loaded relay, in the edge's namespace."""

        def go() -> _Result:
            with Loaded.open(NAME) as loaded:
                return action(loaded)

        return self.world.edge.inside_thread(go)

    def upgrade(self, number: int) -> None:
        """To one of the builds."""
        self.do(lambda loaded: upgrade(loaded, plan_upgrade(loaded, built(BUILDS[number]))).close())

    @contextmanager
    def traffic(self, rate: int = 0) -> Iterator[tuple[Flow, Flow]]:
        """From near to far, and back; so many a second each (0: as many as go)."""
        near, far = self.world.near, self.world.far
        there = flow(near, far, self.world.frame(), self.program, self.pins / "there", rate=rate)
        frame = self.world.frame(back=True)
        with (
            there as one,
            flow(far, near, frame, self.program, self.pins / "back", rate=rate) as other,
        ):
            yield one, other


@pytest.fixture
def edge(world: World, tmp_path: Path, pins: Path) -> Iterator[Edge]:
    made = Edge(world, sender(tmp_path), pins)
    world.edge.inside_thread(lambda: Loaded.load(built(BUILDS[0]), CONFIG, NAME)).close()
    yield made
    made.do(lambda loaded: loaded.unload())
    assert not (ROOT / NAME).exists() and NAME not in incomplete_names()


def check(journey: Journey) -> list[int]:
    """No packet was lost, none came twice or overtook another, each met both stages of one build;
    the marks of these builds, in the order in which a port had them."""
    assert journey.sent > 10_000
    assert (journey.lost, journey.stalls) == (0, 0)
    assert (journey.times == 1).all()
    assert (np.diff(journey.order.astype(np.int64)) == 1).all()
    first, second = journey.marks & np.uint64(0xFF), journey.marks >> np.uint64(8)
    assert (first == second).all()
    starts = np.flatnonzero(np.diff(first.astype(np.int64))) + 1
    return [int(first[at]) for at in (0, *starts)]


def test_no_packet_is_lost_or_meets_two_builds(edge: Edge) -> None:
    """And none is counted twice, or not at all."""
    have, sent = 1, [0, 0]
    for expected in batched(cycle((1, 2, 3, 4, 0)), UPGRADES):
        with edge.traffic() as flows:
            for number in expected:
                edge.upgrade(number)
                for each in flows:
                    each.until(100)
        met = [have, *(number + 1 for number in expected)]
        assert [check(each.journey) for each in flows] == [met, met]
        have, sent = met[-1], [n + each.journey.sent for n, each in zip(sent, flows, strict=True)]
        with Reader(NAME) as reader:
            assert [c.packets for c in reader.rules()] == sent
            events = {(c.group, c.reason): n for c, n in reader.events() if n}
        assert events == {("verdict", "redirect"): sum(sent)}


def batched(numbers: Iterable[int], count: int) -> Iterator[list[int]]:
    """The first `count`, six at a time: a flow has not numbers enough for all."""
    some = islice(numbers, count)
    while six := list(islice(some, 6)):
        yield six


def test_between_two_ports_each_packet_meets_what_its_port_has(
    edge: Edge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One port has the new build, the other still the old one."""
    real, between = Link.update, list[tuple[int, int]]()
    with edge.traffic() as (there, back):

        def update(self: Link, program: Program) -> None:
            between.append((there.mark(), back.mark()))
            real(self, program)

        monkeypatch.setattr(Link, "update", update)
        edge.upgrade(2)
        between.append((there.mark(), back.mark()))
    assert between == [(0x101, 0x101), (0x303, 0x101), (0x303, 0x303)]
    assert check(there.journey) == check(back.journey) == [1, 3]


def test_killed_at_any_moment(edge: Edge, tmp_path: Path) -> None:
    """`kill -9` while `helioctl upgrade` runs: all packets pass, and whoever comes next finds one
    build, with all rules and both ports on it."""
    bundles = [relay.write(text, tmp_path / f"build{n}") for n, text in enumerate(BUILDS)]
    helioctl = [sys.executable, "-m", "helioc.commands.helioctl"]
    program = [*helioctl, "--local", "--name", NAME, "upgrade"]
    chance = random.Random(7)
    rules = edge.do(lambda loaded: len(loaded.book))
    killed, sent = 0, [0, 0]
    for expected in batched(cycle((1, 2, 3, 4, 0)), KILLS):
        with edge.traffic() as flows:
            for number in expected:
                before = edge.do(lambda loaded: loaded.release)
                words = edge.world.edge.inside(*program, str(bundles[number]))
                process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                killed += _kill(process, before, chance)
                with Reader(NAME) as reader:
                    assert len(reader.rules()) == rules
                after = edge.do(lambda loaded: (loaded.release, len(loaded.book)))
                assert after in ((before, rules), (before + 1, rules))
                assert releases_of(NAME) == [after[0]]
                for each in flows:
                    each.until(100)
        for each in flows:
            check(each.journey)
        sent = [n + each.journey.sent for n, each in zip(sent, flows, strict=True)]
        with Reader(NAME) as reader:
            assert [c.packets for c in reader.rules()] == sent
    assert killed >= KILLS // 4  # on a fast machine some are over before


def _kill(process: subprocess.Popen[bytes], release: int, chance: random.Random) -> bool:
    def over(seconds: float) -> bool:
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
        return process.returncode is not None

    _moment(over, release, chance)
    process.kill()
    said, _ = process.communicate()
    assert b"Traceback" not in said and b"error[" not in said, said
    return process.returncode == -signal.SIGKILL


def _moment(over: Callable[[float], bool], release: int, chance: random.Random) -> None:
    """Wait for some moment of an upgrade; half of the times soon after a second release is there.
    `over`: waits so many seconds at most, and says whether it has ended."""
    seconds = chance.uniform(0.05, 0.4)
    if chance.random() < 0.5:
        while not over(0.002) and releases_of(NAME) == [release]:
            pass
        seconds = chance.uniform(0.0, 0.1)
    over(seconds)


# ---- by the agent ---------------------------------------------------------------------------

PORTS = """\
ports:
  IN:  {role: inside, interface: in0}
  OUT: {role: outside, interface: out0}
"""


@pytest.fixture
def agents(world: World, tmp_path: Path) -> Iterator[agent_world.World]:
    """Where an agent runs."""
    yield agent_world.World(world.edge, NAME, tmp_path)
    if (ROOT / NAME).exists():
        unload(NAME)


def route(id_: int) -> str:
    return f"create ROUTE {id_} [(dst_ip, u32, 10.9.{id_}.0/24), (way, u8, BACK)]"


def test_beside_requests_to_the_agent(
    world: World, agents: agent_world.World, tmp_path: Path, pins: Path
) -> None:
    """Who sends requests notices nothing but that some wait."""
    edge = Edge(world, sender(tmp_path), pins)
    over, made = threading.Event(), list[int]()

    def controller() -> None:
        with agents.client() as client:
            while not over.is_set():
                client.apply(route(9), key=f"create {len(made)}")
                made.append(client.apply("delete ROUTE 9").revision)

    with agents.agent(), agents.client() as client:
        client.load(built(BUILDS[0]), PORTS)
        client.apply(relay.RULES)
        asking = threading.Thread(target=controller)
        asking.start()
        sent = [0, 0]
        try:
            have = 1
            for expected in batched(cycle((1, 2, 3, 4, 0)), UPGRADES):
                with edge.traffic() as flows:
                    for number in expected:
                        client.upgrade(built(BUILDS[number]))
                        before = len(made)
                        until(lambda b=before: len(made) > b + 2, "requests")  # type: ignore[misc]
                        for each in flows:
                            each.until(100)
                met = [have, *(number + 1 for number in expected)]
                assert [check(each.journey) for each in flows] == [met, met]
                have = met[-1]
                sent = [n + each.journey.sent for n, each in zip(sent, flows, strict=True)]
        finally:
            over.set()
            asking.join()
        assert made == sorted(set(made)) and client.status().pipelines[0].revision == made[-1]
        counted = {rule.id: rule.packets for rule in client.rules() if rule.packets}
        assert [counted[1], counted[2]] == sent


def test_the_agent_killed_at_any_moment(
    world: World, agents: agent_world.World, tmp_path: Path, pins: Path
) -> None:
    """`kill -9` while it upgrades: all packets pass, and the next agent has one build, with every
    rule that was acknowledged."""
    edge, chance = Edge(world, sender(tmp_path), pins), random.Random(11)
    with agents.agent(), agents.client() as client:
        client.load(built(BUILDS[0]), PORTS)
        client.apply(relay.RULES)
    have, last, rules, switched = {built(BUILDS[0]).manifest.digest}, 2, {1, 2}, 0
    for expected in batched(cycle((1, 2, 3, 4, 0)), KILLS):
        with edge.traffic(100_000) as flows:  # numbers last while agents start
            for number in expected:
                with agents.agent() as process, agents.client() as client:
                    (status,) = client.status().pipelines
                    assert status.digest in have and not status.findings
                    assert {rule.id for rule in client.rules()} == rules
                    last += 1
                    client.apply(route(last))
                    rules.add(last)
                    if len(rules) > 40:  # there is room for 64
                        client.apply(f"delete ROUTE {last - 38}")
                        rules.remove(last - 38)
                    bundle, (release,) = built(BUILDS[number]), releases_of(NAME)
                    _kill_agent(process, client, bundle, release, chance)
                    have = {status.digest, bundle.manifest.digest}
                    switched += max(releases_of(NAME)) > release
                for each in flows:
                    each.until(100)
        for each in flows:
            check(each.journey)
    assert switched
    with agents.agent(), agents.client() as client:
        assert client.status().pipelines[0].digest in have
        assert {rule.id for rule in client.rules()} == rules


def _kill_agent(
    process: Background, client: Client, bundle: Bundle, release: int, chance: random.Random
) -> None:
    def upgrade() -> None:
        with suppress(Rejected):
            client.upgrade(bundle)

    asking = threading.Thread(target=upgrade)
    asking.start()

    def over(seconds: float) -> bool:
        asking.join(seconds)
        return not asking.is_alive()

    _moment(over, release, chance)
    os.kill(process.pid, signal.SIGKILL)
    until(lambda: not process.running, "it is killed")
    asking.join()
