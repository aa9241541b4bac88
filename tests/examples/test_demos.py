"""The demos of the smaller pipelines hold what they say: against the kernel's own vxlan device and
seg6, with the kernel's own TCP, and against GTP-U and STAMP that scapy builds and dissects."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from edges import pinned
from lab import namespaces
from leaks import PREFIX

FACTS = {
    "vxlan_gateway": 17, "vxlan_bridge": 14, "upf": 29, "srv6_edge": 21, "stamp": 31, "service": 33,
}  # fmt: skip
EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize(("name", "facts"), FACTS.items())
def test_every_fact_holds(name: str, facts: int) -> None:
    prefix = f"{PREFIX}{name[-4:]}-"
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name / "demo.py"), "--prefix", prefix],
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("✓") == facts and "✗" not in done.stdout, done.stdout
    assert namespaces(prefix) == [] and pinned(prefix) == []
