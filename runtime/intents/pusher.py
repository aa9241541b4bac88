"""Pushes reports of intents to the collectors of the edges' YAML, whether or not a client
listens."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from ...lang.text.exit_status import diagnosed
from ..base.logs import text as log_text
from ..edge.push_settings import PUSH, Push
from ..owner.owner import Owner
from .otlp import request
from .push_status import remove_push_status, write_push_status
from .reports import Counts, Reporter
from .sink import Sink
from .store import Intent

#: Seconds after which pipelines are looked for again.
_IDLE = 1.0
_log = logging.getLogger("heliod.reports")


@dataclass
class _PushedPipeline:
    """A pipeline whose reports are pushed."""

    owner: Owner
    settings: Push
    reporter: Reporter
    sink: Sink
    began: float = field(default_factory=time.time)
    due: float = 0.0

    def close(self) -> None:
        self.reporter.close()
        self.sink.close()
        remove_push_status(self.owner.name)


class Pusher:
    """Runs from `start` to `stop`, in a thread: requests do not wait for it."""

    def __init__(
        self, owners: Callable[[], Iterable[Owner]],
        intents: Callable[[str], Sequence[Intent]],
        counts: Callable[[Owner, Sequence[Intent]], Counts],
    ) -> None:  # fmt: skip
        """`intents`: of a pipeline; `counts`: what their rules counted."""
        self._owners, self._intents, self._counts = owners, intents, counts
        self._pushed: dict[int, _PushedPipeline] = {}  # by the owner's identity
        self._ended = threading.Event()
        self._posting = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="reports", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """May be called again, also where it was never started."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._ended.is_set():
            self._look()
            now = time.monotonic()
            for pushed in self._pushed.values():
                if pushed.due <= now:
                    self._push(pushed)
                    pushed.due = max(pushed.due + pushed.settings.period, now)
            soonest = min((p.due for p in self._pushed.values()), default=now + _IDLE)
            self._ended.wait(max(0.0, min(soonest, now + _IDLE) - time.monotonic()))
        for pushed in self._pushed.values():
            pushed.close()

    def _look(self) -> None:
        """Which pipelines there are to push reports of."""
        found: dict[int, _PushedPipeline] = {}
        for owner in self._owners():
            settings = PUSH.of(owner.loaded.about)
            if settings is None:
                continue
            known = self._pushed.get(id(owner))
            if known is not None and known.settings != settings:  # another YAML of the edge
                self._pushed.pop(id(owner)).close()
                known = None
            try:
                found[id(owner)] = known or _PushedPipeline(
                    owner, settings, Reporter(owner),
                    Sink(owner.name, settings, tried=self._tried),
                    due=time.monotonic(),
                )  # fmt: skip
            except Exception as error:  # no thread: again in a moment
                _report(owner.name, error)
        for owner_id in self._pushed.keys() - found.keys():
            self._pushed[owner_id].close()
        self._pushed = found

    def _push(self, pushed: _PushedPipeline) -> None:
        owner = pushed.owner
        try:
            intents = self._intents(owner.name)
            found = pushed.reporter.report(intents, self._counts(owner, intents))
            pushed.sink.put(request(found, owner.name, pushed.sink.counts, pushed.began))
            self._post(pushed.sink)
        except Exception as error:  # unloaded in this moment, a reader that was killed, …
            _report(owner.name, error)

    def _post(self, sink: Sink) -> None:
        """Raises OSError."""
        with self._posting:
            write_push_status(sink.pipeline, sink.pushed)

    def _tried(self, sink: Sink) -> None:
        """In the sink's thread."""
        with suppress(OSError):  # `_push` reports it
            self._post(sink)


def _report(pipeline: str, error: Exception) -> None:
    for each in diagnosed(error, "heliod"):
        _log.error("%s: %s", pipeline, log_text(each))
