"""An owned pipeline's journal: snapshots, and what could not be written."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock

from ...lang.text.diagnostics import Diagnostic, Refused
from ..base.errors import refused
from ..base.outcome import Outcome
from ..journal import errors as store_faults
from ..journal.journal import Journal, config_of
from ..journal.pipelines import Snapshot
from ..journal.state import Build
from ..loading.any_loaded import AnyLoaded
from .events import Events
from .idempotency_cache import IdempotencyCache
from .pipeline import OwnedPipeline, wait


class JournalledPipeline(OwnedPipeline):
    """What is kept of it. Methods raise `Refused`."""

    def __init__(self, loaded: AnyLoaded, events: Events, journal: Journal | None = None) -> None:
        answered = journal.answered() if journal is not None else OrderedDict()
        super().__init__(loaded, events, journal)
        #: Called when something was written: the journal flusher is to look after it.
        self.wake_flusher: Callable[[], None] = lambda: None
        #: Begins a journal for a pipeline that has none; None where there is to be none.
        self.begin_journal: Callable[[Build], Journal] | None = None
        #: One snapshot after the other; taken before a turn, if both are.
        self._folding = Lock()
        #: The build that was prepared is in force, and the journal does not say so yet.
        self._unkept = journal is not None and journal.unkept
        self._idempotency = IdempotencyCache(answered)

    def fold(self) -> None:
        """Let a snapshot take the place of what was written so far."""
        journal = self.journal
        if journal is None:
            return
        with self._folding:
            with journal.open_next() as descriptor, self.turn(None), self.lock.held_for("snapshot"):
                made = self._turn_over(journal, descriptor)
            self._write_down(journal, made)

    def _turn_over(self, journal: Journal, descriptor: int) -> Snapshot:
        loaded = self.loaded
        return journal.turn_over(descriptor, self.revision, loaded.snapshot(), config_of(loaded))

    def _write_down(self, journal: Journal, made: Snapshot) -> None:
        journal.fold(made, self._unkept)
        self._unkept = False

    def settle_journal(self) -> None:
        """A snapshot, if anything was written since the last: then restoring is quick."""
        if (journal := self.journal) is None:
            return
        with self._folding:  # one that is being made is not in the list yet
            settled = journal.clean and not self._unkept
        if not settled:
            self.fold()

    def sync(self) -> None:
        """Bring what is written onto the disk."""
        if self.journal is not None and self.journal.log.pending:
            self.journal.log.durable()

    def confirm(self) -> None:
        """Have the journal's list know how much there is, now and then."""
        journal = self.journal
        if journal is not None and not journal.findings and journal.confirmable:
            with suppress(Refused):  # it is unloaded, or the next request says why
                with self.turn(None):
                    number, mark = journal.number, journal.log.mark
                journal.confirm(number, mark)

    def fold_if_due(self) -> None:
        """A snapshot, if much was written since the last."""
        journal = self.journal
        if journal is None:
            return
        if self._unkept or journal.due(self.loaded.book):
            self.fold()

    @property
    def unwritten(self) -> tuple[Diagnostic, ...]:
        """Why the journal does not have everything that it should."""
        return self.journal.findings if self.journal is not None else ()

    def fix_journal(self) -> None:
        """Write what could not be written so far. Raises `Refused`."""
        self.fold_if_due()
        journal = self.journal
        if journal is not None and journal.findings:
            with self.turn(None):
                journal.note(self.revision, self.loaded)

    def _need_journal(self) -> None:
        """What is asked of a build must not be written behind what was asked of another."""
        if self._unkept:
            self.wake_flusher()  # which tries again
            raise refused(store_faults.not_kept_yet(self.name))

    @contextmanager
    def _no_snapshot(self, until: float | None) -> Iterator[None]:
        """No snapshot is made within this block."""
        wait(lambda seconds: self._folding.acquire(timeout=seconds), until)
        try:
            yield
        finally:
            self._folding.release()

    def answer(self, key: str) -> Outcome | None:
        """That to the request with this idempotency key, if it was made."""
        with self.turn(None):
            return self._idempotency.of(key)
