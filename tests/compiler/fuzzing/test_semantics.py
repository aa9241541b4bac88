"""Who is wrong where the three semantics disagree: the lowering, a pass, or what comes behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from helioc.commands.packet_runs import fuzz_pipeline
from helioc.compiler import driver
from helioc.compiler.backend import building
from helioc.compiler.bundle import compile_pipeline
from helioc.compiler.driver import PASSES, Pass, Placing, check_file
from helioc.compiler.fuzzing.report import blame, who
from helioc.compiler.fuzzing.scenarios import Fuzzed, Meeting
from helioc.compiler.fuzzing.search import Found, search
from helioc.compiler.fuzzing.semantics import Stage, Stages, differing, stages
from helioc.compiler.interpret.packet import Interpreter
from helioc.compiler.ir import expr as e
from helioc.compiler.ir.interpreter.memory import Fault
from helioc.compiler.ir.interpreter.statements import knows
from helioc.compiler.ir.rewrite import rewritten
from helioc.compiler.ir.unit import Unit, with_functions
from helioc.compiler.manifest import manifest_of
from helioc.compiler.model import Pipeline
from helioc.compiler.packettests.cases import read_tests
from helioc.lang.contract.request.request import Request
from helioc.lang.contract.world.environment import Outcome
from helioc.lang.contract.world.moment import Moment
from helioc.lang.syntax.parser import read
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.testrun.private_run import PrivateRun
from linx_world import PIPELINES

NAMES = [each.name for each in PASSES]
#: What makes the first unit that is interpreted.
FIRST = "lowering or pass join_checksums or pass edit_packets"
SLICE = check_file(PIPELINES / "slice.hp")


def shorter_masks(unit: Unit) -> Unit:
    """Four bits of a header length are three."""

    def change(x: e.Expr) -> e.Expr:
        match x:
            case e.Binary("&", left, e.Number(0xF)):
                return e.Binary("&", left, e.number(7))
        return x

    made = [replace(f, body=rewritten(f.body, change)) for f in unit.functions]
    return with_functions(unit, made)


def breaking(name: str) -> tuple[Pass, ...]:
    """The passes, of which one breaks what it should leave as it is."""

    def broken(each: Pass) -> Pass:
        def run(unit: Unit, where: Placing) -> Unit:
            return shorter_masks(each.run(unit, where))

        return replace(each, run=run)

    return tuple(broken(each) if each.name == name else each for each in PASSES)


def not_yet_lowered() -> Pipeline:
    """Of SLICE itself is kept what other tests lowered, with passes as they are."""
    return replace(SLICE)


def wrong_on_packet_tests(found: list[Stage]) -> Iterator[str]:
    """Of a pipeline: what made the first stage that differs, of each packet on which one does."""
    manifest = manifest_of(SLICE, found[-1].unit)
    for case in read_tests(SLICE, manifest, read(PIPELINES / "slice.test.yaml")):
        every = Stages(SLICE, found, case.environment)
        interpreter, book = Interpreter(SLICE, case.environment), case.opening()
        for step in (case.moment, *case.before, (case.frame, case.port)):
            if isinstance(step, Request):
                book.commit(book.plan(step))
            elif isinstance(step, Moment):
                interpreter.set_moment(step)
                every.set_moment(step)
            else:
                _, wrong = every.run(book, *step, interpreter.run(book, *step))
                yield from () if wrong is None else (wrong,)


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_pass_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "PASSES", breaking(name))
    expected = FIRST if name in FIRST else f"pass {name}"
    assert next(wrong_on_packet_tests(stages(not_yet_lowered()))) == expected


def test_a_wrong_lowering_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    lower = vars(driver)["lower"]
    monkeypatch.setattr(driver, "lower", lambda *given: shorter_masks(lower(*given)))
    assert next(wrong_on_packet_tests(stages(not_yet_lowered()))) == FIRST


def test_it_begins_where_all_nodes_are_known() -> None:
    """What is done to a packet is nodes of its own until a pass carries it out."""
    unit = driver.lowered(SLICE)
    assert not knows(unit) and knows(driver.edited(unit))
    found = stages(SLICE)
    assert [s.made_by for s in found][:3] == [FIRST, "pass trace_points", "pass place_state"]
    assert [s.placed for s in found] == [False, False, *[True] * (len(found) - 2)]
    assert stages(SLICE, traced=True)[0].made_by == f"{FIRST} or pass trace_points"
    assert next(wrong_on_packet_tests(found), None) is None


# ---- halves ---------------------------------------------------------------------------------

PASSED, DROPPED = Outcome("pass", b"x"), Outcome("drop", None)


def test_who_differs_says_which_half() -> None:
    assert differing(1, 1, 1) == differing(1, None, 1) == frozenset()
    assert differing(1, 2, 2) == {"lowering"}
    assert differing(1, 1, 2) == differing(1, None, 2) == {"emitting"}
    assert differing(1, 2, 1) == differing(1, 2, 3) == {"lowering", "emitting"}


@pytest.mark.parametrize(
    ("lowered", "got", "names", "said"),
    [
        (DROPPED, DROPPED, "kernel", "wrong: pass p (kernel and intermediate representation do"),
        (PASSED, DROPPED, "kernel", "wrong: what comes behind the intermediate representation"),
        (Fault("?"), PASSED, "intermediate representation", "wrong: pass p, or the interpreter of"),
        (Fault("?"), DROPPED, "kernel", "wrong: pass p; and what comes behind"),
        (None, DROPPED, "kernel", "wrong: pass p, or what comes behind"),
    ],
)
def test_blame(lowered: Outcome | Fault | None, got: Outcome, names: str, said: str) -> None:
    meeting = Meeting(0, PASSED, got, lowered)
    assert not meeting.agree
    assert who(meeting) == f"interpreter and {names} disagree"
    assert blame(meeting, "pass p").startswith(said)


# ---- helioc fuzz ----------------------------------------------------------------------------


@pytest.mark.usefixtures("kernel")
def test_fuzz_names_the_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "PASSES", breaking("simplify"))
    well, said = fuzz_pipeline(not_yet_lowered(), 4000, 0, None, "staged")
    assert not well
    head, _, rest = said.partition("\n")
    assert head.startswith("interpreter and kernel disagree (seed 0, ")
    wrong = "  wrong: pass simplify (kernel and intermediate representation do the same)\n"
    assert wrong in rest and "\n# as a packet test:\nports:" in rest, said


@pytest.mark.usefixtures("kernel")
def test_what_is_interpreted_is_what_was_built(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where clang finds that the stack is too small."""
    built, seen = building.built, list[Unit]()

    def spilling(
        pipeline: Pipeline,
        _: Unit,
        spilled: Callable[[], Unit],
        flags: tuple[str, ...],
        foretold: Callable[[Unit], bool],
    ) -> tuple[Unit, bytes]:
        return built(pipeline, spilled(), spilled, flags)

    def searched(fuzzed: Fuzzed, *_: object) -> Found:
        seen.append(fuzzed.unit)
        return Found()

    monkeypatch.setattr(building, "built", spilling)
    monkeypatch.setattr("helioc.compiler.fuzzing.search.search", searched)
    fuzz_pipeline(SLICE, 1, 0, None, "staged")
    (unit,) = seen
    assert unit.spill_words


@pytest.mark.usefixtures("kernel")
def test_an_intermediate_representation_that_differs_alone() -> None:
    fuzzed = Fuzzed(SLICE)
    compiled = compile_pipeline(SLICE)
    fuzzed.__dict__["unit"] = shorter_masks(fuzzed.unit)
    with PrivateRun(Bundle(compiled.manifest, compiled.object)) as run:
        found = search(fuzzed, run, 4000)
    assert found.meeting is not None and found.scenario is not None
    assert who(found.meeting) == "interpreter and intermediate representation disagree"
    assert fuzzed.made_by(found.scenario) is None  # what is lowered again is sound
