"""Pipelines of a network namespace, each with its owner: taken over, restored, found."""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from contextlib import closing, suppress
from functools import partial
from threading import RLock

from ...lang.text.diagnostics import Diagnostic, Refused
from ...lang.text.exit_status import diagnosed
from ..base.errors import loaded_again, not_repairable, refused, repaired
from ..base.paths import this_namespace
from ..base.published import publish_agent
from ..congestion.watcher import Watcher
from ..emitted.reader import EventReader
from ..emitted.rule_reader import RuleReader
from ..emitted.watchers import RaisedEvents
from ..intents.manager import IntentManager
from ..intents.store import IntentStore
from ..journal import errors as store_faults
from ..journal.journal import Journal
from ..journal.loss import Loss
from ..journal.state import Build, Item
from ..journal.store import Store
from ..liveness.prober import Prober
from ..loading.any_loaded import open_loaded
from ..loading.bundle import Bundle
from ..loading.integrity import about_defect
from ..loading.loader import released_on_failure, unload
from ..loading.pinned_maps import PinGone
from ..loading.releases import loaded_names, pick
from ..owner.events import Events
from ..owner.journal_flusher import JournalFlusher
from ..owner.net_watcher import NetWatcher
from ..owner.owner import Owner
from ..stamp.kept import kept_counts
from ..stamp.manager import StampManager
from ..stamp.store import SessionStore
from ..tracing.stale_traces import stale_traces
from ..tracing.swap import restore_plain_builds
from .inspector import Inspector
from .restore import bundle_of, is_whole, reopen, restore


