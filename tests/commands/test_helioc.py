"""`helioc`, as a user runs it, and above all with mistakes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from helioc.commands.helioc import cli
from helioc.compiler import driver
from helioc.compiler.ir.unit import Unit
from helioc.compiler.lower.unit import lower
from scapy.layers.l2 import Ether
from scapy.utils import wrpcap

LINX = Path(__file__).parents[2] / "pipelines" / "linx.hp"


def helioc(at: Path, *words: str, status: int = 0) -> str:
    done = subprocess.run([sys.executable, "-m", "helioc.commands.helioc", *words],
                          capture_output=True, text=True, cwd=at, timeout=120)  # fmt: skip
    said = done.stdout + done.stderr
    assert done.returncode == status, said
    assert "Traceback" not in said and "H9999" not in said
    return said


@pytest.fixture
def at(tmp_path: Path) -> Path:
    (tmp_path / "linx.hp").write_text(LINX.read_text())
    (tmp_path / "README.md").write_text("mine")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "meant"), [("linx.hq", "linx.hp"), ("./lnix.hp", "linx.hp"), ("linx", "linx.hp")]
)
def test_a_misspelt_file(at: Path, name: str, meant: str) -> None:
    assert f"did you mean `{meant}`?" in helioc(at, "check", name, status=1)
    assert "did you mean `../" not in helioc(at, "check", "none/linx.hp", status=1)


def test_the_intermediate_representation_is_shown_behind_a_pass(at: Path) -> None:
    shown = helioc(at, "compile", "linx.hp", "--print", "ir", "--stop-after", "lower")
    assert "only in memory" in shown and "push outer" in shown
    assert "only in" not in helioc(at, "compile", "linx.hp", "--print", "ir")
    assert "--stop-after is for --print ir" in helioc(
        at, "compile", "linx.hp", "--stop-after", "spill", status=2
    )


def test_check_says_what_each_table_takes(at: Path) -> None:
    """As `compile` does, which measures it in the same way; nothing is written."""
    tables = helioc(at, "check", "linx.hp", "--tables").split("\n", 1)[1]
    assert not list(at.glob("*.bundle"))
    pdr = next(line.split() for line in tables.splitlines() if line.startswith("PDR "))
    assert pdr[:4] == ["PDR", "rule", "kind", "65,536"]
    assert float(pdr[4]) * (1 << 20) == pytest.approx(65536 * int(pdr[-1]), rel=0.01)
    assert tables in helioc(at, "compile", "linx.hp", "--no-trace")


def test_what_nobody_reads_is_left_out_unless_it_is_wanted(at: Path) -> None:
    shown = ["compile", "linx.hp", "--print", "ir", "--fuse"]
    assert "scratch.udp_at = at" not in helioc(at, *shown)
    assert "scratch.udp_at = at" in helioc(at, *shown, "--no-drop-unused")


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize(
    "words",
    ["check", "doc", "compile", "test", "test --on=interpreter", "fuzz --packets=5",
     "replay a.pcap --kernel"],
)  # fmt: skip
def test_a_pipeline_is_lowered_once(at: Path, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def counted(*arguments: Any) -> Unit:
        asked.append(arguments)
        return lower(*arguments)

    monkeypatch.setattr(driver, "lower", counted)
    monkeypatch.chdir(at)
    shutil.copy(LINX.with_suffix(".test.yaml"), at)
    wrpcap("a.pcap", [Ether(dst="02:00:00:00:00:01")])
    command, *more = words.split()
    done = CliRunner().invoke(cli, [command, "linx.hp", *more])
    assert done.exit_code == 0, done.output
    assert len(asked) == 1


@pytest.mark.parametrize("command", ["check", "fmt", "doc"])
def test_a_directory_is_no_pipeline(at: Path, command: str) -> None:
    assert "error[H0109]: cannot read `.`" in helioc(at, command, ".", status=1).replace(
        " .:", " `.`:"
    )


def test_a_misspelt_file_elsewhere(at: Path) -> None:
    (at / "sub").mkdir()
    assert "did you mean `../linx.hp`?" in helioc(at / "sub", "check", "../linx.hq", status=1)


@pytest.mark.parametrize("out", ["README.md", "README.md/x", "/proc/x"])
def test_a_bundle_cannot_be_written_there(at: Path, out: str) -> None:
    said = helioc(at, "compile", "linx.hp", "-o", out, status=1)
    assert f"error[H0309]: cannot write `{out}`" in said and "a bundle is a directory" in said
    assert (at / "README.md").read_text() == "mine"


def test_a_full_disk_leaves_no_part_of_a_bundle(at: Path) -> None:
    if os.geteuid():
        pytest.skip("mounting needs root")
    small = at / "small"
    small.mkdir()
    helioc = [sys.executable, "-m", "helioc.commands.helioc"]
    program = [*helioc, "compile", "linx.hp", "-o", "small/b"]
    script = 'mount -t tmpfs -o size=64k none small && "$@"; status=$?; ls -A small/b; exit $status'
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", *program], timeout=120,
                          cwd=at, capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 1 and done.stdout == ""
    assert "error[H0309]: cannot write `" in done.stderr and "no space left" in done.stderr


def test_pictures_are_dot_or_svg(at: Path) -> None:
    assert "must end with .dot or .svg" in helioc(
        at, "graph", "linx.hp", "-o", "x.png", status=2)  # fmt: skip
    assert not (at / "x.png").exists()
    assert "wrote x.dot" in helioc(at, "graph", "linx.hp", "-o", "x.dot")
    assert (at / "x.dot").read_text() == helioc(at, "graph", "linx.hp")
    assert "error[H0309]" in helioc(at, "graph", "linx.hp", "-o", "no/x.dot", status=1)


@pytest.mark.parametrize(("command", "name"), [("doc", "p.md"), ("graph", "p.dot")])
def test_pages_and_pictures_do_not_replace_the_pipeline(at: Path, command: str, name: str) -> None:
    (at / name).write_text((at / "linx.hp").read_text())
    assert "error[H0815]" in helioc(at, command, name, "-o", f"./{name}", status=1)
    assert (at / name).read_text() == (at / "linx.hp").read_text()
