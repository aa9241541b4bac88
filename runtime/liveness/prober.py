"""The thread that probes overlays, and has their owners exclude the dead ones.

It sleeps until a probe is due or an answer comes. It reads all answers before it judges, so that
after a stall of the machine no overlay counts as dead for that.
"""

from __future__ import annotations

import logging
import os
import select
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial

from ...lang.contract.rules.rules import Reference, Rule
from ...lang.text.diagnostics import Diagnostic, Refused
from ..base.logs import text as log_text
from ..edge.liveness_settings import LIVENESS, Liveness, Shape, shape_of
from ..edge.overlay_health import Health, Quality
from ..edge.overlay_status import EVERY, OverlayStatus, remove_overlay_status, write_overlay_status
from ..edge.path_quality import Measured
from ..edge.steering_status import SteeredSpread, remove_steering, unmeasured, write_steering
from ..loading.excluded_members import overlays_of
from ..loading.loader import Loaded
from ..owner.events import Event, Events, OverlayChanged, SpreadSteered, What
from ..owner.owner import Owner
from ..steering.decide import Path as PathOf
from ..steering.reasons import in_words
from ..steering.steering import asking
from .echo import Echoes
from .paths import path_of
from .probed import Probed, ProbedPipeline, quality_of

#: Seconds after which rules that changed are looked at; without pipelines whose overlays are
#: probed, and at the most.
_AGAIN, _IDLE = 0.2, 1.0
#: Seconds that this waits for somebody else's transaction.
_TURN = 0.02
_log = logging.getLogger("heliod.liveness")


