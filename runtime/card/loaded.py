"""A pipeline on a card: its bundle loaded for the ports' devices, filled, attached, opened again.

What stands in bpffs is as on the host (loading/releases.py), but the maps lie on the card; beside
them are images of the rules, on the host.
"""

from __future__ import annotations

from contextlib import ExitStack, closing
from typing import Any

from ...compiler.manifest import Manifest, from_json
from ...compiler.requests.columns import Columns
from ...compiler.requests.rulebook import Plan, RuleBook
from ...lang.diagnostics import Refused
from ...lang.request import Request
from .. import faults as common
from ..edge.config import Config
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
from ..kernel.maps import BPF_F_MMAPABLE
from ..kernel.netlink import Netlink
from ..loading import attach
from ..loading.bundle import Bundle
from ..loading.lock import Lock
from ..loading.ports import DEFAULT_VERDICTS, Port, Wanted, find_ports, local_addresses, put
from ..loading.refresh import Refreshed
from ..loading.releases import (
    ROOT,
    about_of,
    need_name,
    need_privilege,
    put_in_force,
    read_about,
    release_of,
    remove_pinned,
    this_namespace,
    write_about,
)
from . import faults
from .tables import image_stride
from .writer import CardWriter

_REVISION = "revision"  # a map of the host's: how many requests were made