class Owners:
    """Owners by name. Methods may be called from any thread and raise `Refused`."""

    def __init__(self, store: Store | None = None) -> None:
        self._started, self.pid = time.monotonic(), os.getpid()
        self.events, self.store = Events(), store
        self._owners: dict[str, Owner] = {}
        self._findings: dict[str, list[Diagnostic]] = {}
        self.watcher = Watcher(self.owners)
        self.intents = IntentManager(self.owner, intents := IntentStore(store))
        self.stamp = StampManager(self.owner, SessionStore(intents.ledger), kept_counts())
        self.prober = Prober(self.owners, self.events, self.stamp.quality)
        self.inspector = Inspector(self._bundle)
        self.net_watcher = NetWatcher(self.owners, self.prober.wake, self.inspector.findings)
        self.raised = RaisedEvents(self.stamp.take)
        self.event_reader = EventReader(self.owners, self.raised)
        self.rule_reader = RuleReader(self.owners, self.raised)
        self._changing = RLock()
        self.journal_flusher = JournalFlusher(self.owners, store)

    def open_all(self) -> dict[str, list[Diagnostic]]:
        """Own every pipeline that is loaded, and restore those of the journal that are not. Returns
        by name what is to be said about that; what stands in the way of one is no hindrance to the
        others."""
        if stale_traces():
            restore_plain_builds()
        loaded = loaded_names(this_namespace())
        kept = self._kept(loaded)
        for name in sorted({*loaded, *kept}):
            try:
                if name in loaded:
                    self._take_over(name, kept.get(name))
                elif (damaged := about_defect(name)) is not None:
                    self._load_again(kept[name], damaged)
                else:
                    self._restore(kept[name])
            except Exception as error:
                found = [] if name in loaded else [store_faults.not_restored(name)]
                self._findings[name] = found + diagnosed(error, "heliod")
        publish_agent("journal", len(self.losses))
        self.journal_flusher.start()
        self.net_watcher.start()
        self.stamp.start()  # before answers that wait are read
        self.event_reader.start()
        self.rule_reader.start()
        self.prober.start()
        self.intents.start()
        self.watcher.start()
        said = {name: list(found) for name, found in self._findings.items()}
        for owner in self.owners():
            said[owner.name] += (*self._unknown(owner), *owner.unwritten)
        return {name: found for name, found in said.items() if found}

    def _kept(self, loaded: Collection[str]) -> dict[str, Item]:
        """What the journal has by name. A load that was killed before these were loaded is none:
        nobody was told that it is."""
        if self.store is None:
            return {}
        for begun in self.store.begun():
            if begun.name not in loaded:
                with suppress(Refused):  # or the next load of that name
                    self.store.give_up(begun.name)
        return {kept.name: kept for kept in self.store.pipelines()}

    def _take_over(self, name: str, kept: Item | None) -> None:
        """Own what is loaded. Where kernel objects of it are wrong, repair it by the journal; where
        nobody can open it, load it again by that."""
        try:
            owner = self._adopt(name)
        except PinGone as error:
            if self.store is None or kept is None or not is_whole(self.store, kept):
                raise
            self._load_again(kept, error)
            return
        try:
            owner.record_objects()
            if found := owner.repair(lambda: self._bundle(owner)):
                self._findings[name].append(repaired(name, found))
        except Refused as error:  # it works as it did, and the status says what is wrong
            self._findings[name] += error.diagnostics

    def _load_again(self, kept: Item, error: Refused) -> None:
        unload(kept.name)
        self._restore(kept)
        self._findings[kept.name].append(loaded_again(kept.name, *error.diagnostics))

    def _restore(self, kept: Item) -> None:
        assert self.store is not None
        loaded, journal, found = restore(self.store, kept)
        owner = self._own(kept.name, Owner(loaded, self.events, journal), found)
        with suppress(Refused):  # it works all the same, and the journal flusher tries again
            owner.fold()
        if journal.findings and not journal.withheld:
            journal.note(owner.revision, loaded)  # interfaces have other numbers than before

    def _adopt(self, name: str) -> Owner:
        """Own a pipeline that is loaded, with what the journal has of it."""
        journal, found = None, list[Diagnostic]()
        with released_on_failure() as owned:
            loaded = open_loaded(name)
            owned.callback(loaded.close)
            if self.store is not None:
                journal, found = reopen(self.store, loaded)
            if journal is not None:
                owned.enter_context(closing(journal))
            return self._own(name, Owner(loaded, self.events, journal), found)

    def _own(self, name: str, owner: Owner, found: list[Diagnostic]) -> Owner:
        owner.wake_flusher = self.journal_flusher.wake
        if self.store is not None:
            owner.begin_journal = partial(begun, self.store, name)
            if owner.journal is not None:
                self.store.note_owned(name)
        self._owners[name], self._findings[name] = owner, found
        self.net_watcher.wake()
        self.prober.wake()
        return owner

    def _bundle(self, owner: Owner) -> Bundle:
        """That of the build that runs, as the journal has it."""
        if self.store is not None and owner.journal is not None:
            for item in self.store.pipelines():
                if item.id == owner.journal.pipeline:
                    return bundle_of(self.store, item)
        help_ = "`helioctl upgrade` it to the bundle that it was loaded with"
        raise refused(not_repairable(owner.name, "the journal does not have its bundle", help_))

    def owners(self) -> list[Owner]:
        return list(self._owners.values())

    def owner(self, name: str = "") -> Owner:
        """Of the pipeline that is meant; without a name, of the only one."""
        owner = self._owners.get(name)
        if owner is not None:
            return owner
        # Nobody waits for what is just loaded or unloaded.
        if not name and len(owners := self.owners()) == 1:
            return owners[0]
        with self._changing:
            self._need_restored(name)
            name = pick(name, everywhere=False)  # clients are told of no other namespace
            return self._owners.get(name) or self._adopt(name)

    def _need_restored(self, name: str) -> None:
        """One that could not be is not just not loaded."""
        loaded = loaded_names(this_namespace())
        left = {each: said for each, said in self._findings.items() if each not in loaded}
        if not name and not loaded and len(left) == 1:
            (name,) = left
        if said := left.get(name):
            raise refused(*said)

    def _unknown(self, owner: Owner) -> list[Diagnostic]:
        known = self.store is None or owner.journal is not None
        return [] if known else [store_faults.not_kept(owner.name)]

    @property
    def losses(self) -> list[Loss]:
        """What was acknowledged and is not there."""
        return self.store.losses if self.store is not None else []


def begun(store: Store, name: str, build: Build) -> Journal:
    """Of a pipeline that the journal does not have. Raises `Refused`."""
    return Journal(store, store.begin(name, build))
