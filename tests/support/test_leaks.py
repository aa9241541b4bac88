"""The guard sees every kind of leak, also after a failing test, and leaves a clean machine."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest
from lab import remove_namespace
from leaks import Snapshot, leaked, snapshot

HERE = Path(__file__).parent
PATHS = f"{HERE}:{HERE.parent}:{HERE.parents[1] / 'examples'}"

NOTHING = Snapshot(Counter(), frozenset(), frozenset(), frozenset(), frozenset(), frozenset())


def _run(folder: Path, **environment: str) -> tuple[str, int]:
    """Run pytest with this suite's conftest on the tests in a folder: its output and exit code."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "conftest", "-p", "no:cacheprovider", "-c/dev/null",
         "-W", "ignore::ResourceWarning", "--rootdir", str(folder), str(folder)],
        env=os.environ | {"PYTHONPATH": PATHS} | environment,
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    return done.stdout, done.returncode


LEAKY = """
import os, socket, subprocess
from pathlib import Path
import leaks
import pytest
from lab import command, until
from leaks import BPFFS, PREFIX, RUN

kept = []
leaks.GRPC = 0.5  # seconds: none of these is gRPC's

def test_socket():
    kept.append(socket.socket())

def test_socket_of_a_failing_test():
    kept.append(socket.socket())
    assert False, "on purpose"

def test_file():
    kept.append(open(__file__))

def test_child():
    kept.append(child := subprocess.Popen(["tail", "-f", "/dev/null"]))
    # Popen returns before the kernel has set the command line.
    until(Path(f"/proc/{child.pid}/cmdline").read_bytes, "tail has started")

def test_namespace(kernel):
    command("ip", "netns", "add", PREFIX + "left")

def test_device(kernel):
    command("ip", "link", "add", PREFIX + "d", "type", "veth", "peer", "name", PREFIX + "e")

def test_lock(kernel):
    RUN.mkdir(mode=0o700, exist_ok=True)
    (RUN / (PREFIX + "left.lock")).touch()

def test_pin(kernel):
    (BPFFS / (PREFIX + "left") / "below").mkdir(parents=True)

def test_pin_in_its_own_folder(pins):
    (pins / "left").mkdir()

def test_clean(kernel):
    with socket.socket():
        pass
"""


LEAVES = {
    "test_socket": "1 descriptor of socket",
    "test_socket_of_a_failing_test": "1 descriptor of socket",
    "test_file": "1 descriptor of ",
    "test_child": "tail -f /dev/null",
    "test_namespace": "network namespace ht",
    "test_device": "network device ht",
    "test_lock": "file /run/helio/ht",
    "test_pin": "pin /sys/fs/bpf/ht",
    "test_pin_in_its_own_folder": "pins left behind by this test:",
}


def test_every_kind_of_leak_fails_its_test(kernel: None, tmp_path: Path) -> None:
    (tmp_path / "test_leaky.py").write_text(LEAKY)
    said, _ = _run(tmp_path)
    # Nine at teardown, and once more all that stayed to the end.
    assert "1 failed, 9 passed, 10 errors" in said, said
    for test, leaves in LEAVES.items():
        report = said.split(f"_ ERROR at teardown of {test} _")[1].split("_ ERROR at ")[0]
        assert leaves in report, said
    prefix = said.split("pin /sys/fs/bpf/")[1].split("-")[0]
    assert snapshot(f"{prefix}-").names_since(NOTHING) == []


def test_what_is_unreachable_is_no_leak(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leaks.GRPC", 0.5)  # seconds: it is not gRPC's

    class Ring:
        """Holds a descriptor and itself: only the collector lets go of it."""

        def __init__(self) -> None:
            self.me, self.file = self, socket.socket().detach()

        def __del__(self) -> None:
            os.close(self.file)

    before = snapshot()
    ring = Ring()
    assert leaked(before) == ["1 descriptor of socket"]
    del ring
    assert leaked(before) == []


def test_what_another_thread_is_about_to_close_is_no_leak() -> None:
    before = snapshot()
    poller = select.epoll()
    closing = threading.Timer(0.2, poller.close)
    closing.start()
    assert leaked(before) == []
    closing.join()


MESSY = """
import subprocess

def test_unmarked_namespace():
    subprocess.run(["ip", "netns", "add", "{name}"], check=True)
"""


def test_in_ci_any_name_counts(kernel: None, tmp_path: Path) -> None:
    name = f"other-{os.getpid()}"
    (tmp_path / "test_messy.py").write_text(MESSY.format(name=name))
    try:
        said, code = _run(tmp_path, CI="true")
    finally:
        remove_namespace(name)
    assert f"network namespace {name}" in said
    assert "1 passed" in said
    assert code == 1
