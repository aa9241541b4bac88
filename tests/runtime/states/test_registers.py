"""Arrays of registers: listed, asked for and cleared from outside; exact whatever the CPUs."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from at_once import at_once
from helioc.compiler.bundle import compile_pipeline
from helioc.compiler.driver import check_file
from helioc.lang.contract.world.environment import Environment
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.loading.compare_builds import compare
from helioc.runtime.states.entry import entry_json
from helioc.runtime.states.kept_rules import KeptRules
from helioc.runtime.states.table import StateTable
from helioc.runtime.testrun.private_run import PrivateRun
from kept import LAN, frame

PIPELINE = """\
import std.ethernet, std.ip
pipeline arrays {
  ports lan
  parser { ethernet -> ipv4 when type = 0x0800 }
  registers SKETCH[2][1000] : u32
  registers SMALL[3]        : u8
  registers AT[8]           : u64
  stage main {
    if not ipv4 { pass }
    SKETCH[1][ipv4.id] += frame.length
    if ipv4.protocol = 9 { SMALL[0] += 1 }
    if ipv4.protocol = 2 { SMALL[0] -= 1 }
    SKETCH[0][999] += 1
    AT[7] = 0xffffffffffffffff
    SMALL[1] = SMALL[0]
    pass
  }
  run parser -> main
}
"""
pytestmark = pytest.mark.usefixtures("kernel")


@pytest.fixture
def run(tmp_path: Path) -> Iterator[PrivateRun]:
    path = tmp_path / "arrays.hp"
    path.write_text(PIPELINE)
    made = compile_pipeline(check_file(path))
    with PrivateRun(Bundle(made.manifest, made.object)) as run:
        run.set_environment(Environment((LAN,)))
        yield run


def table(run: PrivateRun, name: str) -> StateTable:
    state = next(s for s in run.manifest.states if s.name == name)
    return StateTable(
        run.maps[f"{state.prefix}_state"], state, {"LAN": 1}, 0, KeptRules(run.manifest, run.maps)
    )


def shown(run: PrivateRun, name: str, *where: tuple[str, str]) -> list[dict[str, object]]:
    found = table(run, name)
    return [entry_json(entry, found.state) for entry in found.entries(where)]


def test_those_that_are_not_0_are_listed_and_asked_for(run: PrivateRun) -> None:
    assert shown(run, "SKETCH") == []
    for _ in range(3):
        run.run(frame(9, "10.0.0.5"), 1)
    assert shown(run, "SKETCH") == [
        {"row": 0, "cell": 999, "value": 3}, {"row": 1, "cell": 0, "value": 3 * 34}
    ]  # fmt: skip
    assert shown(run, "SKETCH", ("value", "100..200")) == [{"row": 1, "cell": 0, "value": 102}]
    assert shown(run, "AT") == [{"cell": 7, "value": (1 << 64) - 1}]
    sketch = table(run, "SKETCH")
    assert sketch.count() == (2, 0)
    got = sketch.entry([("row", "1"), ("cell", "0")])
    assert dict(got.values)["value"] == "102"
    assert dict(sketch.entry([("row", "1"), ("cell", "1")]).values)["value"] == "0"
    with pytest.raises(Refused, match="no entry"):
        sketch.entry([("row", "0"), ("cell", "1000")])


def test_flush_and_delete_make_them_0(run: PrivateRun) -> None:
    run.run(frame(9), 1)
    sketch = table(run, "SKETCH")
    assert sketch.flush([("row", "1")]) == 1
    assert shown(run, "SKETCH") == [{"row": 0, "cell": 999, "value": 1}]
    sketch.delete([("row", "0"), ("cell", "999")])
    assert shown(run, "SKETCH") == []
    run.run(frame(9), 1)
    assert sketch.flush() == 2
    run.run(frame(9), 1)
    assert [each["value"] for each in shown(run, "SKETCH")] == [1, 34]
    run.forget()
    assert shown(run, "SKETCH") == shown(run, "SMALL") == []


def test_two_cpus_lose_nothing(run: PrivateRun) -> None:
    program, times = run.entry(1), 50_000

    def send(src: str) -> None:
        program.test_run(frame(17, src), ingress_ifindex=1, repeat=times)

    at_once(lambda: send("10.0.0.1"), lambda: send("10.0.0.2"))
    assert shown(run, "SKETCH", ("row", "0"))[0]["value"] == 2 * times
    assert shown(run, "SKETCH", ("row", "1"))[0]["value"] == 2 * times * 34


@pytest.mark.parametrize("protocol, end", [(9, 255), (2, 0)])
def test_two_cpus_stop_at_the_ends(run: PrivateRun, protocol: int, end: int) -> None:
    """They read the end there, though the map may hold what one of them added last."""
    program = run.entry(1)

    def send() -> None:
        program.test_run(frame(protocol), ingress_ifindex=1, repeat=50_000)

    at_once(send, send)
    (held,) = struct.unpack("<q", run.maps["small_state"].lookup(bytes(4)) or b"")
    assert abs(held - end) <= 1
    assert {each["value"] for each in shown(run, "SMALL")} <= {end}


@pytest.mark.parametrize(
    "held, protocol, then",
    [(256, 2, 255), (-1, 9, 0), (300, 9, 255), (-5, 2, 0), (254, 9, 255), (1, 2, 0)],
)
def test_what_is_beyond_an_end_reads_as_the_end(
    run: PrivateRun, held: int, protocol: int, then: int
) -> None:
    """What CPUs at once leave there: SMALL[1] is what a packet read."""
    run.maps["small_state"].update(bytes(4), struct.pack("<q", held))
    run.run(frame(protocol), 1)
    values = {each["cell"]: each["value"] for each in shown(run, "SMALL")}
    assert values.get(1, 0) == then


def test_an_upgrade_keeps_an_array_of_one_shape_and_type(run: PrivateRun, tmp_path: Path) -> None:
    path = tmp_path / "other.hp"
    other = PIPELINE.replace("[2][1000]", "[2][500]").replace("[0][999]", "[0][9]")
    path.write_text(other.replace("u64", "u48").replace("0xffffffffffffffff", "1"))
    new = compile_pipeline(check_file(path)).manifest
    change = compare(run.manifest, new)
    said = {d.place: (d.running, d.becomes) for d in change.differences}
    assert said == {
        "SKETCH": ("2 x 1,000 registers of u32", "2 x 500 registers of u32, empty"),
        "AT": ("8 registers of u64", "8 registers of u48, empty"),
    }
    assert change.states == {"SMALL": "SMALL"}
