"""What sessions counted as the agent publishes it once a second, for metrics, which ignore an old
file."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple

from ..base.published import publish, published, remove_published
from .answers import Entry
from .session import DIRECTIONS

#: Seconds between two files, and after which one is too old.
EVERY, AGE = 1.0, 5.0
#: What is counted of packets and answers.
COUNTS = ("sent", "answered", "lost", "late", "duplicates", "reordered", "strange", "invalid",
          "out_of_step", "unsent", "skipped")  # fmt: skip


class SessionStatus(NamedTuple):
    """`counts` by `COUNTS`; `delays` by direction: how many, their sum in seconds, and of |IPDV|
    the same."""

    ssid: int
    name: str
    running: bool
    counts: Mapping[str, int]
    delays: Mapping[str, tuple[int, float, int, float]]


def status_of(entry: Entry, decided: float) -> SessionStatus:
    """`decided`: the moment up to which losses are certain."""
    now = entry.session
    with now.lock:
        now.expire(decided)
        counts = {name: getattr(now.window, name, getattr(now.counts, name, 0)) for name in COUNTS}
        delays = {}
        for name in DIRECTIONS:
            delay, variation = now.delays[name].delay, now.delays[name].variation
            delays[name] = (delay.count, delay.count * delay.mean / 1e9,
                            variation.count, variation.count * variation.mean / 1e9)  # fmt: skip
    about = entry.kept.about
    return SessionStatus(about.ssid, about.name, entry.running, counts, delays)


def read_session_status(pipeline: str) -> list[SessionStatus]:
    """Empty where no agent has any."""
    found, at = published(f"{pipeline}.stamp")
    if not 0 <= time.time() - at <= AGE:
        return []
    return [SessionStatus(*each) for each in found]


class StatusWriter:
    """A thread, from `start` to `stop`."""

    def __init__(self, entries: Callable[[], Iterable[Entry]], decided: Callable[[], float]):
        self._entries, self._decided = entries, decided
        self._ended, self._written = threading.Event(), set[str]()
        self._thread = threading.Thread(target=self._run, name="stamp-status", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """May be called again, also where it was never started."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
        for name in self._written:
            remove_published(f"{name}.stamp")
        self._written.clear()

    def _run(self) -> None:
        while not self._ended.wait(EVERY):
            self.write()

    def write(self) -> None:
        found: dict[str, list[SessionStatus]] = {}
        decided = self._decided()
        for entry in self._entries():
            found.setdefault(entry.kept.pipeline, []).append(status_of(entry, decided))
        for name, sessions in found.items():
            with suppress(OSError):  # metrics lack it then
                publish(f"{name}.stamp", sessions)
                self._written.add(name)
        for name in self._written - found.keys():
            remove_published(f"{name}.stamp")
            self._written.discard(name)
