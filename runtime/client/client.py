"""A typed client of the agent.

    with Client() as agent:                              # the local one, by its Unix socket
    with Client("192.0.2.1:50051", identity="certs/controller") as agent:    # by mutual TLS
        done = agent.apply("create FAR 1 [(action, u8, DROP)]")
        for rule in agent.rules(kinds=["FAR"]):
            print(rule.text, rule.packets)

What the agent refuses raises `Rejected`, a `Refused` with gRPC's status: the agent's diagnostics,
places in the caller's own text. What is wrong by itself raises `Refused` and is not sent.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...lang.contract.manifest.manifest import Manifest
from ...lang.contract.manifest.read_manifest import from_json
from ...lang.contract.request.request import Request
from ...lang.contract.rules.rules import Reference
from ...lang.text.diagnostics import Refused
from ...lang.text.source import REQUEST, Source
from ..base.outcome import Outcome
from ..base.paths import SOCKET
from ..rpc import control_pb2 as pb
from ..rpc import replies
from ..rules.report import Shown
from ..shadow.options import ShadowOptions
from ..states.entry import Entry, StateCount, Where
from .calls import Rejected
from .stamp_calls import StampCalls
from .streams import Stream, Watch

if TYPE_CHECKING:
    from ...lang.contract.rules.columns import Columns
    from ...lang.contract.rules.rulekinds import Kind
    from ...lang.contract.rules.wire import Codecs
    from ..loading.bundle import Bundle
    from .desired_state import Difference, Listing

LOCAL = f"unix:{SOCKET}"
TIMEOUT = 30.0
_PART = 1 << 20


@dataclass(frozen=True)
class Schema:
    """What a pipeline is: `pipeline` is the name that it is loaded by."""

    pipeline: str
    manifest: Manifest
    ports: tuple[pb.Port, ...]

    @cached_property
    def kinds(self) -> Mapping[str, Kind]:
        from ...lang.contract.rules.rulekinds import Kind  # who only looks needs none

        ports = {port.name: port.number for port in self.ports}
        return {rule.name: Kind(self.manifest, rule, ports) for rule in self.manifest.rules}

    @cached_property
    def codecs(self) -> Codecs:
        from ...lang.contract.rules.wire import Codecs  # who only looks needs none

        return Codecs(self.manifest, self.kinds)


class Client(StampCalls):
    """A connection to an agent. May be used by several threads; close it."""

    def __init__(
        self, address: str = LOCAL, pipeline: str = "", *,
        identity: Path | str | None = None, server_name: str = "", authority: bytes = b"",
        timeout: float = TIMEOUT,
    ) -> None:  # fmt: skip
        """`address`: `unix:PATH` or `HOST:PORT`. `pipeline` may be left out where one is loaded.
        `identity`: for mutual TLS, PATH of PATH.pem and PATH.key, with ca.pem beside them.
        `server_name`: what the agent's certificate must say, if not what `address` says.
        `authority`: in the place of ca.pem, in PEM; also the agent's own certificates, of which it
        then has to show one.
        `timeout`: seconds that a call may take. Raises `Refused`."""
        super().__init__(address, identity, server_name, authority, timeout)
        self.pipeline = pipeline
        self._schema: Schema | None = None

    def __enter__(self) -> Client:
        return self

    # ---- changing rules ---------------------------------------------------------------------

    def apply(
        self, request: str | Request | bytes, *, if_revision: int | None = None, key: str = ""
    ) -> Outcome:
        """One transaction: a request as text, parsed, or as bytes (`wire.py`). `key`: an
        idempotency key. The outcome has warnings, with places in the text. Raises `Rejected`."""
        asked, message = self._encoded(request, if_revision, key)
        try:
            return replies.outcome(self._call("Apply", message, request=asked), asked)
        except Rejected as rejected:
            if not self._forgotten(rejected) or asked is None:
                raise
        _, message = self._encoded(asked, if_revision, key)
        return replies.outcome(self._call("Apply", message, request=asked), asked)

    def stream(self) -> Stream:
        """Requests one after the other without waiting for each answer."""
        return Stream(self, self.message, self._forgotten)

    def bulk(
        self, columns: Columns | bytes, *, if_revision: int | None = None, key: str = ""
    ) -> Outcome:
        """Many new rules of a kind, packed (as in a `.hpr` file), in one transaction. The warnings
        are those about the columns and the agent's."""
        data = columns if isinstance(columns, bytes) else _packed(columns)
        warnings = () if isinstance(columns, bytes) else columns.warnings
        begin = pb.BulkBegin(pipeline=self.pipeline, if_revision=if_revision, idempotency_key=key)
        pieces = (data[at : at + _PART] for at in range(0, max(len(data), 1), _PART))
        parts = (pb.BulkPart(columns=piece, begin=None if number else begin)
                 for number, piece in enumerate(pieces))  # fmt: skip
        try:
            done = replies.outcome(self._sent("BulkApply", parts, self.timeout))
        except Refused as error:
            if not isinstance(columns, bytes):
                error.diagnostics = [columns.placed(found) for found in error.diagnostics]
            raise
        return done._replace(warnings=(*warnings, *done.warnings))

    def message(
        self, request: str | Request | bytes, *, if_revision: int | None = None, key: str = ""
    ) -> pb.ApplyRequest:
        """What `apply` sends, and a stream."""
        return self._encoded(request, if_revision, key)[1]

    def _encoded(
        self, request: str | Request | bytes, if_revision: int | None, key: str
    ) -> tuple[Request | None, pb.ApplyRequest]:
        if isinstance(request, bytes):
            asked, data, digest = None, request, ""
        else:
            from ...lang.contract.rules.rule_text import canonical  # who only looks needs none
            from ...lang.contract.rules.wire import encode

            asked = _parsed(REQUEST, request) if isinstance(request, str) else request
            schema = self.schema()
            asked = canonical(asked, schema.codecs.kinds)
            data, digest = encode(asked, schema.codecs), schema.manifest.digest
        return asked, pb.ApplyRequest(
            pipeline=self.pipeline, request=data, if_revision=if_revision,
            idempotency_key=key, digest=digest,
        )  # fmt: skip

    # ---- reading ----------------------------------------------------------------------------

    def rule(self, kind: str, which: int | str) -> Shown:
        """By its id or its name."""
        request = pb.GetRequest(pipeline=self.pipeline, kind=kind, form=pb.FORM_TEXT)
        if isinstance(which, int):
            request.id = which
        else:
            request.name = which
        return replies.shown(self._call("Get", request))

    def rules(
        self, *, kinds: Iterable[str] = (), ids: Iterable[int] = (), name: str = "",
        says: Mapping[str, str] | None = None, refers_to: Reference | None = None,
        counted: bool = False, text: bool = True,
    ) -> Iterator[Shown]:  # fmt: skip
        """Those that fit everything that is said: `says` gives elements their values. Without
        `text` the texts are empty, and the agent has less to do."""
        request = pb.ListRequest(pipeline=self.pipeline)
        request.form = pb.FORM_TEXT if text else pb.FORM_BARE
        request.filter.kinds.extend(kinds)
        request.filter.ids.extend(ids)
        request.filter.name, request.filter.counted = name, counted
        for element, value in (says or {}).items():
            request.filter.says.add(element=element, value=value)
        if refers_to is not None:
            request.filter.refers_to.kind, request.filter.refers_to.id = refers_to
        for part in self._parts("List", request):
            yield from map(replies.shown, part.rules)

    def listing(self) -> Listing:
        """All rules with their texts, of one moment, and its revision."""
        from .desired_state import Listing

        request = pb.ListRequest(pipeline=self.pipeline, form=pb.FORM_TEXT)
        rules, revision = list[Shown](), 0
        for part in self._parts("List", request, self.timeout):
            rules += map(replies.shown, part.rules)
            revision = part.revision
        return Listing(revision, rules)

    def difference(
        self, wanted: str | Request, kinds: Collection[str] = (), listing: Listing | None = None
    ) -> Difference:
        """Compare the rules in force with a desired state: `create` requests (`desired_state.py`),
        about `kinds`. Rules of intents are left alone. Raises `Refused`, places in `wanted`.

            found = agent.difference("create FAR 1 [(action, u8, DROP)]")
            if found.request is not None:
                agent.apply(found.request, if_revision=found.revision)
        """
        from .desired_state import Ports, difference

        asked = _parsed("<wanted>", wanted) if isinstance(wanted, str) else wanted
        schema = self.schema()
        ports = Ports({p.name: p.number for p in schema.ports},
                      {p.number: p.ifindex for p in schema.ports})  # fmt: skip
        there = self.listing() if listing is None else listing
        # After the listing: of an intent that was made since then it has no rules.
        of_intents = {Reference(r.kind, r.id) for intent in self.intents() for r in intent.rules}
        return difference(schema.manifest, ports, there, asked, kinds, of_intents)

    # Of state tables: slots by name, and what they are to be, as text: ("src", "10.0.0.0/8").

    def states(self) -> list[StateCount]:
        """How full each state table is."""
        found = self._call("States", pb.StatesRequest(pipeline=self.pipeline)).states
        return list(map(replies.state_count, found))

    def entries(self, state: str, where: Where = (), limit: int = 0) -> Iterator[Entry]:
        """What packets left in a state table and fits all conditions; `limit`: no more than that,
        if it is not 0."""
        request = pb.EntriesRequest(
            pipeline=self.pipeline, state=state, where=_slots(where), limit=limit
        )
        for part in self._parts("Entries", request):
            yield from map(replies.entry, part.entries)

    def entry(self, state: str, key: Where) -> Entry:
        """The entry of a key, of which each slot has one value."""
        return replies.entry(self._call("GetEntry", self._of_key(state, key)))

    def delete_entry(self, state: str, key: Where) -> None:
        """Delete the entry of a key."""
        self._call("DeleteEntry", self._of_key(state, key))

    def flush(self, state: str, where: Where = ()) -> int:
        """Delete the entries that fit all conditions. Returns how many."""
        request = pb.FlushRequest(pipeline=self.pipeline, state=state, where=_slots(where))
        deleted: int = self._call("Flush", request).deleted
        return deleted

    def _of_key(self, state: str, key: Where) -> pb.EntryRequest:
        return pb.EntryRequest(pipeline=self.pipeline, state=state, key=_slots(key))

    def stats(self) -> pb.StatsReply:
        reply: pb.StatsReply = self._call("Stats", pb.StatsRequest(pipeline=self.pipeline))
        return reply

    def watch(self) -> Watch:
        """What changes from now on; of all pipelines if none was named."""
        return Watch(self, self.pipeline)

    def watch_emitted(
        self, events: Iterable[str] = (), *, kept: bool = True, only_kept: bool = False
    ) -> Watch:
        """What packets raise from now on, of these events (none: of all). `kept`: first the last
        that the agent has read; `only_kept`: nothing else."""
        filter_ = pb.EmittedFilter(events=events, kept=kept, only_kept=only_kept)
        return Watch(self, self.pipeline, filter_)

    # ---- intents ----------------------------------------------------------------------------

    def apply_intent(self, text: str, name: str = "") -> pb.Intent:
        """Tell an intent, in YAML or JSON (docs/intents.md). `name` is what diagnostics call it."""
        request = pb.ApplyIntentRequest(pipeline=self.pipeline, text=text, name=name)
        reply: pb.Intent = self._call("ApplyIntent", request)
        return reply

    def intents(self, *ids: str) -> list[pb.Intent]:
        """All, or those that are named; of all pipelines if none was."""
        request = pb.ListIntentsRequest(pipeline=self.pipeline, ids=ids)
        return list(self._call("ListIntents", request).intents)

    def remove_intent(self, id_: str) -> pb.Intent:
        """End it now. Returns what it was."""
        request = pb.RemoveIntentRequest(pipeline=self.pipeline, id=id_)
        reply: pb.Intent = self._call("RemoveIntent", request)
        return reply

    def reports(self, *ids: str, period: float = 10.0) -> Generator[pb.IntentReports, None, None]:
        """What came of intents, at once and every `period` seconds, until this is closed."""
        request = pb.ReportIntentsRequest(pipeline=self.pipeline, ids=ids, period=period)
        yield from self._parts("ReportIntents", request)

    # ---- pipelines --------------------------------------------------------------------------

    def load(self, bundle: Bundle, config: str, config_name: str = "") -> pb.PipelineStatus:
        """`config` is the edge's YAML."""
        reply: pb.PipelineStatus = self._call("Load", pb.LoadRequest(
            pipeline=self.pipeline, config=config, config_name=config_name,
            bundle=bundle_message(bundle),
        ))  # fmt: skip
        return reply

    def upgrade(
        self, bundle: Bundle | None, mapping: Source | str | None = None, *,
        config: Source | str | None = None, if_revision: int | None = None, dry_run: bool = False,
    ) -> pb.UpgradeReply:  # fmt: skip
        """Put a new build in the running one's place, with no packet lost. `mapping`: what it
        cannot know of itself; `config`: another YAML of the edge, also without a new build (None).
        See docs/upgrades.md. `dry_run`: only say what differs."""
        source = Source("<mapping>", mapping) if isinstance(mapping, str) else mapping
        edge = Source("<config>", config) if isinstance(config, str) else config
        reply: pb.UpgradeReply = self._call("Upgrade", pb.UpgradeRequest(
            pipeline=self.pipeline, if_revision=if_revision, dry_run=dry_run,
            bundle=bundle_message(bundle) if bundle is not None else None,
            mapping=source.text if source else "", mapping_name=source.name if source else "",
            config=edge.text if edge else "", config_name=edge.name if edge else "",
        ))  # fmt: skip
        if not dry_run:
            self._schema = None
        return reply

    def shadow(
        self, bundle: Bundle, mapping: Source | str | None = None,
        options: ShadowOptions = ShadowOptions(),  # noqa: B008
    ) -> Generator[Mapping[str, Any], None, None]:  # fmt: skip
        """What a build does otherwise beside the one in force: every `options.period` seconds a
        report (docs/shadow.md), until the time is over, or this is closed."""
        source = Source("<mapping>", mapping) if isinstance(mapping, str) else mapping
        request = pb.ShadowRequest(
            pipeline=self.pipeline, bundle=bundle_message(bundle),
            mapping=source.text if source else "", mapping_name=source.name if source else "",
            seconds=options.seconds or 0.0, period=options.period, filter=options.filter,
            port=options.port, sample=options.sample, rate=options.rate, allow=options.allowed,
        )  # fmt: skip
        for part in self._parts("Shadow", request):
            yield json.loads(part.report)

    def unload(self) -> str:
        """The name of what was unloaded."""
        reply: pb.UnloadReply = self._call("Unload", pb.UnloadRequest(pipeline=self.pipeline))
        self._schema = None
        return reply.pipeline

    def accept_loss(self) -> pb.AcceptLossReply:
        """Have the agent forget what its journal reports as lost."""
        reply: pb.AcceptLossReply = self._call("AcceptLoss", pb.AcceptLossRequest())
        return reply

    def repair(self) -> pb.RepairReply:
        """Have kernel objects put back that are gone or foreign."""
        reply: pb.RepairReply = self._call("Repair", pb.RepairRequest(pipeline=self.pipeline))
        return reply

    def backup(self) -> Iterator[bytes]:
        """Everything that the agent keeps, piece by piece (docs/backup.md)."""
        for part in self._parts("Backup", pb.BackupRequest()):
            yield part.content

    def restore(self, parts: Iterable[bytes], replace_all: bool = False) -> pb.RestoreReply:
        """Have the agent take over a backup."""
        sent = (pb.RestorePart(replace=replace_all and not number, content=part)
                for number, part in enumerate(parts))  # fmt: skip
        reply: pb.RestoreReply = self._sent("Restore", sent, None)  # it takes as long as it takes
        self._schema = None
        return reply

    def refresh(self) -> pb.RefreshReply:
        reply: pb.RefreshReply = self._call("Refresh", pb.RefreshRequest(pipeline=self.pipeline))
        return reply

    def status(self) -> pb.StatusReply:
        reply: pb.StatusReply = self._call("Status", pb.StatusRequest())
        return reply

    def schema(self, again: bool = False) -> Schema:
        """Asked for once, and again after an upgrade. `again`: its ports may have changed."""
        found = self._schema  # another thread may forget it
        if found is None or again:
            reply = self._call("GetSchema", pb.SchemaRequest(pipeline=self.pipeline))
            found = Schema(reply.pipeline, from_json(reply.manifest), tuple(reply.ports))
            self._schema = found
        return found

    def _forgotten(self, rejected: Rejected) -> bool:
        """Whether there is another build by now: its numbers may be others."""
        if rejected.diagnostics[0].code != "H0765":
            return False
        self._schema = None
        return True


def _parsed(name: str, text: str) -> Request:
    from ...lang.contract.request.request_parser import parse_request  # who only looks needs none

    return parse_request(Source(name, text))


def bundle_message(bundle: Bundle) -> pb.Bundle:
    traced = bundle.traced.pack() if bundle.traced else b""
    manifest = bundle.manifest.to_json()
    return pb.Bundle(manifest=manifest, object=bundle.object, traced=traced, tc=bundle.tc)


def _slots(where: Where) -> list[pb.Slot]:
    return [pb.Slot(name=name, value=value) for name, value in where]


def _packed(columns: Columns) -> bytes:
    from ...lang.contract.rules.columns import dump  # numpy takes its time

    return dump(columns)