class Prober:
    """Runs from `start` to `stop`."""

    def __init__(
        self, owners: Callable[[], Iterable[Owner]], events: Events | None = None,
        quality: Callable[[str], Measured | None] = lambda _: None,
    ) -> None:  # fmt: skip
        """`events`: who is told of overlays that came into another state, and of spreads.
        `quality`: what a session of STAMP of that name measures."""
        self._owners, self._events, self._quality = owners, events or Events(), quality
        self._pipelines: dict[str, ProbedPipeline] = {}
        self._by_number: dict[int, Health] = {}
        self._next, self._changed_owners = 0, True
        self._look_at = self._post_at = 0.0
        self._fault: Diagnostic | None = None
        self._in_vain: dict[str, tuple[int, list[str]]] = {}  # by pipeline: revision, spreads
        self._ended = threading.Event()
        self._woken = -1
        self._thread = threading.Thread(target=self._run, name="prober", daemon=True)

    def start(self) -> None:
        self._woken = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._thread.start()

    def wake(self) -> None:
        """Look for new pipelines. From any thread."""
        self._changed_owners = True
        if self._woken >= 0:
            os.eventfd_write(self._woken, 1)

    def stop(self) -> None:
        """May be called again, also where it was never started."""
        self._ended.set()
        if self._woken >= 0:
            self.wake()
            if self._thread.is_alive():
                self._thread.join()
            os.close(self._woken)
            self._woken = -1

    def overlays(self, name: str) -> list[tuple[Rule, Quality]]:
        """Of a pipeline, by id. From any thread."""
        found = self._pipelines.get(name)
        each = list(found.overlays.values()) if found is not None else []
        return sorted(((p.rule, quality_of(p)) for p in each), key=lambda pair: pair[0].id)

    def steered(self, name: str) -> Sequence[SteeredSpread]:
        """The spreads of a pipeline that ask for something. From any thread."""
        found = self._pipelines.get(name)
        if found is None:
            return ()
        due = found.steering.due
        return [each._replace(due=due) for each in found.steered]

    def findings(self, name: str) -> tuple[Diagnostic, ...]:
        """What keeps a pipeline's overlays from being probed, or its spreads from being steered."""
        if name in self._pipelines:
            return (self._fault,) if self._fault is not None else ()
        _, spreads = self._in_vain.get(name, (0, []))
        return (_not_measured(spreads),) if spreads else ()

    # ---- the thread -------------------------------------------------------------------------

    def _run(self) -> None:
        echoes: Echoes | None = None
        poll = select.poll()
        poll.register(self._woken, select.POLLIN)
        try:
            while not self._ended.is_set():
                if self._changed_owners or time.monotonic() >= self._look_at:
                    self._look()
                    if self._by_number and echoes is None and (echoes := self._open()):
                        poll.register(echoes, select.POLLIN)
                due = self._look_at
                if echoes is not None:
                    due = min(due, self._probe(echoes))
                self._steer()
                self._post()
                poll.poll(max(0.0, due - time.monotonic()) * 1000)
                with suppress(BlockingIOError):
                    os.eventfd_read(self._woken)
        finally:
            for name, pipeline in self._pipelines.items():
                with suppress(OSError):
                    _leave(name, pipeline)
            if echoes is not None:
                echoes.close()

    def _open(self) -> Echoes | None:
        """None where we may not; it is retried."""
        try:
            echoes = Echoes()
        except OSError as error:
            found = _not_probed((error.strerror or str(error)).lower())
            if self._fault is None:
                _log.error("%s", log_text(found))
            self._fault = found
            return None
        self._fault = None
        return echoes

    def _look(self) -> None:
        """Find out which overlays there are to probe."""
        self._changed_owners = False
        owners = {owner.name: owner for owner in self._owners()}
        for name in [n for n, p in self._pipelines.items() if _is_past(p, owners.get(n))]:
            _forget(name)
            for probed in self._pipelines.pop(name).overlays.values():
                self._by_number.pop(probed.number, None)
        for name, owner in owners.items():
            loaded = owner.loaded
            settings, shape = LIVENESS.of(loaded.about), shape_of(loaded.manifest)
            if settings is not None and shape is not None and isinstance(loaded, Loaded):
                pipeline = self._pipelines.setdefault(name, ProbedPipeline(owner, settings))
                with suppress(Refused):
                    self._enter(pipeline, settings, shape)
            elif isinstance(loaded, Loaded) and self._in_vain.get(name, (-1,))[0] != owner.revision:
                with suppress(Refused), owner.still(time.monotonic() + _TURN):
                    self._in_vain[name] = owner.revision, asking(loaded)
        self._in_vain = {name: v for name, v in self._in_vain.items() if name in owners}
        self._look_at = time.monotonic() + (_AGAIN if self._pipelines else _IDLE)

    def _enter(self, pipeline: ProbedPipeline, settings: Liveness, shape: Shape) -> None:
        """Bring what is probed up to date with the rules."""
        owner = pipeline.owner
        with owner.still(time.monotonic() + _TURN) as loaded:
            assert isinstance(loaded, Loaded)  # a card has no overlays
            revision = owner.revision
            if (pipeline.loaded, pipeline.revision) == (loaded, revision):
                return
            every = {Reference(r.kind, r.id): r for r in loaded.book.rules(shape.kind)}
            rules = {to: r for to, r in every.items() if settings.targets.get(r.name) != ""}
            pipeline.sessions = {to: settings.stamp[r.name] for to, r in every.items()
                                 if r.name in settings.stamp}  # fmt: skip
            dead = overlays_of(loaded.book, shape.kind, loaded.writer.left_out.dead)
            paths = {to: path_of(loaded, rule, settings, shape) for to, rule in rules.items()}
            pipeline.steering.follow(loaded, shape.kind)
        now, overlays = time.monotonic(), dict[Reference, Probed]()
        for at, (to, rule) in enumerate(rules.items()):
            known = pipeline.overlays.get(to)
            if known is None or known.rule.sequence != rule.sequence:
                self._next += 1
                health = Health(settings, to not in dead)
                # Not all at once, and the first soon.
                due = now + settings.interval * at / len(rules)
                known = Probed(self._next, rule, health, None, due)
            known.rule, known.path = rule, paths[to]
            overlays[to] = known
            if known.path is None and known.health.cut():
                self._changed(pipeline, known)
        for to, probed in pipeline.overlays.items():
            if overlays.get(to) is not probed:
                self._by_number.pop(probed.number, None)
        pipeline.overlays = overlays
        self._by_number.update({p.number: p.health for p in overlays.values()})
        pipeline.loaded, pipeline.revision = loaded, revision
        pipeline.late = (pipeline.late or bool(loaded.writer.left_out)
                         or bool(pipeline.steering.left_out())
                         or any(not p.health.alive for p in overlays.values()))  # fmt: skip

    def _read_answers(self, echoes: Echoes) -> None:
        for answer in echoes.answers():
            health = self._by_number.get(answer.which)
            if health is not None:
                health.answer(answer.number, answer.delay, time.monotonic())

    def _probe(self, echoes: Echoes) -> float:
        """Read answers, judge, and send what is due. Returns when the next probe is due."""
        self._read_answers(echoes)
        next_ = time.monotonic() + _IDLE
        for pipeline in self._pipelines.values():
            for probed in pipeline.overlays.values():
                now = time.monotonic()
                if now >= probed.due:
                    self._read_answers(
                        echoes
                    )  # all that came in time, however long ago the last look was
                    if probed.health.judge(now):
                        self._changed(pipeline, probed)
                    # As if it left when it was due, or the next turn would come just too early to
                    # find it unanswered for an interval.
                    interval = probed.health.settings.interval
                    number = probed.health.probed(max(probed.due, now - interval / 10))
                    if probed.path is not None:
                        with suppress(OSError):  # no route: it is lost, then
                            echoes.send(probed.path, probed.number, number)
                    # Of a machine that stood still no probes are made up for.
                    probed.due = max(probed.due + interval, now)
                next_ = min(next_, probed.due)
        return next_

    def _steer(self) -> None:
        """Have spreads leave out what is dead, or not as they ask."""
        for pipeline in self._pipelines.values():
            if pipeline.steering.decide(partial(self._path, pipeline), pipeline.settings):
                pipeline.late = True
            if pipeline.late:
                self._leave_out(pipeline)

    def _path(self, pipeline: ProbedPipeline, to: Reference) -> PathOf:
        """What is known of an overlay's path; one that is not probed counts as alive."""
        probed = pipeline.overlays.get(to)
        alive = probed.health.alive if probed is not None else True
        if (session := pipeline.sessions.get(to)) is not None:
            return PathOf(alive, self._quality(session))
        return PathOf(alive, probed.health.path.measured() if probed is not None else None)

    def _post(self) -> None:
        """Publish the state of the overlays."""
        now = time.monotonic()
        if now < self._post_at:
            return
        self._post_at = now + EVERY
        for name, pipeline in self._pipelines.items():
            each = pipeline.overlays.values()
            with suppress(OSError):  # metrics lack it then
                write_overlay_status(
                    name, [OverlayStatus(p.rule.kind, p.rule.name, quality_of(p)) for p in each]
                )
            self._post_steering(pipeline)

    def _post_steering(self, pipeline: ProbedPipeline) -> None:
        pipeline.steered = pipeline.steering.spreads()
        with suppress(OSError):
            write_steering(pipeline.owner.name, pipeline.steered)

    def _changed(self, pipeline: ProbedPipeline, probed: Probed) -> None:
        probed.since = time.monotonic()
        pipeline.late = True
        pipeline.news.append(probed)
        _log.warning("%s: the overlay %s is %s", pipeline.owner.name, probed.rule.name,
                     probed.health.state)  # fmt: skip

    def _leave_out(self, pipeline: ProbedPipeline) -> None:
        dead = {to for to, p in pipeline.overlays.items() if not p.health.alive}
        pipeline.late = False
        try:
            changed, revision = pipeline.owner.exclude_members(dead, pipeline.steering.left_out())
        except Refused as error:
            pipeline.revision = -1  # then it is tried again at the next look
            if pipeline.owner.ended:
                return
            for found in error.diagnostics:
                _log.error("%s: %s", pipeline.owner.name, log_text(found))
            return
        if changed:
            _log.info("%s: %d spreads changed", pipeline.owner.name, changed)
        news, pipeline.news = pipeline.news, []
        for probed in news:
            self._tell(pipeline, revision, OverlayChanged(probed.rule, quality_of(probed)))
        if steered := pipeline.steering.news():
            self._post_steering(pipeline)
        for spread in steered:
            _log.warning("%s: %s", pipeline.owner.name, in_words(spread))
            self._tell(pipeline, revision, SpreadSteered(spread))

    def _tell(self, pipeline: ProbedPipeline, revision: int, what: What) -> None:
        self._events.tell(Event(pipeline.owner.name, revision, what))


