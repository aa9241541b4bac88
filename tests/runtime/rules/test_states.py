"""State tables of a loaded pipeline: what packets left there, as `helioctl show` lists it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from helioc.compiler.bundle import compile_pipeline, write_bundle
from helioc.compiler.driver import check_file
from helioc.runtime.loading.loader import unload
from helioc.runtime.loading.releases import ROOT
from lab import Lab, Namespace, until

pytestmark = pytest.mark.usefixtures("kernel")

_numbers = count(1)
LEARNING = Path(__file__).parents[2] / "compiler/lower/cases/states/learning.hp"


@pytest.fixture
def loaded(lab: Lab, tmp_path: Path) -> Iterator[tuple[Namespace, Namespace, str]]:
    """A host, an edge with the pipeline loaded, and the pipeline's name."""
    host, edge = lab.namespace("host"), lab.namespace("edge")
    lab.wire(host, "eth0", edge, "lan0")
    host.address("eth0", "10.2.0.9/16")
    edge.address("lan0", "10.2.0.1/16")
    write_bundle(compile_pipeline(check_file(LEARNING)), tmp_path / "bundle")
    (tmp_path / "edge.yaml").write_text("ports:\n  LAN: {role: lan, interface: lan0}\n")
    name = f"states_{next(_numbers)}"
    load = [sys.executable, "-m", "helioc.commands.helioctl", "--name", name, "load",
            str(tmp_path / "bundle"), "--config", str(tmp_path / "edge.yaml")]  # fmt: skip
    try:
        subprocess.run(edge.inside(*load), check=True, capture_output=True, timeout=60)
        yield host, edge, name
    finally:
        if (ROOT / name).exists():
            unload(name)


def show(edge: Namespace, name: str, *words: str) -> str:
    program = [sys.executable, "-m", "helioc.commands.helioctl", "--name", name, "show", *words]
    done = subprocess.run(edge.inside(*program), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_packets_left_is_shown(loaded: tuple[Namespace, Namespace, str]) -> None:
    host, edge, name = loaded
    assert show(edge, name, "HOSTS") == "no entries\n"
    send = "import socket; socket.socket(2, 2).sendto(b'x', ('10.2.0.1', 7))"
    subprocess.run(host.inside(sys.executable, "-c", send), check=True, timeout=60)
    until(lambda: show(edge, name, "HOSTS") != "no entries\n", "an entry")
    (entry,) = json.loads(show(edge, name, "hosts", "--json"))
    assert entry["mac"] == host.mac("eth0")
    assert (entry["address"], entry["port"], entry["small"]) == ("10.2.0.9", "LAN", 5)
    assert 0 <= entry["age"] < 60
    head, row = show(edge, name, "HOSTS").splitlines()
    assert head.split() == ["mac", "dscp", "address", "port", "source", "small", "age"]
    assert row.split()[:2] == [host.mac("eth0"), "0"]
