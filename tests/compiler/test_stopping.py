"""A signal ends a command, wherever it comes."""

from __future__ import annotations

import subprocess
import sys

SWALLOWING = """
import os, signal, time
from helioc.lang.stopping import Stopped, stop_in_order
stop_in_order()
class Dying:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
Dying()
try:
    while True:
        time.sleep(1)
except Stopped as stopped:
    raise SystemExit(stopped.status)
"""


def test_a_signal_that_comes_where_nothing_can_be_raised() -> None:
    """Python prints and forgets what is raised in `__del__` and in callbacks."""
    done = subprocess.run([sys.executable, "-c", SWALLOWING], capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (143, b"")
