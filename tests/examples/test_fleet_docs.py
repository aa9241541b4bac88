"""The laboratory of docs/controller.md works as it is written, and what it shows is so."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from helioc.lang.text.errors import codes
from lab import namespaces, remove_namespace, until
from leaks import PREFIX

ROOT = Path(__file__).parents[2]
DOCS = (ROOT / "docs" / "controller.md").read_text()
TOOLS = Path(sys.executable).parent
#: Seconds that a block may take.
_LONGEST = 120.0


class Shell:
    """A bash that is told one block after the other."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            ["bash", "-eu"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, cwd=ROOT, env=environment, start_new_session=True,
        )  # fmt: skip

    def tell(self, block: str) -> str:
        """What it said."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{block}\necho '###'\n")
        self._process.stdin.flush()
        said, enough = "", threading.Timer(_LONGEST, self._abort)
        enough.start()
        try:
            for line in self._process.stdout:
                if line == "###\n":
                    return said
                said += line
        finally:
            enough.cancel()
        pytest.fail(f"it ended: {said}")

    def _abort(self) -> None:
        """Python says where each thread is, in the logs."""
        os.killpg(self._process.pid, signal.SIGABRT)

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(20)
        with suppress(ProcessLookupError):  # what it started, where it ended early
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.stdout.close()


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


@pytest.fixture
def name(kernel: None) -> Iterator[str]:
    name = f"{PREFIX}fleet"
    yield name
    for left in namespaces(name):  # where it ended early
        subprocess.run(
            ["nsenter", f"--net=/run/netns/{left}", str(TOOLS / "helioctl"), "--local",
             "--name", f"{PREFIX}guard", "unload"], capture_output=True, timeout=30,
        )  # fmt: skip
        remove_namespace(left)


def test_the_laboratory(name: str, tmp_path: Path) -> None:
    blocks = re.findall(r"^```sh\n(.*?)^```", DOCS, re.M | re.S)
    at, guard = tmp_path / "fleet", f"{PREFIX}guard"
    up, enrol, load, want, drift, look, down = (
        block.replace("$PWD/.venv/bin", str(TOOLS)).replace("tour-", f"{name}-")
        .replace("/tmp/fleet", str(at)).replace("guard1", guard)
        for block in blocks
    )  # fmt: skip
    shell = Shell(os.environ | {"TOUR": name, "PYTHONFAULTHANDLER": "1"})
    try:
        assert "the authority's SHA-256 is " in shell.tell(up)
        until(lambda: "running" in _text(at / "controller.log"), "the controller runs")
        assert "enrolled as edge1 with 10.0.0.1:8443" in shell.tell(enrol)
        until(lambda: "ready at" in _text(at / "heliod.log"), "the agent runs")
        shell.tell(load)
        edges = "$controller edges"
        until(lambda: "UPLINK (outside: eth0)" in shell.tell(edges), "it has announced itself")
        said = shell.tell(want)
        assert re.search(rf"^edge1  {guard} .* in step ", said, re.M), said
        rule = "BLOCK 1 [(src_ip, u32, 10.0.0.0/24), (dst_port, u16, 7..9)]"
        assert rule in said
        shell.tell(drift)
        until(
            lambda: re.search(r"in step .* 1$", shell.tell("$controller status"), re.M), "repaired"
        )
        said = shell.tell(look)
        assert rule in said and f"- {rule}" not in said and f"+ {rule}" in said
        shell.tell(down)
    except BaseException:
        for log in at.glob("*.log"):
            sys.stderr.write(f"{log.name}:\n{log.read_text()}")
        raise
    finally:
        shell.close()
    assert namespaces(name) == []


def test_it_says_what_there_is() -> None:
    links = re.findall(r"\]\(([^)#:]+)[)#]", DOCS)
    assert links and [x for x in links if not (ROOT / "docs" / x).exists()] == []
    assert set(re.findall(r"H\d{4}", DOCS)) <= set(codes())


def test_the_controller_is_called_by_its_own_name() -> None:
    words = [sys.executable, str(ROOT / "examples" / "controller" / "main.py"), "token", "--help"]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert said.startswith("Usage: main.py token ")
