"""Pipelines of files that no test changes, checked once in each process for all tests of it."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from helioc.compiler.driver import check_file
from helioc.compiler.model import Pipeline


@lru_cache(32)
def checked(path: Path) -> Pipeline:
    """With it is kept what was lowered of it: who puts a fault into the compiler takes a copy, by
    `replace`, or `check_file`."""
    return check_file(path)
