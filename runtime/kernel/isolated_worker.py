"""The process that isolated_loader.py starts: it opens one object and carries out calls on it.

`python -m helioc.runtime.kernel.isolated_worker DESCRIPTOR`, of a stream socket. Each message is a
method of `objects.RawObject` with its arguments, the reply its result or the BpfError that it
raised. The first is `open`, with a name and a memory file that has the object.
"""

from __future__ import annotations

import resource
import signal
import socket
import sys
from contextlib import suppress
from typing import Any

from .isolated_protocol import receive, send
from .libbpf import BpfError
from .objects import RawObject

#: Bytes of memory that a crafted file can make it take.
_MEMORY = 8 << 30
_METHODS = ("specs", "set_max_entries", "set_inner", "reuse", "skip", "bind")


def main() -> None:
    """Serve until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to us, too
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    with socket.socket(fileno=int(sys.argv[1])) as client, suppress(EOFError, OSError):
        _serve(client)


def _serve(client: socket.socket) -> None:
    (_, name), (file,) = receive(client)
    with open(file, "rb") as content:
        elf = content.read()
    opened: RawObject | None = None
    try:
        opened = RawObject(elf, name)
        send(client, {"returned": opened.programs})
        while True:
            (method, *arguments), descriptors = receive(client)
            try:
                _answer(client, opened, method, [*arguments, *descriptors])
            except BpfError as error:
                send(client, _error_message(error))
    except BpfError as error:
        send(client, _error_message(error))


def _answer(client: socket.socket, opened: RawObject, method: str, arguments: list[Any]) -> None:
    if method == "load":
        programs, maps = opened.load(*arguments)
        logs = {name: log for name, (_, log) in programs.items()}
        descriptors = [*(fd for fd, _ in programs.values()), *maps.values()]
        send(client, {"returned": [logs, list(maps)]}, descriptors)
    elif method in _METHODS:
        send(client, {"returned": getattr(opened, method)(*arguments)})


def _error_message(error: BpfError) -> dict[str, Any]:
    about = {"fix": error.fix, "program": error.program, "damaged": error.damaged}
    return {"raised": [error.operation, error.errno, error.log], "about": about}


if __name__ == "__main__":
    main()
