"""The service `helio.control.v1.Stamp`: messages to what the manager of sessions does, and back."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from ..agent.agent import Agent
from ..base.errors import refused
from ..stamp import errors, rules
from ..stamp.answers import Entry, Measured
from ..stamp.moments import Delays
from ..stamp.parameters import MEASURES, MODES, WAYS, Parameters, Setup
from ..stamp.session import Result, delays_of
from ..stamp.times import CLOCKS
from . import control_pb2 as pb
from .guard import Context

#: Results of one message, and seconds that a session may be started for.
PART, LONGEST = 256, 10 * 365 * 86400.0
Word = TypeVar("Word", bound=str)


class StampMethods:
    """Part of the agent's service."""

    agent: Agent

    def InitStamp(self, request: pb.InitStampRequest, context: Context) -> pb.StampSetup:
        asked = request.setup
        made = self.agent.stamp.init(request.pipeline, Setup(
            "", asked.source_port or 862, asked.source4, asked.source6, asked.interface
        ))  # fmt: skip
        return pb.StampSetup(source_port=made.port, source4=made.source4, source6=made.source6,
                             interface=made.interface)  # fmt: skip

    def ResetStamp(self, request: pb.ResetStampRequest, context: Context) -> pb.ResetStampReply:
        return pb.ResetStampReply(sessions=self.agent.stamp.reset(request.pipeline))

    def CreateStampSession(
        self, request: pb.CreateStampSessionRequest, context: Context
    ) -> pb.StampSession:
        asked = parameters(request.parameters)
        return self._session(self.agent.stamp.create(request.pipeline, asked))

    def StartStampSession(
        self, request: pb.StartStampSessionRequest, context: Context
    ) -> pb.StampSession:
        seconds = request.duration if request.HasField("duration") else None
        if seconds is not None and not 0 < seconds <= LONGEST:  # also of no number
            help_ = f"above 0, and {LONGEST:,.0f} at most"
            raise refused(errors.bad(f"a session is not started for {seconds:g} s", help_))
        return self._session(self.agent.stamp.begin(request.pipeline, request.ssid, seconds))

    def StopStampSession(
        self, request: pb.StampSessionRequest, context: Context
    ) -> pb.StampSession:
        return self._session(self.agent.stamp.halt(request.pipeline, request.ssid))

    def DestroyStampSession(
        self, request: pb.StampSessionRequest, context: Context
    ) -> pb.StampSession:
        return self._session(self.agent.stamp.destroy(request.pipeline, request.ssid))

    def ListStampSessions(
        self, request: pb.StampSessionsRequest, context: Context
    ) -> pb.ListStampSessionsReply:
        owner, stamp = self.agent.owner(request.pipeline), self.agent.stamp
        made = list(map(self._session, stamp.find(owner.name, request.ssids)))
        gone = stamp.without_rule(owner)
        for each in made:
            if each.parameters.ssid in gone:
                each.why = errors.rule_gone(each.parameters.ssid).title
        return pb.ListStampSessionsReply(sessions=made, foreign=stamp.foreign[owner.name])

    def GetStampSessionResults(
        self, request: pb.StampResultsRequest, context: Context
    ) -> pb.StampResults:
        entry = self._entry(request)
        found = entry.session.take_results(request.most or None)
        about = entry.kept.about
        return pb.StampResults(results=(result(about, each) for each in found))

    def GetStampSessionResultsCounter(
        self, request: pb.StampSessionRequest, context: Context
    ) -> pb.StampResultsCounter:
        return counter(self._entry(request))

    def WatchStampResults(
        self, request: pb.StampSessionsRequest, context: Context
    ) -> Iterator[pb.StampResults]:
        name = self.agent.owner(request.pipeline).name
        self.agent.stamp.find(name, request.ssids)  # they may go later
        with self.agent.stamp.watch(name, request.ssids) as watcher:
            if not context.add_callback(watcher.close):
                return  # it has ended already: nobody would call that
            context.begin_answer()  # from here on nothing is missed
            for found in watcher.several(PART):
                worked = time.thread_time()
                yield from parts(found)
                time.sleep(time.thread_time() - worked)  # requests go on beside who watches a storm

    def _entry(self, request: pb.StampResultsRequest | pb.StampSessionRequest) -> Entry:
        name = self.agent.owner(request.pipeline).name
        (entry,) = self.agent.stamp.find(name, [request.ssid])
        return entry

    def _session(self, entry: Entry) -> pb.StampSession:
        return session(entry, self.agent.stamp.decided())


