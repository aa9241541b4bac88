"""An agent whose wall clock is set by days, forward and back, while it is at work."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from agent_world import EDGE, World
from helioc.runtime.client import Client, Stream
from helioc.runtime.loading.bundle import read_bundle
from helioc.runtime.loading.releases import remove_pinned
from helioc.runtime.rpc import control_pb2 as pb
from set_clock import DAY, Clock, clock
from tls_world import PORT, within

pytestmark = pytest.mark.usefixtures("kernel")
JUMPS = (DAY, -2 * DAY, DAY // 2, 30 * DAY, -40 * DAY, 10 * DAY + DAY // 2)


@pytest.fixture
def set_clock(tmp_path: Path) -> Clock:
    return clock(tmp_path)


def far(number: int) -> str:
    return f"create FAR {number} [(action, u8, DROP)]"


def at_work(client: Client, stream: Stream, events: Iterator[pb.Event], number: int) -> None:
    """A stream, a call with a key, and a watch go on."""
    stream.send(far(2 * number))
    created = [stream.receive().created[0].id]
    created.append(client.apply(far(2 * number + 1), key=f"k{number}").created[0].id)
    assert client.apply(far(2 * number + 1), key=f"k{number}").repeated
    seen = [next(events).rules.created[0].id for _ in created]
    assert seen == created == [2 * number, 2 * number + 1]


def test_requests_go_on_and_outlive_the_agent(here: World, certs: Path, set_clock: Clock) -> None:
    """Nothing is lost, and what is told of moments is right by the clock as it is set now."""
    tls = ("--tcp", f"0.0.0.0:{PORT}", "--identity", str(certs / "agent"))
    with here.agent(*tls, by=set_clock.by) as process, here.client() as client:
        client.load(read_bundle(here.directory / "bundle"), EDGE)
        with client.stream() as stream, client.watch() as watch:
            events = (event for event in watch if event.HasField("rules"))
            for number, seconds in enumerate((0, *JUMPS), 1):
                set_clock.jump(seconds)
                at_work(client, stream, events, number)
                status = client.status()
                for moment in (status.started, status.journal.synced):
                    assert -1 < set_clock.now() - moment < 60
        assert set_clock.off == 0
        set_clock.jump(DAY)
        assert within(here, certs, "a-rules", lambda tcp: tcp.apply(far(98)).created_count) == 1
        before, revision = [r.text for r in client.rules()], client.status().pipelines[0].revision
        process.stop(9)
    set_clock.jump(-3 * DAY)
    with here.agent(by=set_clock.by) as process, here.client() as client:
        assert [rule.text for rule in client.rules()] == before
        assert client.status().pipelines[0].revision == revision
        assert client.apply(far(99), key="in the past").revision == revision + 1
        process.stop(9)
    set_clock.jump(DAY)
    remove_pinned(here.name)
    with here.agent(by=set_clock.by), here.client() as client:
        found = client.status()
        assert not found.journal.losses and not found.pipelines[0].findings
        assert [rule.id for rule in client.rules()][-1] == 99 and client.apply(
            far(99), key="in the past"
        ).repeated
