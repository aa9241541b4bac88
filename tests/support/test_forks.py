"""A command in a fork does what the same words do in a process of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from forks import Forked, run, way
from lab import Lab


def test_it_says_and_returns_the_same(lab: Lab, tmp_path: Path) -> None:
    room, program = lab.namespace("room"), (sys.executable, "-m", "helioc.commands.helioctl")
    for asked in (["--help"], ["--agent", f"unix:{tmp_path}/none", "status"], ["no-command"]):
        words = room.inside(*program, *asked)
        assert way(words) is Forked
        own = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, timeout=60)
        assert run(words, "", tmp_path) == (own.returncode, own.stdout + own.stderr)
        assert bool(own.returncode) == (asked != ["--help"])


def test_what_is_under_another_program_is_no_fork(lab: Lab) -> None:
    words = lab.namespace("room").inside("env", sys.executable, "-m", "helioc.commands.heliod")
    assert way(words) is subprocess.Popen
