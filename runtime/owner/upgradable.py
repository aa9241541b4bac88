"""A new build of an owned pipeline, and the running one put back where kernel objects are gone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from ...lang.text.diagnostics import Refused
from ...lang.text.source import Source
from ..base.errors import not_repairable, refused
from ..journal import errors as store_faults
from ..journal.journal import Journal, build_of
from ..journal.state import Build
from ..loading.any_loaded import AnyLoaded, open_loaded
from ..loading.bundle import Bundle
from ..loading.card import LoadedCard
from ..loading.card_errors import config_of_card, for_a_card
from ..loading.integrity import defects, link_defects, record_objects
from ..loading.loader import Loaded
from ..loading.upgrade import repair, upgrade
from ..loading.upgrade_plan import plan_upgrade
from .events import Event, Events, PipelineChanged
from .fair_lock import FairLock
from .journalled import JournalledPipeline
from .pipeline import wait


class UpgradablePipeline(JournalledPipeline):
    """Another build in the place of the running one."""

    def __init__(self, loaded: AnyLoaded, events: Events, journal: Journal | None = None) -> None:
        super().__init__(loaded, events, journal)
        #: Of who changes the tables of one build; taken before a turn, if both are.
        self._building = FairLock()

    @contextmanager
    def same_build(self, until: float | None) -> Iterator[AnyLoaded]:
        """The pipeline; no other build takes over its tables within this block."""
        wait(self._building.take, until)
        try:
            if self.loaded.closed:  # it could not be opened again when it had to be
                with self.turn(until):
                    pass
            self.need_open()
            yield self.loaded
        finally:
            self._building.give()

    def upgrade(
        self, bundle: Bundle, mapping: Source | None = None, if_revision: int | None = None,
        dry_run: bool = False, until: float | None = None, config: Source | None = None,
    ) -> tuple[str, int, int]:  # fmt: skip
        """Put a new build in the place of the running one; `config`: with another YAML of the edge.
        Returns how they differ, as a table, how many rules there are, and of how many other bytes
        are written. No request is carried out until it is there."""
        with self.same_build(until), self._no_snapshot(until), self.turn(until):
            self.expect(if_revision)
            running = self.loaded
            if isinstance(running, LoadedCard):
                if config is not None:
                    raise refused(config_of_card(self.name))
                running.need_fit(bundle)
                difference, written, work = "", 0, partial(self._replace_on_card, running, bundle)
            elif bundle.manifest.target != "host":
                raise refused(for_a_card(bundle.manifest.pipeline))
            else:
                weighed = plan_upgrade(running, bundle, mapping, config)
                difference, written = weighed.difference, len(weighed.rules)
                work = partial(self._replace, running, partial(upgrade, running, weighed))
            if not dry_run:
                self._need_journal()
                self._keep(build_of(bundle), work)
            return difference, len(self.loaded.book), written

    def repair(self, bundle: Callable[[], Bundle], until: float | None = None) -> list[str]:
        """Put back what is wrong with kernel objects, and return what that was: by an upgrade to
        the build that runs. `bundle`: that of the journal."""
        with self.same_build(until), self._no_snapshot(until), self.turn(until):
            running = self.loaded
            found = [*defects(running), *link_defects(running)]
            if not found:
                return []
            if isinstance(running, LoadedCard):
                help_ = "start the agent again: it loads the pipeline by its journal"
                raise refused(not_repairable(self.name, "it runs on a card", help_))
            self._replace(running, partial(repair, running, bundle()))
            done = self._in_maps(self.loaded.refresh)
            self.events.tell(Event(self.name, self.revision, PipelineChanged("upgraded")))
            if done.findings:
                raise refused(*done.findings)
            return found

    def record_objects(self) -> None:
        """Know its kernel objects, if an older Helio loaded it."""
        with self.turn(None):
            if "objects" not in self.loaded.about:
                record_objects(self.loaded)

    def _replace_on_card(self, running: LoadedCard, bundle: Bundle) -> None:
        running.replace(bundle)
        running.close()
        self._take(open_loaded(self.name))

    def _replace(self, running: Loaded, work: Callable[[], Loaded]) -> None:
        try:
            self._take(work())
        except BaseException:
            if not running.closed:
                raise
            self._take(open_loaded(self.name))  # which ends what was begun
            if self.loaded.release == running.release:
                raise

    def _keep(self, build: Build, replace_: Callable[[], None]) -> None:
        """Replace the running build by this one, and have it in the journal, which may not have
        known the pipeline before."""
        journal = self.journal
        if journal is not None:
            journal.prepare(build)
        elif self.begin_journal is not None:
            journal = self.begin_journal(build)
        try:
            replace_()
        except BaseException:
            if journal is not None and self.journal is None:
                journal.close()
                journal.store.give_up(self.name)
            raise
        self.events.tell(Event(self.name, self.revision, PipelineChanged("upgraded")))
        if journal is not None:
            if self.journal is None:
                journal.remember(self._idempotency.known)
            self.journal, self._unkept = journal, True
            try:
                with journal.open_next() as descriptor:
                    made = self._turn_over(journal, descriptor)
                self._write_down(journal, made)
            except Refused as error:
                raise Refused([store_faults.not_kept_yet(self.name), *error.diagnostics]) from None
