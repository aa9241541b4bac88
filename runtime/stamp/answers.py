"""The sessions that there are, and their answers, which come to whom they belong."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from ...lang.contract.rules.rules import Rule
from ..base.errors import refused
from ..base.watcher_queue import CountedQueue
from ..edge.path_quality import Measured as Quality
from ..emitted.source import Raised
from ..owner.owner import Owner
from . import errors, rules
from .pacer import Pacer, Turn
from .parameters import Parameters
from .session import Result, Session
from .store import Kept

#: Results that wait for a watcher; and seconds after which an answer that came is surely read, if
#: the machine did not stand still for so long, which is above `pacer.STALLED`.
DEPTH, GRACE = 4096, 0.5
#: Unknown sessions that a refusal names.
MOST_NAMED = 20


@dataclass
class Entry:
    """A session, as it is kept and as it goes. `rule`: its COLLECTOR, None until it is known."""

    kept: Kept
    session: Session
    rule: Rule | None = None
    turn: Turn | None = None

    @property
    def key(self) -> tuple[str, int]:
        return self.kept.pipeline, self.kept.about.ssid

    @property
    def running(self) -> bool:
        until = self.kept.until
        return self.kept.running and (until is None or self.session.window.sent < until)


class Measured(NamedTuple):
    """A result as watchers get it."""

    pipeline: str
    about: Parameters
    result: Result


class ResultWatcher(CountedQueue[Measured]):
    """Of these sessions of a pipeline (none: of all). Iterates over results, and how many were left
    out between two of them."""

    def __init__(self, pipeline: str, ssids: Iterable[int]) -> None:
        super().__init__(DEPTH)
        self._pipeline, self._ssids = pipeline, frozenset(ssids)

    def put(self, found: Sequence[Measured]) -> None:
        self.offer([each for each in found if each.pipeline == self._pipeline
                    and (not self._ssids or each.about.ssid in self._ssids)])  # fmt: skip


class AnsweredSessions:
    """By pipeline and SSID. Methods may be called from any thread and raise `Refused`."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        """`now`: the monotonic clock."""
        self._now, self.pacer = now, Pacer(now)
        self._entries: dict[tuple[str, int], Entry] = {}
        self._by_rule: dict[tuple[str, int], Entry] = {}
        self._watchers: tuple[ResultWatcher, ...] = ()
        self._readers: dict[int, rules.RecordReader | None] = {}
        #: Records of rules COLLECTOR that no session has, by pipeline.
        self.foreign = Counter[str]()
        self._changing = threading.RLock()

    # ---- looking ----------------------------------------------------------------------------

    def find(self, pipeline: str, ssids: Iterable[int] = ()) -> list[Entry]:
        """Of a pipeline, by SSID: these, or all."""
        chosen = set(ssids)
        found = [each for each in list(self._entries.values()) if each.kept.pipeline == pipeline]
        ordered = sorted(found, key=lambda each: each.kept.about.ssid)
        if strange := chosen - {each.kept.about.ssid for each in ordered}:
            raise refused(*map(errors.unknown, sorted(strange)[:MOST_NAMED]))
        return [each for each in ordered if not chosen or each.kept.about.ssid in chosen]

    def without_rule(self, owner: Owner) -> set[int]:
        """SSIDs of sessions whose COLLECTOR somebody else deleted: no answer is recorded."""
        sessions = self.find(owner.name)
        there = owner.find(rules.reference(e.rule) for e in sessions if e.rule is not None)
        known = {rule.sequence for rule in there.values()}
        return {e.kept.about.ssid for e in sessions
                if e.rule is None or e.rule.sequence not in known}  # fmt: skip

    def quality(self, name: str) -> Quality | None:
        """What the path of a session is like now. None where no session, or more than one, of that
        name sends."""
        found = [e for e in list(self._entries.values()) if e.kept.about.name == name and e.running]
        if len(found) != 1:
            return None
        session = found[0].session
        with session.lock:
            session.expire(self.decided())
            return session.path.measured()

    def decided(self) -> float:
        """The moment up to which losses are certain."""
        return self.pacer.decided(GRACE)

    @contextmanager
    def watch(self, pipeline: str, ssids: Iterable[int] = ()) -> Iterator[ResultWatcher]:
        watcher = ResultWatcher(pipeline, ssids)
        with self._changing:
            self._watchers += (watcher,)
        try:
            yield watcher
        finally:
            with self._changing:
                self._watchers = tuple(each for each in self._watchers if each is not watcher)

    # ---- answers ----------------------------------------------------------------------------

    def take(self, pipeline: str, raised: Sequence[Raised]) -> None:
        """Records as they are read: the event reader's to call."""
        found = list[Measured]()
        for each in raised:
            kind = each.record.kind
            if kind.name != rules.RECORD:
                continue
            if kind.tag not in self._readers:
                self._readers[kind.tag] = rules.reader_of(kind)
            if (read := self._readers[kind.tag]) is None:
                continue
            (sequence, id_), answer, clock = read(each.record.values)
            entry = self._by_rule.get((pipeline, id_))
            if entry is None or entry.rule is None or entry.rule.sequence != sequence:
                self.foreign[pipeline] += 1
                continue
            result = entry.session.record(answer, each.record.time / 1e9, clock)
            if result is not None:
                found.append(Measured(pipeline, entry.kept.about, result))
        for watcher in self._watchers if found else ():
            watcher.put(found)
