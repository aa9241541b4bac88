"""The process of apart.py: it opens one object, and does with it what it is asked for.

`python -m helioc.runtime.kernel.aside DESCRIPTOR`, of a stream socket. Each message is a method of
`objects.Raw` with its arguments, the answer what that returns, or the BpfError that it raises. The
first is `open`, with a name and a memory file that has the object.
"""

from __future__ import annotations

import resource
import signal
import socket
import sys
from contextlib import suppress
from typing import Any

from .libbpf import BpfError
from .objects import Raw
from .wire import receive, send

#: Octets of memory, so that a file that is made for it does not take the host's.
_ROOM = 8 << 30
_METHODS = ("specs", "set_max_entries", "set_inner", "reuse", "skip", "bind")


def main() -> None:
    """Serve until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: who started us ends us
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (_ROOM, _ROOM))
    with socket.socket(fileno=int(sys.argv[1])) as asker, suppress(EOFError, OSError):
        _serve(asker)


def _serve(asker: socket.socket) -> None:
    (_, name), (file,) = receive(asker)
    with open(file, "rb") as content:
        elf = content.read()
    opened: Raw | None = None
    try:
        opened = Raw(elf, name)
        send(asker, {"returned": opened.programs})
        while True:
            (method, *arguments), descriptors = receive(asker)
            try:
                _answer(asker, opened, method, [*arguments, *descriptors])
            except BpfError as error:
                send(asker, _told(error))
    except BpfError as error:
        send(asker, _told(error))


def _answer(asker: socket.socket, opened: Raw, method: str, arguments: list[Any]) -> None:
    if method == "load":
        programs, maps = opened.load(*arguments)
        logs = {name: log for name, (_, log) in programs.items()}
        descriptors = [*(fd for fd, _ in programs.values()), *maps.values()]
        send(asker, {"returned": [logs, list(maps)]}, descriptors)
    elif method in _METHODS:
        send(asker, {"returned": getattr(opened, method)(*arguments)})


def _told(error: BpfError) -> dict[str, Any]:
    about = {"mend": error.mend, "program": error.program, "damaged": error.damaged}
    return {"raised": [error.operation, error.errno, error.log], "about": about}


if __name__ == "__main__":
    main()
