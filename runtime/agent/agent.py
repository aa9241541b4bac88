"""What the agent does, whatever it is asked by: every pipeline of a network namespace, owned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial

from ...lang.text.diagnostics import Diagnostic, Refused
from ...lang.text.exit_status import diagnosed
from ...lang.text.source import Source
from ..base.errors import already_loaded, refused
from ..base.paths import this_namespace
from ..base.published import publish_agent
from ..edge.config import Config
from ..edge.read_config import read_here
from ..intents.store import IntentStore
from ..journal import errors as store_faults
from ..journal.backup import Received, Taken
from ..journal.journal import build_of
from ..journal.loss import data_loss
from ..journal.state import Item
from ..journal.store import Store
from ..loading.any_loaded import load
from ..loading.bundle import Bundle
from ..loading.loader import unload
from ..loading.releases import loaded_names, pick
from ..owner.events import Event, PipelineChanged
from ..owner.owner import Owner
from ..stamp.store import SessionStore
from .owners import begun
from .reports import ReportingOwners
from .restore import check
from .status import PipelineStatus, status_of


@dataclass(frozen=True)
class Upgraded:
    """`difference`: of the builds, as a table. `rewritten`: of the `rules`, those written again."""

    status: PipelineStatus
    difference: str
    rules: int
    rewritten: int


class Agent(ReportingOwners):
    """Owners by name. Methods may be called from any thread and raise `Refused`."""

    # ---- load, unload ----------------------------------------------------------------------------

    def load(self, bundle: Bundle, config: Source, name: str = "") -> PipelineStatus:
        """Load and attach. The status' findings are warnings about the configuration."""
        settings, warnings = read_here(config, bundle.manifest)
        with self._changing:
            name = name or bundle.manifest.pipeline
            if name in self._owners:
                raise refused(already_loaded(name))
            self._need_replaceable(name)
            owner = self._load(bundle, settings, name)
        found = [*warnings.found, *owner.loaded.warnings]
        self.events.tell(Event(name, owner.revision, PipelineChanged("loaded")))
        self._need_list()
        return status_of(owner, found)

    def _need_replaceable(self, name: str) -> None:
        """Of what is kept by this name and not restored, the rules would be deleted."""
        if (store := self.store) is None:
            return
        for item in store.pipelines():
            if item.name == name and not store.ruined(item):
                raise refused(store_faults.not_replaced(name))

    def _load(self, bundle: Bundle, config: Config, name: str) -> Owner:
        store, journal = self.store, None
        if store is not None:
            journal = begun(store, name, build_of(bundle))
        try:
            owner = Owner(load(bundle, config, name), self.events, journal)
            try:
                owner.fold()
            except BaseException:
                owner.unload()
                raise
        except BaseException:
            if store is not None and journal is not None:
                journal.close()
                store.give_up(name)  # who is kept under this name stays
            raise
        return self._own(name, owner, [])

    def upgrade(
        self, bundle: Bundle | None, mapping: Source | None = None, name: str = "",
        if_revision: int | None = None, dry_run: bool = False, until: float | None = None,
        config: Source | None = None,
    ) -> Upgraded:  # fmt: skip
        """Put a new build in a loaded pipeline's place (docs/upgrades.md), None: that which runs;
        `config`: with another YAML of the edge. The journal has it from then on, also where it did
        not know the pipeline."""
        owner = self.owner(name)
        bundle = bundle or self._bundle(owner)
        unknown = owner.journal is None
        with self._changing if unknown else nullcontext():  # a backup has it, or leaves it out
            done = owner.upgrade(bundle, mapping, if_revision, dry_run, until, config)
        if unknown and owner.journal is not None:
            owner.journal.store.note_owned(owner.name)
        self.prober.wake()  # another YAML may begin or end it
        self._need_list()
        return Upgraded(status_of(owner, [] if dry_run else owner.loaded.warnings), *done)

    def repair(
        self, name: str = "", until: float | None = None
    ) -> tuple[PipelineStatus, list[str]]:
        """Put back what is wrong with kernel objects. Returns also what that was."""
        owner = self.owner(name)
        found = owner.repair(partial(self._bundle, owner), until)
        self.inspector.forget(owner)
        return status_of(owner), found

    def unload(self, name: str = "") -> str:
        """Also what the journal has and could not be restored."""
        with self._changing:
            # What is loaded is to be unloaded, also where it could not be owned before.
            loaded = {*self._owners, *loaded_names(this_namespace())}
            if name in loaded or name not in self._findings:
                if not name and len(owners := self.owners()) == 1:
                    name = owners[0].name
                name = name if name in self._owners else pick(name, everywhere=False)
                if self.store is not None:
                    self.store.retire(name)
                if (owner := self._owners.pop(name, None)) is not None:
                    owner.unload()
                else:  # it may be none that can be opened
                    unload(name)
            if self.store is not None:
                self.store.remove(name)
            self._findings.pop(name, None)
        self.intents.forget(name)
        self.stamp.forget(name)
        self._need_list()
        return name

    def _need_list(self) -> None:
        """What was changed is in force. Raises `Refused` where a reboot may undo it."""
        if self.store is not None and self.store.doubt:
            raise Refused(self.store.doubt)

    # ---- backups ---------------------------------------------------------------------------------

    @contextmanager
    def backup(self) -> Iterator[Taken]:
        """Everything that is kept: each pipeline as it is at one moment, while requests go on."""
        store = self._need_store()
        with self.stamp.paused(), self.intents.paused() as intents, self._changing:
            lost = [item.name for item in store.pipelines() if item.name not in self._owners]
            if lost:
                why, help_ = f"`{lost[0]}` could not be restored", "see `helioctl status`"
                raise refused(store_faults.no_backup(why, help_))
            for owner in self.owners():
                owner.settle_journal()
            left_out = [owner.name for owner in self.owners() if owner.journal is None]
            taken = store.take(intents, left_out)
        with taken:
            yield taken

    @contextmanager
    def receiving(self, parts: Iterable[bytes]) -> Iterator[Received]:
        """A backup that comes in, once all of it is there and sound."""
        with self._need_store().receiving() as directory:
            yield Received(parts, directory)

    def restore_backup(self, received: Received, replace_all: bool = False) -> None:
        """Pipelines and intents of a backup, where there are none or in the place of all. One that
        cannot be loaded is kept, and its status says why, as after a reboot."""
        store = self._need_store()
        check(received)
        with self.stamp.paused(), self.intents.paused(), self._changing:
            intents = len(self.intents.find())
            there = {*self._owners, *(item.name for item in store.pipelines())}
            if (there or intents) and not replace_all:
                raise refused(store_faults.not_empty(there, intents))
            for name in sorted({*self._owners, *loaded_names(this_namespace())}):
                # The journal has it still, for who is killed here.
                if (owner := self._owners.pop(name, None)) is not None:
                    owner.unload()
                else:
                    unload(name)
            self._findings.clear()
            try:
                store.restore(received)
            finally:
                for item in store.pipelines():
                    self._restore_or_say(item)
            self.intents.replace(intents_kept := IntentStore(store))
            self.stamp.replace(SessionStore(intents_kept.ledger))
        publish_agent("journal", len(self.losses))
        self._need_list()

    def _restore_or_say(self, item: Item) -> None:
        try:
            self._restore(item)
        except Exception as error:
            found = [store_faults.not_restored(item.name), *diagnosed(error, "heliod")]
            self._findings[item.name] = found

    def _need_store(self) -> Store:
        if self.store is None:
            help_ = "start `heliod` with `--state DIRECTORY`"
            raise refused(store_faults.no_backup("the agent keeps no journal", help_))
        return self.store

    def accept_losses(self) -> tuple[list[Diagnostic], list[Diagnostic]]:
        """Forget what is lost, and pipelines that cannot be restored for that. Returns what is
        forgotten, and what is not: of a pipeline that works and that a reboot would lose, or that
        is not restored for another reason, and that."""
        store = self.store
        if store is None:
            return [], []
        before = self.losses
        self.intents.accept_loss()
        with self.intents.paused(), self._changing:  # in this order: intents look for owners
            works = {*self._owners, *loaded_names(this_namespace())}
            for item in store.pipelines():
                if item.name not in works and store.ruined(item):
                    self.unload(item.name)
            store.accept_losses()
            left = self.losses
            publish_agent("journal", len(left))
            self._need_list()
        accepted = [loss for loss in before if loss not in left]
        of = partial(data_loss, store.directory)
        names = sorted({loss.pipeline for loss in left} - {*self._owners})
        others = (found for name in names for found in self._findings.get(name, ()))
        return [*map(of, accepted)], [*map(of, left), *others]

    # ---- the end ---------------------------------------------------------------------------------

    def close(self) -> None:
        """Let go of all pipelines; they go on working."""
        publish_agent("journal", 0)
        self.events.close()
        self.raised.close()
        self.prober.stop()
        self.net_watcher.stop()
        self.event_reader.stop()
        self.rule_reader.stop()
        self.stamp.stop()
        self.watcher.stop()
        self.intents.stop()
        self.journal_flusher.stop()
        with self._changing:
            for owner in self._owners.values():
                with suppress(Refused):  # then the log is replayed once more
                    owner.settle_journal()
                owner.close()
            self._owners.clear()
        if self.store is not None:
            self.store.close()
