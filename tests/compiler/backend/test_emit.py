"""The C of LINX as it is generated, and what clang says of it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from golden import GOLDEN, Golden
from helioc.compiler.backend.clang import CANDIDATES, flags
from helioc.compiler.backend.emit import TEMPLATES, emit
from helioc.compiler.driver import PASSES, check_file, lower_pipeline, lowered, placed
from helioc.compiler.ir.nodes import Blank
from helioc.compiler.ir.printer import print_unit
from helioc.compiler.ir.walk import statements
from helioc.compiler.model import Pipeline

LINX = Path(__file__).parents[3] / "pipelines" / "linx.hp"
CLANGS = [name for name in CANDIDATES if shutil.which(name)]


@pytest.fixture(scope="module")
def linx() -> Pipeline:
    return check_file(LINX)


def test_c(linx: Pipeline, golden: Golden) -> None:
    """The generated C that reviewers read: all of one pipeline."""
    golden.file(GOLDEN / "linx.staged.bpf.c", emit(lower_pipeline(linx), lines=False))


def test_lowering_twice_gives_the_same(linx: Pipeline) -> None:
    assert print_unit(lower_pipeline(linx)) == print_unit(lower_pipeline(check_file(LINX)))


def test_every_line_of_a_stage_names_its_source(linx: Pipeline) -> None:
    for function in lower_pipeline(linx).functions:
        assert function.span is not None
        made = (s for s in statements(function.body) if not isinstance(s, Blank))
        assert all(s.span is not None for s in made if function.stage)


def test_of_what_ages_packets_read_the_clock_once_a_tick() -> None:
    """Where nothing ages, none does."""
    for name, read, asked in ("vxlan_gateway", 3, 2), ("srv6_edge", 1, 0):
        source = emit(lower_pipeline(check_file(LINX.with_name(f"{name}.hp"))), lines=False)
        source, *_ = source.partition("static __noinline int take_answer(void)")
        assert source.count(" clock_time(") == read, "made; without a scratch record, and in it"
        assert source.count("recent_time()") == asked


@pytest.mark.parametrize("without", ["", *(each.name for each in PASSES if each.optional)])
def test_functions_stand_behind_those_that_they_call(without: str) -> None:
    pipeline = check_file(LINX.with_name("upf.hp"))
    unit = placed(pipeline, lowered(pipeline, "fused"), frozenset({without}))
    source, made = emit(unit, lines=False), set[str]()
    for line in source.splitlines():
        if found := re.match(r"(?:static )?(?:__|SHOWN_)\w+ (?:int|u32|u64) (\w+)\(", line):
            made.add(found[1])
        elif found := re.search(r"= (walk_\w+|reply_to_\w+)\(", line):
            assert found[1] in made, without
    assert len(made) > 50


@pytest.mark.parametrize("clang", CLANGS)
def test_generated_c_compiles_without_a_warning(linx: Pipeline, clang: str, tmp_path: Path) -> None:
    """With every clang that is installed; the text that people see, without `#line`."""
    source = tmp_path / "linx.bpf.c"
    for join in ("staged", "fused"):
        source.write_text(emit(lower_pipeline(linx, join), lines=False))
        command = [clang, *flags(), "-Werror", str(source), "-o", str(tmp_path / "linx.o")]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_fixed_header_compiles_alone(tmp_path: Path) -> None:
    source = tmp_path / "alone.bpf.c"
    source.write_text('#include "helio.bpf.h"\n')
    command = [CLANGS[0], *flags(), "-Werror", f"-I{TEMPLATES}", str(source)]
    done = subprocess.run([*command, "-o", str(tmp_path / "x.o")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
