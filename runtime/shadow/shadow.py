"""A shadow run: frames of a pipeline's live traffic run through a copy of the build in force and
through one of another build, both with the rules and states in force, and what they do is compared.

Frames are sampled by the traced build in force, which says what was done with each. Nothing else of
the pipeline changes, and the copies end with this process.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from ...lang.contract.manifest.manifest import Manifest
from ...lang.contract.rules.rules import Reference, Rule
from ...lang.contract.trace.decode import Recorded
from ...lang.text.diagnostics import Refused
from ...lang.text.source import Source
from ..base import errors
from ..kernel.handles import BpfError
from ..loading.bundle import Bundle
from ..loading.convert_rules import convert_rules
from ..loading.releases import on_card, pick
from ..loading.schema_change import SchemaChange
from ..loading.upgrade_errors import untranslatable
from ..loading.upgrade_plan import change_to, need_room
from ..rules.left_out import LeftOut
from ..states.storage import SEED
from ..tracing.swap import Tracing, tracing
from ..tracing.watch import TraceOptions, asked_of
from . import errors as faults
from .allowed import Allowed, read_allowed
from .copies import Copy, Met
from .differences import Names, same_way
from .in_force import InForce
from .options import ShadowOptions
from .report import Report, Sample
from .report_json import report_json

#: What the kernel test-runs: a longer frame, with its headroom, comes in fragments.
SHORTEST, LONGEST = 14, 3400
#: Seconds that the data path goes on telling without hearing of us, between two words, between
#: two turns of reading, and between two looks at the host.
_TRUST, _BEAT, _TURN, _LOOK = 3.0, 0.5, 0.02, 1.0
#: Packets that are taken in a turn, at most.
_AT_ONCE = 256


class Shadow:
    """A run, prepared. `run` it once."""

    def __init__(
        self, pipeline: InForce, session: Tracing, change: SchemaChange, copies: tuple[Copy, Copy],
        options: ShadowOptions, allowed: Allowed,
    ) -> None:  # fmt: skip
        self._pipeline, self._session, self._change = pipeline, session, change
        self._in_force, self._shadow = copies
        self._options = options
        ports = {port.number: port.name for port in pipeline.port_configs}
        kinds = {name: k.new.name for name, k in change.kinds.items() if k.new is not None}
        self.names = Names(ports, kinds)
        self.report = Report(self.names, allowed)
        self._revision, self._host = -1, pipeline.host()
        self._looked, self._number, self._followed = 0.0, 0, 0
        self._converted: dict[int, tuple[Rule, Rule]] = {}

    def run(
        self, stopped: Callable[[], bool] = lambda: False,
        tell: Callable[[Report], None] = lambda _: None,
    ) -> Report:  # fmt: skip
        """Until the time is over, the pipeline ends, or `stopped`; `tell` hears every `period`
        what was found so far. Raises `Refused`."""
        begun = turned = reported = time.monotonic()
        until = begun + (self._options.seconds or float("inf"))
        tracer, due = self._session.tracer, 0.0
        try:
            self._follow(states=True)
            while (now := time.monotonic()) < until and not stopped():
                if self._session.ended:
                    self.report.ended = "the pipeline was unloaded or upgraded"
                    break
                rate = self._options.rate
                due, turned = min(due + (now - turned) * rate, max(rate * _BEAT, 1), _AT_ONCE), now
                tracer.extend(_TRUST)
                tracer.take(int(due))
                tracer.wait(min(_BEAT, until - now))
                time.sleep(_TURN)
                for recorded in tracer.recorded():
                    self._take(recorded)
                    due -= 1
                self._follow()
                if now - reported >= self._options.period:
                    reported = now
                    self._sum_up(begun)
                    tell(self.report)
        except BpfError as error:
            doing = f"run packets of `{self._pipeline.name}` beside it"
            raise errors.refused(errors.of_kernel(error, doing)) from error
        finally:
            if stopped() and self._options.seconds is not None and not self.report.ended:
                self.report.ended = "it was stopped"
            self._sum_up(begun)
        return self.report

    def _sum_up(self, begun: float) -> None:
        self.report.seconds = time.monotonic() - begun
        self.report.lost = self._session.tracer.lost

    def _follow(self, states: bool = False) -> None:
        """Have both copies what is in force now. Raises `Refused`."""
        now, revision, host = time.monotonic(), self._pipeline.revision, self._host
        if now - self._looked >= _LOOK:
            self._looked, host = now, self._pipeline.host()
            self._session.renew()
        if (revision, host) == (self._revision, self._host) and not states:
            return
        if revision != self._revision:
            self._pipeline.read_rules()
        self._revision, self._host = revision, host
        rules = list(self._pipeline.book.all())
        left_out = self._pipeline.left_out()
        changed = self._in_force.follow(self._host, rules, left_out)
        dead = (Reference(self.names.kinds.get(to.kind, to.kind), to.id) for to in left_out.dead)
        renamed = LeftOut(frozenset(dead), left_out.steered)
        self._shadow.follow(self._host, self._translated(rules), renamed)
        if changed:
            self._followed = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        if states:
            same = {state.name: state.name for state in self._pipeline.manifest.states}
            live, seed = self._pipeline.reader, self._pipeline.live[SEED]
            self._in_force.take_states(live.map, same, seed)
            self._shadow.take_states(live.map, self._change.states, seed)

    def _translated(self, rules: list[Rule]) -> list[Rule]:
        """The rules, as the new build has them. Raises `Refused`."""
        known = self._converted
        fresh = [rule for rule in rules if known.get(rule.sequence, (None,))[0] != rule]
        made = convert_rules(self._change, fresh, self._pipeline.port_numbers, all_=True)
        if made.faults:
            raise Refused(untranslatable(made.faults))
        new = {rule.sequence: rule for rule in made.rules}  # others are of kinds that are given up
        pairs = {r.sequence: (r, new[r.sequence]) for r in fresh if r.sequence in new}
        there = {rule.sequence for rule in rules}
        self._converted = {n: pair for n, pair in (known | pairs).items() if n in there}
        return [after for _, after in self._converted.values()]

    def _take(self, recorded: Recorded) -> None:
        """A frame that was sampled. Raises BpfError."""
        trace = recorded.trace
        if why := _unfit(trace.length, len(recorded.frame)):
            self.report.left_out[why] += 1
            return
        self._number += 1
        runs = self._runs(recorded)
        if not same_way(trace, runs[0].trace) and self._pipeline.revision != self._revision:
            self._follow()
            runs = self._runs(recorded)
        sample = Sample(self._number, recorded.time, recorded.frame, *runs)
        if same_way(trace, runs[0].trace):
            self.report.add(sample)
        elif recorded.time < self._followed:
            self.report.left_out["rules or the host changed just then"] += 1
        else:
            self.report.add_unlike(replace(sample, in_force=Met(trace, None), shadow=runs[0]))

    def _runs(self, recorded: Recorded) -> list[Met]:
        """What the copies do with it. Raises BpfError."""
        frame, port, live = recorded.frame, recorded.trace.port, self._pipeline.live
        copies = self._in_force, self._shadow
        return [copy.run(frame, port, recorded.time, live) for copy in copies]


def _unfit(length: int, kept: int) -> str:
    """Why the kernel test-runs no frame of this length, of which so many bytes were kept."""
    if length < SHORTEST:
        return "shorter than the kernel test-runs"
    if length > LONGEST:
        return "longer than the kernel test-runs"
    return "in several pieces" if kept < length else ""


@contextmanager
def shadowing(
    name: str, bundle: Bundle, mapping: Source | None, options: ShadowOptions
) -> Iterator[Shadow]:
    """A run beside the pipeline of that name (or the only one), prepared. Raises `Refused`."""
    name = pick(name)
    if on_card(name):
        raise errors.refused(faults.on_a_card(name))
    if bundle.traced is None:
        raise errors.refused(faults.no_traced_build())
    with ExitStack() as owned:
        pipeline = owned.enter_context(InForce(name))
        if pipeline.manifest.bare:
            raise errors.refused(faults.without_link_headers(name))
        change = change_to(pipeline, bundle, mapping)
        need_room(pipeline, change, pipeline.port_configs)
        allowed = read_allowed(options.allowed, (pipeline.manifest, bundle.manifest))
        copies = (
            owned.enter_context(_copy(pipeline, pipeline.build, _same_roles(pipeline.manifest))),
            owned.enter_context(_copy(pipeline, bundle, change.roles)),
        )
        session = owned.enter_context(tracing(name))
        if not session.tracer.keeps_frames:
            raise errors.refused(faults.keeps_no_frames(name))
        traced = TraceOptions(options.filter, f"1/{options.sample}", options.port)
        asked, _ = asked_of(session, traced)
        session.tracer.ask(replace(asked, whole=True), _TRUST)
        yield Shadow(pipeline, session, change, copies, options, allowed)


def _copy(pipeline: InForce, bundle: Bundle, roles: Mapping[int, int]) -> Copy:
    return Copy(bundle, roles, pipeline.default)


def _same_roles(manifest: Manifest) -> dict[int, int]:
    return {number: number for number in range(len(manifest.roles))}


def shadow_report(
    name: str, bundle: Bundle, mapping: Source | None, options: ShadowOptions,
    stopped: Callable[[], bool],
) -> dict[str, Any]:  # fmt: skip
    """What a whole run found: see `report_json`. Raises `Refused`."""
    with shadowing(name, bundle, mapping, options) as shadow:
        return report_json(shadow.run(stopped))
