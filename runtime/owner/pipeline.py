"""A loaded pipeline that this process owns: whose turn it is with it, and its end."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

from ...lang.contract.rules.wire import Codecs
from ...lang.text.diagnostics import Diagnostic
from ..base import agent_errors as faults
from ..base.errors import not_loaded, refused
from ..base.latency_stats import LatencyStats
from ..base.outcome import RevisionConflict
from ..base.waits import SlowRequests
from ..journal.journal import Journal
from ..loading.any_loaded import AnyLoaded, open_loaded
from .events import Event, Events, PipelineChanged
from .fair_lock import FairLock

#: Seconds that a request waits for its turn at most, whatever its deadline.
PATIENCE = 60.0
_Result = TypeVar("_Result")


class OwnedPipeline:
    """Holds the pipeline's only writer and its rule book, one transaction at a time."""

    def __init__(self, loaded: AnyLoaded, events: Events, journal: Journal | None = None) -> None:
        self.name, self.events, self.journal = loaded.name, events, journal
        self.lock = FairLock()
        #: Why it takes nothing any more.
        self._ended: Diagnostic | None = None
        self._take(loaded)
        self.tally, self._slow = LatencyStats(self.name), SlowRequests(self.name)

    def _take(self, loaded: AnyLoaded) -> None:
        self.loaded = loaded
        self.codecs = Codecs(loaded.manifest, loaded.book.kinds)
        gc.freeze()  # rules are no garbage: to look through a million of them takes a second

    @property
    def revision(self) -> int:
        """The number of the last transaction."""
        return self.loaded.revision

    @property
    def digest(self) -> str:
        """Of the build that is loaded."""
        return self.loaded.manifest.digest

    @property
    def ended(self) -> bool:
        """It was closed, or unloaded."""
        return self._ended is not None

    def expect(self, revision: int | None) -> None:
        if revision is not None and revision != self.revision:
            raise RevisionConflict(self.revision, revision)

    def record_slow(self, revision: int, seconds: Mapping[str, float]) -> None:
        """The request that made this revision waited for these `seconds`, by cause."""
        self.tally.slow(seconds)
        self._slow.record(revision, seconds)

    # ---- one at a time ------------------------------------------------------------------------

    @contextmanager
    def turn(self, until: float | None) -> Iterator[None]:
        self._begin_turn(until)
        try:
            yield
        finally:
            self.lock.give()

    def _begin_turn(self, until: float | None) -> None:
        """Its end is the caller's to give."""
        if not self.lock.take(0):
            wait(self.lock.take, until)
        try:
            if self._ended is not None:
                raise refused(self._ended)
            if not self.loaded.lock.held:  # it could not be opened again when it had to be
                self._take(open_loaded(self.name))
        except BaseException:
            self.lock.give()
            raise

    def need_open(self) -> None:
        """Raises `Refused` if it was closed, or unloaded."""
        if self._ended is not None:
            raise refused(self._ended)

    @contextmanager
    def still(self, until: float | None = None) -> Iterator[AnyLoaded]:
        """The pipeline, with no transaction going on."""
        with self.turn(until):
            yield self.loaded

    def _in_maps(self, work: Callable[[], _Result]) -> _Result:
        """Change the maps."""
        loaded = self.loaded
        try:
            return work()
        except BaseException:
            self._fix_memory(loaded)
            raise

    def _fix_memory(self, loaded: AnyLoaded) -> None:
        """After a failure: if memory and maps may differ, memory is read again."""
        if loaded.writer.broken:
            loaded.close()
            self._take(open_loaded(self.name))

    # ---- the end ------------------------------------------------------------------------------

    def close(self) -> None:
        """Let go of the pipeline, which goes on working. May be called again."""
        self.lock.take()
        try:
            self._ended = self._ended or faults.ended()
            self.loaded.close()
            self.tally.close()
            if self.journal is not None:
                self.journal.close()
        finally:
            self.lock.give()

    def unload(self) -> None:
        """Detach and remove it."""
        with self.turn(None):
            revision, self._ended = self.revision, not_loaded(self.name, ())
            self.loaded.unload()
            self.tally.close()
            if self.journal is not None:
                self.journal.close()
        self.events.tell(Event(self.name, revision, PipelineChanged("unloaded")))


def wait(take: Callable[[float], bool], until: float | None) -> None:
    """`take`: whether it could be had within a number of seconds. Raises `Refused` where not."""
    begun, patience = time.monotonic(), PATIENCE
    if until is not None:
        patience = min(max(0.0, until - begun), PATIENCE)
    if not take(patience):
        raise refused(faults.late(time.monotonic() - begun))
