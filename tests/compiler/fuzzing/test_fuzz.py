"""`helioc fuzz`: what it draws, that it finds faults, and how small it makes them.

HELIO_DRAWN times as many scenarios are drawn: `make nightly`.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from helioc.commands.helioc import cli
from helioc.commands.packet_runs import fuzz_pipeline
from helioc.compiler.bundle import compile_pipeline, for_test_runs
from helioc.compiler.check.program import check
from helioc.compiler.driver import check_file, lower_pipeline
from helioc.compiler.fuzzing.packets import Drawn
from helioc.compiler.fuzzing.report import disagreement
from helioc.compiler.fuzzing.scenarios import Fuzzed, Scenario
from helioc.compiler.fuzzing.search import search
from helioc.compiler.fuzzing.session import ask, new_book
from helioc.compiler.fuzzing.shrink import smallest
from helioc.compiler.headers import clauses, fields
from helioc.compiler.ir.expr import Binary, Cast, Expr, Number
from helioc.compiler.ir.expr_builders import swap
from helioc.compiler.ir.types import U16, raw
from helioc.compiler.ir.values import Value
from helioc.compiler.lower import header_steps, lookup
from helioc.compiler.lower.context import LoweringContext
from helioc.compiler.manifest import manifest_of
from helioc.compiler.model import Field, Node, Pipeline
from helioc.compiler.packettests.cases import Case, read_tests
from helioc.compiler.packettests.runs import Interpreted, run_case
from helioc.lang.contract.manifest.manifest import Manifest
from helioc.lang.contract.request.request import Request
from helioc.lang.syntax.parser import parse
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.rules import plans, transaction, vectors
from helioc.runtime.rules.bloom import Filter
from helioc.runtime.rules.plans import Changes, Plan, Tables
from helioc.runtime.testrun.kernel_backend import KernelBackend
from helioc.runtime.testrun.private_run import PrivateRun
from helioc.testing import Tested
from hypothesis import HealthCheck, Phase, given, seed, settings
from linx_world import linx

SRV6 = Path(__file__).parents[3] / "pipelines" / "srv6_edge.hp"
EXAMPLES = Path(__file__).parents[3] / "examples"
TOUR = EXAMPLES / "tour" / "guard.hp"
SCENARIOS = 300 * int(os.environ.get("HELIO_DRAWN", "1"))

drawing = settings(
    max_examples=60, deadline=None, database=None, phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)  # fmt: skip


@pytest.fixture(scope="module")
def fuzzed() -> Fuzzed:
    return Fuzzed(linx())


# ---- what is drawn ------------------------------------------------------------------------------


def test_packets_take_every_edge_and_are_mostly_whole(fuzzed: Fuzzed) -> None:
    ways: Counter[tuple[str, ...]] = Counter()
    spoilt = 0

    @seed(1)
    @settings(drawing, max_examples=2000)
    @given(fuzzed.packets())
    def draw(packet: Drawn) -> None:
        nonlocal spoilt
        ways[tuple(h.node.name for h in packet.headers)] += 1
        spoilt += bool(packet.damage or packet.cut is not None or packet.padding)
        assert fuzzed.world.environment.port(packet.port) is not None
        assert len(packet.frame) <= 1600

    draw()
    pairs = {pair for way in ways for pair in pairwise(way)}
    (chain,) = linx().graph.chains
    walked = set(product(chain.members, repeat=2))
    assert pairs - walked == {(e.source, e.target) for e in linx().graph.edges} - walked
    assert len(pairs & walked) > 15
    assert 200 < spoilt < 1500


def test_lists_next_hops_and_tables_meet() -> None:
    """Of the SRv6 edge every kind of rules is met, and policies of several segments lead out."""
    from helioc.compiler.interpret.packet import Interpreter

    edge = check_file(SRV6)
    fuzzed, seen = Fuzzed(edge), Counter[str]()

    @seed(2)
    @settings(drawing, max_examples=SCENARIOS)
    @given(fuzzed.scenarios())
    def draw(scenario: Scenario) -> None:
        environment = fuzzed.world.environment
        book, interpreter = new_book(fuzzed.manifest, environment), Interpreter(edge, environment)
        for step in scenario.steps:
            if isinstance(step, Request):
                ask(book, step)
                continue
            outcome = interpreter.run(book, step.frame, step.port)
            seen.update(["packets", outcome.verdict, *{kind for kind, _ in outcome.counted}])

    draw()
    assert {rule.name for rule in edge.rules} - {"CORE"} <= set(seen), seen
    assert seen["POLICY"] > seen["packets"] / 40, seen
    assert seen["redirect"] > seen["packets"] / 40, seen


def test_rules_are_accepted_and_met(fuzzed: Fuzzed) -> None:
    from helioc.compiler.interpret.packet import Interpreter

    seen: Counter[str] = Counter()

    @seed(3)
    @settings(drawing, max_examples=SCENARIOS)
    @given(fuzzed.scenarios())
    def draw(scenario: Scenario) -> None:
        assert fuzzed.taken(scenario) == scenario
        book = new_book(fuzzed.manifest, fuzzed.world.environment)
        interpreter = Interpreter(linx(), fuzzed.world.environment)
        changed = False
        for step in scenario.steps:
            if isinstance(step, Request):
                ask(book, step)
                words = {change.operation for change in step.changes}
                changed = changed or words != {"create"}
                seen.update([*words, *(["several"] if len(step.changes) > 1 else [])])
                continue
            outcome = interpreter.run(book, step.frame, step.port)
            seen.update(["packets", outcome.verdict, *{kind for kind, _ in outcome.counted}])
            seen["met after a change"] += changed and bool(outcome.counted)

    draw()
    assert min(seen[word] for word in ("update", "delete", "replace", "several")) > 4, seen
    assert seen["met after a change"] > seen["packets"] / 20, seen
    for kinds in ("PDR", "PDR6"), ("FAR",), ("OVERLAY", "OVERLAY6"):
        assert sum(seen[kind] for kind in kinds) > seen["packets"] / 40, seen
        assert min(seen[kind] for kind in kinds) > seen["packets"] / 100, seen
    assert min(seen[v] for v in ("pass", "drop", "redirect")) > 0, seen


def test_a_scenario_is_made_as_small_as_it_goes(fuzzed: Fuzzed) -> None:
    found: list[Scenario] = []

    def has(scenario: Scenario) -> bool:
        frames = [p.frame for p in scenario.packets]
        rules = "".join(map(str, scenario.requests))
        return any(b"\xff" in frame[14:] for frame in frames) and "OVERLAY" in rules

    @seed(2)
    @settings(drawing, max_examples=40)
    @given(fuzzed.scenarios())
    def draw(scenario: Scenario) -> None:
        if has(scenario):
            found.append(scenario)

    draw()
    small = smallest(found[0], has)
    assert has(small)
    assert len(small.steps) == 2 and len(small.requests[0].changes) == 1
    assert len(small.packets[0].frame) <= max(len(p.frame) for p in found[0].packets)


# ---- what is found ------------------------------------------------------------------------------


def wrong_offset(patch: pytest.MonkeyPatch) -> None:
    """Keys are read four bytes in front of the field."""
    moves = lookup._moves
    patch.setattr(lookup, "_moves", lambda c: [(a, max(o - 4, 0), n) for a, o, n in moves(c)])


def lost_mask_bit(patch: pytest.MonkeyPatch) -> None:
    """Four bits of a header length are three."""
    field_value = fields.field_value

    def lossy(pointer: Expr, f: Field, base: int = 0) -> Value:
        found = field_value(pointer, f, base)
        match found.expr:
            case Binary("&", octet, Number(0xF)):
                return found.holding(octet & 0x7)
        return found

    patch.setattr(clauses, "field_value", lossy)


def missing_bound(patch: pytest.MonkeyPatch) -> None:
    """An IPv4 header's total length is believed."""
    damage = header_steps.damage

    def trusting(site: LoweringContext, broken: Expr, node: Node, reason: str, *label: str) -> None:
        if reason != "length":
            damage(site, broken, node, reason, *label)

    patch.setattr(header_steps, "damage", trusting)


