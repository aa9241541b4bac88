"""The demo holds what it says, says when something does not hold, and always cleans up."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from edges import pinned
from lab import command, namespaces
from leaks import PREFIX

DEMO = Path(__file__).parents[2] / "examples" / "linx" / "demo.py"


class Run:
    """The demo as a process, read as it goes on."""

    def __init__(self, prefix: str) -> None:
        self.prefix, self.said = prefix, ""
        self._process = subprocess.Popen(
            [sys.executable, str(DEMO), "--prefix", prefix],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def until(self, text: str, seconds: float = 180) -> None:
        deadline = time.monotonic() + seconds
        while text not in self.said:
            assert self._more(deadline), f"it never said {text!r}:\n{self.said}"

    def end(self, seconds: float = 180) -> int:
        """Its exit status."""
        deadline = time.monotonic() + seconds
        while self._more(deadline):
            pass
        return self._process.wait(max(1.0, deadline - time.monotonic()))

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def close(self) -> None:
        """End it gently, so that it cleans up; then by force."""
        assert self._process.stdout is not None
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._process.stdout.close()

    def _more(self, deadline: float) -> bool:
        assert self._process.stdout is not None
        left = max(0.0, deadline - time.monotonic())
        if not select.select([self._process.stdout], [], [], left)[0]:
            return False
        chunk = os.read(self._process.stdout.fileno(), 65536)
        self.said += chunk.decode(errors="replace")
        return bool(chunk)


@pytest.fixture
def run(kernel: None) -> Iterator[Run]:
    made = Run(f"{PREFIX}demo-")
    yield made
    made.close()
    assert namespaces(made.prefix) == []
    assert pinned(made.prefix) == []


def test_all_of_it_holds(run: Run) -> None:
    assert run.end() == 0, run.said
    assert "✗" not in run.said
    ticks, steps = run.said.count("✓"), re.findall(r"^ *(\d+)  \S", run.said, re.M)
    assert ticks > 25
    assert steps == [str(n + 1) for n in range(len(steps))]
    assert re.search(r"with 0 of 600 pings lost", run.said)
    assert re.search(r"[\d,]+ +[\d,]+ +PDR 1 \[\(dst_ip, u32, 10\.2\.0\.0/16\), FAR 1\]", run.said)
    seconds = re.search(r"All checks passed, in ([\d.]+) s\.", run.said)
    assert seconds
    assert len(run.said.splitlines()) < 90


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_cleans_up_when_interrupted(run: Run, number: int) -> None:
    run.until("ping A → B")
    assert namespaces(run.prefix)
    assert len(pinned(run.prefix)) == 2
    run.signal(number)
    assert run.end() == 128 + number
    assert "Stopped; everything is taken away again." in run.said
    assert "Traceback" not in run.said
    assert namespaces(run.prefix) == []
    assert pinned(run.prefix) == []


def test_it_says_so_when_a_fact_does_not_hold(run: Run) -> None:
    """The first path breaks."""
    run.until("edge A: native XDP")
    command("ip", "-n", f"{run.prefix}net", "link", "set", "b1", "down")
    assert run.end() == 1
    assert "✗" in run.said
    assert "This does not hold: " in run.said
    assert "Traceback" not in run.said
    assert namespaces(run.prefix) == []
    assert pinned(run.prefix) == []
