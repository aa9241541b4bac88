"""The one owner of a loaded pipeline: requests of many clients, one transaction after the other."""

from __future__ import annotations

import gc
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from hashlib import blake2b
from threading import Lock
from typing import NamedTuple, TypeVar

from ...lang.contract.request.request import Request
from ...lang.contract.rules.columns import Columns
from ...lang.contract.rules.columns import load as unpack
from ...lang.contract.rules.optimistic import NONE, Conflict, WriteSet, YieldPoint
from ...lang.contract.rules.plan import Plan
from ...lang.contract.rules.rules import Reference, Rule
from ...lang.contract.rules.wire import Codecs, decode
from ...lang.text.diagnostics import Diagnostic, Refused
from ...lang.text.source import Source
from ..base import agent_errors as faults
from ..base.errors import not_loaded, not_repairable, refused
from ..base.gc_pause import gc_paused
from ..base.latency_stats import LatencyStats
from ..base.outcome import Outcome, RevisionConflict, outcome_of
from ..base.waits import SLOW, SlowRequests, Waits
from ..journal import errors as store_faults
from ..journal.journal import Journal, build_of, config_of
from ..journal.state import Build
from ..journal.store import Snapshot
from ..loading.any_loaded import AnyLoaded, open_loaded
from ..loading.bundle import Bundle
from ..loading.card import LoadedCard
from ..loading.card_errors import for_a_card
from ..loading.excluded_members import exclude_members
from ..loading.integrity import defects, link_defects, record_objects
from ..loading.loader import Loaded
from ..loading.refresh import HostState, Refreshed
from ..loading.upgrade import plan_upgrade, repair, upgrade
from ..ports.ports import Port, all_configured
from .events import NAMED, Event, Events, PipelineChanged, PortChanged, RulesChanged
from .fair_lock import FairLock
from .idempotency_cache import IdempotencyCache
from .large import FEWEST, is_large, make_large
from .snapshot_lease import SnapshotLease

#: Bytes of an idempotency key.
LONGEST_KEY = 64
#: Seconds that a request waits for its turn at most, whatever its deadline.
PATIENCE = 60.0
_Result = TypeVar("_Result")
_new = tuple.__new__  # a third of what a named tuple's own takes


class ApplyRequest(NamedTuple):
    """What a client asks for. `content`: a request as bytes (`wire.py`), or with `packed` columns
    (`columns.py`). `digest`: of the object that the client knows; empty: any. `parsed`: the same
    request, where it has places that its bytes have not. `client`: who has the key."""

    content: bytes
    packed: bool = False
    if_revision: int | None = None
    key: str = ""
    digest: str = ""
    parsed: Request | None = None
    client: Hashable = None


class DecodedRequest(NamedTuple):
    """A request as it was read with these codecs (None: it is for another build). `digest`: of its
    content, where it has a key."""

    request: ApplyRequest
    digest: bytes
    wanted: Request | Columns | None
    codecs: Codecs


class Made(Waits):
    """A transaction that is in force. Its `outcome` may be told once `acknowledge` has returned;
    then comes `settle`."""

    __slots__ = ("outcome", "owner")
    owner: Owner
    outcome: Outcome

    def acknowledge(self) -> None:
        """Returns when it may be. Is called once. Raises `Refused`, and then this is all."""
        self.asked = time.perf_counter()
        if (journal := self.owner.journal) is not None:
            try:
                journal.acknowledged()
            except Refused:
                self.owner.tally.refused()
                raise
        self.over = time.perf_counter()

    def settle(self) -> None:
        """What nobody waits for: how long it took is counted."""
        if self.outcome.repeated:
            return
        force, answer = self.parts()
        self.owner.tally.made(force, answer)
        if force + answer >= SLOW:
            self.owner.record_slow(self.outcome.revision, self.seconds())


