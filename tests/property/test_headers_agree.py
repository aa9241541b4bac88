"""Interpreter and kernel agree on headers of all shapes: pipelines that tell what they read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from agreement import JOINS, SHORTEST, WAYS, Ruled, loaded, quick
from graph_packets import frames
from helioc.compiler.driver import check_file
from helioc.compiler.interpret.parse_packet import parse_packet
from helioc.compiler.lower.unit import Join
from helioc.lang.contract.world.environment import Environment, Port
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.vendor.pretty import pretty
from scapy.layers.l2 import Ether
from scapy_tunnels import extensions, seen, tunnels

FOLDER = Path(__file__).parents[1] / "compiler/lower/cases/parses"
RULES = {
    "stacks": "create R 1 [(top, u32, 0 & 1)]; create R 2 [(tag, u16, 0), (top, u32, 1 & 1)]",
    "groups": """create R 1 [(last, u16, 0 & 1)];
        create R 2 [(last, u16, 1 & 1), (behind, u8, 0)];
        create R 3 [(last, u16, 1 & 1), (own, u32, 1)]""",
}
REACHED = {"groups": ("('R', 1)", "('R', 2)", "('malformed', 'parts: truncated')")}
FATES = ("('verdict', 'pass')", "('verdict', 'drop')")
WORLD = Environment(ports=(Port(1, "A", "a", 11, 1500, bytes.fromhex("020000000001"), 0x0A000001),))


def pipelines() -> list[Path]:
    return sorted(FOLDER.glob("*.hp"))


def _id(param: tuple[Path, Join]) -> str:
    return f"{param[0].stem}-{param[1]}"


@pytest.fixture(scope="module", params=[(p, j) for p in pipelines() for j in WAYS], ids=_id)
def ruled(request: pytest.FixtureRequest, kernel: None) -> Iterator[Ruled]:
    path, join = request.param
    pipeline = check_file(path)
    with loaded(pipeline, WORLD, join) as both:
        yield both.ruled(RULES.get(pipeline.name, ""))


@settings(quick, max_examples=300)
@given(st.data())
def test_packets(ruled: Ruled, data: st.DataObject) -> None:
    ruled.agree(data.draw(frames(ruled.both.pipeline.graph, "a")), 1)


def test_what_is_found_can_be_reported(ruled: Ruled) -> None:
    """Hypothesis prints a test's arguments, and warns of long ones in the place of the fault."""
    assert len(pretty(ruled)) < 100


def test_the_strategies_reach_every_fate(ruled: Ruled) -> None:
    seen: Counter[str] = Counter()

    @settings(quick, max_examples=300, derandomize=True)
    @given(frames(ruled.both.pipeline.graph, "a"))
    def look(frame: bytes) -> None:
        outcome = ruled.agree(frame, 1)
        seen.update(map(str, (*outcome.events, *outcome.counted)))

    look()
    for fate in REACHED.get(ruled.both.pipeline.name, FATES):
        assert seen[fate] >= 3, seen


@settings(quick, max_examples=20)
@given(st.data())
def test_cut_at_every_byte(ruled: Ruled, data: st.DataObject) -> None:
    frame = data.draw(frames(ruled.both.pipeline.graph, "a"))
    for length in range(SHORTEST, len(frame)):
        ruled.agree(frame[:length], 1)


# ---- against scapy --------------------------------------------------------------------------

SCAPY = {"tunnels": tunnels(), "extensions": extensions()}
SCAPYS = [(p, j) for p in pipelines() for j in JOINS if p.stem in SCAPY]


@pytest.mark.parametrize("ruled", SCAPYS, ids=_id, indirect=True)
def test_scapy_reads_the_same(ruled: Ruled) -> None:
    """Every header that scapy finds is where we find it and says the same; cut anywhere or damaged,
    interpreter and kernel still agree."""
    met: Counter[str] = Counter()

    @settings(quick, max_examples=150)
    @given(SCAPY[ruled.both.pipeline.name], st.data())
    def agree(frame: bytes, data: st.DataObject) -> None:
        assert "malformed" not in [group for group, _ in ruled.agree(frame, 1).events]
        ours = parse_packet(ruled.both.pipeline.graph, "a", frame).layers
        theirs = list(seen(Ether(frame)))
        if theirs[-1][0] != "gtpu_extension":  # scapy reads nothing behind one
            assert len(ours) == len(theirs)
        for layer, (header, offset, fields) in zip(ours, theirs, strict=False):
            assert (layer.header.name, layer.offset) == (header, offset)
            found = {name: layer.view.get(name) for name in fields}
            assert {n: v or 0 for n, v in found.items()} == {n: v or 0 for n, v in fields.items()}
            met[header] += 1
        ruled.agree(frame[: data.draw(st.integers(SHORTEST, len(frame)))], 1)
        at, octet = data.draw(st.integers(0, len(frame) - 1)), data.draw(st.integers(0, 255))
        ruled.agree(frame[:at] + bytes([octet]) + frame[at + 1 :], 1)

    agree()
    expected = {n.header.name for n in ruled.both.pipeline.graph.nodes} - {"told", "tcp"}
    assert expected <= met.keys(), met
