"""The C example on the generated skeleton builds without a warning, and counts real packets."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from lab import Lab, LabError, command

EXAMPLE = Path(__file__).parents[2] / "examples" / "skeleton"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the program and the bundle that it was built on."""
    out = tmp_path_factory.mktemp("skeleton")
    helioc = Path(sys.executable).with_name("helioc")
    command("make", "-s", "-C", str(EXAMPLE), f"OUT={out}", f"HELIOC={helioc}")
    return out


def test_it_counts_what_passes(built: Path, lab: Lab) -> None:
    host, edge = lab.namespace("host"), lab.namespace("edge")
    lab.wire(host, "eth0", edge, "lan0")
    host.address("eth0", "10.1.0.10/24")
    edge.address("lan0", "10.1.0.1/24")
    program = edge.start(str(built / "linx-skeleton"), "lan", "lan0")
    said = program.expect("attached linx_lan_classifier")
    for stage in ("classifier", "forwarder", "balancer"):
        assert re.search(rf"^program linx_wan_{stage} +\d+ instructions$", said, re.M)
    assert re.search(r"^map +pdr_cells +4 bytes a key, +8 a value", said, re.M)
    assert "xdp" in edge.ip("link", "show", "lan0")
    assert "3 received" in host.run("ping", "-c", "3", "-i", "0.01", "-W", "2", "10.1.0.1")
    counted = _counters(program.stop(signal.SIGINT))
    assert counted["miss: PDR"] == 3  # the echo requests: nobody wrote a rule
    assert counted["verdict: pass"] >= 4  # and the ARP request in front of them
    assert counted["verdict: drop"] == counted["hook: malformed"] == 0
    assert "xdp" not in edge.ip("link", "show", "lan0")


def test_its_counters_are_the_manifests(built: Path) -> None:
    manifest = json.loads((built / "manifest.json").read_text())
    known = {c["index"]: f"{c['group']}: {c['reason']}" for c in manifest["counters"]}
    shown = re.findall(r"\{ (\d+), \"([a-z_]+: \w+)\" \}", (EXAMPLE / "linx.c").read_text())
    assert shown
    assert {int(index): name for index, name in shown}.items() <= known.items()
    stages = {p["stage"]: p["slot"] for p in manifest["programs"] if p["slot"] is not None}
    assert stages == {"forwarder": 1, "balancer": 2}


def test_it_says_what_is_wrong(built: Path, lab: Lab) -> None:
    program = str(built / "linx-skeleton")
    asked = subprocess.run([program], capture_output=True, text=True)
    assert (asked.returncode, asked.stderr) == (2, "usage: linx-skeleton lan|wan INTERFACE\n")
    with pytest.raises(LabError, match="exit 1: linx-skeleton: eth7: No such device"):
        lab.namespace("edge").run(program, "lan", "eth7")


def _counters(said: str) -> dict[str, int]:
    return {name: int(n) for name, n in re.findall(r"^(\w+: \w+) +(\d+)$", said, re.M)}
