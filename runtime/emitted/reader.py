"""The thread that reads the event rings of an agent's pipelines.

It sleeps until a packet raises an event. Then it reads a slice of each ring, and sleeps for several
times as long as that took: requests wait for it no longer than for one slice, and a storm of events
costs a bounded share of time.
"""

from __future__ import annotations

import logging
import os
import select
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress

from ...lang.contract.manifest.manifest import Manifest
from ..kernel.handles import BpfError
from ..owner.owner import Owner
from .source import SLICE, EventSource
from .watchers import RaisedEvents

#: Seconds: in which records gather, after which pipelines are looked at again, and for which it
#: rests at least between two slices of a ring that has more.
GATHER, LOOK_AGAIN, REST = 0.01, 1.0, 0.0005
#: The thread sleeps this many times as long as it worked.
_SHARE = 4
_log = logging.getLogger("heliod.events")


class EventReader:
    """Runs from `start` to `stop`."""

    def __init__(self, owners: Callable[[], Iterable[Owner]], raised: RaisedEvents) -> None:
        self._owners, self._raised = owners, raised
        self._sources: dict[str, EventSource] = {}
        self._poll: select.epoll
        self._wake = -1
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="event-reader", daemon=True)

    def start(self) -> None:
        self._poll = select.epoll()
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._poll.register(self._wake, select.EPOLLIN)
        self._thread.start()

    def stop(self) -> None:
        """What is in the rings stays there. May be called again, also where it was never
        started."""
        self._ended.set()
        if self._wake < 0:
            return
        os.eventfd_write(self._wake, 1)
        self._thread.join()
        for source in self._sources.values():
            source.close()
        self._sources.clear()
        self._poll.close()
        os.close(self._wake)
        self._wake = -1

    def _run(self) -> None:
        looked = 0.0
        while not self._ended.is_set():
            if time.monotonic() >= looked + LOOK_AGAIN:
                self._follow()
                looked = time.monotonic()
            ready = self._poll.poll(LOOK_AGAIN)
            if numbers := {number for number, _ in ready} - {self._wake}:
                begun = time.thread_time()
                more = self._read(numbers)
                worked = time.thread_time() - begun
                self._ended.wait(max(_SHARE * worked, REST if more else GATHER))

    def _read(self, numbers: Iterable[int]) -> bool:
        """Whether a ring has more than was read."""
        by_number = {source.fileno(): source for source in self._sources.values()}
        more = False
        for source in (by_number[number] for number in numbers if number in by_number):
            found = source.read()
            if found:
                self._raised.tell(source.name, found)
            more = more or len(found) == SLICE
        return more

    # ---- pipelines --------------------------------------------------------------------------

    def _follow(self) -> None:
        """Read the pipelines that there are now, by the builds that are in force."""
        there = {owner.name: owner for owner in self._owners() if not owner.ended}
        for name in self._sources.keys() - there.keys():
            self._leave(name)
            self._raised.forget(name)
        for name, owner in there.items():
            with suppress(BpfError, OSError):  # it is just being replaced: look again
                self._follow_one(name, owner)

    def _follow_one(self, name: str, owner: Owner) -> None:
        about, manifest = owner.loaded.about, owner.loaded.manifest
        known = self._sources.get(name)
        if known is not None and known.build == (about["incarnation"], about["release"]):
            return
        if known is not None and known.build[0] != about["incarnation"]:  # unloaded meanwhile
            self._leave(name)
            self._raised.forget(name, about["incarnation"])
            known = None
        if not _raises(manifest):
            self._leave(name)
            return
        source = EventSource(name, about, manifest)
        if known is not None and known.id == source.id:
            source.close()
            known.learn(about, manifest)
            return
        self._leave(name)
        self._sources[name] = source
        self._poll.register(source.fileno(), select.EPOLLIN)

    def _leave(self, name: str) -> None:
        """No packet writes into that ring any more: read it to its end."""
        source = self._sources.pop(name, None)
        if source is None:
            return
        self._poll.unregister(source.fileno())
        while found := source.read():
            self._raised.tell(name, found)
        source.close()


def _raises(manifest: Manifest) -> bool:
    return manifest.events is not None and manifest.target == "host"
