"""Requests of an owned pipeline: planned, carried out, and written to the journal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

from ...lang.contract.request.request import Request
from ...lang.contract.rules.columns import Columns
from ...lang.contract.rules.interleaving import NONE, Conflict, WriteSet, YieldPoint
from ...lang.contract.rules.plan import Plan
from ...lang.contract.rules.rules import Reference
from ..base import agent_errors as faults
from ..base.errors import refused
from ..base.outcome import Outcome, outcome_of
from ..journal.journal import Journal
from ..loading.any_loaded import AnyLoaded
from .events import NAMED, Event, Events, RulesChanged
from .pipeline import wait
from .requests import DecodedRequest, read
from .upgradable import UpgradablePipeline


class Transactions(UpgradablePipeline):
    """What is done with a request in its turn."""

    def __init__(self, loaded: AnyLoaded, events: Events, journal: Journal | None = None) -> None:
        super().__init__(loaded, events, journal)
        #: One large request after the other; taken before a turn, if both are.
        self._long = Lock()
        #: What others changed while a large request is made, if one is.
        self.touched: WriteSet | None = None
        #: Who would change what that rests on waits for it.
        self.goes_first = False

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
