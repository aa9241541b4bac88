"""Ports at tc under kernels that have no tcx: filters at clsact, in a virtual machine."""

from __future__ import annotations

import os
import re
import sys

import pytest
from virtual import booted, why_not

#: Of the oldest kernel that Helio takes, and the last of Debian's without tcx: which tests. The
#: receiver of numbered packets takes a newer one than 5.10.
TESTS = {"5.10": "clsact and host_sends", "6.1": "clsact and (loses or fails)"}
MODULES = ("veth", "sch_ingress", "cls_bpf")


@pytest.mark.parametrize("series", TESTS)
def test_filters_at_clsact(series: str) -> None:
    """What test_tc.py has of them."""
    if why := why_not(series):
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)
    left_out = [f"-pno:{plugin}" for plugin in ("cacheprovider", "xdist")]
    pytest_ = [sys.executable, "-m", "pytest", "-v", *left_out, "--color=no"]
    file = "tests/runtime/loading/test_tc.py"
    done = booted(series, *pytest_, "-k", TESTS[series], file, modules=MODULES, seconds=600)
    outcomes = re.findall(r"test_tc\.py::\S+ (\w+)", done.stdout)
    assert set(outcomes) == {"PASSED"} and len(outcomes) == 2, done.stdout[-12000:]
