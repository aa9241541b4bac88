"""Where the verifier would have too many ways to follow, no pointer is kept between statements."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path

import pytest
from checked import checked, each_join, joins
from helioc.compiler.backend import verifier_cost
from helioc.compiler.backend.building import built
from helioc.compiler.backend.clang import compile_c
from helioc.compiler.backend.emit import emit
from helioc.compiler.backend.verifier_cost import estimated, followed, too_much
from helioc.compiler.bundle import compile_pipeline
from helioc.compiler.check.program import check
from helioc.compiler.driver import check_file, lower_pipeline, lowered, run
from helioc.compiler.headers.context import pointer_to
from helioc.compiler.ir.builder import Builder
from helioc.compiler.ir.expr import Name, NotNull, not_
from helioc.compiler.lower.unit import Join
from helioc.compiler.model import Pipeline
from helioc.lang.syntax.parser import parse
from helioc.lang.text.source import Source
from helioc.runtime.kernel.program_stats import measure_object

ROOT = Path(__file__).parents[3]
SHIPPED = sorted((ROOT / "pipelines").glob("*.hp"))
FUSED = [path for path in SHIPPED if "fused" in joins(path)]
#: Pointers in registers, and packets counted by size: once for each class and way it followed more
#: than a million instructions.
SIZED = ROOT / "tests/generated/found/counted_by_size_on_many_ways.hp"


@cache
def hostile() -> Pipeline:
    return checked(ROOT / "tests/generated/found/many_that_may_be_absent.hp")


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("join", ["staged", "fused"])
def test_it_loads(join: Join) -> None:
    """As other pipelines are built it would not."""
    usual = run(hostile(), lowered(hostile(), join))
    assert too_much(usual)
    as_usual = measure_object(compile_c(emit(usual, lines=True), "p", hostile().span))
    assert "Argument list too long" in as_usual.refused  # E2BIG
    bundle = compile_pipeline(hostile(), join, traced=True)
    assert bundle.traced is not None
    for data in (bundle.object, bundle.traced.object):
        measured = measure_object(data)
        assert not measured.refused and not measured.why_not
        assert all((p.verified or 0) < 100_000 for p in measured.programs.values())


METERED = """import std.ethernet, std.ip

