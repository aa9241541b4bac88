"""The control service: messages to what the agent does, and back; no logic of its own."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from importlib.metadata import version
from itertools import chain, count
from typing import Any

from ...lang.text.cancel import cancel_when
from ...lang.text.diagnostics import Diagnostic, Refused
from ...lang.text.source import Source
from ..agent.agent import Agent
from ..agent.status import PipelineStatus, status_of
from ..base import agent_errors as faults
from ..base.errors import refused
from ..base.identity import CertificateExpiry
from ..base.identity_check import Expiries
from ..front.budget import Budget, Full, Share
from ..kernel.netlink import Link, Netlink
from ..observe.status import event_counts
from ..owner.owner import Owner
from ..owner.requests import ApplyRequest, Made
from . import control_pb2 as pb
from . import messages
from .admission import failure_of
from .bundles import bundle_of
from .emitted import watch_emitted
from .entries import remover
from .failures import findings
from .guard import Context, need_client
from .intents import IntentMethods
from .ordered import Begun
from .readers import Readers
from .shadow import shadow_reports
from .stamp import StampMethods

#: Bytes of the columns of bulk requests that are arriving at a time, of one client and of all.
MOST_COLUMNS, MOST_ARRIVING = 256 << 20, 512 << 20


_new = tuple.__new__  # a third of what a named tuple's own takes
#: Methods whose requests are made in their order (front/calls.py).
ORDERED = ("Apply", "Stream")


class Service(IntentMethods, StampMethods):
    """`helio.control.v1`: `Control`, `Intents` and `Stamp`. Its `readers` are the caller's to
    close."""

    def __init__(self, agent: Agent, metrics: Sequence[socket.socket] = ()) -> None:
        """`metrics`: see `Readers`."""
        self.agent, self.readers = agent, Readers(metrics)
        #: Of the server's: how many clients there are, and the certificates that it shows by TCP.
        self.clients: Callable[[], int] = lambda: 0
        self.certificates: Expiries | None = None
        #: And why nobody is let in by TLS.
        self.locked_out: Callable[[], Iterable[Diagnostic]] = lambda: ()
        #: Of the server's: the health service is to look at the journal.
        self.losses_changed: Callable[[], None] = lambda: None
        self._arriving = Budget(MOST_COLUMNS, MOST_ARRIVING)

    # ---- changing ---------------------------------------------------------------------------

    # Of these a call has what makes a request in force.

    def Apply(self, context: Context) -> Callable[[pb.ApplyRequest], Begun]:
        waited_for = cancel_when(partial(need_client, context))

        def begin(request: pb.ApplyRequest) -> Begun:
            made = self._begin(request, context, waited_for)
            outcome = made.outcome
            reply = messages.apply_reply(outcome)
            return _new(Begun, (reply, outcome, made.acknowledge, made.settle, 0))

        return begin

    def Stream(self, context: Context) -> Callable[[pb.ApplyRequest], Begun]:
        numbers, waited_for = count(1), cancel_when(partial(need_client, context))

        def begin(request: pb.ApplyRequest) -> Begun:
            number = next(numbers)
            try:
                made = self._begin(request, context, waited_for)
            except Refused as error:
                return _failed(number, error)
            outcome = made.outcome
            reply = pb.StreamReply(number=number, done=messages.apply_reply(outcome))
            wait = partial(_acknowledged, number, made)
            return _new(Begun, (reply, outcome, wait, made.settle, 0))

        return begin

    def BulkApply(self, parts: Iterable[pb.BulkPart], context: Context) -> pb.ApplyReply:
        with Share(self._arriving, context.caller.whose) as share:
            begin, columns = pb.BulkBegin(), bytearray()
            for number, part in enumerate(parts):
                if part.HasField("begin") != (number == 0):
                    title = "the parts of a bulk request are mixed up"
                    help_ = "`begin` in the first part, and in no other"
                    raise refused(faults.bad_message(title, help_))
                begin = begin if number else part.begin
                _hold(share, len(columns) + len(part.columns))
                columns += part.columns
            expected = begin.if_revision if begin.HasField("if_revision") else None
            asked = ApplyRequest(
                bytes(columns), True, expected, begin.idempotency_key, client=context.caller.whose
            )  # fmt: skip
            del columns
            with cancel_when(partial(need_client, context)):
                done = self._owner(begin).apply(asked, context.until)
        context.note = done
        return messages.apply_reply(done)

    def _begin(self, request: pb.ApplyRequest, context: Context, waited_for: cancel_when) -> Made:
        """See `Owner.begin`."""
        expected = request.if_revision if request.HasField("if_revision") else None
        key = request.idempotency_key
        asked = _new(ApplyRequest, (
            request.request, False, expected, key, request.digest, None,
            context.caller.whose if key else None,
        ))  # fmt: skip
        owner = self.agent.owner(request.pipeline)
        request.pipeline = owner.name  # for the audit
        with waited_for:
            return owner.begin(asked, context.until)

    def _owner(self, request: Any) -> Owner:
        """Of the pipeline that is meant, which the request names from then on."""
        owner = self.agent.owner(request.pipeline)
        request.pipeline = owner.name
        return owner

    # ---- reading ----------------------------------------------------------------------------

    # By the reader, whose answers are passed on as bytes.

    def Get(self, request: pb.GetRequest, context: Context) -> bytes:
        return next(self._read("Get", request, True))

    def List(self, request: pb.ListRequest, context: Context) -> Iterator[bytes]:
        return self._read("List", request, True)

    def States(self, request: pb.StatesRequest, context: Context) -> bytes:
        return next(self._read("States", request, False))

    def Entries(self, request: pb.EntriesRequest, context: Context) -> Iterator[bytes]:
        return self._read("Entries", request, False)

    def GetEntry(self, request: pb.EntryRequest, context: Context) -> bytes:
        return next(self._read("GetEntry", request, False))

    def Stats(self, request: pb.StatsRequest, context: Context) -> bytes:
        return next(self._read("Stats", request, False))

    def _read(
        self, method: str, request: Any, held: bool, program: int | None = None
    ) -> Iterator[bytes]:
        owner = self._owner(request)
        return self.readers.call(method, owner, request.SerializeToString(), held, program)

    # Of tables that belong to no transaction, also by the reader.

    def DeleteEntry(self, request: pb.EntryRequest, context: Context) -> pb.DeletedReply:
        return self._delete("DeleteEntry", request, context)

    def Flush(self, request: pb.FlushRequest, context: Context) -> pb.DeletedReply:
        return self._delete("Flush", request, context)

    def _delete(self, method: str, request: Any, context: Context) -> pb.DeletedReply:
        owner = self._owner(request)
        with owner.same_build(context.until) as loaded:
            need_client(context)
            with remover(loaded, request) or nullcontext() as program:
                number = program.fileno() if program is not None else None
                found = next(self._read(method, request, False, number))
        return pb.DeletedReply.FromString(found)

    def Watch(self, request: pb.WatchRequest, context: Context) -> Iterator[pb.Event]:
        if request.HasField("emitted"):
            yield from watch_emitted(self.agent, request, context)
            return
        name = self.agent.owner(request.pipeline).name if request.pipeline else ""
        with self.agent.events.watch(name) as watcher:
            if not context.add_callback(watcher.close):
                return  # it has ended already: nobody would call that
            context.begin_answer()  # from here on nothing is missed
            for event in watcher:
                yield messages.event(event)

    # ---- pipelines --------------------------------------------------------------------------

    def Load(self, request: pb.LoadRequest, context: Context) -> pb.PipelineStatus:
        source = Source(request.config_name or "<config>", request.config)
        return messages.status(self.agent.load(bundle_of(request.bundle), source, request.pipeline))

    def Upgrade(self, request: pb.UpgradeRequest, context: Context) -> pb.UpgradeReply:
        mapping = Source(request.mapping_name or "<mapping>", request.mapping)
        config = Source(request.config_name or "<config>", request.config)
        expected = request.if_revision if request.HasField("if_revision") else None
        only_config = bool(request.config) and not request.HasField("bundle")
        done = self.agent.upgrade(
            None if only_config else bundle_of(request.bundle),
            mapping if request.mapping else None, request.pipeline, expected, request.dry_run,
            context.until, config if request.config else None,
        )  # fmt: skip
        return pb.UpgradeReply(
            status=messages.status(done.status), differences=done.difference.splitlines(),
            rules=done.rules, rewritten=done.rewritten,
        )  # fmt: skip

    def Shadow(self, request: pb.ShadowRequest, context: Context) -> Iterator[pb.ShadowReport]:
        self._owner(request)
        yield from shadow_reports(request, context)

    def Unload(self, request: pb.UnloadRequest, context: Context) -> pb.UnloadReply:
        return pb.UnloadReply(pipeline=self.agent.unload(request.pipeline))

    def Refresh(self, request: pb.RefreshRequest, context: Context) -> pb.RefreshReply:
        found, revision = self._owner(request).refresh(context.until)
        if found.findings:
            raise refused(*found.findings)
        return pb.RefreshReply(
            rules=found.rules, attached=found.attached, gone=found.gone, revision=revision
        )

    def Repair(self, request: pb.RepairRequest, context: Context) -> pb.RepairReply:
        status, restored = self.agent.repair(request.pipeline, context.until)
        return pb.RepairReply(status=messages.status(status), restored=restored)

    def Backup(self, request: pb.BackupRequest, context: Context) -> Iterator[pb.BackupPart]:
        with self.agent.backup() as taken:
            for part in taken.parts():
                yield pb.BackupPart(content=part)

    def Restore(self, parts: Iterable[pb.RestorePart], context: Context) -> pb.RestoreReply:
        parts = iter(parts)
        first = next(parts, pb.RestorePart())
        content = (part.content for part in chain([first], parts))
        with self.agent.receiving(content) as received:
            need_client(context)
            self.agent.restore_backup(received, first.replace)
        self.losses_changed()
        found = [messages.status(each) for each in self.agent.status()]
        return pb.RestoreReply(pipelines=found, intents=len(self.agent.intents.find()))

    def Status(self, request: pb.StatusRequest, context: Context) -> pb.StatusReply:
        store = self.agent.store
        certificates, unreadable = self.certificates_now()
        with Netlink() as netlink:
            links = netlink.links()
        return pb.StatusReply(
            version=version("helioc"), pid=self.agent.pid, started=self.agent.started,
            acknowledge=store.acknowledge if store is not None else "none",
            pipelines=[self._status(each, links) for each in self.agent.status()],
            findings=findings([*self.agent.findings, *unreadable, *self.locked_out()]),
            clients=self.clients(), journal=self._journal(),
            certificates=[pb.Certificate(**each._asdict()) for each in certificates],
        )  # fmt: skip

    def _status(self, found: PipelineStatus, links: Sequence[Link]) -> pb.PipelineStatus:
        made = messages.status(found, links)
        with suppress(Refused):  # unloaded, or upgraded, in this moment
            if found.manifest is not None and found.manifest.states:
                # The reader counts: a large table takes a while.
                (states,) = self._read("States", pb.StatesRequest(pipeline=found.name), False)
                made.states.extend(pb.StatesReply.FromString(states).states)
            if found.manifest is not None and found.manifest.events:
                (stats,) = self._read("Stats", pb.StatsRequest(pipeline=found.name), False)
                counts = {
                    (e.group, e.reason): e.count for e in pb.StatsReply.FromString(stats).events
                }
                known = event_counts(found.manifest, counts)
                made.events.extend(pb.EventState(**each._asdict()) for each in known)
        return made

    def _journal(self) -> pb.Journal | None:
        store = self.agent.store
        if store is None:
            return None
        return pb.Journal(
            directory=str(store.directory), size=store.size, synced=self.agent.synced(),
            writable=self.agent.journalled, losses=len(self.agent.losses),
        )  # fmt: skip

    def AcceptLoss(self, request: pb.AcceptLossRequest, context: Context) -> pb.AcceptLossReply:
        accepted, left = self.agent.accept_losses()
        self.losses_changed()
        return pb.AcceptLossReply(accepted=findings(accepted), left=findings(left))

    def certificates_now(self) -> tuple[list[CertificateExpiry], list[Diagnostic]]:
        """Those the agent shows and knows; and what is wrong with their files."""
        try:
            return self.certificates.now() if self.certificates is not None else [], []
        except Refused as error:
            return [], error.diagnostics

    def GetSchema(self, request: pb.SchemaRequest, context: Context) -> pb.SchemaReply:
        owner = self.agent.owner(request.pipeline)
        found = status_of(owner)
        manifest = found.manifest
        assert manifest is not None
        roles = manifest.roles
        return pb.SchemaReply(
            pipeline=found.name, manifest=manifest.to_json(),
            ports=[messages.port(p, roles[p.role]) for p in found.ports],
        )  # fmt: skip


def _acknowledged(number: int, made: Made) -> Begun | None:
    try:
        made.acknowledge()
    except Refused as error:
        return _failed(number, error)
    return None


def _failed(number: int, error: Refused) -> Begun:
    """Of a request in a stream, which goes on."""
    reply = pb.StreamReply(number=number, failed=failure_of(error))
    return Begun(reply, findings=len(reply.failed.findings))


def _hold(share: Share, count: int) -> None:
    """So many bytes of columns. Raises `Refused`."""
    try:
        share.hold(count)
    except Full as full:
        if full.each:
            title = f"this client's columns that arrive have more than {MOST_COLUMNS >> 20} MiB"
            help_ = "split them into several requests, one after the other"
        else:
            title, help_ = "too much arrives at a time", "send one bulk request after the other"
        raise refused(faults.too_much(title, help_)) from None
