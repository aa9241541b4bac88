"""The agent killed at any moment (`kill -9`), while packets run and controllers change what they
meet. `HELIO_AGENT_KILLS` says how often; `pytest -s` shows the figures."""

from __future__ import annotations

import os
import random
import signal
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pairs
import pytest
import relay
from agent_world import World
from controllers import Bulk, Controller, Loader, Streamer
from helioc.runtime.client import Client
from helioc.runtime.loading.loader import unload
from helioc.runtime.loading.releases import ROOT
from lab import Background, Lab, until
from leaks import PREFIX
from numbered import WINDOW, WORDS, Flow, Journey, flow, sender

KILLS = int(os.environ.get("HELIO_AGENT_KILLS", "12"))
#: In one flow, which has numbers for 80 seconds.
_IN_ONE = 12
NAME = f"{PREFIX}pairs"
#: Packets a second.
RATE = 100_000
#: Of a flow's packets: whatever is not as it should be.
Numbers = npt.NDArray[np.int64]


@dataclass
class Figures:
    """`recovered`: seconds from the start of each agent to its first answer."""

    kills: int = 0
    packets: int = 0
    mixed: int = 0
    recovered: list[float] = field(default_factory=list)
    moments: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        said = ", ".join(f"{n} {moment}" for moment, n in sorted(self.moments.items()))
        middle, most = statistics.median(self.recovered), max(self.recovered)
        return (f"{self.kills} kills ({said}); {self.packets:,} packets: none lost, {self.mixed} "
                f"mixed; recovery {middle:.2f} s, at most {most:.2f} s")  # fmt: skip


class Scene:
    """An agent, its clients, and packets that meet what those change."""

    def __init__(self, here: World) -> None:
        self.here, self.up = here, threading.Event()
        self.flow: Flow | None = None
        self.chance, self.figures = random.Random(3), Figures()
        self.streamers = [
            Streamer(here, self.up, number, lambda: self.flow.arrived if self.flow else 0)
            for number in range(pairs.CLIENTS)
        ]
        self.bulk, self.loader = Bulk(here, self.up), Loader(here, self.up)

    @property
    def controllers(self) -> list[Controller]:
        return [*self.streamers, self.bulk, self.loader]

    @property
    def done(self) -> int:
        return sum(streamer.done for streamer in self.streamers)

    # ---- an agent's life --------------------------------------------------------------------

    def start(self) -> Background:
        """An agent that makes a snapshot often."""
        program = ("from helioc.commands import heliod; "
                   "from helioc.runtime.journal import journal; "
                   "journal._MANY = 500; heliod.main()")  # fmt: skip
        words = [sys.executable, "-c", program, "--socket", str(self.here.socket),
                 "--state", str(self.here.state),
                 "--acknowledge", self.chance.choice(("before", "after"))]  # fmt: skip
        return Background(self.here.edge.inside(*words))

    def live(self, moment: str) -> None:
        """Start an agent, see that it has what it must have, let it work, and kill it."""
        begun = time.monotonic()
        process = self.start()
        try:
            if moment != "starting":
                process.expect("ready", 30)
                with self.here.client() as client:
                    assert client.status().pipelines
                    self.figures.recovered.append(time.monotonic() - begun)
                    self.look(client)
                self.up.set()
            self.wait(moment)
            self.well()
        finally:
            self.up.clear()
            self.bulk.turn.clear()
            self.loader.turn.clear()
            os.kill(process.pid, signal.SIGKILL)
            said = process.stop()
        assert "Traceback" not in said and "error[" not in said, said
        assert self.flow is not None
        self.flow.until(100)
        self.figures.kills += 1
        self.figures.moments[moment] = self.figures.moments.get(moment, 0) + 1

    def wait(self, moment: str) -> None:
        """Until it is to be killed."""
        longest, before = 0.0, self.done
        if moment == "starting":
            longest = 0.7
        elif moment == "in a stream":
            enough = before + self.chance.randrange(300)
            self._until(lambda: self.done > enough, "requests")
        elif moment == "in bulk":
            self._in(self.bulk)
            longest = 0.1
        elif moment == "in a load":
            self._in(self.loader)
            longest = 0.5
        elif moment == "in a snapshot":
            logs = partial(self.here.state.glob, "requests-1-*")
            found = set(logs())
            self._until(lambda: bool(set(logs()) - found), "a snapshot")
            longest = 0.02
        threading.Event().wait(self.chance.uniform(0.0, longest))

    def _in(self, controller: Controller) -> None:
        """In its second request, or a later one."""
        before = controller.done
        controller.turn.set()
        self._until(lambda: controller.asked > controller.done > before, "a request of its")

    def _until(self, holds: Callable[[], bool], what: str) -> None:
        until(lambda: self.well() and holds(), what, 30)

    def well(self) -> bool:
        """No controller met what it should not."""
        for controller in self.controllers:
            assert controller.wrong is None, (type(controller).__name__, controller.wrong)
        return True

    def look(self, client: Client) -> None:
        """What was acknowledged is there, what was not is whole or absent, and nothing else is."""
        done = [s.done for s in self.streamers]
        found = pairs.marks(client.rules(kinds=["FLOW", "WAY"]))
        assert found["FLOW"] == found["WAY"] and len(found["WAY"]) == pairs.CLIENTS
        for streamer, least, mark in zip(self.streamers, done, found["FLOW"], strict=True):
            assert (mark - least) & 0xFFFF <= streamer.asked - least
        assert self.bulk.fits(sum(1 for _ in client.rules(kinds=["MANY"], text=False)))
        assert self.loader.fits(client)

    # ---- packets ----------------------------------------------------------------------------

    def check(self, journey: Journey) -> None:
        """Each came once and in order, with two marks of one request: none that was not yet asked
        for, and none older than what had been acknowledged when it was sent."""
        assert (journey.lost, journey.stalls) == (0, 0)
        assert (journey.times == 1).all()
        assert (np.diff(journey.order.astype(np.int64)) == 1).all()
        first, second = journey.marks & np.uint64(0xFFFF), journey.marks >> np.uint64(16)
        self.figures.packets += journey.sent
        self.figures.mixed += int((first != second).sum())
        for streamer in self.streamers:
            mine = slice(streamer.number, None, pairs.CLIENTS)
            self._check_one(streamer, first[mine].astype(np.int64), journey.order[mine])

    @staticmethod
    def _check_one(streamer: Streamer, marks: Numbers, order: npt.NDArray[np.uint64]) -> None:
        at = order.astype(np.int64)
        done = np.array(streamer.done_at, np.int64) + WINDOW  # sent by then were those on their way
        least = streamer.done_before + np.searchsorted(done, at, side="right")
        asked = np.array(streamer.asked_at, np.int64)
        most = streamer.asked_before + np.searchsorted(asked, at, side="right")
        met = least + ((marks - least) & 0xFFFF)
        assert (met <= most).all(), "a packet met what nobody had asked for, or what was undone"
        assert (np.diff(met) >= 0).all(), "what packets met was undone"


