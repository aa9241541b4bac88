"""The agent's side of the reader (reading.py): calls relayed without being looked at."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress

from ...lang.text.diagnostics import Refused
from ..base import agent_errors as faults
from ..base.errors import refused
from ..front.threads import log_error
from ..owner.owner import Owner
from ..owner.snapshot_lease import SnapshotLease
from . import control_pb2 as pb
from .failures import diagnostics_of
from .methods import LONG
from .reading import COPIED, DIGEST, END, FAILED, METHODS, PART, receive, send

_ATTEMPTS = 3
_DYING = 0.5  # seconds
_BREATH = 1.0  # seconds between two looks at the process


class Relayed(Refused):
    """What the reader refuses."""

    def __init__(self, failed: pb.Failure) -> None:
        super().__init__(diagnostics_of(failed))


class _Overtaken(Exception):
    """What was to be read has been overwritten, or the reader ended, before it said anything."""


#: Seconds in which a reader that works says something: the short one; and the other, whose calls
#: wait for those before them, which end by then (guard.py). One that says nothing is replaced.
SILENT = (20.0, 150.0)


class Readers:
    """Calls may come from any thread. Close it."""

    def __init__(self, metrics: Sequence[socket.socket] = ()) -> None:
        """`metrics`: where a reader is to serve them; they listen already, and are closed with
        this."""
        self._short, self._long = _Reader(metrics), _Reader()

    def start(self) -> None:
        """Serve metrics, if any. What only calls need starts with the first one."""
        self._short.start()

    def close(self) -> None:
        """May be called again."""
        self._short.close()
        self._long.close()

    def call(
        self, method: str, owner: Owner, data: bytes, held: bool, program: int | None = None
    ) -> Iterator[bytes]:
        """The answers to a message, as bytes. `held`: the method reads rules, which stay as they
        are until its last answer. `program`: a descriptor for it to run. Raises `Refused`."""
        for _ in range(_ATTEMPTS):
            try:
                if not held:
                    yield from self._answers(method, owner, data, None, program)
                else:
                    with owner.hold() as what:
                        yield from self._answers(method, owner, data, what)
                return
            except _Overtaken:
                continue
        raise refused(faults.overtaken())

    def _answers(
        self, method: str, owner: Owner, data: bytes, held: SnapshotLease | None,
        program: int | None = None,
    ) -> Iterator[bytes]:  # fmt: skip
        reader = self._long if method in LONG else self._short
        mine, theirs = socket.socketpair()
        with mine:
            mine.settimeout(SILENT[method in LONG])
            with theirs:
                more = [held.descriptor] if held is not None else []
                more += [program] if program is not None else []
                process = reader.begin(METHODS.index(method), [theirs.fileno(), *more])
            said, digest = False, owner.digest
            try:
                send(mine, PART, digest.encode().ljust(DIGEST)[:DIGEST] + data)
                while True:
                    kind, content = receive(mine)
                    if kind == COPIED:
                        if held is not None and not held.let_go():
                            raise _Overtaken
                    elif kind == FAILED:
                        if not said and owner.digest != digest:  # upgraded in the meantime
                            raise _Overtaken
                        raise Relayed(pb.Failure.FromString(content))
                    elif kind == END:
                        return
                    else:
                        said = True
                        yield content
            except (OSError, EOFError) as error:
                if isinstance(error, TimeoutError):
                    process.kill()
                bury(process)
                if not said:
                    raise _Overtaken from None
                raise refused(faults.overtaken()) from None


class _Reader:
    """A process. It is started when it is needed, and again when it has ended (`reading.IDLE`) or
    died."""

    def __init__(self, metrics: Sequence[socket.socket] = ()) -> None:
        """With `metrics` it is started again by itself, too."""
        self._metrics = metrics
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def start(self) -> None:
        """Where it serves metrics."""
        if self._metrics:
            with self._lock:
                self._running()
            threading.Thread(target=self._keep, daemon=True).start()

    def _keep(self) -> None:
        while not self._closed.wait(_BREATH):
            with self._lock:
                if not self._closed.is_set():
                    try:
                        self._running()
                    except Exception as error:  # no process, or descriptor: again in a moment
                        log_error(error)

    def close(self) -> None:
        """May be called again."""
        self._closed.set()
        with self._lock:
            for each in self._metrics:
                each.close()
            if self._control is not None:
                self._control.close()
                self._control = None
            if self._process is not None:
                self._process.kill()
                self._process.wait()
                self._process = None

    def begin(self, method: int, descriptors: list[int]) -> subprocess.Popen[bytes]:
        """A call; by which process."""
        with self._lock:
            control, process = self._running()
            try:
                socket.send_fds(control, [bytes([method])], descriptors, socket.MSG_DONTWAIT)
                return process
            except OSError:
                pass
        bury(process)
        raise _Overtaken

    def _running(self) -> tuple[socket.socket, subprocess.Popen[bytes]]:
        if self._process is not None and self._process.poll() is not None:
            self._process = None
            if self._control is not None:
                self._control.close()
        if self._process is None or self._control is None:
            self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                inherited = [each.fileno() for each in (theirs, *self._metrics)]
                words = [sys.executable, "-m", "helioc.runtime.rpc", *map(str, inherited)]
                self._process = subprocess.Popen(
                    words, pass_fds=inherited, stdin=subprocess.DEVNULL
                )
            with suppress(RuntimeError):  # no thread: what is left of it goes with the next call
                # when it ends by itself nothing is left of it
                threading.Thread(target=self._process.wait, name="reader", daemon=True).start()
        return self._control, self._process


def bury(process: subprocess.Popen[bytes]) -> None:
    """Give it the moment that it needs to die, if that is what it does."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(_DYING)
