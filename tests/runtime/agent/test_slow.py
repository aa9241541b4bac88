"""Of a request that took long, what it waited for."""

from __future__ import annotations

import gc
import logging
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from agent_world import EDGE, World, world
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.wire import encode
from helioc.lang.text.source import Source
from helioc.runtime.agent.agent import Agent
from helioc.runtime.base import waits
from helioc.runtime.base.latency_stats import LatencyReport, read_latency
from helioc.runtime.journal.store import Store
from helioc.runtime.loading.bundle import read_bundle
from helioc.runtime.owner.owner import Owner
from helioc.runtime.owner.requests import ApplyRequest
from lab import Lab, until

pytestmark = pytest.mark.usefixtures("kernel")

SLOWLY = 2 * waits.SLOW


@pytest.fixture
def owner(lab: Lab, tmp_path: Path) -> Iterator[Owner]:
    with world(lab, tmp_path) as here:
        agent = Agent(Store(here.state))
        try:
            yield here.edge.inside_thread(lambda: _load(agent, here))
        finally:
            agent.close()


def _load(agent: Agent, here: World) -> Owner:
    agent.open_all()
    agent.load(read_bundle(here.directory / "bundle"), Source("<edge>", EDGE), here.name)
    return agent.owner()


def wish(owner: Owner, text: str) -> ApplyRequest:
    return ApplyRequest(encode(parse_request(Source("<t>", text)), owner.codecs))


def tally(owner: Owner) -> LatencyReport:
    found = read_latency(owner.name)
    assert found is not None
    return found


def pass_time() -> None:
    end = time.perf_counter() + SLOWLY
    while time.perf_counter() < end:
        os.sched_yield()


def test_the_disk(
    owner: Owner, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    to_disk = os.fdatasync

    def slow(descriptor: int) -> None:
        pass_time()
        to_disk(descriptor)

    monkeypatch.setattr(os, "fdatasync", slow)
    caplog.set_level(logging.INFO, "heliod.slow")
    before = tally(owner)
    done = owner.apply(wish(owner, "create FAR 1 [(action, u8, DROP)]"))
    after = tally(owner)
    assert after.slow == before.slow + 1
    assert after.waits["disk"] - before.waits["disk"] >= SLOWLY
    assert f"pipeline={owner.name} revision={done.revision} " in caplog.text
    assert " disk_ms=" in caplog.text


@pytest.mark.parametrize("cause", ["turn", "snapshot"])
def test_its_turn(owner: Owner, monkeypatch: pytest.MonkeyPatch, cause: str) -> None:
    asked = wish(owner, "create FAR 3 [(action, u8, DROP)]")
    thread = threading.Thread(target=owner.apply, args=(asked,))
    before = tally(owner)

    def meanwhile() -> None:
        thread.start()
        until(lambda: owner.lock.waited_for, "it waits")
        pass_time()

    if cause == "turn":
        with owner.still():
            meanwhile()
    else:
        turn_over = Owner._turn_over

        def slowly(*words: object) -> object:
            meanwhile()
            return turn_over(*words)  # type: ignore[arg-type]

        monkeypatch.setattr(Owner, "_turn_over", slowly)
        owner.fold()
    thread.join()
    after = tally(owner)
    assert after.waits[cause] - before.waits[cause] >= SLOWLY / 2


def test_the_collector(owner: Owner, monkeypatch: pytest.MonkeyPatch) -> None:
    to_disk = os.fdatasync

    def collecting(descriptor: int) -> None:
        gc.collect()
        pass_time()
        to_disk(descriptor)

    monkeypatch.setattr(os, "fdatasync", collecting)
    collecting_takes: list[object] = [{} for _ in range(200_000)]
    before = waits._collector.seconds
    owner.apply(wish(owner, "create FAR 2 [(action, u8, DROP)]"))
    assert waits._collector.seconds > before
    assert tally(owner).slow and tally(owner).waits["collector"] > 0
    del collecting_takes


def test_a_stream_of_them_has_few_lines(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "heliod.slow")
    lines = waits.SlowRequests("guard")
    seconds = dict.fromkeys(waits.CAUSES, 0.001)
    for revision in range(100):
        lines.record(revision, seconds)
    assert len(caplog.records) == 20
    assert caplog.messages[0].startswith("pipeline=guard revision=0 more=0 ms=6.0 disk_ms=1.0 ")
    lines._bucket.tokens = 1
    lines.record(100, seconds)
    assert " more=80 " in caplog.messages[-1]
