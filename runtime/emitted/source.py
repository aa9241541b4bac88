"""A loaded pipeline's event ring, and what its records mean."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from typing import Any, NamedTuple

from ...lang.contract.manifest.manifest import EventKind, Manifest, ManifestError
from ...lang.contract.manifest.read_manifest import from_json
from ...lang.contract.world.emitted import EventRecord, Unreadable, by_tag, decode
from ...lang.text.diagnostics import Diagnostic, Refused
from ..base.logs import text as log_text
from ..kernel.handles import BpfError, Map
from ..kernel.ring import Ring
from ..loading.former_events import former_events
from ..loading.releases import about_id, read_about, release_of

#: Records that are read in one go: to take them out holds the interpreter for 0.1 ms.
SLICE = 32
_log = logging.getLogger("heliod.events")


class Raised(NamedTuple):
    """A record as it was read. `incarnation`: of the load by which the pipeline was this name's;
    `time`: nanoseconds of the Unix epoch."""

    pipeline: str
    incarnation: str
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
        self._looked_at = 0
        self.learn(about, manifest)

    @property
    def id(self) -> int:
        """Of the ring's map."""
        return self._map.id

    def fileno(self) -> int:
        return self._map.fileno()

    def learn(self, about: Mapping[str, Any], manifest: Manifest) -> None:
        """Another build writes into the ring from now on."""
        self.build = about["incarnation"], about["release"]
        self._kinds = _kinds(about, manifest)

    def _look_again(self) -> None:
        """A build is in force before a packet meets it: an upgrade may be on its way."""
        with suppress(BpfError, Refused, ManifestError, OSError):
            now = about_id(self.name)
            if now == self._looked_at:
                return
            self._looked_at, about = now, read_about(self.name)
            self._kinds |= _kinds(about, from_json(about["manifest"]))

    def _decode(self, record: bytes) -> EventRecord:
        """Raises `Unreadable`."""
        try:
            return decode(record, self._kinds)
        except Unreadable:
            self._look_again()
            return decode(record, self._kinds)

    def read(self, most: int = SLICE) -> list[Raised]:
        """The next records, so many at most."""
        clock = time.time_ns() - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        found = []
        for record in self._ring.records(most):
            try:
                made = self._decode(record)
            except Unreadable as error:
                self._cannot_read(str(error))
            else:
                found.append(Raised(self.name, self.build[0], clock + made.time, made))
        if self._ring.damaged:
            self._cannot_read(f"{self._ring.damaged} bytes are not as the kernel writes them")
            self._ring.damaged = 0
        return found

    def _cannot_read(self, why: str) -> None:
        """Said once: there may be many."""
        if not self.unreadable:
            _log.error("%s", log_text(_unreadable(self.name, why)))
        self.unreadable += 1

    def close(self) -> None:
        """May be called again."""
        self._owned.close()

    def __enter__(self) -> EventSource:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _kinds(about: Mapping[str, Any], manifest: Manifest) -> dict[int, EventKind]:
    now = manifest.events.kinds if manifest.events else ()
    return by_tag((*former_events(about), *now))


# ---- errors ---------------------------------------------------------------------------------


def _unreadable(name: str, why: str) -> Diagnostic:
    return Diagnostic(
        "H0756", f"a record in the event ring of `{name}` cannot be read: {why}", (),
        "it is left out; the others are read. Something else has written into the ring",
    )  # fmt: skip
