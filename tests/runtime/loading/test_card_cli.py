"""`helioctl load --offload` on a machine without a card: what it says, and the host twin."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from helioc.compiler.bundle import compile_for_card, compile_pipeline, write_bundle
from helioc.compiler.driver import check_file
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.edge.config import Config
from helioc.runtime.kernel.handles import BpfError
from helioc.runtime.kernel.privileges import CARDS, NUMBERS
from helioc.runtime.loading import card as loaded
from helioc.runtime.loading import releases
from helioc.runtime.loading.bundle import read_bundle
from helioc.runtime.loading.card import LoadedCard
from helioc.runtime.loading.loader import Loaded, unload
from helioc.runtime.loading.releases import ROOT
from helioc.runtime.ports.ports import PortConfig
from lab import Lab, Namespace

pytestmark = pytest.mark.usefixtures("kernel")

_numbers = count(1)
STEERING = Path(__file__).parent / "steering.hp"
EDGE = "ports:\n  NIC: {role: nic, interface: nic0}\n"


class Ctl:
    """`helioctl` in a namespace with one interface."""

    def __init__(self, inside: Namespace, name: str, directory: Path) -> None:
        self.inside, self.name, self.directory = inside, name, directory

    def __call__(self, *words: str, status: int = 0) -> str:
        program = [sys.executable, "-m", "helioc.commands.helioctl", "--name", self.name, "--local"]
        done = subprocess.run(
            self.inside.inside(*program, *words), capture_output=True, text=True,
            cwd=self.directory, timeout=60,
        )  # fmt: skip
        said = done.stdout + done.stderr
        assert done.returncode == status and "Traceback" not in said, said
        return said


@pytest.fixture
def ctl(lab: Lab, tmp_path: Path) -> Iterator[Ctl]:
    outside, made = lab.namespace("far"), lab.namespace("host")
    lab.wire(outside, "eth0", made, "nic0")
    pipeline = check_file(STEERING)
    write_bundle(compile_for_card(pipeline), tmp_path / "bundle")
    write_bundle(compile_pipeline(pipeline), tmp_path / "bundle" / "host")
    (tmp_path / "edge.yaml").write_text(EDGE)
    found = Ctl(made, f"hc{os.getpid()}-{next(_numbers)}", tmp_path)
    yield found
    if (ROOT / found.name).exists():
        unload(found.name)


def test_a_name_is_no_path(ctl: Ctl, pins: Path) -> None:
    """What is there by it would be removed."""
    kept = pins / "kept"
    kept.mkdir()
    bundle = read_bundle(ctl.directory / "bundle")
    for load in (LoadedCard.load, Loaded.load):
        with pytest.raises(Refused, match="H0707"):
            load(bundle, Config(()), f"../{pins.name}")
    assert kept.exists()
    kept.rmdir()


def test_what_the_kernel_refuses_is_told(ctl: Ctl, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> dict[str, object]:
        raise BpfError("look at the ports", 22)

    monkeypatch.setattr(loaded, "find_ports", fails)
    with pytest.raises(Refused, match="look at the ports"):
        LoadedCard.load(read_bundle(ctl.directory / "bundle"), Config(()), ctl.name)


def test_without_a_card(ctl: Ctl) -> None:
    said = ctl("load", "bundle", "--config", "edge.yaml", status=1)
    assert "H0752" in said and "bundle/host" in said
    said = ctl("load", "bundle", "--offload", "--config", "edge.yaml", status=1)
    assert "H0754" in said and "--or-host" in said
    assert not (ROOT / ctl.name).exists()
    said = ctl("load", "bundle/host", "--offload", "--config", "edge.yaml", status=1)
    assert "H0751" in said


def test_an_agent_without_the_right_says_so_where_there_is_a_card(
    ctl: Ctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there is none nobody needs it: `--or-host` must find that out."""
    monkeypatch.setattr(releases, "permitted", lambda: (1 << 64) - 1 - (1 << NUMBERS[CARDS]))
    bundle, config = (
        read_bundle(ctl.directory / "bundle"),
        Config((PortConfig(1, "NIC", 0, "nic0", 0),)),
    )

    def load() -> None:
        LoadedCard.load(bundle, config, ctl.name)

    with pytest.raises(Refused, match="H0754"):
        ctl.inside.inside_thread(load)
    monkeypatch.setattr(loaded, "need_cards", lambda ports: None)
    with pytest.raises(Refused, match="H0720"):
        ctl.inside.inside_thread(load)


def test_the_host_twin_where_it_is_asked_for(ctl: Ctl) -> None:
    said = ctl("load", "bundle", "--offload", "--or-host", "--config", "edge.yaml")
    assert f"loaded {ctl.name} (on the host: " in said and "NIC (nic: nic0)" in said
    ctl("create", "FLOW 1 [(src_ip, u32, 10.0.0.1), (action, u8, STEER), (queue, u8, 3)]")
    assert "FLOW 1" in ctl("show")
    ctl("unload")
