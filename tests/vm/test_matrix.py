"""The smaller matrix: what ships loads and passes its packet tests on the oldest kernel, where most
is missing. `make matrix` tries every kernel and compiler (docs/kernels.md)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from acceptance import PIPELINES, SHIPPED, build_all, judged, name_of
from virtual import why_not

SERIES = "5.10"
NAMES = [path.stem for path in sorted(PIPELINES.glob("*.hp"))]


def test_what_ships_runs(tmp_path: Path) -> None:
    if why := why_not(SERIES):
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)
    assert not list(build_all([SHIPPED], NAMES, tmp_path))
    bundles = [name_of(name, SHIPPED) for name in NAMES]
    found = list(judged(SERIES, tmp_path, bundles, bundles, seconds=500))
    assert [(v.pipeline, v.refused) for v in found] == [(name, "") for name in NAMES]
    assert all(v.tests and 0 < v.instructions < v.verified for v in found)
