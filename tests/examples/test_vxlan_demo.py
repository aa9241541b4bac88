"""The VXLAN gateway's demo holds what it says, against the kernel's own vxlan device."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from lab import namespaces
from leaks import PREFIX
from linx.edges import pinned

DEMO = Path(__file__).parents[2] / "examples" / "vxlan_gateway" / "demo.py"


@pytest.mark.usefixtures("kernel")
def test_every_fact_holds() -> None:
    prefix = f"{PREFIX}vxlan-"
    done = subprocess.run(
        [sys.executable, str(DEMO), "--prefix", prefix], capture_output=True, text=True, timeout=180
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("✓") == 13 and "✗" not in done.stdout
    assert namespaces(prefix) == [] and pinned(prefix) == []
