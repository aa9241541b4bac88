"""Ports at tc in a virtual machine: where there is no tcx, under the oldest kernel, by filters at
clsact; and by interfaces without link headers."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import hop
import pytest
from virtual import ROOT, booted, release_of, why_not

SERIES = "5.10"
MODULES = ("veth", "sch_ingress", "cls_bpf")


def _path() -> str:
    helpers = [str(ROOT / "tests" / "support"), str(ROOT / "examples")]
    return f"PYTHONPATH={os.pathsep.join([*helpers, os.environ.get('PYTHONPATH', '')])}"


def test_filters_at_clsact(tmp_path: Path) -> None:
    if why := why_not(SERIES):
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)
    here = ("tc.egress", "xdp")
    larger = ("rule ROUTE [64]", "rule ROUTE [128]")
    bundles = [
        hop.write(hop.text(*here, *hop.PASSES), tmp_path / "before"),
        hop.write(hop.text(*here, *hop.PASSES, larger), tmp_path / "after"),
    ]
    words = [sys.executable, "tests/vm/inside/clsact.py", *map(str, bundles)]
    done = booted(SERIES, "env", _path(), *words, modules=MODULES)
    assert f"at clsact under {release_of(SERIES)}" in done.stdout, f"{done.stdout}\n{done.stderr}"


#: What the interfaces take, and what encrypts for them.
BARE = (
    "ip_gre", "ipip", "wireguard", "xfrm_user", "xfrm_interface", "esp4", "aes_generic", "ctr",
    "ghash-generic", "gcm", "jitterentropy_rng", "drbg", "seqiv",
)  # fmt: skip


@pytest.mark.parametrize("series", [SERIES, "6.18"])
def test_interfaces_without_link_headers(tmp_path: Path, series: str) -> None:
    """By clsact, and by tcx."""
    if why := why_not(series):
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)
    bundle = hop.write(hop.text("tc.ingress", "tc.ingress link ip"), tmp_path / "hop")
    words = [sys.executable, "tests/vm/inside/bare.py", str(bundle)]
    done = booted(series, "env", _path(), *words, modules=(*MODULES, *BARE))
    assert f"no link headers under {release_of(series)}" in done.stdout, (
        f"{done.stdout}\n{done.stderr}"
    )
