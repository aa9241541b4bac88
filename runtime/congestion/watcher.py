"""The thread that watches pipelines for congestion, where the edge's YAML asks for it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from ...lang.contract.rules.rule_text import canonical
from ...lang.contract.rules.wire import encode
from ...lang.text.exit_status import diagnosed
from ..base.logs import text as log_text
from ..base.wall_clock import wall_time
from ..edge.congestion_settings import CONGESTION, Congestion, Shape, shape_of
from ..kernel.libbpf import BpfError
from ..owner.owner import Owner
from ..owner.requests import ApplyRequest
from .decide import PARTS, Queue, State, Verdict, step
from .marks import queue_cpus, request_for
from .observer import Observer
from .status import Status

#: Seconds after which pipelines are looked for again.
_IDLE = 1.0
_log = logging.getLogger("heliod.congestion")


@dataclass
class WatchedPipeline:
    """A pipeline that is watched."""

    owner: Owner
    settings: Congestion
    shape: Shape
    observer: Observer = field(default_factory=Observer)
    state: State = field(default_factory=State)
    queues: Mapping[int, Queue] = field(default_factory=dict)
    since: float = field(default_factory=time.monotonic)
    due: float = 0.0
    settled: int = -1  # the revision at which the rules were found to be as the state says

    def status(self) -> Status:
        verdict = self.state.verdict
        diverted = {cpu: level / PARTS for cpu, level in verdict.levels.items()}
        return Status(
            verdict.congested, wall_time(self.since), self.state.why, self.queues, diverted
        )


class Watcher:
    """Runs from `start` to `stop`. Where it ends nothing is diverted any more: nobody would see
    when that is no longer needed."""

    def __init__(self, owners: Callable[[], Iterable[Owner]]) -> None:
        self._owners = owners
        self._watched: dict[int, WatchedPipeline] = {}  # by the owner's identity
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="congestion", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """May be called again, also where it was never started."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def status(self, owner: Owner) -> Status | None:
        """May be called from any thread. None where a pipeline is not watched."""
        watched = self._watched.get(id(owner))
        return watched.status() if watched is not None else None

    def _run(self) -> None:
        while not self._ended.is_set():
            self._look()
            now = time.monotonic()
            for watched in self._watched.values():
                if watched.due <= now:
                    self.turn(watched, now)
            soonest = min((w.due for w in self._watched.values()), default=now + _IDLE)
            self._ended.wait(max(0.0, min(soonest, now + _IDLE) - time.monotonic()))
        for watched in self._watched.values():
            self.settle(watched, Verdict())
            watched.observer.close()

    def _look(self) -> None:
        """Find the pipelines to watch."""
        found: dict[int, WatchedPipeline] = {}
        for owner in self._owners():
            loaded = owner.loaded
            settings, shape = CONGESTION.of(loaded.about), shape_of(loaded.manifest)
            if settings is not None and shape is not None:
                known = self._watched.get(id(owner))
                found[id(owner)] = known or WatchedPipeline(owner, settings, shape)
                found[id(owner)].settings, found[id(owner)].shape = settings, shape
        for owner_id in self._watched.keys() - found.keys():
            if not self._watched[owner_id].owner.ended:  # another YAML has no `congestion`
                self.settle(self._watched[owner_id], Verdict())
            self._watched[owner_id].observer.close()
        self._watched = found

    def turn(self, watched: WatchedPipeline, now: float) -> None:
        """Observe, decide, and update the rules."""
        settings, owner, was = watched.settings, watched.owner, watched.state.verdict
        watched.due = now + settings.period
        try:
            seen = watched.observer.look(owner.loaded, watched.shape, settings, now)
        except (OSError, BpfError) as error:
            _log.error("%s: its queues cannot be watched: %s", owner.name, error)
            return
        if seen is not None:
            watched.state, watched.queues = step(watched.state, seen, settings), seen.queues
        verdict = watched.state.verdict
        if verdict.congested != was.congested:
            watched.since = time.monotonic()
            if verdict.congested:
                _log.warning("%s is congested: %s", owner.name, watched.state.why)
            else:
                _log.warning("%s is no longer congested", owner.name)
        # Any change of the rules may be one that somebody else made of the flag or the marks. Of a
        # CPU's queues no revision says that they have moved.
        if verdict.congested or verdict != was or watched.settled != owner.revision:
            watched.settled = self.settle(watched, verdict)

    def settle(self, watched: WatchedPipeline, verdict: Verdict) -> int:
        """Update the rules. Returns the revision at which they were compared, -1 on failure:
        after a change of our own they are compared once more, for others may have come first."""
        owner = watched.owner
        try:
            with owner.still() as loaded:
                revision = loaded.revision
                asked = request_for(verdict, loaded, watched.shape, queue_cpus(loaded))
            if asked.changes:
                codecs = owner.codecs
                owner.apply(ApplyRequest(encode(canonical(asked, codecs.kinds), codecs)))
        except Exception as error:  # unloaded in this moment, a full disk, …: tried again
            for found in diagnosed(error, "heliod"):
                _log.error("%s: %s", owner.name, log_text(found))
            return -1
        return revision
