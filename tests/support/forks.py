"""`heliod` and `helioctl` in forks of a process that has imported what they import: that is most of
the CPU time of an agent, and tests start some hundred of them. A program; `Forked` asks it.

A fork is a child of who asked (CLONE_PARENT of clone(2)), and runs `main` of the command with the
arguments, environment, directory, network namespace and streams that a process of its own would
have. What is about the start itself, or about memory, starts a process: `agent(by=ANEW)`.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from threading import Lock
from typing import Any

COMMANDS = ("helioc.commands.heliod", "helioc.commands.helioctl")
_CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE_PARENT, _CLONE_NEWNET = 0x8000, 0x40000000
_MOST = 1 << 18  # bytes of what is asked

_forking: list[socket.socket] = []
_one_asks = Lock()


@contextmanager
def forking() -> Iterator[None]:
    """Until the end there is the process that forks."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    here.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _MOST)
    with here:
        with there:
            words = [sys.executable, __file__, str(there.fileno())]
            nothing = subprocess.DEVNULL
            process = subprocess.Popen(
                words, stdin=nothing, stdout=nothing, pass_fds=[there.fileno()],
                start_new_session=True,
            )  # fmt: skip
        _forking.append(here)
        try:
            yield
        finally:
            _forking.remove(here)
    process.wait()


def way(words: tuple[str, ...]) -> type[subprocess.Popen[Any]]:
    """To start it: in a fork if it is `nsenter --net=PATH python -m COMMAND …`."""
    forked = _forking and words[0] == "nsenter" and words[4] in COMMANDS
    return Forked if forked else subprocess.Popen


def run(words: tuple[str, ...], stdin: str, directory: Path) -> tuple[int, str]:
    """To its end, in a fork where that can be: its status, and what it said."""
    pipe = subprocess.PIPE
    with way(words)(
        words, text=True, cwd=directory, stdin=pipe, stdout=pipe, stderr=pipe
    ) as process:
        try:
            said = process.communicate(stdin, timeout=60)
        except BaseException:
            process.kill()
            raise
    return process.returncode, "".join(said)


class Forked(subprocess.Popen[Any]):
    """A command in a fork, by the words that would start it."""

    def _execute_child(self, words: Sequence[str], *given: Any) -> None:
        _, _, _, _, cwd, env = given[:6]
        ends = given[9:15]  # of three pipes: what the child has, and what stays here
        own = ends[0], ends[3], ends[5]
        streams = [number if end < 0 else end for number, end in enumerate(own)]
        asked = list(words), str(cwd or os.getcwd()), dict(os.environ if env is None else env)
        (forking,) = _forking
        with _one_asks:
            socket.send_fds(forking, [json.dumps(asked).encode()], streams)
            self.pid = int(forking.recv(64))
        self._child_created = True
        self._close_pipe_fds(*ends)  # type: ignore[attr-defined]


def _serve(asking: socket.socket) -> None:
    """Returns in a fork that is to run a command, and where nobody asks any more."""
    libc = ctypes.PyDLL(None, use_errno=True)
    while True:
        asked, streams, _, _ = socket.recv_fds(asking, _MOST, 3)
        if not asked:
            os._exit(0)
        pid = libc.syscall(_CLONE[os.uname().machine], _CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)
        if not pid:
            asking.close()
            words, directory, environment = json.loads(asked)
            _become(libc, words, directory, environment, list(streams))
            return
        for each in streams:
            os.close(each)
        asking.send(str(pid).encode())


def _become(
    libc: Any, words: list[str], directory: str, environment: dict[str, str], streams: list[int]
) -> None:
    """What the words would start."""
    os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, max(streams) + 1)
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    with open(words[1].removeprefix("--net="), "rb") as namespace:
        if libc.setns(namespace.fileno(), _CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")
    random.seed()
    sys.argv = words[4:]
    if words[4] != COMMANDS[0]:
        gc.freeze()  # its end would look through all of them


def _import_all() -> None:
    """Also what the commands import only when they run; nothing of the compiler."""
    for name in (*COMMANDS, "helioc.lang", "helioc.runtime"):
        for found in walk_packages(getattr(import_module(name), "__path__", ()), f"{name}."):
            if not found.name.endswith(".__main__"):
                import_module(found.name)


if __name__ == "__main__":
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as heliod sets it before it imports numpy
    _import_all()
    assert len(os.listdir("/proc/self/task")) == 1
    _serve(socket.socket(fileno=int(sys.argv[1])))
    sys.modules[sys.argv[0]].main()