def swapped_bytes(patch: pytest.MonkeyPatch) -> None:
    """16-bit numbers are compared as they stand."""
    patch.setattr(fields, "swap", lambda v: Cast(U16, v) if v.type == raw(16) else swap(v))


#: Short, so that it is compiled at once: what is looked up and compared, an option's length, a
#: total length.
SMALL = """import std.ethernet, std.ip
pipeline small {
  ports lan
  parser {
    ethernet -> ipv4 when type = 0x0800
    ipv4     -> udp  when protocol = 17
  }
  ie address = 1, ip4
  ie action  = 2, u8 { PASS = 1, DROP = 2 }
  rule HOST [16] {
    match address exact ipv4.dst
    gives action
    counts packets
  }
  default pass
  stage act {
    if not udp { default }
    if udp.dst < 1024 { count low }
    find HOST else { default }
    match HOST.action { PASS => pass  DROP => drop }
  }
  on malformed { drop }
  run parser -> act
}
"""


@cache
def small() -> Pipeline:
    return check(parse(Source("small.hp", SMALL)))


FAULTS = [wrong_offset, lost_mask_bit, missing_bound, swapped_bytes]


def case_of(text: str) -> tuple[Manifest, Case]:
    manifest = manifest_of(small(), lower_pipeline(small()))
    (case,) = read_tests(small(), manifest, Source("found", text.partition("test:\n")[2]))
    return manifest, case


