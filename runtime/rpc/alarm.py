"""What is done when something takes too long: one thread for all that is waited for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread

#: Seconds between two looks: so much later than asked for it may be.
_LOOK = 0.25


class Alarm:
    """May be used by any thread. Its own is started when it is first needed, and sleeps while
    nothing is waited for."""

    def __init__(self) -> None:
        self._due: dict[object, tuple[float, Callable[[], object]]] = {}
        self._some, self._lock = Event(), Lock()
        self._thread: Thread | None = None

    @contextmanager
    def after(self, seconds: float, work: Callable[[], object]) -> Iterator[None]:
        """Do it if the block takes longer than that. It must not fail or wait."""
        mine = object()
        self._due[mine] = time.monotonic() + seconds, work
        if not self._some.is_set():
            self._wake()
        try:
            yield
        finally:
            self._due.pop(mine, None)

    def _wake(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = Thread(target=self._run, name="alarm", daemon=True)
                self._thread.start()
        self._some.set()

    def _run(self) -> None:
        pause = Event()
        while self._some.wait():
            pause.wait(_LOOK)
            now = time.monotonic()
            for key, (due, work) in list(self._due.items()):
                if due <= now and self._due.pop(key, None) is not None:
                    work()
            self._some.clear()
            if self._due:  # also what came meanwhile
                self._some.set()
