"""What `helioctl` does with a pipeline: through the agent, or on the kernel's maps itself."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ..lang.contract.request.request import Request
from ..lang.text.diagnostics import Diagnostic
from ..runtime.base.outcome import Outcome, outcome_of
from ..runtime.base.places import SOCKET
from ..runtime.rules.report import Entry, Meant, Shown, Statistics

if TYPE_CHECKING:
    from ..lang.contract.manifest.manifest import Manifest
    from ..runtime.client import Client
    from ..runtime.loading.bundle import Bundle
    from ..runtime.loading.either import AnyLoaded
    from ..runtime.loading.reader import Reader
    from ..runtime.looking.status import Overlay, StatusView


class LoadedNow(NamedTuple):
    """What a load came to. `ports`: name, role, interface."""

    name: str
    ports: Sequence[tuple[str, str, str]]
    rules: int
    warnings: Sequence[Diagnostic]


class UpgradedNow(NamedTuple):
    """What an upgrade came to, or would. `difference`: of the builds, as a table; empty where there
    is none. `rewritten`: of the `rules`, those that are written anew."""

    name: str
    difference: str
    rules: int
    rewritten: int


class RefreshedNow(NamedTuple):
    rules: int
    attached: Sequence[str]
    gone: Sequence[str]


class Control(Protocol):
    """Every method raises `Refused`. `push` takes what `requests.read_request` reads."""

    def load(self, bundle: Bundle, config: Path) -> LoadedNow: ...
    def upgrade(self, bundle: Bundle, mapping: Path | None, dry_run: bool) -> UpgradedNow: ...
    def unload(self) -> str: ...

    def names(self) -> tuple[list[str], list[str]]:
        """Loaded pipelines, and what is left of those that are not whole."""

    def manifest(self) -> Manifest: ...
    def apply(self, request: Request) -> Outcome: ...
    def push(self, file: Path, kind: str) -> Outcome: ...
    def rules(self, which: Meant) -> list[Shown]: ...
    def entries(self, state: str) -> list[Entry]: ...

    def overlays(self) -> list[Overlay]:
        """With what is known of them."""

    def findings(self) -> list[Diagnostic]:
        """What is wrong with the agent; nothing where none is asked."""

    def status(self) -> StatusView:
        """Of the pipeline that is named, or of all."""

    def statistics(self) -> Statistics: ...
    def refresh(self) -> RefreshedNow: ...


class Local:
    """On the maps. Close it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._owned = ExitStack()
        self._opened: Reader | None = None

    @property
    def _reader(self) -> Reader:
        from ..runtime.loading.card_reader import reader_of

        if self._opened is None or not self._opened.in_force:
            self._opened = self._owned.enter_context(reader_of(self.name))
        return self._opened

    def _open(self) -> AnyLoaded:
        from ..runtime.loading.either import open_loaded

        return open_loaded(self.name)

    def close(self) -> None:
        self._owned.close()

    def load(self, bundle: Bundle, config: Path) -> LoadedNow:
        from ..runtime.base.reading import read_source
        from ..runtime.edge.reading import read_here
        from ..runtime.loading.either import load

        wanted, warnings = read_here(read_source(config), bundle.manifest)
        with load(bundle, wanted, self.name) as loaded:
            return _loaded_now(loaded, [*warnings.found, *loaded.warnings])

    def upgrade(self, bundle: Bundle, mapping: Path | None, dry_run: bool) -> UpgradedNow:
        from ..runtime.base.reading import read_source
        from ..runtime.loading.card import LoadedCard
        from ..runtime.loading.upgrade import upgrade, weigh

        with self._open() as running:
            if isinstance(running, LoadedCard):
                running.need_fit(bundle)
                if not dry_run:
                    running.replace(bundle)
                return UpgradedNow(running.name, "", len(running.book), 0)
            answers = read_source(mapping) if mapping is not None else None
            weighed = weigh(running, bundle, answers)
            if not dry_run:
                upgrade(running, weighed).close()
            counted = len(running.book), len(weighed.rules)
            return UpgradedNow(running.name, weighed.difference, *counted)

    def unload(self) -> str:
        from ..runtime.loading.loader import unload
        from ..runtime.loading.releases import pick_to_remove

        name = pick_to_remove(self.name)
        unload(name)
        return name

    def names(self) -> tuple[list[str], list[str]]:
        from ..runtime.loading.releases import loaded_names, need_bpffs, remains

        names, left = loaded_names(), remains()
        if not names and not left:
            need_bpffs()
        return names, left

    def manifest(self) -> Manifest:
        return self._reader.manifest

    def apply(self, request: Request) -> Outcome:
        with self._open() as loaded:
            plan = loaded.apply(request)
            return outcome_of(plan, loaded.revision)

    def push(self, file: Path, kind: str) -> Outcome:
        from ..runtime.base.requests import read_request

        with self._open() as loaded:
            wanted = read_request(file, loaded.manifest, loaded.book.kinds, kind)
            plan = loaded.apply(wanted)
            return outcome_of(plan, loaded.revision)

    def rules(self, which: Meant) -> list[Shown]:
        from ..runtime.rules.report import chosen, shown

        moment = self._reader.moment()
        return shown(chosen(moment, which), moment)

    def entries(self, state: str) -> list[Entry]:
        return self._reader.entries(next(s for s in self.manifest().states if s.name == state))

    def overlays(self) -> list[Overlay]:
        from ..runtime.looking.status import overlays_of

        return overlays_of(self._reader)

    def findings(self) -> list[Diagnostic]:
        return []

    def status(self) -> StatusView:
        from ..runtime.loading.releases import pick
        from ..runtime.looking.status import local_status

        return local_status([pick(self.name)] if self.name else self.names()[0])

    def statistics(self) -> Statistics:
        from ..runtime.rules.report import shown

        reader, moment = self._reader, self._reader.moment()
        events = [(c.group, c.reason, count) for c, count in reader.events()]
        counting = (counted for counted in moment if counted.packets is not None)
        return Statistics(reader.name, events, shown(counting, moment))

    def refresh(self) -> RefreshedNow:
        with self._open() as loaded:
            found = loaded.refresh()
        if found.findings:
            from ..runtime.base.errors import refused

            raise refused(*found.findings)
        return RefreshedNow(found.rules, found.attached, found.gone)


