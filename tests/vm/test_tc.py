"""Ports at tc where there is no tcx, under the oldest kernel: filters at clsact, in a virtual
machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import hop
import pytest
from virtual import ROOT, booted, release_of, why_not

SERIES = "5.10"
MODULES = ("veth", "sch_ingress", "cls_bpf")


def test_filters_at_clsact(tmp_path: Path) -> None:
    if why := why_not(SERIES):
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)
    here = ("tc.egress", "xdp")
    larger = ("rule ROUTE [64]", "rule ROUTE [128]")
    bundles = [
        hop.write(hop.text(*here, *hop.PASSES), tmp_path / "before"),
        hop.write(hop.text(*here, *hop.PASSES, larger), tmp_path / "after"),
    ]
    helpers = [str(ROOT / "tests" / "support"), str(ROOT / "examples")]
    path = os.pathsep.join([*helpers, os.environ.get("PYTHONPATH", "")])
    words = [sys.executable, "tests/vm/inside/clsact.py", *map(str, bundles)]
    done = booted(SERIES, "env", f"PYTHONPATH={path}", *words, modules=MODULES)
    assert f"at clsact under {release_of(SERIES)}" in done.stdout, f"{done.stdout}\n{done.stderr}"
