"""A loaded pipeline's event ring, and what its records mean."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, NamedTuple

from ...lang.contract.manifest.manifest import EventKind, Manifest
from ...lang.contract.world.emitted import EventRecord, Unreadable, by_tag, decode
from ..kernel.handles import Map
from ..kernel.ring import Ring
from ..loading.former_events import former_events
from ..loading.releases import release_of

#: Records that are read in one go: to take them out holds the interpreter for 0.1 ms.
SLICE = 64
_log = logging.getLogger("heliod.events")


class Raised(NamedTuple):
    """A record as it was read. `time`: nanoseconds of the Unix epoch."""

    pipeline: str
    time: int
    record: EventRecord


class EventSource:
    """The only reader of a pipeline's ring. Builds before the one in force may have written what is
    still unread. Close it."""

    def __init__(self, name: str, about: Mapping[str, Any], manifest: Manifest) -> None:
        """Raises BpfError."""
        self.name = name
        self._owned = ExitStack()
        path = release_of(name, about["release"]) / "maps" / "event_ring"
        self._map = self._owned.enter_context(Map.open_pinned(path))
        try:
            self._ring = self._owned.enter_context(Ring(self._map))
        except BaseException:
            self._owned.close()
            raise
        self.unreadable = 0
        self.learn(about, manifest)

    @property
    def id(self) -> int:
        """Of the ring's map."""
        return self._map.id

    def fileno(self) -> int:
        return self._map.fileno()

    def learn(self, about: Mapping[str, Any], manifest: Manifest) -> None:
        """Another build writes into the ring from now on."""
        now: tuple[EventKind, ...] = manifest.events.kinds if manifest.events else ()
        self.build = about["incarnation"], about["release"]
        self._kinds = by_tag((*former_events(about), *now))

    def read(self, most: int = SLICE) -> list[Raised]:
        """The next records, so many at most."""
        clock = time.time_ns() - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        found = []
        for record in self._ring.records(most):
            try:
                made = decode(record, self._kinds)
            except Unreadable as error:
                self._cannot_read(str(error))
            else:
                found.append(Raised(self.name, clock + made.time, made))
        if self._ring.damaged:
            self._cannot_read(f"{self._ring.damaged} bytes are not as the kernel writes them")
            self._ring.damaged = 0
        return found

    def _cannot_read(self, why: str) -> None:
        """Said once: there may be many."""
        if not self.unreadable:
            said = "H0756: %s: a record of an event cannot be read, and is left out: %s"
            _log.error(said, self.name, why)
        self.unreadable += 1

    def close(self) -> None:
        """May be called again."""
        self._owned.close()

    def __enter__(self) -> EventSource:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
