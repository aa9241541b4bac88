"""The threads that write journals to the disk and make snapshots: what no request waits for."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress

from ...lang.text.diagnostics import Diagnostic, Refused
from ...lang.text.exit_status import diagnosed
from ..base.logs import text as log_text
from ..base.memory import Memory
from ..journal.store import Store
from .owner import Owner

#: Seconds in which changes gather before it looks: what a power cut may take of what was
#: acknowledged before it was on the disk, if the journal is kept so.
PAUSE = 0.01
#: Seconds between two attempts to write what could not be written: AGAIN, or _SHARE times the last
#: one's if that is more, but not more than _LONGEST.
AGAIN, _SHARE, _LONGEST = 1.0, 4, 5.0
_log = logging.getLogger("heliod.journal")


class JournalFlusher:
    """Runs from `start` to `stop`, and sleeps while nothing changes. One thread brings what is
    written onto the disk; another makes the snapshots, which take seconds; a third looks whether a
    disk that could not be written can be by now, and gives back memory."""

    def __init__(self, owners: Callable[[], Iterable[Owner]], store: Store | None = None) -> None:
        self._owners, self._store, self._memory = owners, store, Memory()
        self._said = set[Diagnostic]()
        self._written, self._synced, self._ended = (threading.Event() for _ in range(3))
        self._threads = [
            threading.Thread(target=self._sync, name="journal-flusher", daemon=True),
            threading.Thread(target=self._fold, name="journal-folder", daemon=True),
            threading.Thread(target=self._fix, name="journal-fixer", daemon=True),
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    @property
    def works(self) -> bool:
        return all(thread.is_alive() for thread in self._threads)

    def wake(self) -> None:
        """Something was written. Costs next to nothing."""
        if not self._written.is_set():
            self._written.set()

    def stop(self) -> None:
        """May be called again, also where it was never started."""
        for event in (self._ended, self._written, self._synced):
            event.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()

    def _sync(self) -> None:
        while self._goes_on(self._written, PAUSE):
            self._each(Owner.sync)
            self._synced.set()

    def _fold(self) -> None:
        while self._goes_on(self._synced):
            self._each(_fold)

    def _goes_on(self, event: threading.Event, pause: float = 0) -> bool:
        """Wait for what there is to do; false when this ends."""
        event.wait()
        self._ended.wait(pause)
        event.clear()  # before it looks: `stop` sets this last
        return not self._ended.is_set()

    def _fix(self) -> None:
        pause = AGAIN
        while not self._ended.wait(pause):
            begun = time.monotonic()
            if self._store is not None:
                with suppress(Refused):  # it has been told, and the status tells it
                    self._store.fix()
            self._each(_fix)
            self._say()
            self._memory.give_back()
            pause = min(max(AGAIN, _SHARE * (time.monotonic() - begun)), _LONGEST)

    def _say(self) -> None:
        """Why nothing can be written, once."""
        of_store = self._store.stuck if self._store is not None else ()
        now = {*of_store, *(found for owner in self._owners() for found in owner.unwritten)}
        for new in now - self._said:
            _log.error("%s", log_text(new))
        self._said = now

    def _each(self, work: Callable[[Owner], None]) -> None:
        """Whatever goes wrong with one, the others are looked after, and it is again."""
        for owner in self._owners():
            try:
                work(owner)
            except Exception as error:
                for found in diagnosed(error, "heliod"):
                    _log.error("%s: %s", owner.name, log_text(found))


def _fold(owner: Owner) -> None:
    if not owner.unwritten:  # else it is tried again now and then, not with each request
        owner.fold_if_due()


def _fix(owner: Owner) -> None:
    owner.confirm()
    if owner.journal is not None:
        for found in owner.journal.see_files():
            _log.error("%s: %s", owner.name, log_text(found))
    if owner.unwritten:
        with suppress(Refused):
            owner.fix_journal()
        if not owner.unwritten:
            _log.info("%s: the journal can be written again", owner.name)
