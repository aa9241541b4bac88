"""`Control` of pipelines through the agent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..lang.contract.request.request import Request
from ..lang.text.diagnostics import Diagnostic
from ..lang.text.source import Source
from ..runtime.base.outcome import Outcome
from ..runtime.rules.report import Meant, Shown, Statistics
from ..runtime.states.entry import Entry, StateCount, Where
from .control import LoadedNow, RefreshedNow, UpgradedNow

if TYPE_CHECKING:
    from ..lang.contract.manifest.manifest import Manifest
    from ..runtime.client import Client
    from ..runtime.loading.bundle import Bundle
    from ..runtime.observe.status import Overlay, StatusView
    from ..runtime.rpc import control_pb2 as pb
    from ..runtime.shadow.options import ShadowOptions


@dataclass(frozen=True)
class Remote:
    """Through the agent."""

    client: Client

    def load(self, bundle: Bundle, config: Path) -> LoadedNow:
        from ..runtime.base.files import read_source

        source = read_source(config)
        status = self.client.load(bundle, source.text, source.name)
        ports = [(port.name, port.role, port.interface) for port in status.ports]
        rules = sum(kind.rules for kind in status.kinds)
        return LoadedNow(status.pipeline, ports, rules, _findings(status))

    def upgrade(
        self, bundle: Bundle | None, mapping: Path | None, config: Path | None, dry_run: bool
    ) -> UpgradedNow:
        from ..runtime.base.files import read_source

        answers = read_source(mapping) if mapping is not None else None
        edge = read_source(config) if config is not None else None
        done = self.client.upgrade(bundle, answers, config=edge, dry_run=dry_run)
        difference = "\n".join(done.differences)
        counts = done.rules, done.rewritten
        return UpgradedNow(done.status.pipeline, difference, *counts, _findings(done.status))

    def shadow(
        self, bundle: Bundle, mapping: Source | None, options: ShadowOptions,
        stopped: Callable[[], bool],
    ) -> dict[str, Any]:  # fmt: skip
        found = dict[str, Any]()
        reports = self.client.shadow(bundle, mapping, options)
        with closing(reports):
            for report in reports:
                found = dict(report)
                if stopped():
                    if options.seconds is not None:
                        found["ended"] = found["ended"] or "it was stopped"
                    break
        return found

    def unload(self) -> str:
        return self.client.unload()

    def names(self) -> tuple[list[str], list[str]]:
        return [p.pipeline for p in self.client.status().pipelines], []

    def manifest(self) -> Manifest:
        return self.client.schema().manifest

    def apply(self, request: Request) -> Outcome:
        return self.client.apply(request)

    def push(self, file: Path, kind: str) -> Outcome:
        from ..runtime.base.request_files import read_request

        schema = self.client.schema()
        request = read_request(file, schema.manifest, schema.kinds, kind)
        return self.client.apply(request) if isinstance(request, Request) else (
            self.client.bulk(request))  # fmt: skip

    def rules(self, which: Meant) -> list[Shown]:
        kinds, ids = [which.kind] if which.kind else [], [which.id] if which.id else []
        return list(self.client.rules(kinds=kinds, ids=ids, name=which.name))

    def states(self) -> list[StateCount]:
        return self.client.states()

    def entries(self, state: str, where: Where = (), limit: int = 0) -> Iterator[Entry]:
        return self.client.entries(state, where, limit)

    def entry(self, state: str, key: Where) -> Entry:
        return self.client.entry(state, key)

    def delete_entry(self, state: str, key: Where) -> None:
        self.client.delete_entry(state, key)

    def flush(self, state: str, where: Where) -> int:
        return self.client.flush(state, where)

    def overlays(self) -> list[Overlay]:
        from ..runtime.rpc.viewing import overlays_of

        name = self.client.schema().pipeline
        found = (p for p in self.client.status().pipelines if p.pipeline == name)
        return [overlay for pipeline in found for overlay in overlays_of(pipeline)]

    def findings(self) -> list[Diagnostic]:
        return _findings(self.client.status())

    def status(self) -> StatusView:
        from ..runtime.base.errors import not_loaded, refused
        from ..runtime.rpc.viewing import view_of

        reply, name = self.client.status(), self.client.pipeline
        names = [pipeline.pipeline for pipeline in reply.pipelines]
        if name and name not in names:
            raise refused(not_loaded(name, names))
        view = view_of(reply, self.client.intents())
        return replace(view, pipelines=[p for p in view.pipelines if name in ("", p.name)])

    def statistics(self) -> Statistics:
        found = self.client.stats()
        events = [(e.group, e.reason, e.count) for e in found.events]
        rules = [rule for rule in self.client.rules() if rule.packets is not None]
        return Statistics(self.client.schema().pipeline, events, rules)

    def refresh(self) -> RefreshedNow:
        found = self.client.refresh()
        return RefreshedNow(found.rules, found.attached, found.gone)


def _findings(of: pb.PipelineStatus | pb.StatusReply) -> list[Diagnostic]:
    from ..runtime.rpc.failures import diagnostic_of

    return [diagnostic_of(found) for found in of.findings]
