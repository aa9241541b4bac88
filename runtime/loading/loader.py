"""Loads a bundle into the kernel, all or nothing; opens and unloads pinned pipelines."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ...lang.contract.manifest.manifest import ManifestError
from ...lang.contract.rules.interleaving import NONE, YieldPoint
from ...lang.contract.rules.rulebook import Plan
from ...lang.text.diagnostics import Refused
from ..base import errors
from ..base.paths import this_namespace
from ..edge.config import Config
from ..edge.icmp_settings import ICMP
from ..edge.liveness_settings import LIVENESS
from ..edge.rule_errors import more_errors
from ..kernel.clock import WallClock, read_wall_clock
from ..kernel.grace import online_cpus_grace
from ..kernel.handles import BpfError, Map
from ..kernel.netlink import Netlink
from ..ports.ports import (
    DEFAULT_VERDICTS,
    NextHopCache,
    Port,
    find_ports,
    local_addresses,
    write_icmp_limit,
    write_local,
    write_neighbours,
    write_ports,
    write_queues,
)
from ..rules import snapshot
from ..rules.moments import publish
from ..rules.packed import keep
from ..rules.recovery import recover
from ..rules.transaction import Writer
from ..states.storage import SEED, new_seed
from . import attach
from .bundle import Bundle
from .install import install
from .integrity import with_objects
from .lock import Lock
from .pinned import Pinned
from .releases import (
    ROOT,
    about_of,
    need_capabilities,
    need_name,
    need_privilege,
    pick,
    pick_to_remove,
    put_in_force,
    read_about,
    release_of,
    releases_of,
    remove_pinned,
    write_about,
)

if TYPE_CHECKING:
    from .refresh import HostState, Refreshed


class Content(Protocol):
    """What fills a pipeline before it is attached. May raise `Refused` and BpfError."""

    def prepare(self, maps: Mapping[str, Map]) -> None:
        """Fill fresh maps before there is a writer."""

    def fill(self, loaded: Pinned) -> None:
        """Make changes like any others."""


@dataclass(frozen=True)
class Configured:
    """Fills a pipeline with the rules of a configuration."""

    config: Config

    def prepare(self, maps: Mapping[str, Map]) -> None:
        """Nothing."""

    def fill(self, loaded: Pinned) -> None:
        requests = iter(self.config.requests)
        for request in requests:
            try:
                loaded.warnings = (*loaded.warnings, *loaded.apply(request).warnings)
            except Refused as refused:
                more = more_errors(loaded.book, requests)
                raise Refused([*refused.diagnostics, *more]) from None


class Loaded(Pinned):
    """A pipeline of the host."""

    netlink: Netlink
    grace: Callable[[], None]
    writer: Writer

    def __init__(self, name: str, about: dict[str, Any], owned: ExitStack, lock: Lock) -> None:
        super().__init__(name, about, owned, lock)
        self.ports = []
        self.control = about["control"]

    # ---- from nothing -----------------------------------------------------------------------

    @classmethod
    def load(
        cls,
        bundle: Bundle,
        config: Config,
        name: str = "",
        grace: Callable[[], None] = online_cpus_grace,
        content: Content | None = None,
    ) -> Loaded:
        """Load, fill (with the configuration's rules or other `content`), attach. Raises `Refused`;
        then nothing of it is left."""
        name = name or bundle.manifest.pipeline
        need_name(name)
        need_privilege()
        need_capabilities()
        with released_on_failure() as owned:
            lock = owned.enter_context(closing(Lock(name)))
            if (ROOT / name / "about").exists():
                raise errors.refused(errors.already_loaded(name))
            try:
                filling = content or Configured(config)
                return cls._load(bundle, config, name, owned, lock, grace, filling)
            except BpfError as error:
                doing = f"load the pipeline `{name}`"
                raise errors.refused(errors.of_kernel(error, doing)) from error

    @classmethod
    def _load(
        cls, bundle: Bundle, config: Config, name: str, owned: ExitStack, lock: Lock,
        grace: Callable[[], None], content: Content,
    ) -> Loaded:  # fmt: skip
        about = about_of(bundle.manifest, config)
        mode = attach.mode_of(config.mode)
        remove_pinned(name)  # what a load left that was killed
        try:
            netlink = owned.enter_context(Netlink())
            links = netlink.links()
            ports = find_ports(config.ports, links, netlink.addresses())
            attach.check(bundle.manifest, ports, links, mode, config.spans, ports)
            full = install(bundle, release_of(name, about["release"]))
            loaded = cls.opened(name, about, owned, lock, netlink, grace, content.prepare)
            loaded.writer.control[SEED] = new_seed()
            loaded.read_book()
            if (limit := ICMP.of(config.settings)) is not None:
                write_icmp_limit(loaded.maps, limit)
            loaded.write_host_state()
            content.fill(loaded)
            attach.attach(loaded, ports, mode, config.spans)
            doubts = attach.warnings(bundle.manifest, ports, netlink, mode, config.spans)
            loaded.warnings = (*loaded.warnings, *full, *doubts)
            loaded.about = with_objects(about, loaded.directory, loaded.manifest)
            write_about(loaded.directory, loaded.about)
            put_in_force(name, loaded.release)
        except BaseException:
            remove_pinned(name)
            lock.remove()
            raise
        return loaded

    @classmethod
    def open(cls, name: str = "", grace: Callable[[], None] = online_cpus_grace) -> Loaded:
        """A pipeline that is loaded; without a name, the only one. Raises `Refused`."""
        name = pick(name)
        with released_on_failure() as owned:
            lock = owned.enter_context(closing(Lock(name)))
            netlink = owned.enter_context(Netlink())
            try:
                about = read_about(name)
                if about.get("namespace") != this_namespace():
                    raise errors.refused(errors.elsewhere(name))
                if releases_of(name) != [about["release"]]:
                    from .upgrade import finish

                    finish(name, about, grace)
                loaded = cls.opened(name, about, owned, lock, netlink, grace)
                loaded.read_book()
                return loaded
            except BpfError as error:
                doing = f"open the pipeline `{name}`"
                raise errors.refused(errors.of_kernel(error, doing)) from error

    @classmethod
    def opened(
        cls, name: str, about: dict[str, Any], owned: ExitStack, lock: Lock, netlink: Netlink,
        grace: Callable[[], None], prepare: Callable[[Mapping[str, Map]], None] = lambda _: None,
    ) -> Loaded:  # fmt: skip
        """A release that is installed, with the rules in its maps but without a rule book. Raises
        `Refused`, BpfError."""
        loaded = cls(name, about, owned, lock)
        loaded.maps.open(loaded.directory, owned, about.get("objects"))
        for path in loaded.directory.glob("**/*_stages"):
            with suppress(BpfError):  # nobody else keeps a table of tail calls without its pin
                owned.enter_context(Map.open_pinned(path))
        prepare(loaded.maps)
        loaded.netlink, loaded.grace = netlink, grace
        loaded.ports = loaded.find_ports()
        loaded.next_hops = NextHopCache(netlink, loaded.ports)
        try:
            loaded.writer = Writer(loaded.manifest, loaded.maps, loaded.next_hops, grace)
        except ManifestError as error:
            raise errors.refused(errors.damaged(name, str(error))) from None
        owned.callback(loaded.writer.close)
        recover(loaded.writer)
        return loaded

    def read_book(self) -> None:
        """Make the rule book of what the maps hold."""
        self.book = self._empty_book()
        keep(self.book, self.writer)
        if LIVENESS.of(self.about) is not None:
            from .excluded_members import excluded_members

            self.writer.left_out = excluded_members(self)

    # ---- rules ------------------------------------------------------------------------------

    @property
    def revision(self) -> int:
        return self.writer.epoch

    def skip_to(self, revision: int) -> None:
        self.writer.skip_to(revision)

    def snapshot(self) -> list[bytes]:
        return snapshot.take(self.writer, self.manifest)

    def apply_plan(
        self, plan: Plan, ready: Callable[[], None] = lambda: None, pause: YieldPoint = NONE
    ) -> None:
        self.writer.reserve(plan.sequence)
        self.writer.try_apply(plan, pause, ready)
        if pause is not NONE:
            plan = plan._replace(revision=self.book.revision)
        self.book.commit(plan)

    def refresh(self, seen: HostState | None = None) -> Refreshed:
        """Update ports, addresses, neighbours and the next hops in rules to the host's state now,
        or as `seen`, and attach to interfaces that are back. Raises `Refused`."""
        from .refresh import refresh

        return refresh(self, seen)

    # ---- surroundings -----------------------------------------------------------------------

    def find_ports(self) -> list[Port]:
        """The ports as their interfaces are now."""
        return find_ports(self.port_configs, self.netlink.links(), self.netlink.addresses())

    def publish_clock(self, clock: WallClock) -> None:
        with suppress(ValueError):  # another thread closed the pipeline
            publish(self.writer.control, clock)

    def write_host_state(self, host: Collection[bytes] | None = None) -> None:
        """Ports, the default verdict, the host's addresses and neighbours into the maps. `host`:
        the addresses, where they are known."""
        self.writer.control[1] = DEFAULT_VERDICTS[self.default]
        self.publish_clock(read_wall_clock())
        write_ports(self.maps, self.ports)
        write_queues(self.maps)
        local = set(local_addresses(self.netlink.addresses()) if host is None else host)
        if self.control:
            from ipaddress import ip_address  # slow to import, and most pipelines have none

            local.add(ip_address(self.control[1]).packed)
        write_local(self.maps, local)
        write_neighbours(self.maps, self.ports, self.next_hops.by_port())


def unload(name: str) -> None:
    """Remove a pipeline, whatever state it is in. Raises `Refused`."""
    name = pick_to_remove(name)
    with closing(Lock(name)) as lock:
        try:
            remove_pinned(name)
        except OSError as error:
            raise errors.refused(errors.no_privilege(f"unload: {error.strerror}")) from None
        lock.remove()


@contextmanager
def released_on_failure() -> Iterator[ExitStack]:
    """An ExitStack that is unwound only where the block raises."""
    owned = ExitStack()
    try:
        yield owned
    except BaseException:
        owned.close()
        raise