@pytest.fixture(scope="module")
def sound() -> Bundle:
    compiled = compile_pipeline(small())
    return Bundle(compiled.manifest, compiled.object)


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_compiler_is_found(
    fault: Callable[[pytest.MonkeyPatch], None], sound: Bundle
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        fault(patch)
        faulty = replace(small())  # not the one of which is kept what was lowered without the fault
        well, said = fuzz_pipeline(faulty, 4000, 0, None, "staged")
        assert not well, said
        _, case = case_of(said)
        assert len(case.requests) <= 1 and len(case.before) == 0 and len(case.frame) <= 150, said
        compiled = compile_pipeline(faulty)
        with KernelBackend(Bundle(compiled.manifest, compiled.object)) as kernel:
            assert run_case(small(), case, [Interpreted(small())]).ok
            assert not run_case(small(), case, [kernel]).ok
    with KernelBackend(sound) as kernel:
        assert run_case(small(), case, [kernel]).ok


# ---- where rules change -------------------------------------------------------------------------


def _forget_while_others_go(patch: pytest.MonkeyPatch, of: type) -> None:
    """`add` does nothing in a request that also removes."""
    add, attempt, changing = of.add, transaction.Writer._attempt, [False]  # type: ignore[attr-defined]

    def forgetting(self: object, *given: object) -> None:
        if not changing[0]:
            add(self, *given)

    def noticing(self: transaction.Writer, work: Changes, *others: Any) -> None:
        changing[0] = bool(work.removed)
        try:
            attempt(self, work, *others)
        finally:
            changing[0] = False

    patch.setattr(of, "add", forgetting)
    patch.setattr(transaction.Writer, "_attempt", noticing)


def filter_of_an_update(patch: pytest.MonkeyPatch) -> None:
    """Keys that come while others go are not noted in the existence filter, which packets ask."""
    patch.setattr(vectors, "LOADS_OF_A_MASK", 0)
    _forget_while_others_go(patch, Filter)


def bits_of_an_update(patch: pytest.MonkeyPatch) -> None:
    """Keys that come while others go have no bits."""
    _forget_while_others_go(patch, vectors.Vectors)


def records_of_an_update(patch: pytest.MonkeyPatch) -> None:
    """Rules keep what they gave, and the members that they had, when they were made."""
    work_of = plans.work_of

    def forgetting(plan: Plan, tables: Tables, *others: Any) -> Changes:
        work = work_of(plan, tables)
        return Changes(work.created, (), work.removed, work.blocks)

    patch.setattr(transaction, "work_of", forgetting)


def cells_of_a_replacement(patch: pytest.MonkeyPatch) -> None:
    """Rules that refer to one that is made anew still lead to its old cell."""
    patch.setattr(plans, "_repointed", lambda *_: [])


CHANGES = [filter_of_an_update, bits_of_an_update, records_of_an_update, cells_of_a_replacement]
#: Rules under masks, and of a kind that others refer to: what changes is met often.
CHANGING = """import std.ethernet, std.ip
pipeline changing {
  ports lan
  parser { ethernet -> ipv4 when type = 0x0800 }
  ie address = 1, ip4
  ie action  = 2, u8  { PASS = 1, DROP = 2 }
  rule FAR [16] { gives action }
  rule PDR [64] {
    match address ternary ipv4.dst
    gives FAR
    counts packets
  }
  default drop
  stage act {
    if not ipv4 { default }
    find PDR else { default }
    if PDR gives FAR {
      match FAR.action { PASS => pass  DROP => drop }
    }
    default
  }
  run parser -> act
}
"""


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("fault", CHANGES)
def test_a_fault_where_rules_change_is_found(fault: Callable[[pytest.MonkeyPatch], None]) -> None:
    """The packet test says which requests it takes, one after the other. A table that had other
    rules may have masks of these, under which a fault shows that a new one does not show."""
    pipeline = check(parse(Source("changing.hp", CHANGING)))
    compiled = compile_pipeline(pipeline)
    bundle = Bundle(compiled.manifest, compiled.object)
    with pytest.MonkeyPatch.context() as patch:
        fault(patch)
        case = next(filter(None, (_found_anew(pipeline, bundle, start) for start in range(6))))
    with KernelBackend(bundle) as kernel:
        assert run_case(pipeline, case, [Interpreted(pipeline), kernel]).ok


def _found_anew(pipeline: Pipeline, bundle: Bundle, start: int) -> Case | None:
    """A packet test of what a search found, if that fails where there were no other rules."""
    fuzzed = Fuzzed(pipeline)
    with PrivateRun(bundle) as run:
        found = search(fuzzed, run, 40_000, start)
    assert found.scenario is not None and found.meeting is not None
    _, text = disagreement(fuzzed, found.scenario, found.meeting)
    (case,) = read_tests(pipeline, bundle.manifest, Source("found", text))
    with KernelBackend(bundle) as kernel:
        fails = not run_case(pipeline, case, [kernel]).ok
    few = len(found.scenario.requests) == 2 and len(found.scenario.packets) == 1
    return case if few and fails else None


@pytest.mark.usefixtures("kernel")
def test_what_was_met_is_told() -> None:
    well, said = fuzz_pipeline(small(), 100, 5, None, "fused")
    assert well
    assert said.splitlines()[0].endswith("interpreter and kernel agree")
    assert " %  pass" in said
    assert fuzz_pipeline(small(), 100, 5, None, "fused") == (True, said)
    assert fuzz_pipeline(small(), 10**9, 5, 1e-9, "fused")[1].startswith("nothing was tried")


@pytest.mark.usefixtures("kernel")
def test_programs_at_tc(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the target that is asked for, or by roles; and what is wrong there is found."""
    assert fuzz_pipeline(small(), 100, 5, None, "staged", "tc")[0]
    assert [for_test_runs(replace(small(), at=at))[0] for at in (
        (), ("xdp",), ("tc.ingress",), ("tc.egress", "xdp"), ("tc.ingress", "tc.egress"),
    )] == ["host", "host", "tc", "host", "tc"]  # fmt: skip
    FAULTS[0](monkeypatch)
    faulty = replace(small())
    well, said = fuzz_pipeline(faulty, 4000, 0, None, "staged", "tc")
    assert not well and "as a packet test" in said


@pytest.mark.parametrize(
    "words",
    [f"--time={n}" for n in ("nan", "inf", "-inf", "0", "-1", "1e999")]
    + ["--packets=0", "--packets=-1"],
)
def test_of_no_packets_nothing_can_be_said(words: str) -> None:
    done = CliRunner().invoke(cli, ["fuzz", str(TOUR), words])
    assert done.exit_code == 2 and "agree" not in done.output, done.output


@pytest.mark.usefixtures("kernel")
def test_a_time_too_short_for_any_packet() -> None:
    done = CliRunner().invoke(cli, ["fuzz", str(TOUR), "--time=1e-9"])
    assert (done.exit_code, done.output) == (
        1, "nothing was tried: the time was over before the first packet\n")  # fmt: skip


@pytest.mark.usefixtures("kernel")
def test_without_hypothesis_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(Refused) as refused:
        fuzz_pipeline(linx(), 1, 0, None, "staged")
    (diagnostic,) = refused.value.diagnostics
    assert (diagnostic.code, diagnostic.help) == ("H0812", "pip install 'helioc[fuzz]'")


def test_a_frame_of_ones_own() -> None:
    """Its bytes as they are, also where drawn packets would be cut."""
    tested = Tested(TOUR)
    frame = bytes(range(256)) * 13
    packet = tested.packet(frame)
    assert (packet.frame, packet.port) == (frame, tested.environment.ports[0].number)
    last = tested.environment.ports[-1]
    assert tested.packet(bytes(14), last.name) == tested.packet(bytes(14), last.number)
    with pytest.raises(ValueError, match="no port 'wan': there are OUTSIDE1, OUTSIDE2"):
        tested.packet(frame, "wan")
    for size in (13, 3401):
        with pytest.raises(ValueError, match="the kernel test-runs 14 to 3,400"):
            tested.packet(bytes(size))
    with pytest.raises(Refused):
        tested.request("make BLOCK 1")


def pytest_on(file: Path, at: Path) -> tuple[int, str]:
    """Status and output of pytest on that file, far from this suite's settings."""
    import subprocess

    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)]
    done = subprocess.run([*command, "-c", "/dev/null"], cwd=at, capture_output=True, text=True,
                          timeout=120)  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.mark.usefixtures("kernel")
