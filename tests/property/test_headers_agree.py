"""Interpreter and kernel agree on headers of all shapes: pipelines that tell what they read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from graph_packets import frames
from helioc.compiler.interpret import Interpreter
from helioc.compiler.interpreter.environment import Environment, Outcome, Port
from helioc.compiler.interpreter.parse_packet import parse_packet
from helioc.compiler.lower import Join
from helioc.compiler.model import Pipeline
from helioc.compiler.phases import check_file, compile_pipeline
from helioc.compiler.requests.rulebook import RuleBook
from helioc.lang.request_parser import parse_request
from helioc.lang.source import Source
from helioc.runtime.bundle import Bundle
from helioc.runtime.testrun import PrivateRun
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scapy.layers.l2 import Ether
from scapy_tunnels import extensions, seen, tunnels

FOLDER = Path(__file__).parents[1] / "compiler" / "lower" / "parses"
RULES = {
    "stacks": "create R 1 [(top, u32, 0 & 1)]; create R 2 [(tag, u16, 0), (top, u32, 1 & 1)]",
    "groups": """create R 1 [(last, u16, 0 & 1)];
        create R 2 [(last, u16, 1 & 1), (behind, u8, 0)];
        create R 3 [(last, u16, 1 & 1), (own, u32, 1)]""",
}
REACHED = {"groups": ("('R', 1)", "('R', 2)", "('malformed', 'parts: truncated')")}
JOINS: list[Join] = ["staged", "fused"]
quick = settings(
    deadline=None, database=None, suppress_health_check=list(HealthCheck), print_blob=True
)
SHORTEST = 14  # the kernel test-runs nothing shorter
WORLD = Environment(ports=(Port(1, "A", "a", 11, 1500, bytes.fromhex("020000000001"), 0x0A000001),))


def pipelines() -> list[Path]:
    return sorted(FOLDER.glob("*.hp"))


def _id(param: tuple[Path, Join]) -> str:
    return f"{param[0].stem}-{param[1]}"


@dataclass(frozen=True)
class Both:
    """A pipeline with its rules, in the interpreter and in the kernel."""

    pipeline: Pipeline
    interpreter: Interpreter
    kernel: PrivateRun
    rules: RuleBook

    def agree(self, frame: bytes) -> Outcome:
        expected = self.interpreter.run(self.rules, frame, 1)
        if len(frame) >= SHORTEST:
            got = self.kernel.run(frame, 1)
            assert _said(got) == _said(expected), f"{frame.hex()}\n{expected.trace}"
        return expected


def _said(outcome: Outcome) -> tuple[object, ...]:
    frame = outcome.frame.hex() if outcome.frame is not None else None
    return outcome.verdict, frame, Counter(outcome.events), Counter(outcome.counted)


@pytest.fixture(scope="module", params=[(p, j) for p in pipelines() for j in JOINS], ids=_id)
def both(request: pytest.FixtureRequest, kernel: None) -> Iterator[Both]:
    path, join = request.param
    pipeline = check_file(path)
    bundle = compile_pipeline(pipeline, join)
    with PrivateRun(Bundle(bundle.manifest, bundle.object)) as run:
        run.set_environment(WORLD)
        rules = RuleBook(run.manifest, {"A": 1}, {1: 11})
        if pipeline.name in RULES:
            rules.commit(rules.plan(parse_request(Source("request", RULES[pipeline.name]))))
        run.set_rules(rules)
        yield Both(pipeline, Interpreter(pipeline, WORLD), run, rules)


def test_packets(both: Both) -> None:
    seen: Counter[str] = Counter()

    @settings(quick, max_examples=400)
    @given(frames(both.pipeline.graph, "a"))
    def agree(frame: bytes) -> None:
        outcome = both.agree(frame)
        seen.update(map(str, (*outcome.events, *outcome.counted)))

    agree()
    for fate in REACHED.get(both.pipeline.name, ("('verdict', 'pass')", "('verdict', 'drop')")):
        assert seen[fate] >= 3, seen


@settings(quick, max_examples=20)
@given(st.data())
def test_cut_at_every_octet(both: Both, data: st.DataObject) -> None:
    frame = data.draw(frames(both.pipeline.graph, "a"))
    for length in range(SHORTEST, len(frame)):
        both.agree(frame[:length])


# ---- against scapy --------------------------------------------------------------------------

SCAPY = {"tunnels": tunnels(), "extensions": extensions()}
SCAPYS = [(p, j) for p in pipelines() for j in JOINS if p.stem in SCAPY]


@pytest.mark.parametrize("both", SCAPYS, ids=_id, indirect=True)
def test_scapy_reads_the_same(both: Both) -> None:
    """Every header that scapy finds is where we find it and says the same; cut anywhere or damaged,
    interpreter and kernel still agree."""
    met: Counter[str] = Counter()

    @settings(quick, max_examples=150)
    @given(SCAPY[both.pipeline.name], st.data())
    def agree(frame: bytes, data: st.DataObject) -> None:
        assert "malformed" not in [group for group, _ in both.agree(frame).events]
        ours = parse_packet(both.pipeline.graph, "a", frame).layers
        theirs = list(seen(Ether(frame)))
        if theirs[-1][0] != "gtpu_extension":  # scapy reads nothing behind one
            assert len(ours) == len(theirs)
        for layer, (header, offset, fields) in zip(ours, theirs, strict=False):
            assert (layer.header.name, layer.offset) == (header, offset)
            found = {name: layer.octets.get(name) for name in fields}
            assert {n: v or 0 for n, v in found.items()} == {n: v or 0 for n, v in fields.items()}
            met[header] += 1
        both.agree(frame[: data.draw(st.integers(SHORTEST, len(frame)))])
        at, octet = data.draw(st.integers(0, len(frame) - 1)), data.draw(st.integers(0, 255))
        both.agree(frame[:at] + bytes([octet]) + frame[at + 1 :])

    agree()
    wanted = {n.header.name for n in both.pipeline.graph.nodes} - {"told", "tcp"}
    assert {header for header in wanted if met[header] < 5} == set(), met
