"""The agent's side of a shadow run: a process of its own (shadowing.py), whose reports are passed
on."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ..base.errors import refused
from ..shadow.errors import run_failed
from ..tracing.swap import restore_plain_builds
from . import control_pb2 as pb
from .guard import Context
from .readers import Relayed
from .reading import END, FAILED, PART, receive, send

#: Seconds in which a run ends that is to: it puts the plain build back.
_ENDING = 20.0


def shadow_reports(request: pb.ShadowRequest, context: Context) -> Iterator[pb.ShadowReport]:
    """Until the run or the call ends. Raises `Refused`."""
    with _process() as mine:

        def end() -> None:
            with suppress(OSError):
                mine.shutdown(socket.SHUT_RDWR)

        if not context.add_callback(end):
            return  # it has ended already
        try:
            send(mine, PART, request.SerializeToString())
            while (got := receive(mine))[0] == PART:
                yield pb.ShadowReport.FromString(got[1])
        except (OSError, EOFError):
            if context.is_active():
                raise refused(run_failed(request.pipeline)) from None
            return
        if got[0] == FAILED:
            raise Relayed(pb.Failure.FromString(got[1]))
        assert got[0] == END


@contextmanager
def _process() -> Iterator[socket.socket]:
    """Our end of its socket: with that it ends."""
    mine, theirs = socket.socketpair()
    with mine:
        with theirs:
            words = [sys.executable, "-m", "helioc.runtime.rpc.shadowing", str(theirs.fileno())]
            process = subprocess.Popen(words, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        try:
            yield mine
        finally:
            mine.close()
            try:
                process.wait(_ENDING)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.returncode:  # it was killed: what it had in place is there still
                restore_plain_builds()