@pytest.fixture
def scene(kernel: None, tmp_path: Path) -> Iterator[tuple[Scene, relay.World]]:
    with Lab(f"{PREFIX}kills-") as lab:
        world = pairs.build(lab)
        made = Scene(World(world.edge, NAME, tmp_path))
        try:
            yield made, world
        finally:
            made.up.clear()
            for controller in made.controllers:
                controller.give_up()
            for name in (NAME, made.loader.name):
                if (ROOT / name).exists():
                    unload(name)


MOMENTS = ("in a stream", "in bulk", "in a load", "in a stream", "starting", "in a snapshot")


def test_killed_while_packets_run(
    scene: tuple[Scene, relay.World], pins: Path, tmp_path: Path
) -> None:
    """No packet is lost or meets half a request, no acknowledged rule is lost, and none is in force
    that was not asked for."""
    made, world = scene
    with made.here.agent(), made.here.client() as client:
        client.load(pairs.bundle(), pairs.edge_yaml(0))
        for number in range(pairs.CLIENTS):
            client.apply(pairs.request(number, 0))
    for controller in made.controllers:
        controller.start()
    program, frames = sender(tmp_path), pairs.frames(world)
    while made.figures.kills < KILLS:
        for streamer in made.streamers:
            streamer.restart()
        packets = flow(world.near, world.far, frames, program, pins / "to", WORDS, RATE)
        with packets as made.flow:
            for _ in range(min(_IN_ONE, KILLS - made.figures.kills)):
                made.live(MOMENTS[made.figures.kills % len(MOMENTS)])
        made.check(made.flow.journey)
        made.flow = None
    with made.here.agent(), made.here.client() as client:
        made.up.set()
        for controller in made.controllers:
            controller.ending.set()
            controller.join()
        made.look(client)
    made.well()
    assert not made.figures.mixed
    sys.stdout.write(f"\n{made.figures}; {made.done:,} requests by streams, {made.bulk.done} "
                     f"in bulk, {made.loader.done} loads and unloads\n")  # fmt: skip
