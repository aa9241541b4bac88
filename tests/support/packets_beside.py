"""Packets that another process sends all the while, of which none may see half a request."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

from helioc.runtime.testrun.private_run import PrivateRun


@contextmanager
def packets(run: PrivateRun, frame: bytes, expected: str) -> Iterator[Callable[[], int]]:
    """Another process sends this frame through the programs, on and on, and counts verdicts. The
    function waits until it has seen a thousand more; at the end none may have been another."""
    ask_read, ask_write = os.pipe()
    tell_read, tell_write = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.nice(-1)
            _send(run, frame, expected, ask_read, tell_write)
        finally:
            os._exit(1)
    sent = 0

    def enough() -> int:
        nonlocal sent
        os.write(ask_write, b"?")
        sent = int.from_bytes(os.read(tell_read, 8), "little")
        return sent

    try:
        yield enough
        os.write(ask_write, b".")
        others = int.from_bytes(os.read(tell_read, 8), "little")
        assert sent and not others, f"{others} of {sent} packets saw half a request"
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        for fd in (ask_read, ask_write, tell_read, tell_write):
            os.close(fd)


def _send(run: PrivateRun, frame: bytes, desired: str, ask: int, tell: int) -> None:
    program = run._entries["lan"]
    expected = {"drop": 1, "pass": 2}[desired]
    others = 0
    for sent in count(1):
        others += program.test_run(frame, ingress_ifindex=1).retval != expected
        if sent % 100 == 0 and select.select([ask], [], [], 0)[0]:
            asked = os.read(ask, 1)
            os.write(tell, (sent if asked == b"?" else others).to_bytes(8, "little"))
