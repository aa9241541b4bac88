"""The process of one shadow run, so that the agent neither waits for it nor has its memory. This is
its side; shadow.py is the agent's.

At a stream socket, in frames as of reading.py: first the agent's `ShadowRequest`; then a
`ShadowReport` after the other, and END; or FAILED. When the agent's end is closed, whoever did
that, the run ends and the plain build is put back.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
from contextlib import suppress

from ...lang.text.exit_status import diagnosed
from ...lang.text.source import Source
from ..base.errors import refused
from ..shadow.errors import bad_time
from ..shadow.options import ShadowOptions
from ..shadow.report import Report
from ..shadow.report_json import report_json
from ..shadow.shadow import shadowing
from . import control_pb2 as pb
from .bundles import bundle_of
from .failures import failure
from .reading import END, FAILED, PART, receive, send

LONGEST, SHORTEST_PERIOD = 24 * 3600.0, 0.1


def main() -> None:
    """Of the socket whose descriptor is the first argument."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: the agent ends us
    with socket.socket(fileno=int(sys.argv[1])) as call:
        try:
            _, message = receive(call)
            over = threading.Event()
            threading.Thread(target=_listen, args=(call, over), daemon=True).start()
            try:
                _run(pb.ShadowRequest.FromString(message), call, over)
                send(call, END)
            except (OSError, EOFError):
                raise
            except Exception as error:
                told = failure(diagnosed(error, "heliod"))
                send(call, FAILED, told.SerializeToString())
        except (OSError, EOFError):
            return  # the agent is gone, or the call


def _listen(call: socket.socket, over: threading.Event) -> None:
    """The agent says nothing more: what comes is its end."""
    with suppress(OSError):
        call.recv(1)
    over.set()


def _run(asked: pb.ShadowRequest, call: socket.socket, over: threading.Event) -> None:
    """Raises `Refused`; OSError where the agent is gone."""

    def tell(report: Report, last: bool = False) -> None:
        text = json.dumps(report_json(report))
        send(call, PART, pb.ShadowReport(report=text, last=last).SerializeToString())

    mapping = Source(asked.mapping_name or "<mapping>", asked.mapping) if asked.mapping else None
    with shadowing(asked.pipeline, bundle_of(asked.bundle), mapping, options_of(asked)) as shadow:
        tell(shadow.run(over.is_set, tell), last=True)


def options_of(asked: pb.ShadowRequest) -> ShadowOptions:
    """Raises `Refused`."""
    period = asked.period or 1.0
    if not 0 <= asked.seconds <= LONGEST or not SHORTEST_PERIOD <= period <= LONGEST:
        raise refused(bad_time())
    return ShadowOptions(
        asked.filter, asked.port, asked.sample or 1, min(asked.rate, 100_000) or 1000,
        asked.seconds or None, period, tuple(asked.allow),
    )  # fmt: skip


if __name__ == "__main__":
    main()