pipeline metered {{
  ports lan
  parser {{ ethernet -> ipv4 when type = 0x0800 }}
  ie src = 1, ip4  ie cir = 2, u64  ie cbs = 3, u32  ie pir = 4, u64  ie pbs = 5, u32
  {kinds}
  stage main {{
    if not ipv4 {{ drop }}
    {finds}
    {meters}
    pass
  }}
  run parser -> main
}}
"""


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("join", ["staged", "fused"])
def test_rules_that_may_have_been_found_and_are_metered_behind_all_load(join: Join) -> None:
    """The records of nine, each there or not, were 512 ways through nine meters."""
    parts = {
        "kinds": "rule R{0} [64] {{ match src exact ipv4.src meters cir, cbs, pir, pbs }}",
        "finds": "find R{0} else {{}}",
        "meters": "if R{0} {{ if meter R{0} is red {{ drop }} if meter R{0} is yellow "
        "{{ count y{0} }} }}",
    }
    each = {name: "\n".join(map(text.format, range(9))) for name, text in parts.items()}
    pipeline = check(parse(Source("metered.hp", METERED.format(**each))))
    usual = run(pipeline, lowered(pipeline, join))
    assert too_much(usual)
    as_usual = measure_object(compile_c(emit(usual, lines=True), "metered", pipeline.span))
    assert "Argument list too long" in as_usual.refused  # E2BIG
    measured = measure_object(compile_pipeline(pipeline, join).object)
    assert not measured.refused and not measured.why_not


@pytest.mark.parametrize(("path", "join"), each_join(SHIPPED), ids=lambda p: getattr(p, "stem", p))
def test_what_ships_keeps_its_pointers(path: Path, join: Join) -> None:
    for traced in (False, True):
        pipeline = checked(path)
        assert not too_much(run(pipeline, lowered(pipeline, join, traced)))


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("path", [*FUSED, SIZED], ids=lambda p: p.stem)
def test_the_verifier_follows_no_more_than_estimated(path: Path) -> None:
    pipeline = checked(path)
    unit = lowered(pipeline, "fused")
    spilled = partial(run, pipeline, unit, spilled=True)  # where the stack would be too much
    unit, data = built(pipeline, run(pipeline, unit), spilled)
    measured = measure_object(data)
    for program in unit.programs:
        verified = measured.programs[program.name].verified
        assert verified and verified <= estimated(unit, program)


@pytest.mark.usefixtures("kernel")
def test_a_chain_costs_the_verifier_the_same_for_each_header(tmp_path: Path) -> None:
    """Of its bound, whatever headers it has, in whatever order."""
    text = (ROOT / "tests/compiler/lower/cases/parses/chains.hp").read_text()
    verified = {}
    for most in (6, 9, 12):
        path = tmp_path / f"{most}.hp"
        path.write_text(text.replace("max 4", f"max {most}"))
        pipeline = check_file(path)
        unit = lower_pipeline(pipeline, "fused")
        measured = measure_object(compile_c(emit(unit, lines=True), pipeline.name, pipeline.span))
        (program,) = measured.programs.values()
        assert program.verified and program.verified <= estimated(unit, unit.programs[0])
        verified[most] = program.verified
    # 255 each: also where the row of usual packets goes on behind the chain
    assert verified[12] - verified[9] <= 3 * 256
    assert verified[9] - verified[6] <= 3 * 256


@pytest.mark.usefixtures("kernel")
def test_options_cost_the_verifier_the_same_for_each_of_the_bound(tmp_path: Path) -> None:
    text = (ROOT / "tests/compiler/lower/cases/parses/options_of_others.hp").read_text()
    verified = {}
    for most in (20, 40, 60):
        path = tmp_path / f"{most}.hp"
        path.write_text(text.replace("max 63", f"max {most}"))
        pipeline = check_file(path)
        unit = lower_pipeline(pipeline, "fused")
        measured = measure_object(compile_c(emit(unit, lines=True), pipeline.name, pipeline.span))
        (program,) = measured.programs.values()
        assert program.verified
        verified[most] = program.verified
    assert verified[60] - verified[40] <= 20 * 300
    assert verified[40] - verified[20] <= 20 * 300


def test_what_is_long_leaves_no_pointers_in_registers(monkeypatch: pytest.MonkeyPatch) -> None:
    """With few ways through the parser, but more lines than the verifier can follow on each."""
    pipeline = check_file(ROOT / "pipelines/srv6_edge.hp")
    monkeypatch.setattr(verifier_cost, "MOST_FOLLOWED", 500_000)
    unit = lower_pipeline(pipeline, "fused")
    assert unit == run(pipeline, lowered(pipeline, "fused"), in_memory=True)


def test_each_pointer_that_may_be_null_doubles_the_ways() -> None:
    """For as long as it is used."""
    w, a, b = Builder(), pointer_to("a"), pointer_to("b")

    def other() -> None:
        w.set(Name("other"), 0)

    other()  # 1
    w.set(a, Name("found"))  # 2
    with w.when(NotNull(a)):  # 1: it is there
        other()  # 1
        w.set(b, Name("found"))  # 2
        other()  # 1: it is not used
        w.set(b, Name("found"))  # 2
    other()  # with the brace 2, 2: of the block's own pointer nothing is left
    w.set(b, Name("found"))  # 4
    other()  # 2: it is not used
    w.assume_not(not_(NotNull(a)))  # 1, 1
    assert followed(w.body) == 1 + 2 + 1 + 1 + 2 + 2 + 2 + 4 + 4 + 2 + 2
