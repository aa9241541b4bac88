"""The guard sees every kind of leak, also after a failing test, and leaves a clean machine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

from lab import namespaces
from leaks import BPFFS, leaked, snapshot

HERE = Path(__file__).parent

LEAKY = """
import os, socket, subprocess
from pathlib import Path
import pytest
from lab import command
from leaks import BPFFS, PREFIX

kept = []

def test_socket():
    kept.append(socket.socket())

def test_socket_of_a_failing_test():
    kept.append(socket.socket())
    assert False, "on purpose"

def test_file():
    kept.append(open(__file__))

def test_child():
    kept.append(subprocess.Popen(["tail", "-f", "/dev/null"]))

def test_namespace(kernel):
    command("ip", "netns", "add", PREFIX + "left")

def test_device(kernel):
    command("ip", "link", "add", PREFIX + "d", "type", "veth", "peer", "name", PREFIX + "e")

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
    "test_pin": "pin /sys/fs/bpf/ht",
    "test_pin_in_its_own_folder": "pins left behind by this test:",
}


def test_every_kind_of_leak_fails_its_test(kernel: None, tmp_path: Path) -> None:
    (tmp_path / "test_leaky.py").write_text(LEAKY)
    with subprocess.Popen(
        [sys.executable, "-m", "pytest", "-p", "conftest", "-p", "no:cacheprovider", "-c/dev/null",
         "-W", "ignore::ResourceWarning", "--rootdir", str(tmp_path), str(tmp_path)],
        env=os.environ | {"PYTHONPATH": f"{HERE}:{HERE.parent / 'examples'}"},
        stdout=subprocess.PIPE,
        text=True,
    ) as run:  # fmt: skip
        said, _ = run.communicate(timeout=60)
    # Eight at teardown, and once more all that stayed to the end.
    assert "1 failed, 8 passed, 9 errors" in said, said
    for test, leaves in LEAVES.items():
        report = said.split(f"_ ERROR at teardown of {test} _")[1].split("_ ERROR at ")[0]
        assert leaves in report, said
    prefix = f"ht{run.pid}-"
    assert namespaces(prefix) == []
    assert not list(BPFFS.glob(f"{prefix}*"))
    assert not list(Path("/sys/class/net").glob(f"{prefix}*"))


def test_what_is_unreachable_is_no_leak() -> None:
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
