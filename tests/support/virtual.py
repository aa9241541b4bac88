"""Other kernels, in virtual machines: what the tests of them and the matrix share."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
KERNEL = ROOT / "tests" / "vm" / "kernel.sh"
NEVER_REACHED = 125
NEEDED = ("qemu-system-x86_64", "busybox", "modprobe", "zstd", "xz", "apt-get")
CACHE = Path(os.environ.get("HELIO_KERNELS", Path.home() / ".cache/helio/kernels"))


def why_not(series: str, devices: bool = False) -> str:
    """Why this kernel cannot be run here, or has no test `devices`; it is fetched, and they are
    built, if need be, and kept. Empty if it can."""
    missing = [tool for tool in NEEDED if not shutil.which(tool)]
    if missing:
        return f"the virtual machine needs {', '.join(missing)}"
    command = [str(KERNEL), "have", *["-M"] * devices, series]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    return f"kernel {series} cannot be fetched: {done.stderr[-500:]}" if done.returncode else ""


def release_of(series: str) -> str:
    """`6.1.0-56-amd64`, of a kernel that is there."""
    return (CACHE / series / "release").read_text().strip()


def booted(
    series: str, *command: str, modules: tuple[str, ...] = (), seconds: int = 300
) -> subprocess.CompletedProcess[str]:
    """Run a command in the repository's root under another kernel."""
    run = _words(series, seconds, command, modules)
    for _ in range(3):  # an emulated kernel sometimes dies as it starts
        done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, timeout=seconds + 100)
        if done.returncode != NEVER_REACHED:
            break
    return done


def lines_of(series: str, *command: str, seconds: int) -> Iterator[str]:
    """What a command prints under another kernel, as it comes; it may end too early."""
    run = _words(series, seconds, command)
    with subprocess.Popen(run, stdout=subprocess.PIPE, text=True, cwd=ROOT) as machine:
        assert machine.stdout is not None
        yield from machine.stdout


def _words(
    series: str, seconds: int, command: tuple[str, ...], modules: tuple[str, ...] = ()
) -> list[str]:
    loads = [word for module in modules for word in ("-M", module)]
    return [str(KERNEL), "run", "-k", series, "-t", str(seconds), *loads, "--", *command]
