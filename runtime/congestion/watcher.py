"""The thread that watches the host for those pipelines whose edge asks for it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from ...compiler.requests.rule_text import canonical
from ...compiler.requests.wire import encode
from ...lang.ending import diagnosed
from ...lang.render import render
from ..agent.owner import Owner, Wish
from ..intents import host
from .decide import Seen, State, Verdict, step
from .marks import queue_cpus, request_for
from .queue_drops import PipelineDrops
from .settings import Congestion, Shape, shape_of

#: Seconds after which pipelines are looked for anew.
_IDLE = 1.0
_log = logging.getLogger("heliod.congestion")


@dataclass
class Watched:
    """A pipeline that is watched for."""

    owner: Owner
    settings: Congestion
    shape: Shape
    state: State = field(default_factory=State)
    before: host.Sample | None = None
    then: float = 0.0
    due: float = 0.0
    settled: bool = False  # the rules are as the state says
    drops: PipelineDrops = field(default_factory=PipelineDrops)


class Watcher:
    """Runs from `start` to `stop`. Where it ends nothing is sent on any more: nobody would see when
    that is no longer needed."""

    def __init__(
        self, owners: Callable[[], Iterable[Owner]],
        sample: Callable[[list[str]], host.Sample] = host.sample,
    ) -> None:  # fmt: skip
        self._owners, self._sample = owners, sample
        self._watched: dict[int, Watched] = {}  # by the owner's identity
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="congestion", daemon=True)

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
            for watched in self._watched.values():
                if watched.due <= now:
                    self.turn(watched, now)
            soonest = min((w.due for w in self._watched.values()), default=now + _IDLE)
            self._ended.wait(max(0.0, min(soonest, now + _IDLE) - time.monotonic()))
        for watched in self._watched.values():
            self.settle(watched, Verdict())
            watched.drops.close()

    def _look(self) -> None:
        """Which pipelines there are to watch for."""
        found: dict[int, Watched] = {}
        for owner in self._owners():
            settings, shape = owner.loaded.congestion, shape_of(owner.loaded.manifest)
            if settings is not None and shape is not None:
                known = self._watched.get(id(owner))
                found[id(owner)] = known or Watched(owner, settings, shape)
                found[id(owner)].shape = shape
        for owner_id in self._watched.keys() - found.keys():
            self._watched[owner_id].drops.close()
        self._watched = found

    def turn(self, watched: Watched, now: float) -> None:
        """Look, decide, and say so."""
        settings = watched.settings
        watched.due = now + settings.period
        ports = [port.interface for port in watched.owner.loaded.wanted]
        try:
            queues = watched.drops.by_cpu(watched.owner.loaded) or {}
            sample = replace(self._sample(ports), queues=queues)
        except OSError as error:
            _log.error("%s: the host cannot be watched: %s", watched.owner.name, error.strerror)
            return
        before, seconds = watched.before, now - watched.then
        watched.before, watched.then = sample, now
        was = watched.state.verdict
        if before is not None and seconds > 0:
            watched.state = step(watched.state, seen(before, sample, seconds), settings)
        verdict = watched.state.verdict
        if verdict.congested != was.congested:
            said = (
                "is congested: what has no priority is sent on" if verdict.congested else "is well"
            )
            _log.warning("%s: the host %s", watched.owner.name, said)
        # Rules that are new, or that somebody else has marked, are brought in line, too.
        if verdict.congested or verdict != was or not watched.settled:
            watched.settled = self.settle(watched, verdict)

    def settle(self, watched: Watched, verdict: Verdict) -> bool:
        """Bring the rules in line. Returns whether they are."""
        owner = watched.owner
        try:
            with owner.still() as loaded:
                asked = request_for(verdict, loaded, watched.shape, queue_cpus(loaded))
            if asked.changes:
                codecs = owner.codecs
                owner.apply(Wish(encode(canonical(asked, codecs.kinds), codecs)))
        except Exception as error:  # unloaded in this moment, a full disk, …: tried again
            for found in diagnosed(error, "heliod"):
                _log.error("%s: %s", owner.name, render(found))
            return False
        return True


def seen(before: host.Sample, now: host.Sample, seconds: float) -> Seen:
    """What happened between two samples."""
    return Seen(
        seconds,
        {cpu: host.load(before.cpus.get(cpu), busy) for cpu, busy in now.cpus.items()},
        {cpu: (_grown(cpu, before.softnet, now.softnet) + _grown(cpu, before.queues, now.queues))
         / seconds for cpu in now.cpus},
        host.since(before.ports, now.ports) / seconds,
    )  # fmt: skip


def _grown(cpu: int, before: Mapping[int, int], now: Mapping[int, int]) -> int:
    """How much a CPU's counter has; one that is new, or began anew, counts from now on."""
    return max(0, now.get(cpu, 0) - before.get(cpu, now.get(cpu, 0)))
