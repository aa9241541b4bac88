"""The thread that looks after the journal: what nobody waits for."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable

from ..lang.diagnostics import Refused
from ..lang.render import render
from .owner import Owner

#: Seconds in which changes gather before it looks: what a power cut may take of what was
#: acknowledged before it was on the disk, if the journal is kept so.
PAUSE = 0.01
_log = logging.getLogger("heliod.journal")


class Scribe:
    """Runs from `start` to `stop`, and sleeps while nothing changes."""

    def __init__(self, owners: Callable[[], Iterable[Owner]]) -> None:
        self._owners = owners
        self._stirred, self._ended = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="scribe", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stir(self) -> None:
        """Something was written. Costs next to nothing."""
        if not self._stirred.is_set():
            self._stirred.set()

    def stop(self) -> None:
        """May be called again, also where it was never started."""
        self._ended.set()
        self._stirred.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while self._stirred.wait() and not self._ended.wait(PAUSE):
            self._stirred.clear()
            for owner in self._owners():
                try:
                    owner.look_after()
                except Refused as error:
                    for found in error.diagnostics:
                        _log.error("%s: %s", owner.name, render(found))
