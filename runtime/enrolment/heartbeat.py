"""Reports to the controller where this edge is and what it runs, and renews the certificate.

A thread that sleeps: it looks once a second whether there is something new to say, and says it; if
nobody hears it, again after a pause that grows.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from ...lang.text.diagnostics import Refused
from .announcement import announcement
from .edge import Home, announce, renew

if TYPE_CHECKING:
    from ..agent.status import PipelineStatus

#: Seconds: between looks; until the same is said again; the longest pause when nobody hears; what a
#: call in progress has at the end.
LOOK, AGAIN, LONGEST, GRACE = 1.0, 300.0, 60.0, 1.0
_log = logging.getLogger("heliod")


class Heartbeat:
    def __init__(self, at: Home, status: Callable[[], Iterable[PipelineStatus]]) -> None:
        self.at, self.status = at, status
        self._said: dict[str, Any] = {}
        self._due, self._pause, self._fault = 0.0, LOOK, ""
        self._stopping = Event()
        self._thread = Thread(target=self._run, name="heartbeat", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """A controller that does not answer is not waited for."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(GRACE)

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._stopping.wait(self._once())

    def _once(self) -> float:
        """Say what there is to say; seconds until the next look."""
        try:
            now = announcement(self.at.address, self.status())
            if now != self._said or time.monotonic() >= self._due:
                if renew(self.at):
                    _log.info("the certificate was renewed")
                announce(self.at, now)
                self._said, self._due = now, time.monotonic() + AGAIN
                if self._fault:
                    _log.info("the controller at %s is heard again", self.at.controller)
            self._pause, self._fault = LOOK, ""
            return LOOK
        except (Refused, OSError) as error:
            if str(error) != self._fault:
                self._fault = str(error)
                _log.error("the controller does not know of us: %s", error)
            self._pause = min(2 * self._pause, LONGEST)
            return self._pause