class Owner:
    """Holds the pipeline's only writer and its rule book. Every method may be called from any
    thread, and raises `Refused` with nothing changed."""

    def __init__(self, loaded: AnyLoaded, events: Events, journal: Journal | None = None) -> None:
        self.name, self.events, self.journal = loaded.name, events, journal
        #: Called when something was written: the journal flusher is to look after it.
        self.stir: Callable[[], None] = lambda: None
        #: Begins a journal for a pipeline that has none; None where there is to be none.
        self.begin_journal: Callable[[Build], Journal] | None = None
        self.lock = FairLock()
        #: One large request after the other; taken before a turn, if both are.
        self._long = Lock()
        #: What others changed while a large request is made, if one is.
        self.touched: WriteSet | None = None
        #: Who would change what that rests on waits for it.
        self.goes_first = False
        #: One snapshot after the other; taken before a turn, if both are.
        self._folding = Lock()
        #: The build that was prepared is in force, and the journal does not say so yet.
        self._unkept = journal is not None and journal.unkept
        #: Why it takes nothing any more.
        self._ended: Diagnostic | None = None
        answered = journal.answered() if journal is not None else OrderedDict()
        self._idempotency = IdempotencyCache(answered)
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
    def ended(self) -> bool:
        """It was closed, or unloaded."""
        return self._ended is not None

    # ---- rules ------------------------------------------------------------------------------

    def apply(self, request: ApplyRequest, until: float | None = None) -> Outcome:
        """One transaction. `until`: the moment of `time.monotonic` from which on it is not begun
        any more. Returns when it may be acknowledged."""
        made = self.begin(request, until)
        made.acknowledge()
        made.settle()
        return made.outcome

    def begin(self, request: ApplyRequest, until: float | None = None) -> Made:
        """One transaction, in force when this returns; others may be begun before it is
        acknowledged."""
        made = Made()
        made.owner = self
        try:
            if len(request.content) < FEWEST:
                made.outcome = self._in_force(request, until)
            else:
                with gc_paused():
                    made.outcome = self._refusing(request, until)
        except Refused:
            self.tally.refused()
            raise
        finally:
            made.in_force()
        if (journal := self.journal) is not None and journal.wants_care(self.loaded.book):
            self.stir()
        return made

    def _refusing(self, request: ApplyRequest, until: float | None) -> Outcome:
        try:
            return self._in_force(request, until)
        except Refused as error:
            # Its frames hold all that was read of the request: that goes now, before a collection.
            error.__traceback__ = error.__context__ = error.__cause__ = None
            raise

    def record_slow(self, revision: int, seconds: Mapping[str, float]) -> None:
        """A request that came into force with this revision waited for so long for each cause."""
        self.tally.slow(seconds)
        self._slow.record(revision, seconds)

    def _in_force(self, request: ApplyRequest, until: float | None) -> Outcome:
        codecs = self.codecs
        # In the numbers of another build it may say nothing, but may have been answered before.
        wanted: Request | Columns | None = request.parsed
        if wanted is None and request.digest in ("", self.loaded.manifest.digest):
            wanted = _read(request, codecs)
        digest = blake2b(request.content, digest_size=16).digest() if request.key else b""
        asked = _new(DecodedRequest, (request, digest, wanted, codecs))
        del wanted
        if is_large(asked, self):
            return make_large(self, asked, until)
        try:
            self._begin_turn(until)
            try:
                return (self.known(asked) if request.key else None) or self.make(asked)
            finally:
                self.lock.give()
        except Conflict:
            with self.alone(until), self.turn(until):
                return self.known(asked) or self.make(asked)

    def known(self, asked: DecodedRequest) -> Outcome | None:
        """What was answered to it before. Raises `Refused` where its key was another's."""
        key = asked.request.key
        return self._idempotency.repeated(key, asked.digest) if key else None

    def fresh(self, asked: DecodedRequest) -> Request | Columns:
        """What it says to the build that is loaded."""
        if asked.wanted is not None and asked.codecs is self.codecs:
            return asked.wanted
        if asked.request.digest not in ("", self.loaded.manifest.digest):
            raise refused(faults.other_build())
        return _read(asked.request, self.codecs)  # upgraded since it was read

    def make(self, asked: DecodedRequest) -> Outcome:
        """In its turn: plan it and carry it out. Raises `Conflict` where a large request goes
        first."""
        wanted, loaded = asked.wanted, self.loaded
        if wanted is None or asked.codecs is not self.codecs:
            wanted = self.fresh(asked)
        if asked.request.if_revision is not None:
            self.expect(asked.request.if_revision)
        plan = loaded.plan(wanted)
        if self.goes_first and (draft := loaded.book.draft) is not None and draft.met_by(plan):
            raise Conflict
        return self.carry_out(asked, plan)

    def carry_out(
        self, asked: DecodedRequest, plan: Plan, pause: YieldPoint = NONE,
        check: Callable[[], None] | None = None,
    ) -> Outcome:  # fmt: skip
        """Make a plan, and have it in the journal. `check`: whether it may be, after the pauses."""
        if self._unkept:
            self._need_journal()
        request, loaded, journal = asked.request, self.loaded, self.journal
        begun = loaded.revision
        outcome, written = outcome_of(plan, begun + 1), False

        def ready() -> None:
            nonlocal outcome, written
            if check is not None:
                check()
                self._need_journal()
                if self.known(asked) is not None:  # another may have used its key
                    raise Conflict
                outcome = outcome._replace(revision=self.revision + 1)
            if journal is not None:
                # Ids that were not given to others' rules, or were because of others' rules.
                beside = self.touched is not None if check is None else self.revision != begun
                ids = plan.allotted if beside else None
                content, packed, *_ = request
                journal.request(content, packed, request.key, asked.digest, outcome, ids)
                written = True

        try:
            loaded.apply_plan(plan, ready, pause)
        except BaseException:
            try:
                self._fix_memory(loaded)
            finally:
                if journal is not None and written and self.revision < outcome.revision:
                    journal.withdraw(outcome.revision)
            raise
        if self.touched is not None and check is None:
            self.touched.add(plan, loaded.book.kinds)
        if request.key:
            self._idempotency.remember(request.key, asked.digest, outcome, request.client)
        if self.events.watchers:
            self._tell(plan)
        return outcome

    def change(
        self, work: Callable[[AnyLoaded], _Result], until: float | None = None
    ) -> tuple[_Result, int]:
        """Change the pipeline otherwise than by a request: what the agent does by itself. Returns
        what `work` does, and the revision from then on."""
        with self.turn(until):
            before = self.revision
            try:
                done = self._in_maps(lambda: work(self.loaded))
            finally:
                if self.touched is not None and self.revision != before:
                    self.touched.everything = True
                if self.journal is not None and self.revision != before:
                    self.journal.note(self.revision, self.loaded)
            return done, self.revision

    def refresh(
        self, until: float | None = None, seen: HostState | None = None
    ) -> tuple[Refreshed, int]:
        """Bring next hops, addresses and ports up to date, with what was seen or what is to be
        seen now."""

        def work(loaded: AnyLoaded) -> tuple[Refreshed, tuple[Port, ...]]:
            before = all_configured(loaded.port_configs, loaded.ports)
            done = loaded.refresh(seen)
            now = all_configured(loaded.port_configs, loaded.ports)
            return done, tuple(p for p, was in zip(now, before, strict=True) if p != was)

        (done, changed), revision = self.change(work, until)
        roles = self.loaded.manifest.roles
        for port in changed:
            self.events.tell(Event(self.name, revision, PortChanged(port, roles[port.role])))
        return done, revision

    def exclude_members(self, dead: Collection[Reference]) -> tuple[int, int]:
        """Let spreads leave out the members that lead to one of these rules, and no others."""

        def work(loaded: AnyLoaded) -> int:
            return exclude_members(loaded, dead) if isinstance(loaded, Loaded) else 0

        return self.change(work)

    @contextmanager
    def still(self, until: float | None = None) -> Iterator[AnyLoaded]:
        """The pipeline, with no transaction going on."""
        with self.turn(until):
            yield self.loaded

    def answer(self, key: str) -> Outcome | None:
        """That to the request with this idempotency key, if it was made."""
        with self.turn(None):
            return self._idempotency.of(key)

    def find(self, references: Iterable[Reference]) -> dict[Reference, Rule]:
        """Those of these rules that there are."""
        with self.turn(None):
            book = self.loaded.book  # of an upgraded pipeline, perhaps without the kind
            found = {each: book.get(*each) for each in references if each.kind in book.kinds}
        return {each: rule for each, rule in found.items() if rule is not None}

    def expect(self, revision: int | None) -> None:
        if revision is not None and revision != self.revision:
            raise RevisionConflict(self.revision, revision)

    # ---- upgrades ---------------------------------------------------------------------------

    def upgrade(
        self, bundle: Bundle, mapping: Source | None = None, if_revision: int | None = None,
        dry_run: bool = False, until: float | None = None,
    ) -> tuple[str, int, int]:  # fmt: skip
        """Put a new build in the place of the running one. Returns how they differ, as a table, how
        many rules there are, and of how many other bytes are written. No request is carried out
        meanwhile."""
        with self._no_snapshot(until), self.turn(until):
            self.expect(if_revision)
            running = self.loaded
            if isinstance(running, LoadedCard):
                running.need_fit(bundle)
                difference, written, work = "", 0, partial(self._replace_on_card, running, bundle)
            elif bundle.manifest.target != "host":
                raise refused(for_a_card(bundle.manifest.pipeline))
            else:
                weighed = plan_upgrade(running, bundle, mapping)
                difference, written = weighed.difference, len(weighed.rules)
                work = partial(self._replace, running, partial(upgrade, running, weighed))
            if not dry_run:
                self._need_journal()
                self._keep(build_of(bundle), work)
            return difference, len(self.loaded.book), written

    def repair(self, bundle: Callable[[], Bundle], until: float | None = None) -> list[str]:
        """Put back what is wrong with kernel objects, and return what that was: by an upgrade to
        the build that runs. `bundle`: that of the journal."""
        with self._no_snapshot(until), self.turn(until):
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

    def _need_journal(self) -> None:
        """What is asked of a build must not be written behind what was asked of another."""
        if self._unkept:
            self.stir()  # which tries again
            raise refused(store_faults.not_kept_yet(self.name))

    # ---- journal ----------------------------------------------------------------------------

    def fold(self) -> None:
        """Let a snapshot take the place of what was written so far."""
        journal = self.journal
        if journal is None:
            return
        with self._folding:
            with journal.open_next() as descriptor, self.turn(None), self.lock.had_by("snapshot"):
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

    def need_open(self) -> None:
        """Raises `Refused` if it was closed, or unloaded."""
        if self._ended is not None:
            raise refused(self._ended)

    @contextmanager
    def _no_snapshot(self, until: float | None) -> Iterator[None]:
        """No snapshot is made meanwhile."""
        _wait(lambda seconds: self._folding.acquire(timeout=seconds), until)
        try:
            yield
        finally:
            self._folding.release()

    @contextmanager
    def alone(self, until: float | None) -> Iterator[None]:
        """No other large request meanwhile."""
        _wait(lambda seconds: self._long.acquire(timeout=seconds), until)
        try:
            yield
        finally:
            self._long.release()

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
            _wait(self.lock.take, until)
        try:
            if self._ended is not None:
                raise refused(self._ended)
            if not self.loaded.lock.held:  # it could not be opened again when it had to be
                self._take(open_loaded(self.name))
        except BaseException:
            self.lock.give()
            raise

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

    def _tell(self, plan: Plan) -> None:
        """Those who watch; somebody does."""
        if len(plan.created) + len(plan.changed) + len(plan.removed) > NAMED:
            self.events.tell(Event(self.name, self.revision, RulesChanged((), (), (), True)))
        else:
            created, changed, removed = (
                [Reference(rule.kind, rule.id) for rule in rules]
                for rules in (plan.created, [new for _, new in plan.changed], plan.removed)
            )
            what = RulesChanged(created, changed, removed)
            self.events.tell(Event(self.name, self.revision, what))

    # ---- reading ----------------------------------------------------------------------------

    @property
    def digest(self) -> str:
        """Of the build that is loaded."""
        return self.loaded.manifest.digest

    @contextmanager
    def hold(self) -> Iterator[SnapshotLease]:
        """The rules of this moment, for somebody else to read at leisure."""
        with self.turn(None):
            held = SnapshotLease(self, self.turn)
        try:
            yield held
        finally:
            held.close()

    # ---- the end ----------------------------------------------------------------------------

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


def _wait(take: Callable[[float], bool], until: float | None) -> None:
    """`take`: whether it could be had within so many seconds. Raises `Refused` where not."""
    begun, patience = time.monotonic(), PATIENCE
    if until is not None:
        patience = min(max(0.0, until - begun), PATIENCE)
    if not take(patience):
        raise refused(faults.late(time.monotonic() - begun))


def _read(request: ApplyRequest, codecs: Codecs) -> Request | Columns:
    if request.key and len(request.key.encode()) > LONGEST_KEY:
        help_ = f"at most {LONGEST_KEY} bytes of UTF-8"
        raise refused(faults.bad_message("the idempotency key is too long", help_))
    return unpack(request.content) if request.packed else decode(request.content, codecs)
