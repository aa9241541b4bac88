"""The service `helio.control.v1.Intents`: messages to what the keeper of intents does, and back."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial

from ...lang.contract.rules.rules import Reference
from ...lang.text.cancel import cancel_when
from ...lang.text.source import Source
from ..agent.agent import Agent
from ..base import agent_errors as agent_faults
from ..base.errors import refused
from ..intents.document import LONGEST
from ..intents.reports import Count, Counts, Report, Reporter, Reports
from ..intents.store import Intent
from ..owner.owner import Owner
from ..rules.moment import SIZES
from . import control_pb2 as pb
from .guard import Context, need_client
from .readers import Readers

#: Seconds from one report to the next.
USUAL, SHORTEST, LONGEST_PERIOD = 10.0, 0.1, 3600.0
_STATES = {
    "pending": pb.Intent.PENDING, "active": pb.Intent.ACTIVE, "failed": pb.Intent.FAILED,
    "expired": pb.Intent.EXPIRED,
}  # fmt: skip


class IntentMethods:
    """Part of the agent's service."""

    agent: Agent
    readers: Readers

    def ApplyIntent(self, request: pb.ApplyIntentRequest, context: Context) -> pb.Intent:
        if len(request.text.encode()) > LONGEST:
            title = f"the intent has more than {LONGEST >> 20} MiB"
            raise refused(agent_faults.too_much(title, "make several intents of it"))
        source = Source(request.name or "<intent>", request.text)
        with cancel_when(partial(need_client, context)):
            return message(self.agent.intents.apply(source, request.pipeline))

    def ListIntents(self, request: pb.ListIntentsRequest, context: Context) -> pb.ListIntentsReply:
        self.agent.intents.need(request.pipeline, request.ids)
        found = self.agent.intents.find(request.pipeline, request.ids)
        return pb.ListIntentsReply(intents=map(message, found))

    def RemoveIntent(self, request: pb.RemoveIntentRequest, context: Context) -> pb.Intent:
        made = message(self.agent.intents.remove(request.id, request.pipeline))
        made.state = pb.Intent.REMOVED
        return made

    def ReportIntents(
        self, request: pb.ReportIntentsRequest, context: Context
    ) -> Iterator[pb.IntentReports]:
        period = request.period or USUAL
        if not SHORTEST <= period <= LONGEST_PERIOD:
            help_ = f"{SHORTEST:g} to {LONGEST_PERIOD:g} seconds"
            raise refused(agent_faults.bad_message("no such period of reports", help_))
        owner, ended = self.agent.owner(request.pipeline), threading.Event()
        self.agent.intents.need(owner.name, request.ids)  # they may end, or go, later
        context.add_callback(ended.set)
        with closing(Reporter(owner)) as reporter:
            due = time.monotonic()
            while True:
                intents = self.agent.intents.find(owner.name, request.ids)
                yield reports(reporter.report(intents, self.counts(owner, intents)))
                due += period
                if ended.wait(max(0.0, due - time.monotonic())):
                    return

    def counts(self, owner: Owner, intents: Sequence[Intent]) -> Counts:
        """Of their rules, counted by the reader."""
        rules = {Reference(made.kind, made.id) for intent in intents for made in intent.rules}
        if not rules:
            return {}
        query = pb.ListRequest(pipeline=owner.name, form=pb.FORM_BARE)
        query.filter.kinds.extend(sorted({rule.kind for rule in rules}))
        query.filter.ids.extend(sorted({rule.id for rule in rules}))
        found: dict[Reference, Count] = {}
        for data in self.readers.call("List", owner, query.SerializeToString(), True):
            for rule in pb.ListPart.FromString(data).rules:
                if rule.HasField("packets"):
                    found[Reference(rule.kind, rule.id)] = (rule.packets, rule.octets, *rule.sizes)
        return found


def message(intent: Intent) -> pb.Intent:
    return pb.Intent(
        pipeline=intent.pipeline, id=intent.id, state=_STATES[intent.state],
        begins=intent.begins, ends=intent.ends, why=intent.why, text=intent.text,
        rules=[pb.Reference(kind=made.kind, id=made.id) for made in intent.rules],
    )  # fmt: skip


def reports(found: Reports) -> pb.IntentReports:
    return pb.IntentReports(
        time=found.time, seconds=found.seconds, intents=map(_report, found.intents),
        host=pb.HostReport(
            softnet_drops=found.softnet_drops, port_drops=found.port_drops, cpus=found.cpus,
            nanoseconds=found.nanoseconds, queue_drops=found.queue_drops,
        ),
    )  # fmt: skip


def _report(found: Report) -> pb.IntentReport:
    measured = {"sizes": found.sizes or None, "loss": found.new_lost, "cpu": found.cpu}
    return pb.IntentReport(
        id=found.intent.id, state=_STATES[found.intent.state], packets=found.packets,
        octets=found.byte_count, new_packets=found.new_packets, new_octets=found.new_byte_count,
        cpu=found.cpu, sizes=_sizes(found.sizes), new_lost_at_most=found.new_lost,
        not_measured=[what for what, value in measured.items() if value is None],
    )  # fmt: skip


def _sizes(found: Sequence[int]) -> list[pb.SizeCount]:
    bounds = (*SIZES, 0)
    return [pb.SizeCount(octets=n, packets=count) for n, count in zip(bounds, found, strict=False)]
