"""The README's tour works as it is written, and what it shows is so."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from edges import compile_pipeline, running
from lab import Lab, command, namespaces, remove_namespace
from leaks import PREFIX
from linx.world import HERE as LINX
from linx.world import build

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
TOUR = README.split("## A five-minute tour")[1].split("\n## ")[0]
TOOLS = Path(sys.executable).parent


@pytest.fixture
def names(kernel: None) -> Iterator[str]:
    """A name for the tour's namespaces that no other run has."""
    name = f"{PREFIX}tour"
    yield name
    for left in namespaces(name):  # where the tour ended early
        subprocess.run(
            ["nsenter", f"--net=/run/netns/{left}", str(TOOLS / "helioctl"), "unload"],
            capture_output=True,
            timeout=30,
        )
        remove_namespace(left)


def test_the_tour(names: str, tmp_path: Path) -> None:
    script = "\n".join(re.findall(r"^```sh\n(.*?)^```", TOUR, re.M | re.S))
    assert script.count("helioctl") == 5
    script = script.replace("$PWD/.venv/bin", str(TOOLS)).replace("/tmp/guard", str(tmp_path))
    script = script.replace("tour-", f"{names}-")
    done = subprocess.run(
        ["bash", "-eu", "-c", script],
        cwd=ROOT,
        env=os.environ | {"TOUR": names},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed, 0 failed (on the interpreter and kernel)" in done.stdout
    assert "2 received" in done.stdout
    for shown in re.findall(r"^packets  bytes  rule\n.*$", TOUR, re.M):
        assert shown in done.stdout
    assert namespaces(names) == []


def test_the_rules_shown_are_rules(lab: Lab, tmp_path: Path) -> None:
    """On the demo's edge A, which has the overlays that they name."""
    (tmp_path / "shown.req").write_text(_block("// two ways out"))
    world = build(lab)
    compile_pipeline(tmp_path / "bundle")
    files = LINX / "edge-a.yaml", tmp_path / "shown.req"
    with running(world.edge_a, tmp_path / "bundle", *files) as edge:
        rules = edge.rules()
    assert "LBR 9 [FAR 1 [(weight, u16, 3)], FAR 2" in rules
    assert "PDR 2 [(dst_ip, u32, 10.2.0.0/16), (dscp, u8, 46), FAR" in rules


def test_the_error_shown_is_what_helioc_says(tmp_path: Path) -> None:
    shown = _block("error[H0213]")
    broken = """import std.ethernet, std.ip, std.gre

pipeline broken {
  ports lan
  parser {
    ethernet -> ipv4 when type = 0x0800
    ipv4 -> gre when protocol = 16..47
    ipv4 -> udp when protocol = 17
  }
  stage only { drop }
  run parser -> only
}
"""
    (tmp_path / "broken.hp").write_text(broken)
    words = [str(TOOLS / "helioc"), "check", "broken.hp"]
    said = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert said.returncode == 1
    assert shown in said.stderr


def _block(begins: str) -> str:
    """The README's code block that begins so."""
    blocks: list[str] = re.findall(r"^```\w*\n(.*?)^```", README, re.M | re.S)
    return next(block for block in blocks if block.startswith(begins))


def test_the_readme_shows_what_is_there() -> None:
    assert (ROOT / "examples" / "tour" / "guard.hp").read_text() in TOUR
    links = re.findall(r"\]\(([^)#:]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
    said = command(str(TOOLS / "helioctl"), "--help")
    for named in re.findall(r"`helioctl (\w+)", README):
        assert f"\n  {named} " in said
