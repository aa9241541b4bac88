"""The checker of compiled programs: what a card takes, and how many of its instructions that is."""

from __future__ import annotations

from pathlib import Path

import pytest
from helioc.compiler.nfp import limits
from helioc.compiler.nfp.conform import check_object, check_program
from helioc.compiler.nfp.object_file import read_object
from nfp_probes import EXPECTED, REACH, STACK, TOO_LONG, build


@pytest.mark.parametrize("case", EXPECTED)
def test_says_what_is_wrong(case: str, tmp_path: Path) -> None:
    read = read_object(build(case, tmp_path / "case.o"))
    (report,) = (check_program(read, name) for name in read.programs)
    said = [v.why for v in (*check_object(read), *report.violations)]
    assert (EXPECTED[case] in " ".join(said)) if EXPECTED[case] else not said, said
    assert (report.instructions > limits.INSTRUCTIONS) == (case == TOO_LONG)


def test_counts_what_is_around_every_program(tmp_path: Path) -> None:
    read = read_object(build("ret_99", tmp_path / "case.o"))
    assert check_program(read, "prog").instructions == 26


@pytest.mark.parametrize("case", STACK | REACH)
def test_measures_stack_and_reach(case: str, tmp_path: Path) -> None:
    read = read_object(build(case, tmp_path / "case.o"))
    report = check_program(read, "prog")
    assert report.stack == STACK.get(case, 0)
    assert report.reach == REACH.get(case, 0)


def test_newer_instructions_are_refused(tmp_path: Path) -> None:
    """-mcpu=v4 signs and stores constants, which the driver takes and translates wrongly."""
    read = read_object(build("entries_3", tmp_path / "case.o", "-mcpu=v3"))
    name = read.programs[0]
    function = read.functions[name]
    for wrong, why in (
        (function.instructions[0]._replace(code=0xBF, dst=0, src=1, off=8), "sign extension"),
        (function.instructions[0]._replace(code=0x7A, dst=10, src=0, off=-8), "storing a constant"),
    ):
        changed = type(function)(name, (wrong, *function.instructions), {})
        functions = {**read.functions, name: changed}
        other = type(read)(read.programs, functions, read.maps, read.data)
        assert any(why in v.why for v in check_program(other, name).violations)


def test_what_is_no_object_is_said(tmp_path: Path) -> None:
    for data in (b"", b"\x7fELF", b"nothing" * 100):
        with pytest.raises(ValueError, match=r"."):
            read_object(data)
