"""What the agent does, whatever it is asked by: every pipeline of a network namespace, owned."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from threading import RLock

from ..compiler.manifest import Manifest
from ..lang.diagnostics import Diagnostic, Refused
from ..lang.source import Source
from .attach import not_routing
from .bundle import Bundle
from .edge_yaml import Host, read_config
from .events import Event, Events, PipelineChanged
from .faults import already_loaded, refused
from .loader import Loaded
from .netlink import Netlink
from .owner import Owner
from .ports import Port
from .releases import loaded_names, pick, this_namespace


@dataclass(frozen=True)
class KindCount:
    """How many rules of a kind there are."""

    kind: str
    rules: int
    capacity: int


@dataclass(frozen=True)
class PipelineStatus:
    """`ports`: each as it is wanted; ifindex 0 where its interface is missing."""

    name: str
    manifest: Manifest
    revision: int
    ports: tuple[Port, ...]
    kinds: tuple[KindCount, ...]
    findings: tuple[Diagnostic, ...] = ()


class Agent:
    """Owners by name. Methods may be called from any thread and raise `Refused`."""

    def __init__(self) -> None:
        self.started, self.pid = time.time(), os.getpid()
        self.events = Events()
        self._owners: dict[str, Owner] = {}
        self._changing = RLock()

    def open_all(self) -> list[Diagnostic]:
        """Own every pipeline that is loaded; what stands in the way of one is no hindrance to the
        others, and is returned."""
        found: list[Diagnostic] = []
        for name in loaded_names(this_namespace()):
            try:
                self.owner(name)
            except Refused as error:
                found += error.diagnostics
        return found

    def owner(self, name: str = "") -> Owner:
        """Of the pipeline that is meant; without a name, of the only one."""
        owner = self._owners.get(name)
        if owner is not None:
            return owner
        with self._changing:
            if not name and len(self._owners) == 1:
                return next(iter(self._owners.values()))
            name = pick(name)
            if name not in self._owners:
                self._owners[name] = Owner(Loaded.open(name), self.events)
            return self._owners[name]

    # ---- load, unload -----------------------------------------------------------------------

    def load(self, bundle: Bundle, config: Source, name: str = "") -> PipelineStatus:
        """Load and attach. The status' findings are warnings about the configuration."""
        with Netlink() as netlink:
            host = Host(tuple(netlink.links()), tuple(netlink.addresses()))
        wanted, warnings = read_config(config, bundle.manifest, host)
        with self._changing:
            name = name or bundle.manifest.pipeline
            if name in self._owners:
                raise refused(already_loaded(name))
            loaded = Loaded.load(bundle, wanted, name)
            owner = self._owners[loaded.name] = Owner(loaded, self.events)
        found = list(warnings.found)
        if bundle.manifest.forwards:
            found += not_routing(loaded.ports, wanted.spans)
        self.events.tell(Event(loaded.name, owner.revision, PipelineChanged("loaded")))
        return status_of(owner, found)

    def unload(self, name: str = "") -> str:
        with self._changing:
            owner = self.owner(name)
            owner.unload()
            del self._owners[owner.name]
        return owner.name

    # ---- looking ----------------------------------------------------------------------------

    def status(self) -> list[PipelineStatus]:
        """Of every pipeline, by name."""
        return [status_of(owner) for _, owner in sorted(self._owners.items())]

    def close(self) -> None:
        """Let go of all pipelines; they go on working."""
        self.events.close()
        with self._changing:
            for owner in self._owners.values():
                owner.close()
            self._owners.clear()


def status_of(owner: Owner, findings: Iterable[Diagnostic] = ()) -> PipelineStatus:
    """What there is to say of a pipeline."""
    loaded = owner.loaded
    here = {port.number: port for port in loaded.ports}
    ports = tuple(
        here.get(w.number)
        or Port(w.number, w.name, w.role, w.interface, 0, 0, b"", 0, 0, w.vlan, 0)
        for w in loaded.wanted
    )
    kinds = tuple(
        KindCount(kind.name, loaded.book.count(kind.name), kind.capacity)
        for kind in loaded.manifest.rules
    )
    return PipelineStatus(
        owner.name, loaded.manifest, owner.revision, ports, kinds, tuple(findings)
    )
