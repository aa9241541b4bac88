"""Opens and loads an object file in another process, so that a crash of libbpf does not end us.

That process (isolated_worker.py) has our privileges and ends when the object is loaded or closed;
it passes back descriptors.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from errno import ENOEXEC, ETIMEDOUT
from typing import Any

from .isolated_protocol import receive, send
from .libbpf import BpfError
from .objects import LoadedParts, Spec

#: Seconds that opening and configuring an object, and loading it, may take.
_OPENING, _LOADING = 20.0, 300.0
_EXITING = 5.0


class IsolatedObject:
    """`objects.OpenObject` by another process."""

    def __init__(self, elf: bytes, name: str) -> None:
        self.name = name
        self._socket, theirs = socket.socketpair()
        self._socket.settimeout(_OPENING)
        command = [sys.executable, "-m", "helioc.runtime.kernel.isolated_worker"]
        with theirs:
            fd = theirs.fileno()
            self._process = subprocess.Popen(
                [*command, str(fd)], pass_fds=[fd], stdin=subprocess.DEVNULL
            )
        self._doing = "read"
        file = os.memfd_create("object", os.MFD_CLOEXEC)
        try:
            with os.fdopen(os.dup(file), "wb") as content:
                content.write(elf)
            os.lseek(file, 0, os.SEEK_SET)
            self.programs: list[str] = self._call("open", name, descriptors=[file])
        except BaseException:
            self.close()
            raise
        finally:
            os.close(file)

    def close(self) -> None:
        """May be called again."""
        self._socket.close()
        self._process.kill()
        self._process.wait()

    def specs(self) -> dict[str, Spec]:
        return {name: tuple(spec) for name, spec in self._call("specs").items()}

    def set_max_entries(self, name: str, entries: int) -> None:
        self._call("set_max_entries", name, entries)

    def set_inner(self, name: str, pattern: int) -> None:
        self._call("set_inner", name, descriptors=[pattern])

    def reuse(self, name: str, existing: int) -> None:
        self._call("reuse", name, descriptors=[existing])

    def skip(self, program: str) -> None:
        self._call("skip", program)

    def bind(self, programs: Mapping[str, int]) -> None:
        self._call("bind", dict(programs))

    def load(self, log_level: int) -> LoadedParts:
        self._socket.settimeout(_LOADING)
        self._doing = "load"
        try:
            (logs, maps), descriptors = self._ask("load", log_level)
        finally:
            self.close()
        of_programs = zip(descriptors, logs.values(), strict=False)
        return LoadedParts(
            dict(zip(logs, of_programs, strict=False)),
            dict(zip(maps, descriptors[len(logs) :], strict=True)),
        )

    def _call(self, method: str, *arguments: Any, descriptors: Sequence[int] = ()) -> Any:
        return self._ask(method, *arguments, descriptors=descriptors)[0]

    def _ask(
        self, method: str, *arguments: Any, descriptors: Sequence[int] = ()
    ) -> tuple[Any, list[int]]:
        try:
            send(self._socket, [method, *arguments], descriptors)
            answer, came = receive(self._socket)
        except TimeoutError:
            raise self._damaged("that takes too long", ETIMEDOUT) from None
        except (OSError, EOFError, ValueError):
            raise self._damaged(self._exit_reason(), ENOEXEC) from None
        if "raised" in answer:
            raise BpfError(*answer["raised"], **answer["about"])
        return answer["returned"], came

    def _damaged(self, why: str, errno: int) -> BpfError:
        return BpfError(f"{self._doing} object `{self.name}`", errno, why, damaged=True)

    def _exit_reason(self) -> str:
        """How the process ended."""
        try:
            status = self._process.wait(_EXITING)
        except subprocess.TimeoutExpired:
            return "libbpf does not end"
        named = signal.Signals(-status).name if status < 0 else f"status {status}"
        return f"libbpf crashed on it ({named})"
