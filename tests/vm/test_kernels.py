"""Against the kernel's own tunnels that this machine may lack: in a virtual machine, where a Debian
kernel has them. The kernel is fetched once and kept; all tests share one boot."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator

import pytest
from helioc.compiler.bundle import compile_pipeline, write_bundle
from helioc.compiler.driver import check_file
from virtual import ROOT, booted, why_not

SERIES = "6.12"
PIPELINES = {"gre": "linx", "gtp": "upf", "srv6": "srv6_edge", "vxlan": "vxlan_gateway"}
ABOUT = (*PIPELINES, "clock")
MODULES = ("ip_gre", "ip6_gre", "gtp", "vxlan", "vrf", "veth")


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """What the tests in `inside/` say under the other kernel. Emulation is slow: what need not be
    done there, the bundles' compilation, is done here. Where the kernel cannot be had, fail in CI
    and say so elsewhere."""
    if why := why_not(SERIES):
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)
    bundles = tmp_path_factory.mktemp("bundles")
    for pipeline in PIPELINES.values():
        made = compile_pipeline(check_file(ROOT / "pipelines" / f"{pipeline}.hp"))
        write_bundle(made, bundles / pipeline)
    files = [f"tests/vm/inside/test_{about}.py" for about in ABOUT]
    left_out = [f"-pno:{plugin}" for plugin in ("cacheprovider", "hypothesispytest", "xdist")]
    pytest_ = [sys.executable, "-m", "pytest", "-v", *left_out, "--color=no"]
    job = ["env", f"HELIO_BUNDLES={bundles}", *pytest_, *files]
    done = booted(SERIES, *job, modules=MODULES, seconds=500)
    yield f"{done.stdout[-12000:]}\n{done.stderr[-2000:]}"


@pytest.mark.parametrize("about", ABOUT)
def test_the_kernels_own(about: str, said: str) -> None:
    outcomes = re.findall(rf"inside/test_{about}\.py::\S+ (\w+)", said)
    assert outcomes and set(outcomes) == {"PASSED"}, said
