"""Pipelines of files that no test changes, checked once in each process for all tests of it."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from helioc.compiler.driver import check_file
from helioc.compiler.lower.unit import Join
from helioc.compiler.model import Pipeline

#: Of what ships, too long for one program of all stages (H0335).
ONLY_STAGED = {"nodeport"}


@lru_cache(32)
def checked(path: Path) -> Pipeline:
    """With it is kept what was lowered of it: who puts a fault into the compiler takes a copy, by
    `replace`, or `check_file`."""
    return check_file(path)


def joins(path: Path) -> list[Join]:
    """How a pipeline that ships can be built."""
    return ["staged"] if path.stem in ONLY_STAGED else ["staged", "fused"]


def each_join(paths: list[Path]) -> list[tuple[Path, Join]]:
    return [(path, join) for path in paths for join in joins(path)]
