"""What packets raised last, and who watches it. A slow watcher loses records and learns how many;
nobody else waits."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock

from ..base.watcher_queue import CountedQueue
from .source import Raised

#: Records that wait for one watcher, and that are kept of a pipeline, at most.
DEPTH, KEPT = 4096, 4096


class RaisedWatcher(CountedQueue[Raised]):
    """Of a pipeline (empty: of all), and of these events (none: of all). Iterates over records, and
    how many were left out between two of them."""

    def __init__(self, pipeline: str, events: Collection[str] = ()) -> None:
        super().__init__(DEPTH)
        self._pipeline, self._events = pipeline, frozenset(events)

    def wants(self, raised: Raised) -> bool:
        if self._pipeline not in ("", raised.pipeline):
            return False
        return not self._events or raised.record.kind.name in self._events

    def put(self, raised: Sequence[Raised]) -> None:
        self.offer([each for each in raised if self.wants(each)])


class RaisedEvents:
    """Of all pipelines of an agent: the last that were read, and their watchers."""

    def __init__(self, first: Callable[[str, Sequence[Raised]], None] = lambda *_: None) -> None:
        """`first`: gets a pipeline's records before watchers do, and keeps up."""
        self._first = first
        self._kept: dict[str, deque[Raised]] = {}
        self._watchers: tuple[RaisedWatcher, ...] = ()
        self._changing = Lock()

    def tell(self, pipeline: str, raised: Sequence[Raised]) -> None:
        self._first(pipeline, raised)
        with self._changing:
            self._kept.setdefault(pipeline, deque(maxlen=KEPT)).extend(raised)
            watchers = self._watchers
        for watcher in watchers:
            watcher.put(raised)

    def forget(self, pipeline: str, incarnation: str = "") -> None:
        """It was unloaded, and perhaps loaded again as that incarnation."""
        with self._changing:
            left = [r for r in self._kept.pop(pipeline, ()) if r.incarnation == incarnation]
            if left:
                self._kept[pipeline] = deque(left, maxlen=KEPT)

    @contextmanager
    def watch(
        self, pipeline: str = "", events: Collection[str] = (), kept: bool = False
    ) -> Iterator[RaisedWatcher]:
        """`kept`: first come those that were read before."""
        watcher = RaisedWatcher(pipeline, events)
        with self._changing:  # none is missed, and none comes twice
            if kept:
                every = (each for some in self._kept.values() for each in some)
                known = sorted(filter(watcher.wants, every), key=lambda raised: raised.time)
                watcher.put(known[-DEPTH:])
            self._watchers += (watcher,)
        try:
            yield watcher
        finally:
            with self._changing:
                self._watchers = tuple(w for w in self._watchers if w is not watcher)

    def close(self) -> None:
        for watcher in self._watchers:
            watcher.close()
