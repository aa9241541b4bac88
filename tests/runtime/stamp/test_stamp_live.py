"""Sessions between two agents, through seg6 and a relay: delay, loss, order, restarts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from helioc.runtime.rpc import control_pb2 as pb
from lab import Lab, until
from stamp_world import THERE, Ends, agents, stamp_ends

pytestmark = pytest.mark.usefixtures("kernel")


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


def test_a_delay_of_the_relay_is_measured_in_its_direction(ends: Ends) -> None:
    ends.relay.fate = lambda way, _: [0.03 if way == THERE else 0.01]
    ends.measured(5, interval=0.02, timeout=0.5)
    assert not session(ends, 5).sent
    ends.client.start_stamp_session(5, 0.4)
    found = over(ends, 5)
    assert (found.sent, found.answered, found.lost) == (20, 20, 0)
    assert 0.03 <= found.forward.mean < 0.04
    assert 0.01 <= found.backward.mean < 0.02