def _loaded_now(loaded: AnyLoaded, warnings: Sequence[Diagnostic]) -> LoadedNow:
    roles = loaded.manifest.roles
    ports = [(port.name, roles[port.role], port.interface) for port in loaded.ports]
    return LoadedNow(loaded.name, ports, len(loaded.book), warnings)


@dataclass(frozen=True)
class Remote:
    """Through the agent."""

    client: Client

    def load(self, bundle: Bundle, config: Path) -> LoadedNow:
        from ..runtime.base.reading import read_source
        from ..runtime.rpc.failures import diagnostic_of

        source = read_source(config)
        status = self.client.load(bundle, source.text, source.name)
        ports = [(port.name, port.role, port.interface) for port in status.ports]
        rules = sum(kind.rules for kind in status.kinds)
        return LoadedNow(status.pipeline, ports, rules, list(map(diagnostic_of, status.findings)))

    def upgrade(self, bundle: Bundle, mapping: Path | None, dry_run: bool) -> UpgradedNow:
        from ..runtime.base.reading import read_source

        answers = read_source(mapping) if mapping is not None else None
        done = self.client.upgrade(bundle, answers, dry_run=dry_run)
        difference = "\n".join(done.differences)
        return UpgradedNow(done.status.pipeline, difference, done.rules, done.rewritten)

    def unload(self) -> str:
        return self.client.unload()

    def names(self) -> tuple[list[str], list[str]]:
        return [p.pipeline for p in self.client.status().pipelines], []

    def manifest(self) -> Manifest:
        return self.client.schema().manifest

    def apply(self, request: Request) -> Outcome:
        return self.client.apply(request)

    def push(self, file: Path, kind: str) -> Outcome:
        from ..runtime.base.requests import read_request

        schema = self.client.schema()
        wanted = read_request(file, schema.manifest, schema.kinds, kind)
        return self.client.apply(wanted) if isinstance(wanted, Request) else (
            self.client.bulk(wanted))  # fmt: skip

    def rules(self, which: Meant) -> list[Shown]:
        kinds, ids = [which.kind] if which.kind else [], [which.id] if which.id else []
        return list(self.client.rules(kinds=kinds, ids=ids, name=which.name))

    def entries(self, state: str) -> list[Entry]:
        return list(self.client.entries(state))

    def overlays(self) -> list[Overlay]:
        from ..runtime.rpc.viewing import overlays_of

        name = self.client.schema().pipeline
        found = (p for p in self.client.status().pipelines if p.pipeline == name)
        return [overlay for pipeline in found for overlay in overlays_of(pipeline)]

    def findings(self) -> list[Diagnostic]:
        from ..runtime.rpc.failures import diagnostic_of

        return [diagnostic_of(found) for found in self.client.status().findings]

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


@dataclass(frozen=True)
class Target:
    """Whom `helioctl` speaks to. `agent`: an address; empty: the local agent if there is one.
    `identity`: for TCP, see `certs.read_identity`."""

    name: str = ""
    agent: str = ""
    local: bool = False
    identity: Path | None = None

    @contextmanager
    def open(self) -> Iterator[Control]:
        from ..runtime.tracing.left import traces_left

        if traces_left():
            from ..runtime.tracing.swap import mend

            mend()
        if self.local or not self._address:
            with closing(Local(self.name)) as control:
                yield control
            return
        with self.need_agent() as client:
            yield Remote(client)

    @contextmanager
    def need_agent(self) -> Iterator[Client]:
        """The agent, for what needs it. Raises `Refused` where there is none."""
        address = self._address
        if self.local or not address:
            from ..runtime.base.errors import refused
            from ..runtime.intents.errors import needs_agent

            raise refused(needs_agent(self.local))
        from ..runtime.client import Client

        with Client(address, self.name, identity=self.identity) as client:
            yield client

    @property
    def _address(self) -> str:
        return self.agent or (f"unix:{SOCKET}" if agent_here(SOCKET) else "")


def agent_here(path: Path) -> bool:
    """Whether an agent of our own network namespace listens at a Unix socket. One of another
    namespace knows other interfaces and must be named (`--agent`). Who is not root may not look
    into its process, and takes it for ours; also where the socket is closed to us, which is better
    than to say that none runs."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC) as probe:
        try:
            probe.connect(str(path))
            peer = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
            pid, _, _ = struct.unpack("3i", peer)
            return os.path.samefile(f"/proc/{pid}/ns/net", "/proc/self/ns/net")
        except PermissionError:
            return True
        except OSError:
            return False
