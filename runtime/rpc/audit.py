"""The record of who changed what, and of what was refused: lines of the logger `heliod.audit`.

Of each client `EACH` at once and then some a second have a line each, and of all `ALL`; what comes
beyond is counted, in one line a second for each client. So nothing is left out, and nobody fills a
disk. Lines are written by a thread: no request waits for who reads the log.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from threading import Event, Lock, Thread

from ..base import logs
from ..base.logfmt import cut, escaped, logfmt
from ..base.source_limits import Bucket

#: Lines at once, and a second after that: of a client, of all. With what is counted it is less than
#: systemd's journal takes of a service (RateLimitBurst=10000 in 30 s).
EACH, EACH_RATE = 50.0, 10.0
ALL, ALL_RATE = 200.0, 200.0
#: Seconds that are counted in one line; clients that have one of their own; and texts of a kind
#: that it names.
PERIOD, _CLIENTS, _TEXTS = 1.0, 64, 4
#: Lines that wait to be written, and clients whose rate is known.
_WAITING, _KNOWN = 1000, 1000
#: Seconds between two looks at a log that takes nothing, and that it has at the end.
_LOOK, _LINGER = 0.05, 2.0
#: Answers that are no refusals. Of the second its client waited for none.
DONE = OK, UNANSWERED = "OK", "unanswered"
_log = logging.getLogger("heliod.audit")

Fields = Mapping[str, str | int | float]


class Entry:
    """What one request, or `times` of a kind, came to. `who`: name, address, role and certificate,
    empty where there is none; the rest is 0 or empty where nothing is known."""

    pipeline = answer = ""
    times = 1
    changes = created = changed = removed = revision = 0
    ms = 0.0

    def __init__(self, who: tuple[str, str, str, str], method: str, size: int = 0) -> None:
        self.who, self.method, self.size = who, method, size

    def details(self) -> Fields:
        """What is said of it besides that; asked for where it has a line of its own."""
        return {}

    def fields(self) -> Fields:
        client, address, role, certificate = self.who
        known = {
            "client": client, "address": address, "role": role, "certificate": certificate,
            "method": self.method, "pipeline": self.pipeline, **self.details(),
            "changes": self.changes, "bytes": self.size, "created": self.created,
            "changed": self.changed, "removed": self.removed, "answer": self.answer,
            "revision": self.revision, "ms": round(self.ms, 3),
        }  # fmt: skip
        return {name: cut(value) for name, value in known.items() if value}


class Audit:
    """May be used by any thread; `close` writes what was not written yet."""

    def __init__(self, room: Callable[[], bool] = logs.has_space) -> None:
        """`room`: whether the log takes a line now."""
        self._room = room
        self._lock, self._some, self._ended = Lock(), Event(), Event()
        self._lines: deque[Fields] = deque()
        self._all = Bucket(ALL, ALL_RATE, ALL, time.monotonic())
        self._clients: dict[str, Bucket] = {}
        self._counted: dict[str, _Counted] = {}
        self._due = 0.0
        self._thread: Thread | None = None

    def record(self, entry: Entry) -> None:
        client = entry.who[0] or entry.who[1]
        with self._lock:
            if self._thread is None:
                self._need_thread()
            if (counted := self._counted.get(client)) is not None:
                counted.add(entry)
                return
            now = time.monotonic()
            if len(self._lines) < _WAITING and self._may(client, now):
                self._lines.append({"time": _stamp(time.time()), **entry.fields()})
            elif not self._count(client, entry, now):
                return
        self._some.set()

    def close(self) -> None:
        self._ended.set()
        self._some.set()
        with self._lock:  # from here on no thread is started
            thread = self._thread
        if thread is not None:
            thread.join()
        else:
            self._run()

    def _need_thread(self) -> None:
        if not self._ended.is_set():
            with suppress(RuntimeError):  # there are too many: the next record tries again
                thread = Thread(target=self._run, name="audit", daemon=True)
                thread.start()
                self._thread = thread

    def _may(self, client: str, now: float) -> bool:
        if (bucket := self._clients.get(client)) is None:
            if len(self._clients) >= _KNOWN:
                self._clients.clear()
            bucket = self._clients[client] = Bucket(EACH, EACH_RATE, EACH, now)
        return bucket.take(now) and self._all.take(now)

    def _count(self, client: str, entry: Entry, now: float) -> bool:
        """Whether it is the first since the last lines."""
        first = not self._counted
        if first:
            self._due = now + PERIOD
        if len(self._counted) >= _CLIENTS:
            client = ""
        if (counted := self._counted.get(client)) is None:
            counted = self._counted[client] = _Counted()
        counted.add(entry)
        return first

    # ---- the thread -------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._ended.is_set():
            self._some.wait(max(0.0, self._due - time.monotonic()) if self._counted else None)
            self._some.clear()
            self._write(self._ended.is_set)
        last = time.monotonic() + _LINGER
        self._write(lambda: time.monotonic() > last)

    def _write(self, give_up: Callable[[], bool]) -> None:
        """All that is due, or as much as the log takes until then."""
        with self._lock:
            if self._counted and (self._ended.is_set() or time.monotonic() >= self._due):
                self._lines += [counted.fields() for counted in self._counted.values()]
                self._counted = {}
        while self._lines:
            while not self._room():
                if give_up():
                    return
                time.sleep(_LOOK)
            _say(self._lines.popleft())


class _Counted:
    """What has no line of its own."""

    def __init__(self) -> None:
        self._since = time.time()
        self._count = self._refused = 0
        self._like: tuple[object, ...] = ()
        self._texts: dict[str, dict[str, None]] = {}
        self._changes = self._bytes = self._created = self._changed = self._removed = 0
        self._first, self._last = 1 << 64, 0
        self._slowest = 0.0

    def add(self, entry: Entry) -> None:
        """In a microsecond where it is like the one before."""
        times, answer, revision = entry.times, entry.answer, entry.revision
        self._count += times
        if (like := (entry.who, entry.method, entry.pipeline, answer)) != self._like:
            self._like = like
            self._name(entry)
        if answer not in DONE:
            self._refused += times
        self._bytes += entry.size
        self._changes += entry.changes
        self._created += entry.created
        self._changed += entry.changed
        self._removed += entry.removed
        if revision > self._last:
            self._last = revision
        if 0 < revision < self._first:
            self._first = revision
        if entry.ms > self._slowest:
            self._slowest = entry.ms

    def _name(self, entry: Entry) -> None:
        client, address, role, _ = entry.who
        named = {"client": client, "address": address, "role": role, "method": entry.method,
                 "pipeline": entry.pipeline, "answer": entry.answer}  # fmt: skip
        for name, text in named.items():
            known = self._texts.setdefault(name, {})
            if text and len(known) <= _TEXTS:
                known[text] = None

    def fields(self) -> Fields:
        texts = {
            name: ",".join([*known][:_TEXTS] + ["..."] * (len(known) > _TEXTS))
            for name, known in self._texts.items()
        }
        # revisions of several pipelines are no range
        first, last = (self._first, self._last) if len(self._texts["pipeline"]) < 2 else (0, 0)
        known: dict[str, str | int | float] = {
            "time": _stamp(time.time()), "since": _stamp(self._since), **texts,
            "changes": self._changes, "bytes": self._bytes, "created": self._created,
            "changed": self._changed, "removed": self._removed, "first_revision": last and first,
            "last_revision": last, "slowest_ms": round(self._slowest, 3),
        }  # fmt: skip
        made = {name: value for name, value in known.items() if value}
        return {**made, "count": self._count, "refused": self._refused}


def _stamp(seconds: float) -> str:
    """As RFC 3339 writes it, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def _say(fields: Fields) -> None:
    done = not fields["refused"] if "refused" in fields else fields["answer"] in DONE
    named = {f"HELIO_{name.upper()}": escaped(value) for name, value in fields.items()}
    level = logging.INFO if done else logging.WARNING
    _log.log(level, "%s", logfmt(fields), extra={"fields": named})
