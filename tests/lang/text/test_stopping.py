"""A signal ends a compilation, its clangs too, and nothing is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

LINX = Path(__file__).parents[3] / "pipelines" / "linx.hp"
ENDLESS = """#!/bin/sh
case "$*" in *" -E "*) exit ;; esac  # what it is asked about itself
echo $$ >> "$STARTED"
exec sleep 600
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("command", ["compile", "fuzz"])
def test_nothing_is_left(tmp_path: Path, command: str, number: int) -> None:
    """With a clang that never ends: two of them, as a traced build is made beside the plain one."""
    clang, started, scratch = (tmp_path / name for name in ("clang", "started", "scratch"))
    clang.write_text(ENDLESS)
    clang.chmod(0o755)
    os.mkfifo(started)
    scratch.mkdir()
    settings = {"HELIOC_CLANG": clang, "STARTED": started, "TMPDIR": scratch}
    out = ["-o", str(tmp_path / "bundle")] if command == "compile" else []
    with (
        os.fdopen(os.open(started, os.O_RDWR)) as pids,
        subprocess.Popen(
            [sys.executable, "-m", "helioc.commands.helioc", command, str(LINX), *out],
            env=os.environ | {name: str(path) for name, path in settings.items()},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        ) as process,
    ):
        running = [int(pids.readline()) for _ in range(2 if command == "compile" else 1)]
        assert list(scratch.iterdir())
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
        assert (process.returncode, said.strip()) == (128 + number, b"")
    left = [pid for pid in running if Path(f"/proc/{pid}").exists()]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left and not list(scratch.iterdir())


SWALLOWING = """
import os, sys, time
from helioc.lang.text.stopping import Stopped, stop_in_order
stop_in_order()
class Dying:
    def __del__(self):
        os.kill(os.getpid(), int(sys.argv[1]))
Dying()
try:
    while True:
        time.sleep(1)
except Stopped as stopped:
    raise SystemExit(stopped.status)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_comes_where_nothing_can_be_raised(number: int) -> None:
    """Python prints and forgets what is raised in `__del__` and in callbacks."""
    command = [sys.executable, "-c", SWALLOWING, str(int(number))]
    done = subprocess.run(command, capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (128 + number, b"")


SERVING = """
import signal, sys, threading
from helioc.lang.text.stopping import Serving
serving = Serving()
assert not serving.wait(0.01)
if sys.argv[1] == "aside":  # the main thread is not woken by what another one gets
    threading.Thread(target=lambda: signal.pthread_kill(threading.get_ident(), 15)).start()
else:
    print("works", flush=True)
assert serving.wait() and serving.wait(0)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_server_ends_by_a_signal(number: int) -> None:
    with subprocess.Popen([sys.executable, "-c", SERVING, ""], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"works\n"
        process.send_signal(number)
        assert process.wait(60) == 0


def test_a_server_ends_whichever_thread_gets_the_signal() -> None:
    subprocess.run([sys.executable, "-c", SERVING, "aside"], check=True, timeout=60)