# ---- from messages --------------------------------------------------------------------------


def parameters(asked: pb.StampParameters) -> Parameters:
    """Raises `Refused`."""
    usual = Parameters(0, "")
    made = Parameters(
        ssid=asked.ssid, reflector=asked.reflector, name=asked.name,
        source=asked.source, source_port=asked.source_port, port=asked.port or usual.port,
        sids=tuple(asked.sids), way=_word(WAYS, asked.way, "way"), outer=asked.outer_source,
        sids_back=tuple(asked.sids_back), way_back=_word(WAYS, asked.way_back, "way_back"),
        clock=_word(CLOCKS, asked.clock, "clock"), mode=_word(MODES, asked.mode, "mode"),
        measure=_word(MEASURES, asked.measure, "measure"), authenticated=asked.authenticated,
        length=asked.length or usual.length, dscp=asked.dscp, outer_back=asked.outer_source_back,
    )  # fmt: skip
    if asked.HasField("interval"):
        made = replace(made, interval=asked.interval)
    if asked.HasField("timeout"):
        made = replace(made, timeout=asked.timeout)
    return made


def _word(words: Sequence[Word], number: int, what: str) -> Word:
    """Of an enumeration."""
    if not 0 <= number < len(words):
        raise refused(errors.bad(f"{number} is no {what}", f"0 to {len(words) - 1}"))
    return words[number]


# ---- to messages ----------------------------------------------------------------------------


def session(entry: Entry, decided: float) -> pb.StampSession:
    """`decided`: the moment up to which losses are certain."""
    kept, now = entry.kept, entry.session
    with now.lock:
        now.expire(decided)
        window, counts = now.window, now.counts
        return pb.StampSession(
            pipeline=kept.pipeline, parameters=said(kept.about), running=entry.running,
            why=now.why, reflector=rules.reflector(kept.about), sent=window.sent,
            answered=window.answered, lost=window.lost, waiting=window.waiting,
            lost_forward=now.lost_forward, late=window.late, duplicates=window.duplicates,
            reordered=window.reordered, strange=window.strange, invalid=counts.invalid,
            out_of_step=counts.out_of_step, unsent=counts.unsent, skipped=counts.skipped,
            **{name: _delay(delays) for name, delays in now.delays.items()},
            results=pb.StampResultsCounter(waiting=len(now.results), dropped=counts.dropped),
        )  # fmt: skip


def said(about: Parameters) -> pb.StampParameters:
    return pb.StampParameters(
        ssid=about.ssid, name=about.name, reflector=about.reflector, port=about.port,
        source=about.source, source_port=about.source_port, interval=about.interval,
        sids=about.sids, way=about.way, outer_source=about.outer, sids_back=about.sids_back,
        way_back=about.way_back, clock=about.clock, mode=about.mode, measure=about.measure,
        length=about.length, dscp=about.dscp, timeout=about.timeout,
        outer_source_back=about.outer_back,
    )  # fmt: skip


def _delay(delays: Delays) -> pb.StampDelay:
    delay, variation = delays.delay, delays.variation
    return pb.StampDelay(
        count=delay.count, mean=delay.mean / 1e9, variance=delay.variance / 1e18,
        least=delay.least / 1e9, most=delay.most / 1e9, pairs=variation.count,
        jitter=variation.mean / 1e9, most_jitter=variation.most / 1e9,
    )  # fmt: skip


def counter(entry: Entry) -> pb.StampResultsCounter:
    now = entry.session
    with now.lock:
        return pb.StampResultsCounter(waiting=len(now.results), dropped=now.counts.dropped)


def parts(found: Sequence[Measured | int]) -> Iterator[pb.StampResults]:
    """Results, and how many were left out between two of them."""
    part = pb.StampResults()
    for each in found:
        if isinstance(each, int):
            if part.results:
                yield part
            yield pb.StampResults(missed=each)
            part = pb.StampResults()
        else:
            part.results.append(result(each.about, each.result))
    if part.results:
        yield part


def result(about: Parameters, found: Result) -> pb.StampResult:
    made = pb.StampResult(ssid=about.ssid, **found._asdict())
    for name, delay in delays_of(about, found).items() if not found.invalid else ():
        setattr(made, name, delay / 1e9)
    return made