def _leave(name: str, pipeline: ProbedPipeline) -> None:
    """Nobody measures any more, and packets go on without the members that were left out: which
    these are is said until somebody decides otherwise. Raises OSError."""
    each = ((p, quality_of(p)) for p in pipeline.overlays.values())
    dead = [OverlayStatus(p.rule.kind, p.rule.name, q) for p, q in each if q.state == "dead"]
    remove_overlay_status(name)
    if dead:
        write_overlay_status(name, dead)
    steered = pipeline.steering.spreads()
    write_steering(name, [unmeasured(s) for s in steered if any(not m.in_force for m in s.members)])


def _is_past(pipeline: ProbedPipeline, owner: Owner | None) -> bool:
    """Whether it is unloaded, or upgraded to other settings."""
    return owner is not pipeline.owner or LIVENESS.of(owner.loaded.about) != pipeline.settings


def _forget(pipeline: str) -> None:
    """Nobody looks after it any more."""
    remove_overlay_status(pipeline)
    remove_steering(pipeline)


# ---- errors ---------------------------------------------------------------------------------


def _not_measured(asking: Sequence[str]) -> Diagnostic:
    said = asking[0] + (f" and {len(asking) - 1} more" if len(asking) > 1 else "")
    return Diagnostic("H0881", f"{said} asks for paths that nobody measures", (),
                      "probe the overlays: `liveness: {}` in the edge's YAML")  # fmt: skip


def _not_probed(why: str) -> Diagnostic:
    return Diagnostic("H0775", f"overlays cannot be probed: {why}", (),
                      "run `heliod` as root, or with CAP_NET_RAW")  # fmt: skip
