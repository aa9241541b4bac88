"""Begins and ends intents on time: a thread that sleeps until the next is due.

Each change is in the journal before it is made, and its request has the intent's own idempotency
key: an agent that was killed in between knows what it had done.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

from ...lang.contract.request.request import Change, Request, RuleItem
from ...lang.contract.rules.rules import Reference
from ...lang.text.diagnostics import Diagnostic, Refused
from ...lang.text.exit_status import diagnosed
from ...lang.text.source import Source
from ..base.errors import refused
from ..owner.owner import Owner
from ..owner.requests import request_of
from . import errors
from .compile import PipelineContext, compile_intent
from .document import Document, read_document
from .store import Intent, IntentRule, IntentStore, match_digest

#: Intents that are due some day, and of those that are not how many are remembered; and characters
#: of all that are kept: whoever lists them gets all in one message.
MOST, REMEMBERED, ROOM = 16_384, 1_000, 8 << 20
#: Seconds until what failed for the moment is tried again; and after which the thread looks at the
#: clock, lest somebody has set it.
_AGAIN, _LONGEST = 10.0, 10.0
#: Whatever failed so may go well later: nobody owns the pipeline, it is busy, the disk is full.
_PASSING = ("H0706", "H0709", "H0765", "H0766", "H0768", "H0780", "H0782", "H0783", "H0788")
_NEVER = float("inf")
_log = logging.getLogger("heliod.intents")


class IntentManager:
    """Intents by pipeline and name. Methods may be called from any thread and raise `Refused`."""

    def __init__(
        self,
        owner: Callable[[str], Owner],
        store: IntentStore,
        now: Callable[[], float] = time.time,
    ) -> None:
        """`owner`: of the pipeline of a name."""
        self._owner, self._store, self._now = owner, store, now
        self._intents = {(i.pipeline, i.id): i for i in store.all()}
        self._later: dict[int, float] = {}  # by serial: not before
        self._gone = list[Intent]()  # the journal has them still
        self._looked = 0.0
        self._changed = threading.Condition(threading.RLock())
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="intents", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """May be called again, also where it was never started."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join()

    @contextmanager
    def paused(self) -> Iterator[bytes]:
        """No intent begins, ends or is added in the block, which gets their backup."""
        with self._changed:
            yield self._store.content()

    def replace(self, store: IntentStore) -> None:
        """Replace all intents."""
        with self._changed:
            self._store.close()
            self._store, self._later, self._gone = store, {}, []
            self._intents = {(i.pipeline, i.id): i for i in store.all()}
            self._changed.notify_all()

    def accept_loss(self) -> None:
        """Raises `Refused`."""
        with self._changed:
            self._store.accept_loss()

    # ---- asking -----------------------------------------------------------------------------

    def apply(self, source: Source, pipeline: str) -> Intent:
        """Take an intent, in the place of another of its name; what is due at once is begun when
        this returns. One that is there already, word for word, stays as it is; if it has failed it
        begins again."""
        document = read_document(source, self._now)
        owner = self._owner(pipeline)
        with self._changed:
            now = self._now()
            begins = document.start if document.start is not None else now
            ends = begins + document.duration if document.duration is not None else None
            if ends is not None and ends <= now:
                raise refused(errors.over(document.duration_at))
            intent = Intent(owner.name, document.id, source.name, source.text, begins, ends)
            before = self._intents.get((owner.name, document.id))
            if before is not None and before.text == source.text:
                seen = self._seen(before)
                if seen.going:
                    self._need_durable()
                    return seen
            self._allowed(document, source, owner, before, begins > now)
            rules = before.rules if before is not None and before.state == "active" else ()
            taken = self._store.add(replace(intent, rules=rules))
            if begins <= now:
                try:
                    taken = self._begin(taken, owner)
                except Refused:
                    self._undo(taken, before)
                    raise
            self._set(taken)
            self._changed.notify_all()
            self._need_durable()
        return taken

    def _need_durable(self) -> None:
        """Raises `Refused` where a reboot may undo a change that is in force."""
        if self._store.doubt:
            raise Refused(self._store.doubt)

    def _allowed(
        self, document: Document, source: Source, owner: Owner, before: Intent | None, later: bool
    ) -> None:
        compile_intent(document, owner.loaded.manifest, PipelineContext.of(owner.loaded))
        if before is not None and before.state == "active" and later:
            raise refused(errors.in_force(before.id))
        if sum(intent.going for intent in self._intents.values()) >= MOST:
            raise refused(errors.too_many(MOST))
        others = (each for each in self._intents.values() if each is not before)
        if len(source.text) + sum(len(each.text) for each in others) > ROOM:
            raise refused(errors.no_room(ROOM))

    def _undo(self, taken: Intent, before: Intent | None) -> None:
        """What could not begin was never taken; where that cannot be written, it begins later, as
        a restart would have it."""
        try:
            if before is not None:
                self._set(self._store.add(before))
            else:
                self._store.remove(taken)
        except Refused as error:
            self._set(taken)
            raise Refused([errors.not_taken_back(taken.id), *error.diagnostics]) from None

    def find(self, pipeline: str = "", ids: Iterable[str] = ()) -> list[Intent]:
        """By pipeline and name; without a pipeline, of all."""
        chosen = set(ids)
        found = [
            intent for intent in list(self._intents.values())
            if (not pipeline or intent.pipeline == pipeline)
            and (not chosen or intent.id in chosen)
        ]  # fmt: skip
        return [self._seen(i) for i in sorted(found, key=lambda i: (i.pipeline, i.id))]

    def need(self, pipeline: str, ids: Iterable[str]) -> None:
        """Check that there are intents of these names. Raises `Refused`."""
        known = [intent.id for intent in self.find(pipeline)]
        if strange := [each for each in ids if each not in known]:
            raise refused(*(errors.unknown(each, known) for each in strange))

    def remove(self, name: str, pipeline: str) -> Intent:
        """End an intent at once, and forget it. Returns what it was."""
        with self._changed:
            intent = self._one(name, pipeline)
            if intent.rules:
                self._store.put(replace(intent, ends=self._now()))  # whatever becomes of us
                with ignoring("H0706"):
                    self._delete(intent, self._owner(intent.pipeline))
            self._store.remove(intent)
            self._drop(intent)
            self._need_durable()
        return intent

    def _one(self, name: str, pipeline: str) -> Intent:
        found = [i for (of, each), i in self._intents.items()
                 if each == name and (not pipeline or of == pipeline)]  # fmt: skip
        if len(found) == 1:
            return found[0]
        if found:  # of several pipelines: which one is meant?
            return self._intents[self._owner(pipeline).name, name]
        raise refused(errors.unknown(name, [each for _, each in self._intents]))

    def forget(self, pipeline: str) -> None:
        """Its pipeline was unloaded. What cannot be written now is tried again."""
        with self._changed:
            gone = [i for i in self._intents.values() if i.pipeline == pipeline]
            self._gone += gone
            for intent in gone:
                self._drop(intent)
            self._write_gone()

    def _write_gone(self) -> None:
        with suppress(Refused):
            self._store.remove(*self._gone)
            self._gone.clear()

    # ---- beginning and ending ---------------------------------------------------------------

    def _begin(self, intent: Intent, owner: Owner) -> Intent:
        """Its rules into force, those of its predecessor out of it, at one moment."""
        key = f"intent {intent.serial}"
        done = owner.answer(key)
        if done is None:
            document = read_document(Source(intent.name, intent.text), self._now)
            made = compile_intent(
                document, owner.loaded.manifest, PipelineContext.of(owner.loaded)
            ).request
            gone = self._remaining_rules(intent, owner)
            asked = Request((*_deletion(gone), *made.changes), made.source)
            done = owner.apply(request_of(asked, owner, key))
        rules = owner.find(done.created).values()
        own = tuple(IntentRule(r.kind, r.id, match_digest(r)) for r in rules if not r.owner)
        begun = replace(intent, state="active", rules=own, why="")
        with ignoring("H0780"):  # the log has it: a restart finds the answer by its key
            self._store.put(begun)
        _log.info("%s: intent %s is active", intent.pipeline, intent.id)
        return begun

    def _end(self, intent: Intent, owner: Owner) -> Intent:
        self._delete(intent, owner)
        ended = replace(intent, state="expired", rules=(), why="")
        self._store.put(ended)
        _log.info("%s: intent %s has expired", intent.pipeline, intent.id)
        return ended

    def _delete(self, intent: Intent, owner: Owner) -> None:
        asked = Request(_deletion(self._remaining_rules(intent, owner)))
        if asked.changes:
            owner.apply(request_of(asked, owner))

    def _remaining_rules(self, intent: Intent, owner: Owner) -> list[IntentRule]:
        """Those of its rules that are there, and still its own."""
        found = owner.find(Reference(made.kind, made.id) for made in intent.rules)
        digests = {IntentRule(r.kind, r.id, match_digest(r)) for r in found.values()}
        return [made for made in intent.rules if made in digests]

    def _seen(self, intent: Intent) -> Intent:
        """The intent as clients see it: failed where somebody else deleted its rules."""
        if intent.state == "active":
            with suppress(Refused):
                lost = len(intent.rules) - len(
                    self._remaining_rules(intent, self._owner(intent.pipeline))
                )
                if lost:
                    return replace(intent, state="failed", why=errors.gone(lost).title)
        return intent

    # ---- the thread -------------------------------------------------------------------------

    def _run(self) -> None:
        with self._changed:
            while not self._ended:
                seconds = self.advance() - self._now()
                self._changed.wait(max(0.0, min(seconds, _LONGEST)))

    def advance(self) -> float:
        """Begin and end whatever is due. Returns when the next is."""
        with self._changed:
            self._store.write_again()
            self._write_gone()
            now = self._now()
            if now < self._looked:  # the clock was set back: moments to try again are far off
                self._later.clear()
            self._looked = now
            for intent in [i for i in self._intents.values() if self._due(i) <= now]:
                self._advance(intent, now)
            return min(map(self._due, self._intents.values()), default=_NEVER)

    def _due(self, intent: Intent) -> float:
        ends = intent.ends if intent.ends is not None else _NEVER
        due = {"pending": intent.begins, "active": ends}.get(intent.state, _NEVER)
        return max(due, self._later.get(intent.serial, due))

    def _advance(self, intent: Intent, now: float) -> None:
        """Whatever is due to it."""
        try:
            owner = self._owner(intent.pipeline)
            if intent.state == "active" or self._missed(intent, owner, now):
                self._set(self._end(intent, owner))
            else:
                self._set(self._begin(intent, owner))
            self._later.pop(intent.serial, None)
        except Exception as error:  # whatever it is, others are due
            self._failed(intent, diagnosed(error, "heliod"), now)

    def _missed(self, intent: Intent, owner: Owner, now: float) -> bool:
        """It ended while nobody looked, and had never begun."""
        over = intent.ends is not None and intent.ends <= now
        return over and owner.answer(f"intent {intent.serial}") is None

    def _failed(self, intent: Intent, found: Sequence[Diagnostic], now: float) -> None:
        why = "; ".join(f"{each.code}: {each.title}" for each in found)
        _log.error("%s: intent %s: %s", intent.pipeline, intent.id, why)
        passing = intent.state == "active" or found[0].code in _PASSING
        failed = replace(intent, state=intent.state if passing else "failed", why=why)
        self._set(failed)
        self._later[intent.serial] = now + _AGAIN
        with suppress(Refused):
            self._store.put(failed)

    # ---- what is known ----------------------------------------------------------------------

    def _set(self, intent: Intent) -> None:
        known = self._intents
        known[intent.pipeline, intent.id] = intent
        if not intent.going:
            past = sorted((i for i in known.values() if not i.going), key=lambda i: i.serial)
            for old in past[: max(0, len(past) - REMEMBERED)]:
                self._drop(old)
                with suppress(Refused):
                    self._store.remove(old)

    def _drop(self, intent: Intent) -> None:
        self._intents.pop((intent.pipeline, intent.id), None)
        self._later.pop(intent.serial, None)


def _deletion(rules: Iterable[IntentRule]) -> tuple[Change, ...]:
    items = tuple(RuleItem(made.kind, made.id, None, (), False) for made in rules)
    return (Change("delete", items),) if items else ()


@contextmanager
def ignoring(*codes: str) -> Iterator[None]:
    """Refusals with one of these codes end the block, and are no matter."""
    try:
        yield
    except Refused as error:
        if error.diagnostics[0].code not in codes:
            raise
