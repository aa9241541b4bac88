"""Sessions of an agent: made, started, measured and taken away. What they are is in the journal;
what they counted is in memory that outlives the process (kept.py)."""

from __future__ import annotations

import math
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial

from ...lang.contract.rules.ie_values import fold
from ...lang.text.diagnostics import Refused
from ..base.errors import refused
from ..kernel.clock import read_wall_clock
from ..owner.owner import Owner
from ..owner.requests import request_of
from . import errors, rules
from .addresses import resolved
from .answers import Entry
from .kept import MOST, KeptCounts
from .pacer import Turn
from .parameters import Parameters, checked
from .session import Session
from .setups import SetUpSessions
from .sockets import Sockets
from .status import StatusWriter
from .store import Kept, SessionStore
from .window import size_for

#: Packets a second of all sessions together.
RATE = 5000


class StampManager(SetUpSessions):
    """Methods may be called from any thread and raise `Refused`."""

    def __init__(
        self, owner: Callable[[str], Owner], store: SessionStore, counts: KeptCounts,
        now: Callable[[], float] = time.monotonic, sockets: Sockets | None = None,
    ) -> None:  # fmt: skip
        """`owner`: of the pipeline of a name."""
        super().__init__(owner, store, now)
        self._counts, self._sockets = counts, sockets or Sockets()
        self._ended = False
        self._status = StatusWriter(lambda: list(self._entries.values()), self.decided)

    # ---- the agent's life -------------------------------------------------------------------

    def start(self) -> None:
        """Go on with what is kept."""
        with self._changing:
            self._take_up()
        self.pacer.start()
        self._status.start()

    def stop(self) -> None:
        """Sessions are kept as they are, once no more answers come. May be called again, also where
        it was never started."""
        self.pacer.stop()
        self._status.stop()
        with self._changing:  # nothing is written any more
            self._ended = True
        for watcher in self._watchers:
            watcher.close()
        self._sockets.close()
        for entry in self._entries.values():
            entry.session.leave()
        self._counts.close()

    def _take_up(self) -> None:
        sessions, setups = self._store.all()
        self._setups = {each.pipeline: each for each in setups}
        self._counts.keep_only({each.token for each in sessions})
        for kept in sessions:
            entry = self._entries[kept.pipeline, kept.about.ssid] = self._entry(kept)
            entry.session.go_on(self._now())
            self._resume(entry)

    def _resume(self, entry: Entry) -> None:
        """Where its pipeline is there; otherwise it says why it does not go on."""
        try:
            owner = self._owner(entry.kept.pipeline)
            key = _key(entry.kept)
            if not self._has_rule(entry, owner) and owner.answer(key) is None:
                self._make_rules(entry, owner)  # the agent was killed before it was made
            self._know_rule(entry, owner)
        except Refused as error:
            entry.session.why = "; ".join(each.title for each in error.diagnostics)
            return
        if entry.running:
            self._turn(entry)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """No session changes in the block."""
        with self._changing:
            yield

    def replace(self, store: SessionStore) -> None:
        """Replace all sessions."""
        with self._changing:
            for entry in self._entries.values():
                self._leave_off(entry)
                entry.session.leave()
            self._entries, self._by_rule, self._store = {}, {}, store
            self._take_up()

    def forget(self, pipeline: str) -> None:
        """It was unloaded."""
        with self._changing:
            gone = [each for each in self._entries.values() if each.kept.pipeline == pipeline]
            setup = self._setups.pop(pipeline, None)
            for entry in gone:
                self._drop(entry)
            self.foreign.pop(pipeline, None)
            with suppress(Refused):  # who starts next finds no pipeline for them
                self._store.remove(*(each.kept for each in gone), *[setup] if setup else [])

    def reset(self, pipeline: str) -> int:
        """Destroy all sessions of a pipeline and what was made for them. Returns how many there
        were."""
        with self._changing:
            owner = self._owner(pipeline)
            found = self.find(owner.name)
            self._end(owner, found)
            if (setup := self._setups.get(owner.name)) is not None:
                self._close_ports(replace(setup, asked=False), owner)
            self._need_durable()
            return len(found)

    # ---- sessions ---------------------------------------------------------------------------

    def create(self, pipeline: str, asked: Parameters) -> Entry:
        """A session that is not started."""
        with self._changing:
            owner = self._owner(pipeline)
            rules.need_collector(owner)
            setup = self._setup(owner.name)
            asked = replace(asked, source_port=asked.source_port or setup.port)
            about = checked(resolved(checked(asked), setup.source4, setup.source6))
            self._need_free(owner, about)
            token = secrets.randbits(63) | 1
            kept = Kept(owner.name, about, token=token, serial=self._store.number())
            self._store.put(kept)
            entry = self._entry(kept)
            try:
                self._make_rules(entry, owner)
            except Refused:
                self._counts.free(kept.token)
                self._store.remove(kept)
                with suppress(Refused):  # the next that ends tries again
                    self._close_ports(self._setup(owner.name), owner)
                raise
            self._entries[entry.key] = entry
            self._need_durable()
            return entry

    def _need_free(self, owner: Owner, about: Parameters) -> None:
        if len(self._entries) >= MOST:
            raise refused(errors.too_many(MOST))
        for entry in self.find(owner.name):
            other = entry.kept.about
            if other.ssid == about.ssid:
                raise refused(errors.taken(f"the SSID {about.ssid}", f"by `{other.name}`"))
            if fold(other.name) == fold(about.name):
                raise refused(errors.taken(f"the name `{about.name}`", f"by {other.ssid}"))
        for entry in self._entries.values():  # of another pipeline: either would get its answers
            if entry.kept.about.answered == about.answered:
                raise refused(
                    errors.answers_taken(
                        about.ssid, about.source, about.source_port, entry.kept.pipeline
                    )
                )
        if (rule := rules.collector_of(owner, about)) is not None:
            raise refused(errors.rule_there(about.ssid, f"{rule.kind} {rule.name or rule.id}"))

    def _entry(self, kept: Kept) -> Entry:
        slot = self._counts.slot(kept.token, size_for(kept.about.timeout, kept.about.interval))
        session = Session(kept.about, slot, read_wall_clock().error)
        if kept.until is not None and session.window.sent < kept.since:  # a reboot began again
            kept = replace(kept, until=kept.until - kept.since, since=0)
        return Entry(kept, session)

    def _make_rules(self, entry: Entry, owner: Owner) -> None:
        about, setup = entry.kept.about, self._setup(owner.name)
        opened = self._opened(setup, owner, about.source_port)
        if opened is not setup:
            self._put_setup(opened)
        owner.apply(request_of(rules.collecting(about), owner, _key(entry.kept)))
        self._know_rule(entry, owner)

    def _know_rule(self, entry: Entry, owner: Owner) -> None:
        """Its records come to it from now on. Raises `Refused` where somebody deleted its rule."""
        rule = rules.own_collector(owner, entry.kept.about, entry.rule)
        if rule is None:
            raise refused(errors.rule_gone(entry.kept.about.ssid))
        entry.rule = rule
        self._by_rule[owner.name, rule.id] = entry

    def _has_rule(self, entry: Entry, owner: Owner) -> bool:
        """Whether its COLLECTOR is there, and still its own."""
        with suppress(Refused):
            self._know_rule(entry, owner)
            return True
        return False

    def begin(self, pipeline: str, ssid: int, seconds: float | None = None) -> Entry:
        """Send, for so long or until it is stopped. One that is going on goes on."""
        with self._changing:
            entry, owner = self._one(pipeline, ssid)
            self._know_rule(entry, owner)
            about, sent = entry.kept.about, entry.session.window.sent
            others = (each.kept.about for each in self._entries.values()
                      if each.running and each is not entry)  # fmt: skip
            rate = 1 / about.interval + sum(1 / other.interval for other in others)
            if rate > RATE:
                raise refused(errors.too_fast(rate, RATE))
            try:
                self._sockets.open(entry.session.packet.version)
            except OSError as error:
                raise refused(errors.not_sent((error.strerror or str(error)).lower())) from None
            until = sent + math.ceil(seconds / about.interval) if seconds is not None else None
            made = replace(entry.kept, running=True, until=until, since=sent)
            self._store.put(made)
            entry.kept = made
            entry.session.restamp(read_wall_clock().error)
            if entry.turn is None:
                self._turn(entry, spread=False)
            self._need_durable()
            return entry

    def halt(self, pipeline: str, ssid: int) -> Entry:
        """Send no more; answers that come are still measured."""
        with self._changing:
            entry, _ = self._one(pipeline, ssid)
            made = replace(entry.kept, running=False, until=None, since=0)
            self._store.put(made)
            entry.kept = made
            self._leave_off(entry)
            self._need_durable()
            return entry

    def destroy(self, pipeline: str, ssid: int) -> Entry:
        """Returns what it was."""
        with self._changing:
            entry, owner = self._one(pipeline, ssid)
            self._end(owner, [entry])
            if (setup := self._setups.get(owner.name)) is not None:
                with suppress(Refused):  # the next that ends tries again
                    self._close_ports(setup, owner)
            self._need_durable()
            return entry

    def _end(self, owner: Owner, entries: Sequence[Entry]) -> None:
        own = [e.rule for e in entries if self._has_rule(e, owner) and e.rule is not None]
        self._delete(owner, *map(rules.reference, own))
        self._store.remove(*(each.kept for each in entries))
        for entry in entries:
            self._drop(entry)

    def _drop(self, entry: Entry) -> None:
        self._leave_off(entry)
        del self._entries[entry.key]
        if entry.rule is not None:
            self._by_rule.pop((entry.kept.pipeline, entry.rule.id), None)
        entry.session.leave()
        self._counts.free(entry.kept.token)

    def _one(self, pipeline: str, ssid: int) -> tuple[Entry, Owner]:
        owner = self._owner(pipeline)
        entry = self._entries.get((owner.name, ssid))
        if entry is None:
            raise refused(errors.unknown(ssid))
        return entry, owner

    # ---- sending ----------------------------------------------------------------------------

    def _turn(self, entry: Entry, spread: bool = True) -> None:
        turn = Turn(entry.kept.about.interval, lambda: False, entry.session.skip)
        turn.send = partial(self._send, entry, turn)
        entry.turn = turn
        self.pacer.add(turn, spread)

    def _leave_off(self, entry: Entry) -> None:
        """Its turn may be an hour away, and holds it."""
        if (turn := entry.turn) is not None:
            entry.turn = None
            self.pacer.remove(turn)

    def _send(self, entry: Entry, turn: Turn) -> bool:
        """The pacer's to call. Whether there is to be a next one."""
        if entry.turn is not turn:
            return False
        if entry.running:
            entry.session.send(self._sockets, self._now())
        if entry.running:
            return True
        threading.Thread(target=self._over, args=(entry, turn), daemon=True).start()
        return False

    def _over(self, entry: Entry, turn: Turn) -> None:
        """It has sent all that it should. In a thread of its own: the journal may take a while, and
        others are due."""
        with self._changing, suppress(Refused):
            if entry.turn is not turn or self._ended:
                return
            entry.turn = None
            if entry.running:  # somebody has just started it again
                self._turn(entry, spread=False)
            else:
                self.halt(entry.kept.pipeline, entry.kept.about.ssid)


def _key(kept: Kept) -> str:
    """By which the agent knows whether its rule was made."""
    return f"stamp {kept.serial}"
