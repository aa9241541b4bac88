"""The front's process. Its one argument is a JSON object: descriptors of the socket to the agent
(`control`) and of those that listen (`tls`, `open`), the path of the agent's socket (`agent`), and
for `tls` that of the certificates (`identity`)."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import sys
from pathlib import Path
from typing import Any

from ..agent.privileges import confine
from ..kernel import system

_SET_PDEATHSIG = 1  # linux/prctl.h


def main() -> None:
    wanted = json.loads(sys.argv[1])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: the agent ends us
    system.prctl(_SET_PDEATHSIG, signal.SIGKILL)
    confine(())
    asyncio.run(_serve(wanted))


async def _serve(wanted: dict[str, Any]) -> None:
    from .listener import Listener
    from .report import Reports
    from .sources import Sources
    from .tls import Contexts

    reports = Reports(socket.socket(fileno=wanted["control"]))
    sources, listeners = Sources(), list[Listener]()
    for descriptors, identity in ((wanted["tls"], wanted["identity"]), (wanted["open"], "")):
        for descriptor in descriptors:
            at = socket.socket(fileno=descriptor)
            contexts = Contexts(Path(identity)) if identity else None
            listeners.append(Listener(at, wanted["agent"], contexts, sources, reports))
    sending = asyncio.ensure_future(reports.send())
    while (numbers := await reports.wanted()) is not None and not sending.done():
        for listener in listeners:
            listener.close(numbers)


if __name__ == "__main__":
    main()