def test_the_example_for_pytest_holds(tmp_path: Path) -> None:
    status, said = pytest_on(EXAMPLES / "fuzz" / "test_guard.py", tmp_path)
    assert status == 0 and "3 passed" in said, said


def documented() -> str:
    """The example in the docstring of `helioc.testing`."""
    import textwrap

    from helioc import testing

    assert testing.__doc__ is not None
    lines = testing.__doc__.splitlines()
    return textwrap.dedent("\n".join(n for n in lines if n.startswith("    ") or not n)).strip()


@pytest.mark.usefixtures("kernel")
def test_the_documented_example_holds(tmp_path: Path) -> None:
    (tmp_path / "guard.hp").write_bytes(TOUR.read_bytes())
    (tmp_path / "test_doc.py").write_text(documented())
    status, said = pytest_on(tmp_path / "test_doc.py", tmp_path)
    assert status == 0 and "2 passed" in said, said


def test_a_failure_is_told_in_few_words(tmp_path: Path) -> None:
    (tmp_path / "guard.hp").write_bytes(TOUR.read_bytes())
    failing = documented().replace("guard.agree(scenario)", "assert not scenario.packets")
    quick = "deadline=None, derandomize=True, phases=[Phase.generate]"
    failing = "from hypothesis import Phase\n" + failing.replace("deadline=None", quick)
    (tmp_path / "test_doc.py").write_text(failing)
    status, said = pytest_on(tmp_path / "test_doc.py", tmp_path)
    assert status == 1 and "assert not" in said and re.search(r"port \d: [0-9a-f]{28}", said)
    assert len(said) < 15_000 and "overly large" not in said, said
