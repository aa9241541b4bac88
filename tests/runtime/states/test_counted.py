"""What entries of a state count: read from outside, and exact whatever the CPUs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from at_once import at_once
from helioc.compiler.bundle import compile_pipeline
from helioc.compiler.driver import check_file
from helioc.lang.contract.world.environment import Environment
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.states.entry import entry_json
from helioc.runtime.states.kept_rules import KeptRules
from helioc.runtime.states.table import StateTable
from helioc.runtime.testrun.private_run import PrivateRun
from kept import LAN, frame

COUNTED = Path(__file__).parents[2] / "compiler/lower/cases/states/counted.hp"

pytestmark = pytest.mark.usefixtures("kernel")


@pytest.fixture
def run() -> Iterator[PrivateRun]:
    made = compile_pipeline(check_file(COUNTED))
    with PrivateRun(Bundle(made.manifest, made.object)) as run:
        run.set_environment(Environment((LAN,)))
        yield run


def table(run: PrivateRun, name: str) -> StateTable:
    state = next(s for s in run.manifest.states if s.name == name)
    return StateTable(
        run.maps[f"{state.prefix}_state"], state, {"LAN": 1}, 0, KeptRules(run.manifest, run.maps)
    )


def test_counts_are_listed_and_asked_for(run: PrivateRun) -> None:
    for src, times in (("10.0.0.5", 3), ("10.0.0.6", 1)):
        run.entry(1).test_run(frame(9, src), ingress_ifindex=1, repeat=times)
    flows = table(run, "FLOW")
    (entry,) = flows.entries([("packets", "2..9")])
    said = entry_json(entry, flows.state)
    assert (said["src"], said["packets"], said["bytes"]) == ("10.0.0.5", 3, 3 * 34)
    assert [entry.values for entry in table(run, "SEEN").entries([("src", "10.0.0.6")])] == [
        (("src", "10.0.0.6"), ("packets", "1"))
    ]


def test_two_cpus_lose_no_packet(run: PrivateRun) -> None:
    """Some of these recall the entry, others replace it."""
    program, times = run.entry(1), 50_000

    def send(protocol: int) -> None:
        program.test_run(frame(protocol), ingress_ifindex=1, repeat=times)

    at_once(lambda: send(9), lambda: send(2))
    (flow,), (seen,) = (table(run, name).entries([]) for name in ("FLOW", "SEEN"))
    assert dict(flow.values)["packets"] == dict(seen.values)["packets"] == str(2 * times)
    assert dict(flow.values)["bytes"] == str(2 * times * 34)