class LoadedCard:
    """A pipeline on a card, and the only writer of its rules while it is open."""

    def __init__(self, name: str, about: dict[str, Any], owned: ExitStack, lock: Lock) -> None:
        self.name, self._owned, self._lock = name, owned, lock
        self.manifest = from_json(about["manifest"])
        self.wanted = tuple(Wanted(**port) for port in about["ports"])
        self.directory = release_of(name, about["release"])
        self._about = about
        self.netlink = owned.enter_context(Netlink())
        links, addresses = self.netlink.links(), self.netlink.addresses()
        self.ports: list[Port] = find_ports(self.wanted, links, addresses)
        self.maps: dict[str, Map] = {}

    # ---- from nothing -----------------------------------------------------------------------

    @classmethod
    def load(cls, bundle: Bundle, config: Config, name: str = "") -> LoadedCard:
        """Load, fill, attach. Raises `Refused`; then nothing of it is left."""
        name = name or bundle.manifest.pipeline
        need_name(name)
        need_privilege()
        with ExitStack() as owned:
            lock = owned.enter_context(closing(Lock(name)))
            if (ROOT / name / "about").exists():
                raise common.refused(common.already_loaded(name))
            remove_pinned(name)
            about = about_of(bundle.manifest, config) | {"mode": "offload"}
            try:
                loaded = cls(name, about, owned, lock)
                loaded._install(bundle)
                loaded._begin()
                loaded.writer.fill()
                loaded.write_surroundings(config.default or bundle.manifest.default)
                for request in config.requests:
                    loaded.apply(request)
                loaded._attach(config)
                write_about(loaded.directory, about)
                put_in_force(name, about["release"])
            except BaseException as error:
                remove_pinned(name)
                lock.remove()
                if isinstance(error, BpfError):
                    doing = f"load the pipeline `{name}` onto its card"
                    raise common.refused(common.of_kernel(error, doing)) from error
                raise
            loaded._owned = owned.pop_all()
            return loaded

    def _install(self, bundle: Bundle) -> None:
        """The object onto the card, its maps pinned, and the host's maps beside them."""
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
                    Pin.create(program, self.directory / f"entry_{role}")
        except BpfError as error:
            raise common.refused(faults.no_card(self.ports[0].interface, _why(error))) from error
        for name, size, entries in self._beside(bundle.manifest):
            spec = MapSpec(MapType.ARRAY, 4, size, entries, BPF_F_MMAPABLE, name)
            with Map.create(spec) as table:
                Pin.create(table, self.directory / "maps" / name)

    @staticmethod
    def _beside(manifest: Manifest) -> list[tuple[str, int, int]]:
        """(name, octets, entries) of the maps that stay on the host."""
        images = [(f"{k.prefix}_images", image_stride(k), k.cells) for k in manifest.rules]
        return [*images, (_REVISION, 8, 1)]

    def _by_role(self) -> dict[str, Port]:
        """The port of each role that has one. Raises `Refused` where one has several."""
        found: dict[str, Port] = {}
        for number, role in enumerate(self.manifest.roles):
            ports = [port for port in self.ports if port.role == number]
            if len(ports) > 1:
                raise common.refused(faults.several_ports(role, [p.name for p in ports]))
            if ports:
                found[role] = ports[0]
        return found

    def _bound(self, manifest: Manifest) -> dict[str, int]:
        ports = self._by_role()
        return {manifest.entry(role).name: port.ifindex for role, port in ports.items()}

    def _attach(self, config: Config) -> None:
        with ExitStack() as opened:
            entries: dict[int, Program] = {}
            for role, port in self._by_role().items():
                path = self.directory / f"entry_{role}"
                entries[port.role] = opened.enter_context(Program.open_pinned(path))
            try:
                attach.attach(self.ports, entries, XdpMode.OFFLOAD, self.name, config.spans)
            except Refused as refused:
                why = "; ".join(d.title for d in refused.diagnostics)
                diagnostic = faults.no_card(self.ports[0].interface, why)
                raise common.refused(diagnostic) from refused

    def replace(self, bundle: Bundle) -> None:
        """Put other programs in the place of these, whose rules and counters stay; every packet
        meets one of the two. Raises `Refused` where the rules are kept otherwise."""
        if bundle.manifest.rules != self.manifest.rules:
            raise common.refused(faults.other_rules(self.name))
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
            for role, port in self._by_role().items():
                program = loaded.programs()[bundle.manifest.entry(role).name]
                with Link.open_pinned(attach.link_of(self.name, port.number)) as link:
                    link.update(program)
                Pin.create(program, self.directory / f"entry_{role}", replace=True)
        self._about["manifest"] = bundle.manifest.to_json()
        (self.directory / "about").unlink()
        write_about(self.directory, self._about)
        put_in_force(self.name, self._about["release"])

    # ---- opened again -----------------------------------------------------------------------

    @classmethod
    def open(cls, name: str) -> LoadedCard:
        """One that is loaded. Raises `Refused`."""
        with ExitStack() as owned:
            lock = owned.enter_context(closing(Lock(name)))
            about = read_about(name)
            if about["namespace"] != this_namespace():
                raise common.refused(common.elsewhere(name))
            try:
                loaded = cls(name, about, owned, lock)
                loaded._begin()
            except BpfError as error:
                doing = f"open the pipeline `{name}`"
                raise common.refused(common.of_kernel(error, doing)) from error
            loaded._owned = owned.pop_all()
            return loaded

    def _begin(self) -> None:
        """Open the maps, and know the rules that are there."""
        for path in sorted((self.directory / "maps").iterdir()):
            self.maps[path.name] = self._owned.enter_context(Map.open_pinned(path))
        images = {k.name: self.maps[f"{k.prefix}_images"].mmap() for k in self.manifest.rules}
        self.writer = CardWriter(self.manifest, self.maps, images)
        self._revision = self.maps[_REVISION].mmap().cast("Q")
        self._owned.callback(self._revision.release)
        self.book = RuleBook(
            self.manifest,
            {port.name: port.number for port in self.wanted},
            {port.number: port.ifindex for port in self.ports},
        )
        self.book.restore(self.writer.restore())

    # ---- rules ------------------------------------------------------------------------------

    @property
    def revision(self) -> int:
        """How many requests were made."""
        return int(self._revision[0])

    def apply(self, wanted: Request | Columns) -> Plan:
        """Make a request's changes, rule by rule. Raises `Refused` with nothing changed."""
        if isinstance(wanted, Request):
            plan = self.book.plan(wanted)
        else:
            plan = self.book.plan_columns(wanted)
        self.writer.apply(plan)
        self.book.commit(plan)
        self._revision[0] += 1
        return plan

    # ---- surroundings -----------------------------------------------------------------------

    def write_surroundings(self, default: str) -> None:
        """The host's addresses, where a stage asks for them, and the default verdict."""
        local = local_addresses(self.netlink.addresses())
        for name, size in (("local", 4), ("local6", 16)):
            if name in self.maps:
                put(self.maps[name], {a: b"\1" for a in local if len(a) == size})
        self.writer.set_default(DEFAULT_VERDICTS[default])

    def refresh(self) -> Refreshed:
        """Bring the host's addresses to what the kernel says now."""
        self.write_surroundings(self._about["default"] or self.manifest.default)
        here = {port.number for port in self.ports}
        return Refreshed(0, (), tuple(p.name for p in self.wanted if p.number not in here))

    # ---- the end ----------------------------------------------------------------------------

    def close(self) -> None:
        """Let go; the pipeline runs on. May be called again."""
        self._owned.close()

    def __enter__(self) -> LoadedCard:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _why(error: BpfError) -> str:
    """The driver's own words, where it said some."""
    said = [line.strip() for line in error.log.splitlines() if "[nfp]" in line]
    return said[0] if said else f"{error.operation}: {error.reason}"
