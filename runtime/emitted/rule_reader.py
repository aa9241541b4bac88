"""The thread that looks at rules which raise events by their age or by what they counted.

It looks once a second. Between two slices it sleeps for several times as long as it worked:
requests wait for it no longer than for one slice, and a million rules cost a bounded share of time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial

from ...lang.text.diagnostics import Refused
from ..base.rule_memory import raising
from ..kernel.handles import BpfError
from ..owner.owner import Owner
from .rule_source import RuleSource
from .watchers import RaisedEvents

#: Seconds from the beginning of a look to that of the next, if that takes no longer.
EVERY = 1.0
#: The thread sleeps this many times as long as it worked.
_SHARE = 4


class RuleReader:
    """Runs from `start` to `stop`."""

    def __init__(self, owners: Callable[[], Iterable[Owner]], raised: RaisedEvents) -> None:
        self._owners, self._raised = owners, raised
        self._sources: dict[str, RuleSource] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="rule-reader", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """What is due then is told of by the next agent. May be called again, also where it was
        never started."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
        for source in self._sources.values():
            source.close()
        self._sources.clear()

    def _run(self) -> None:
        begun = time.monotonic()
        while not self._ended.wait(max(0.0, begun - time.monotonic())):
            begun = max(begun + EVERY, time.monotonic())
            self._follow()
            for source in list(self._sources.values()):
                with suppress(BpfError, OSError, Refused):  # it is just being replaced: look again
                    self._look(source)

    def _look(self, source: RuleSource) -> None:
        worked = time.thread_time()
        for _ in source.look(partial(self._raised.tell, source.name)):
            if self._ended.wait(_SHARE * (time.thread_time() - worked)):
                return
            worked = time.thread_time()

    def _follow(self) -> None:
        """The pipelines that there are now, by the builds that are in force."""
        there = {owner.name: owner for owner in self._owners() if not owner.ended}
        for name in self._sources.keys() - there.keys():
            self._sources.pop(name).close()
        for name, owner in there.items():
            with suppress(BpfError, OSError, Refused):
                self._follow_one(name, owner)

    def _follow_one(self, name: str, owner: Owner) -> None:
        about, manifest = owner.loaded.about, owner.loaded.manifest
        known = self._sources.get(name)
        if known is not None:
            if known.whole and known.build == (about["incarnation"], about["release"]):
                return
            self._sources.pop(name).close()
        if raising(manifest):
            self._sources[name] = RuleSource(name, about, manifest)
