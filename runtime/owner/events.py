"""Events of what changes, and their watchers. A slow watcher loses events; nobody else waits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Condition
from typing import TYPE_CHECKING, Literal

from ...lang.contract.rules.rules import Reference
from ..base.watcher_queue import WatcherQueue

if TYPE_CHECKING:
    from ...lang.contract.rules.rules import Rule
    from ..edge.overlay_health import Quality
    from ..edge.steering_status import SteeredSpread
    from ..ports.ports import Port

#: Events that wait for one watcher, at most.
DEPTH = 4096


#: Rules that an event names; of more only the fact is told.
NAMED = 1000


@dataclass(frozen=True)
class RulesChanged:
    """`more`: than an event names."""

    created: Sequence[Reference]
    changed: Sequence[Reference]
    removed: Sequence[Reference]
    more: bool = False


@dataclass(frozen=True)
class PortChanged:
    """`port` as it is now, and its role's name; its ifindex is 0 while its interface is missing."""

    port: Port
    role: str


@dataclass(frozen=True)
class OverlayChanged:
    """An overlay that is probed came into another state."""

    overlay: Rule
    quality: Quality


@dataclass(frozen=True)
class SpreadSteered:
    """Other members of a spread take flows, by what is measured of their paths."""

    spread: SteeredSpread


@dataclass(frozen=True)
class PipelineChanged:
    change: Literal["loaded", "upgraded", "unloaded"]


@dataclass(frozen=True)
class Missed:
    """So many events of the pipeline were dropped here, the last of them with the revision."""

    count: int


What = RulesChanged | PortChanged | OverlayChanged | SpreadSteered | PipelineChanged | Missed


@dataclass(frozen=True)
class Event:
    pipeline: str
    revision: int
    what: What


class Watcher(WatcherQueue[Event]):
    """Of a pipeline; with an empty name, of all."""

    def __init__(self, pipeline: str) -> None:
        super().__init__()
        self.pipeline = pipeline
        #: By pipeline: how many events, and the revision of the last.
        self._missed: dict[str, tuple[int, int]] = {}

    def put(self, event: Event) -> None:
        if self.pipeline not in ("", event.pipeline):
            return
        with self._some:
            if len(self._waiting) >= DEPTH:
                count, _ = self._missed.get(event.pipeline, (0, 0))
                self._missed[event.pipeline] = count + 1, event.revision
                return
            self._report_missed()
            self._waiting.append(event)
            self._some.notify()

    def _report_missed(self) -> bool:
        missed, self._missed = self._missed, {}
        for pipeline, (count, revision) in missed.items():
            self._waiting.append(Event(pipeline, revision, Missed(count)))
        return bool(missed)


class Events:
    """The watchers of an agent."""

    def __init__(self) -> None:
        self.watchers: tuple[Watcher, ...] = ()
        self._changing = Condition()

    def tell(self, event: Event) -> None:
        for watcher in self.watchers:
            watcher.put(event)

    @contextmanager
    def watch(self, pipeline: str = "") -> Iterator[Watcher]:
        watcher = Watcher(pipeline)
        with self._changing:
            self.watchers += (watcher,)
        try:
            yield watcher
        finally:
            with self._changing:
                self.watchers = tuple(w for w in self.watchers if w is not watcher)

    def close(self) -> None:
        for watcher in self.watchers:
            watcher.close()
