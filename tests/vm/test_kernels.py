"""Against the kernel's own tunnels that this machine may lack: in a virtual machine, where a Debian
kernel has them. The kernel is fetched once and kept."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from edges import compile_pipeline

HERE = Path(__file__).parent
KERNEL = HERE / "kernel.sh"
SERIES = "6.12"
NEVER_REACHED = 125
NEEDED = ("qemu-system-x86_64", "busybox", "modprobe", "zstd", "xz", "apt-get")


@pytest.fixture(scope="session")
def kernel_image() -> None:
    """A kernel in the cache. Where it cannot be had, fail in CI and say so elsewhere."""
    missing = [tool for tool in NEEDED if not shutil.which(tool)]
    why = f"the virtual machine needs {', '.join(missing)}" if missing else ""
    if (
        not why
        and SERIES not in subprocess.run([KERNEL, "list"], capture_output=True, text=True).stdout
    ):
        done = subprocess.run(
            [KERNEL, "fetch", SERIES], capture_output=True, text=True, timeout=600
        )
        why = f"no kernel could be fetched: {done.stderr[-500:]}" if done.returncode else ""
    if why:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)


def inside(test: str, bundle: Path, *modules: str) -> None:
    """Run one of the tests in `inside/` under another kernel. Emulation is slow: what need not be
    done there, the bundle's compilation, is done here."""
    loads = [word for module in modules for word in ("-M", module)]
    run = [str(KERNEL), "run", "-k", SERIES, "-t", "300", *loads, "--"]
    pytest_ = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--color=no"]
    job = ["env", f"HELIO_BUNDLE={bundle}", *pytest_, f"tests/vm/inside/{test}"]
    for _ in range(3):
        done = subprocess.run(
            [*run, *job], cwd=HERE.parents[1], capture_output=True, text=True, timeout=400
        )
        if done.returncode != NEVER_REACHED:  # an emulated kernel sometimes dies as it starts
            break
    assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-2000:]}"
    assert " passed" in done.stdout and "skipped" not in done.stdout, done.stdout


@pytest.mark.usefixtures("kernel_image")
def test_linx_talks_to_the_kernels_gre(tmp_path: Path) -> None:
    compile_pipeline(tmp_path / "bundle")
    inside("test_gre.py", tmp_path / "bundle", "ip_gre", "veth")


@pytest.mark.usefixtures("kernel_image")
def test_the_upf_talks_to_the_kernels_gtp(tmp_path: Path) -> None:
    compile_pipeline(tmp_path / "bundle", "upf")
    inside("test_gtp.py", tmp_path / "bundle", "gtp", "veth")
