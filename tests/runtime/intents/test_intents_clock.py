"""Intents of an agent whose wall clock is set: they begin and end by it, as it is set now."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from agent_world import World
from helioc.runtime.client import Client
from helioc.runtime.loading.bundle import read_bundle
from helioc.runtime.rpc import control_pb2 as pb
from lab import Lab, until
from set_clock import DAY, HOUR, Clock, clock
from slice_world import EDGE, intent, slice_world

pytestmark = pytest.mark.usefixtures("kernel")


@pytest.fixture
def here(lab: Lab, tmp_path: Path) -> Iterator[tuple[World, Clock]]:
    with slice_world(lab, tmp_path) as (world, _, _):
        yield world, clock(tmp_path)


def looked(client: Client, states: dict[str, str]) -> None:
    """Their states, when the agent has looked at the clock: it does when an intent comes, too."""
    client.apply_intent(intent("looks", teid=999, duration="1000000h"))
    client.remove_intent("looks")

    def found() -> dict[str, str]:
        return {each.id: pb.Intent.State.Name(each.state) for each in client.intents()}

    until(lambda: found() == states, f"intents are {states}")
    names = {rule.name for rule in client.rules(kinds=["SERVICE"])}
    assert names == {name for name, state in states.items() if state == "ACTIVE"}


def test_they_begin_and_end_by_the_clock_as_it_is_set(here: tuple[World, Clock]) -> None:
    """None ends early or begins twice; what has ended stays so when the clock is set back."""
    world, set_clock = here
    states = {"always": "ACTIVE", "day": "ACTIVE", "later": "PENDING"}
    with world.agent(by=set_clock.by) as process, world.client() as client:
        client.load(read_bundle(world.directory / "bundle"), EDGE)
        client.apply_intent(intent("always"))
        client.apply_intent(intent("day", teid=101, duration="24h"))
        client.apply_intent(intent("later", teid=102, start="+2h"))
        with closing(client.reports("always", period=0.1)) as reports:
            next(reports)
            for seconds in (-DAY, DAY + HOUR):
                set_clock.jump(seconds)
                looked(client, states)
                for report in reports:
                    assert 0 < report.seconds < 60
                    if abs(report.time - set_clock.now()) < 60:  # those before were on their way
                        break
            set_clock.jump(2 * HOUR)
            states["later"] = "ACTIVE"
            looked(client, states)
            set_clock.jump(DAY)
            states["day"] = "EXPIRED"
            looked(client, states)
            process.stop(9)
    set_clock.jump(-10 * DAY)
    with world.agent(by=set_clock.by), world.client() as client:
        looked(client, states)
        set_clock.jump(20 * DAY)
        looked(client, states)
