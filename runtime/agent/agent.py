"""What the agent does, whatever it is asked by: every pipeline of a network namespace, owned."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from threading import RLock

from ...lang.contract.manifest.manifest import Manifest
from ...lang.contract.rules.rules import Rule
from ...lang.text.diagnostics import Diagnostic, Refused
from ...lang.text.exit_status import diagnosed
from ...lang.text.source import Source
from ..base.errors import already_loaded, loaded_again, not_repairable, refused, repaired
from ..base.paths import this_namespace
from ..base.published import publish_agent
from ..base.wall_clock import wall_time
from ..congestion.status import Status as Congestion
from ..congestion.watcher import Watcher
from ..edge.config import Config
from ..edge.liveness_settings import shape_of
from ..edge.overlay_health import Quality
from ..edge.push_settings import Push
from ..edge.read_config import read_here
from ..intents.manager import IntentManager
from ..intents.store import IntentStore
from ..journal import errors as store_faults
from ..journal.backup import Received, Taken
from ..journal.journal import Journal, build_of
from ..journal.state import Build, Item, Loss
from ..journal.store import Store
from ..liveness.prober import Prober
from ..loading.any_loaded import load, open_loaded
from ..loading.bundle import Bundle
from ..loading.integrity import about_defect
from ..loading.loader import released_on_failure, unload
from ..loading.pinned_maps import PinGone
from ..loading.releases import loaded_names, pick
from ..owner.events import Event, Events, OverlayChanged, PipelineChanged
from ..owner.journal_flusher import JournalFlusher
from ..owner.net_watcher import NetWatcher
from ..owner.owner import Owner
from ..ports.ports import Port, all_configured
from ..tracing.stale_traces import stale_traces
from ..tracing.swap import restore_plain_builds
from .inspector import Inspector
from .restore import bundle_of, check, is_whole, reopen, restore

#: Seconds that a status waits for somebody's transaction; and overlays that it names though nobody
#: probes them.
_TURN, _MOST_UNPROBED = 0.5, 1000


@dataclass(frozen=True)
class KindCount:
    """How many rules of a kind there are."""

    kind: str
    rules: int
    capacity: int


@dataclass(frozen=True)
class PipelineStatus:
    """`ports`: each as it is wanted; ifindex 0 where its interface is missing. `manifest`: None of
    a pipeline that is only in the journal. `overlays`: those that are probed, `unprobed` the
    others. `congestion`: None where the host is not watched; `reports`: where no reports of intents
    are pushed."""

    name: str
    manifest: Manifest | None
    revision: int
    ports: tuple[Port, ...]
    kinds: tuple[KindCount, ...]
    findings: tuple[Diagnostic, ...] = ()
    overlays: tuple[tuple[Rule, Quality], ...] = ()
    unprobed: tuple[Rule, ...] = ()
    release: int = 0
    congestion: Congestion | None = None
    reports: Push | None = None


@dataclass(frozen=True)
class Upgraded:
    """`difference`: of the builds, as a table. `rewritten`: of the `rules`, those written again."""

    status: PipelineStatus
    difference: str
    rules: int
    rewritten: int


class Agent:
    """Owners by name. Methods may be called from any thread and raise `Refused`."""

    def __init__(self, store: Store | None = None) -> None:
        self._started, self.pid = time.monotonic(), os.getpid()
        self.events, self.store = Events(), store
        self._owners: dict[str, Owner] = {}
        self._findings: dict[str, list[Diagnostic]] = {}
        self.prober = Prober(self.owners, self._told)
        self.inspector = Inspector(self._bundle)
        self.net_watcher = NetWatcher(self.owners, self.prober.wake, self.inspector.findings)
        self.watcher = Watcher(self.owners)
        self._changing = RLock()
        self.journal_flusher = JournalFlusher(self.owners, store)
        self.intents = IntentManager(self.owner, IntentStore(store))

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

    def _bundle(self, owner: Owner) -> Bundle:
        """That of the build that runs, as the journal has it."""
        if self.store is not None and owner.journal is not None:
            for item in self.store.pipelines():
                if item.id == owner.journal.pipeline:
                    return bundle_of(self.store, item)
        help_ = "`helioctl upgrade` it to the bundle that it was loaded with"
        raise refused(not_repairable(owner.name, "the journal does not have its bundle", help_))

    def repair(
        self, name: str = "", until: float | None = None
    ) -> tuple[PipelineStatus, list[str]]:
        """Put back what is wrong with kernel objects. Returns also what that was."""
        owner = self.owner(name)
        found = owner.repair(partial(self._bundle, owner), until)
        self.inspector.forget(owner)
        return status_of(owner), found

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
        owner.stir = self.journal_flusher.stir
        if self.store is not None:
            owner.begin_journal = partial(_begun, self.store, name)
            if owner.journal is not None:
                self.store.note_owned(name)
        self._owners[name], self._findings[name] = owner, found
        self.net_watcher.stir()
        self.prober.wake()
        return owner

    def _restore(self, kept: Item) -> None:
        assert self.store is not None
        loaded, journal, found = restore(self.store, kept)
        owner = self._own(kept.name, Owner(loaded, self.events, journal), found)
        with suppress(Refused):  # it works all the same, and the journal flusher tries again
            owner.fold()
        if journal.findings and not journal.withheld:
            journal.note(owner.revision, loaded)  # interfaces have other numbers than before

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

    # ---- load, unload -----------------------------------------------------------------------

    def load(self, bundle: Bundle, config: Source, name: str = "") -> PipelineStatus:
        """Load and attach. The status' findings are warnings about the configuration."""
        wanted, warnings = read_here(config, bundle.manifest)
        with self._changing:
            name = name or bundle.manifest.pipeline
            if name in self._owners:
                raise refused(already_loaded(name))
            self._need_replaceable(name)
            owner = self._load(bundle, wanted, name)
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
            journal = _begun(store, name, build_of(bundle))
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
        self, bundle: Bundle, mapping: Source | None = None, name: str = "",
        if_revision: int | None = None, dry_run: bool = False, until: float | None = None,
    ) -> Upgraded:  # fmt: skip
        """Put a new build in a loaded pipeline's place (docs/upgrades.md). The journal has it from
        then on, also where it did not know the pipeline."""
        owner = self.owner(name)
        unknown = owner.journal is None
        with self._changing if unknown else nullcontext():  # a backup has it, or leaves it out
            done = owner.upgrade(bundle, mapping, if_revision, dry_run, until)
        if unknown and owner.journal is not None:
            owner.journal.store.note_owned(owner.name)
        self._need_list()
        return Upgraded(status_of(owner), *done)

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
        self._need_list()
        return name

    def _need_list(self) -> None:
        """What was changed is in force. Raises `Refused` where a reboot may undo it."""
        if self.store is not None and self.store.doubt:
            raise Refused(self.store.doubt)

    # ---- backups ----------------------------------------------------------------------------

    @contextmanager
    def backup(self) -> Iterator[Taken]:
        """Everything that is kept: each pipeline as it is at one moment, while requests go on."""
        store = self._need_store()
        with self.intents.paused() as intents, self._changing:
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
        with self.intents.paused(), self._changing:
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
            self.intents.replace(IntentStore(store))
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

    # ---- looking ----------------------------------------------------------------------------

    def status(self) -> list[PipelineStatus]:
        """Of every pipeline, by name."""
        owners, findings = dict(self._owners), dict(self._findings)
        found = [
            replace(
                status_of(owner, self._said(name, findings)),
                overlays=(probed := tuple(self.prober.overlays(name))),
                unprobed=_unprobed(owner, {rule.id for rule, _ in probed}),
                congestion=self.watcher.status(owner),
            )
            for name, owner in owners.items()
        ]
        found += [
            PipelineStatus(name, None, 0, (), (), tuple(said))
            for name, said in findings.items() if name not in owners
        ]  # fmt: skip
        return sorted(found, key=lambda status: status.name)

    def synced(self) -> float:
        """When what was written came to the disk last, in seconds of the Unix epoch; 0: not yet."""
        journals = (owner.journal for owner in self.owners())
        logs = (each.log.synced for each in journals if each is not None)
        last = max(self.store.synced if self.store is not None else 0.0, *logs, 0.0)
        return wall_time(last) if last else 0.0

    @property
    def started(self) -> float:
        """In seconds of the Unix epoch."""
        return wall_time(self._started)

    @property
    def journalled(self) -> bool:
        """Everything that was asked for is written down, or can be."""
        unwritten = self.store.stuck if self.store is not None else ()
        return not unwritten and not any(owner.unwritten for owner in self.owners())

    @property
    def unrestored(self) -> bool:
        """A pipeline of the journal, or one that is loaded, is not owned."""
        return any(name not in self._owners for name in list(self._findings))

    @property
    def bare(self) -> bool:
        """A port has lost its program: packets go to the kernel unprocessed."""
        return any(self.inspector.bare(owner) for owner in self.owners())

    @property
    def losses(self) -> list[Loss]:
        """What was acknowledged and is not there."""
        return self.store.losses if self.store is not None else []

    @property
    def findings(self) -> tuple[Diagnostic, ...]:
        """What is wrong with the agent, whatever it has loaded."""
        store = self.store
        if store is None:
            return ()
        lost = [store_faults.data_loss(store.directory, loss) for loss in store.losses]
        return (*store.stuck, *lost, *(note for _, note in store.notes))

    def _unknown(self, owner: Owner) -> list[Diagnostic]:
        known = self.store is None or owner.journal is not None
        return [] if known else [store_faults.not_kept(owner.name)]

    def _of_journal(self, name: str) -> list[Diagnostic]:
        """What the journal has to say of a pipeline."""
        store = self.store
        if store is None:
            return []
        lost = [store_faults.data_loss(store.directory, loss)
                for loss in store.losses if loss.pipeline == name]  # fmt: skip
        return [*lost, *(note for of, note in store.notes if of == name)]

    def _said(self, name: str, findings: Mapping[str, list[Diagnostic]]) -> list[Diagnostic]:
        owner, store = self._owners.get(name), self.store
        unwritten = owner.unwritten if owner is not None else ()
        unwritten = unwritten or (store.findings if store is not None else ())
        objects = self.inspector.findings(owner) if owner is not None else ()
        unknown = self._unknown(owner) if owner is not None else []
        now = (*unknown, *unwritten, *objects, *self.net_watcher.findings(name),
               *self.prober.findings(name))  # fmt: skip
        return [*findings.get(name, ()), *self._of_journal(name), *now]

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
        of = partial(store_faults.data_loss, store.directory)
        names = sorted({loss.pipeline for loss in left} - {*self._owners})
        others = (found for name in names for found in self._findings.get(name, ()))
        return [*map(of, accepted)], [*map(of, left), *others]

    def _told(self, name: str, revision: int, overlay: Rule, quality: Quality) -> None:
        self.events.tell(Event(name, revision, OverlayChanged(overlay, quality)))

    def close(self) -> None:
        """Let go of all pipelines; they go on working."""
        publish_agent("journal", 0)
        self.events.close()
        self.prober.stop()
        self.net_watcher.stop()
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


