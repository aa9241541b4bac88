"""A pipeline on a network card: loaded for the ports' devices, filled, attached, opened again.

Pins in bpffs are as on the host (loading/releases.py), but the maps lie on the card; images of the
rules are kept on the host beside them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

from ...lang.contract.manifest.manifest import Manifest
from ...lang.contract.rules.interleaving import NONE, YieldPoint
from ...lang.contract.rules.rulebook import Plan
from ...lang.text.diagnostics import Refused
from ..base import errors as common
from ..base.paths import this_namespace
from ..edge.config import Config
from ..kernel import libbpf
from ..kernel.handles import (
    BpfError,
    Link,
    Map,
    MapSpec,
    MapType,
    Object,
    Pin,
    Program,
    XdpMode,
    ensure_bpffs,
)
from ..kernel.map_spec import BPF_F_MMAPABLE
from ..kernel.netlink import Netlink
from ..ports.ports import (
    DEFAULT_VERDICTS,
    NextHopCache,
    Port,
    find_ports,
    local_addresses,
    sync_map,
)
from . import attach
from . import card_errors as errors
from . import card_snapshot as snapshot
from .bundle import Bundle
from .card_images import Images, maps_of
from .card_writer import CardWriter
from .host_state import HostState, Refreshed
from .integrity import with_objects
from .loader import Configured, Content, released_on_failure
from .lock import Lock
from .pinned import Pinned
from .releases import (
    ROOT,
    about_of,
    need_name,
    need_privilege,
    need_to_bind,
    pick,
    put_in_force,
    read_about,
    remove_pinned,
    write_about,
)
from .upgrade_errors import not_on_card

#: r0 = XDP_PASS, exit.
_PASS = bytes((0xB7, 0, 0, 0, 2, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0))


class LoadedCard(Pinned):
    """A pipeline on a card."""

    writer: CardWriter

    def __init__(self, name: str, about: dict[str, Any], owned: ExitStack, lock: Lock) -> None:
        super().__init__(name, about, owned, lock)
        self.netlink = owned.enter_context(Netlink())
        links, addresses = self.netlink.links(), self.netlink.addresses()
        self.ports = find_ports(self.port_configs, links, addresses)
        self.next_hops = NextHopCache(self.netlink, ())  # nothing is forwarded to anybody

    # ---- loading -----------------------------------------------------------------------

    @classmethod
    def load(
        cls, bundle: Bundle, config: Config, name: str = "", content: Content | None = None
    ) -> LoadedCard:
        """Load, fill (with the configuration's rules or other `content`), attach. Raises `Refused`
        with nothing left of it."""
        name = name or bundle.manifest.pipeline
        need_name(name)
        need_privilege()
        with released_on_failure() as owned:
            lock = owned.enter_context(closing(Lock(name)))
            if (ROOT / name / "about").exists():
                raise common.refused(common.already_loaded(name))
            remove_pinned(name)
            try:
                return cls._load(bundle, config, name, owned, lock, content or Configured(config))
            except BaseException as error:
                remove_pinned(name)
                lock.remove()
                if isinstance(error, BpfError):
                    doing = f"load the pipeline `{name}` onto its card"
                    raise common.refused(common.of_kernel(error, doing)) from error
                raise

    @classmethod
    def _load(
        cls, bundle: Bundle, config: Config, name: str, owned: ExitStack, lock: Lock,
        content: Content,
    ) -> LoadedCard:  # fmt: skip
        loaded = cls(name, about_of(bundle.manifest, config) | {"mode": "offload"}, owned, lock)
        need_cards(loaded._by_role().values())
        need_to_bind()
        loaded._install(bundle)
        loaded.maps.open(loaded.directory, owned)
        content.prepare(loaded.maps)
        loaded._begin(fresh=True)
        loaded.write_host_state()
        content.fill(loaded)
        loaded._attach(config)
        loaded.about = with_objects(loaded.about, loaded.directory, loaded.manifest)
        write_about(loaded.directory, loaded.about)
        put_in_force(name, loaded.release)
        return loaded

    def _install(self, bundle: Bundle) -> None:
        """Load the object onto the card; pin its maps, and the host's beside them."""
        bound = self._bound(bundle.manifest)
        ensure_bpffs(self.directory / "maps")
        try:
            with Object.open(bundle.object, name=bundle.manifest.pipeline) as loaded:
                loaded.bind(bound)
                loaded.load()
                for name, table in loaded.maps().items():
                    Pin.create(table, self.directory / "maps" / name)
                for role in self._by_role():
                    program = loaded.programs()[bundle.manifest.entry(role).name]
                    Pin.create(program, self._entry(role))
        except BpfError as error:
            raise common.refused(errors.no_card(self.ports[0].interface, _why(error))) from error
        for name, size, entries in maps_of(bundle.manifest):
            spec = MapSpec(MapType.ARRAY, 4, size, entries, BPF_F_MMAPABLE, name)
            with Map.create(spec) as table:
                Pin.create(table, self.directory / "maps" / name)

    def _by_role(self) -> dict[str, Port]:
        """The port of each role that has one. Raises `Refused` where one has several, or its
        interface is not there."""
        here, found = {port.number for port in self.ports}, dict[str, Port]()
        for port in (port for port in self.port_configs if port.number not in here):
            raise common.refused(errors.no_card(port.interface, "there is no such interface"))
        for number, role in enumerate(self.manifest.roles):
            ports = [port for port in self.ports if port.role == number]
            if len(ports) > 1:
                raise common.refused(errors.several_ports(role, [p.name for p in ports]))
            if ports:
                found[role] = ports[0]
        return found

    def _bound(self, manifest: Manifest) -> dict[str, int]:
        ports = self._by_role()
        return {manifest.entry(role).name: port.ifindex for role, port in ports.items()}

    def _attach(self, config: Config) -> None:
        try:
            attach.attach(self, self.ports, XdpMode.OFFLOAD, config.spans)
        except Refused as refused:
            why = "; ".join(d.title for d in refused.diagnostics)
            diagnostic = errors.no_card(self.ports[0].interface, why)
            raise common.refused(diagnostic) from refused

    def need_fit(self, bundle: Bundle) -> None:
        """Raises `Refused` where a bundle cannot take the place of this one."""
        if bundle.manifest.target == "host":
            raise common.refused(not_on_card(self.name))
        if _kept(bundle.manifest) != _kept(self.manifest):
            raise common.refused(errors.other_rules(self.name))

    def replace(self, bundle: Bundle) -> None:
        """Replace the programs; rules and counters stay, and every packet meets one of the two.
        Raises `Refused` where the new build stores rules in another way."""
        self.need_fit(bundle)
        try:
            self._replace(bundle)
        except BpfError as error:
            doing = f"replace the programs of `{self.name}`"
            raise common.refused(common.of_kernel(error, doing)) from error

    def _replace(self, bundle: Bundle) -> None:
        bound = self._bound(bundle.manifest)
        with Object.open(bundle.object, name=bundle.manifest.pipeline) as loaded:
            loaded.bind(bound)
            for name in loaded.map_specs():
                loaded.reuse(name, self.maps[name])
            loaded.load()
            fresh = {r: loaded.programs()[bundle.manifest.entry(r).name] for r in self._by_role()}
            self._switch(fresh)
            for role, program in fresh.items():
                Pin.create(program, self._entry(role), replace=True)
        self.about["manifest"], self.manifest = bundle.manifest.to_json(), bundle.manifest
        (self.directory / "about").unlink()
        self.about = with_objects(self.about, self.directory, self.manifest)
        write_about(self.directory, self.about)
        put_in_force(self.name, self.release)

    def _entry(self, role: str) -> Path:
        return self.directory / f"entry_{role}"

    def _switch(self, fresh: Mapping[str, Program]) -> None:
        """Switch each port to its role's program; where one fails, all back to the old ones."""
        switched = []
        try:
            for role, port in self._by_role().items():
                with Link.open_pinned(attach.link_of(self.name, port.number)) as link:
                    link.update(fresh[role])
                switched.append((role, port))
        except BpfError:
            for role, port in switched:
                with (
                    suppress(BpfError),
                    Link.open_pinned(attach.link_of(self.name, port.number)) as link,
                    Program.open_pinned(self._entry(role)) as before,
                ):
                    link.update(before)
            raise

    # ---- opened again -----------------------------------------------------------------------

    @classmethod
    def open(cls, name: str = "") -> LoadedCard:
        """One that is loaded. Raises `Refused`."""
        name = pick(name)
        with released_on_failure() as owned:
            lock = owned.enter_context(closing(Lock(name)))
            try:
                about = read_about(name)
                if about["namespace"] != this_namespace():
                    raise common.refused(common.elsewhere(name))
                loaded = cls(name, about, owned, lock)
                loaded.maps.open(loaded.directory, owned, about.get("objects"))
                loaded._begin()
            except BpfError as error:
                doing = f"open the pipeline `{name}`"
                raise common.refused(common.of_kernel(error, doing)) from error
            return loaded

    def _begin(self, fresh: bool = False) -> None:
        """Read the rules in force; write them to a card that is `fresh`."""
        if any(name not in self.maps for name, _, _ in maps_of(self.manifest)):
            why = "its rules are kept as another release of Helio keeps them"
            raise common.refused(common.damaged(self.name, why))
        self.images = Images.of_maps(self.manifest, self.maps)
        self._owned.callback(self._leave)
        self.writer = CardWriter(self.manifest, self.maps, self.images)
        if fresh:
            self.writer.fill()
        self.book = self._empty_book()
        self.book.restore(self.writer.restore(fresh))

    def _leave(self) -> None:
        """Settle and close the maps; `revision` stays the last one."""
        self.images.close()
        self.writer.broken = True

    # ---- rules ------------------------------------------------------------------------------

    @property
    def revision(self) -> int:
        return self.images.revision

    def skip_to(self, revision: int) -> None:
        self.images.revision = max(self.revision, revision)

    def apply_plan(
        self, plan: Plan, ready: Callable[[], None] = lambda: None, pause: YieldPoint = NONE
    ) -> None:
        ready()
        self.writer.apply(plan)
        self.book.commit(plan)

    def snapshot(self) -> list[bytes]:
        return snapshot.take(self.images, self.manifest)

    # ---- the host ---------------------------------------------------------------------------

    def write_host_state(self, host: Collection[bytes] | None = None) -> None:
        """The host's addresses, where a stage asks for them, and the default verdict."""
        local = local_addresses(self.netlink.addresses()) if host is None else host
        for name, size in (("local", 4), ("local6", 16)):
            if name in self.maps:
                sync_map(self.maps[name], {a: b"\1" for a in local if len(a) == size})
        self.writer.set_default(DEFAULT_VERDICTS[self.default])

    def refresh(self, seen: HostState | None = None) -> Refreshed:
        """Write the host's addresses as they are now, or as `seen`."""
        if seen is None:
            addresses = self.netlink.addresses()
            self.ports = find_ports(self.port_configs, self.netlink.links(), addresses)
            self.write_host_state(local_addresses(addresses))
        else:
            self.ports, self.seen = list(seen.ports), seen
            self.write_host_state(seen.local)
        here = {port.number for port in self.ports}
        return Refreshed(0, (), tuple(p.name for p in self.port_configs if p.number not in here))


def need_cards(ports: Iterable[Port]) -> None:
    """Raises `Refused` where an interface takes no program: reported before what maps need, which
    would not help then."""
    for port in ports:
        try:
            fd = libbpf.load_for_device("probe", _PASS, port.ifindex)
            os.close(libbpf.check(fd, "load a program for its card"))
        except BpfError as error:
            raise common.refused(errors.no_card(port.interface, _why(error))) from error


def _kept(manifest: Manifest) -> list[object]:
    """All that the stored bytes of rules depend on."""
    elements = [(e.name, e.type, e.width, e.references, e.most) for e in manifest.elements]
    return [manifest.rules, elements]


def _why(error: BpfError) -> str:
    """The driver's own message, if it has one."""
    messages = [line.strip() for line in error.log.splitlines() if "[nfp]" in line]
    return messages[0] if messages else f"{error.operation}: {error.reason}"
