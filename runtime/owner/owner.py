"""The one owner of a loaded pipeline: requests of many clients, one transaction after the other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from threading import Lock
from typing import TypeVar

from ...lang.contract.request.request import Request
from ...lang.contract.rules.columns import Columns
from ...lang.contract.rules.interleaving import NONE, Conflict, WriteSet, YieldPoint
from ...lang.contract.rules.plan import Plan
from ...lang.contract.rules.rules import Reference, Rule
from ...lang.text.diagnostics import Refused
from ..base import agent_errors as faults
from ..base.errors import refused
from ..base.gc_pause import gc_paused
from ..base.outcome import Outcome, outcome_of
from ..journal.journal import Journal
from ..loading.any_loaded import AnyLoaded
from ..loading.excluded_members import exclude_members
from ..loading.loader import Loaded
from ..loading.refresh import HostState, Refreshed
from ..ports.ports import Port, all_configured
from .events import NAMED, Event, Events, PortChanged, RulesChanged
from .large import FEWEST, is_large, make_large
from .pipeline import wait
from .requests import ApplyRequest, DecodedRequest, Made, read
from .snapshot_lease import SnapshotLease
from .upgradable import UpgradablePipeline

_Result = TypeVar("_Result")
_new = tuple.__new__  # a third of what a named tuple's own takes


class Owner(UpgradablePipeline):
    """Makes requests. Every method may be called from any thread, and raises `Refused` with nothing
    changed."""

    def __init__(self, loaded: AnyLoaded, events: Events, journal: Journal | None = None) -> None:
        super().__init__(loaded, events, journal)
        #: One large request after the other; taken before a turn, if both are.
        self._long = Lock()
        #: What others changed while a large request is made, if one is.
        self.touched: WriteSet | None = None
        #: Who would change what that rests on waits for it.
        self.goes_first = False

    # ---- requests -----------------------------------------------------------------------------

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
                    made.outcome = self._in_force(request, until)
        except Refused as error:
            self.tally.refused()
            # Its frames hold all that was read of the request: that goes now.
            error.__traceback__ = error.__context__ = error.__cause__ = None
            raise
        finally:
            made.in_force()
        if (journal := self.journal) is not None and journal.wants_care(self.loaded.book):
            self.wake_flusher()
        return made

    def _in_force(self, request: ApplyRequest, until: float | None) -> Outcome:
        codecs = self.codecs
        # In the numbers of another build it may say nothing, but may have been answered before.
        parsed: Request | Columns | None = request.parsed
        if parsed is None and request.digest in ("", self.loaded.manifest.digest):
            parsed = read(request, codecs)
        digest = blake2b(request.content, digest_size=16).digest() if request.key else b""
        asked = _new(DecodedRequest, (request, digest, parsed, codecs))
        del parsed
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
        if asked.parsed is not None and asked.codecs is self.codecs:
            return asked.parsed
        if asked.request.digest not in ("", self.loaded.manifest.digest):
            raise refused(faults.other_build())
        return read(asked.request, self.codecs)  # upgraded since it was read

    def make(self, asked: DecodedRequest) -> Outcome:
        """In its turn: plan it and carry it out. Raises `Conflict` where a large request goes
        first."""
        parsed, loaded = asked.parsed, self.loaded
        if parsed is None or asked.codecs is not self.codecs:
            parsed = self.fresh(asked)
        if asked.request.if_revision is not None:
            self.expect(asked.request.if_revision)
        plan = loaded.plan(parsed)
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

    @contextmanager
    def alone(self, until: float | None) -> Iterator[None]:
        """No other large request within this block."""
        wait(lambda seconds: self._long.acquire(timeout=seconds), until)
        try:
            yield
        finally:
            self._long.release()

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

    # ---- what the agent does by itself --------------------------------------------------------

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

    def exclude_members(
        self, dead: Collection[Reference], steered: Mapping[int, frozenset[int]]
    ) -> tuple[int, int]:
        """Let spreads leave out the members that lead to one of these rules, and, by sequence,
        these; no others."""

        def work(loaded: AnyLoaded) -> int:
            return exclude_members(loaded, dead, steered) if isinstance(loaded, Loaded) else 0

        return self.change(work)

    # ---- reading ------------------------------------------------------------------------------

    def find(self, references: Iterable[Reference]) -> dict[Reference, Rule]:
        """Those of these rules that there are."""
        with self.turn(None):
            book = self.loaded.book  # of an upgraded pipeline, perhaps without the kind
            found = {each: book.get(*each) for each in references if each.kind in book.kinds}
        return {each: rule for each, rule in found.items() if rule is not None}

    @contextmanager
    def hold(self) -> Iterator[SnapshotLease]:
        """The rules of this moment, for somebody else to read at leisure."""
        with self.turn(None):
            held = SnapshotLease(self)
        try:
            yield held
        finally:
            held.close()