def _begun(store: Store, name: str, build: Build) -> Journal:
    """Of a pipeline that the journal does not have. Raises `Refused`."""
    return Journal(store, store.begin(name, build))


def _unprobed(owner: Owner, probed: Collection[int]) -> tuple[Rule, ...]:
    """Overlays but for those with these ids; none where the pipeline is busy for long."""
    shape = shape_of(owner.loaded.manifest)
    if shape is None:
        return ()
    with suppress(Refused), owner.still(time.monotonic() + _TURN) as loaded:
        others = (rule for rule in loaded.book.rules(shape.kind) if rule.id not in probed)
        return tuple(sorted(islice(others, _MOST_UNPROBED), key=lambda rule: rule.id))
    return ()


def status_of(owner: Owner, findings: Iterable[Diagnostic] = ()) -> PipelineStatus:
    """What there is to say of a pipeline."""
    loaded = owner.loaded
    ports = all_configured(loaded.port_configs, loaded.ports)
    kinds = tuple(
        KindCount(kind.name, loaded.book.count(kind.name), kind.capacity)
        for kind in loaded.manifest.rules
    )
    return PipelineStatus(
        owner.name, loaded.manifest, owner.revision, ports, kinds, tuple(findings),
        release=loaded.release, reports=loaded.reports,
    )  # fmt: skip
