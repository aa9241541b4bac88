"""Loads a bundle into the kernel, all or nothing; opens and unloads pinned pipelines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import Protocol

from ...lang.text.diagnostics import Refused
from ..base import errors
from ..base.paths import this_namespace
from ..edge.config import Config
from ..edge.icmp_settings import ICMP
from ..edge.rule_errors import more_errors
from ..kernel.grace import online_cpus_grace
from ..kernel.handles import BpfError, Map
from ..kernel.netlink import Netlink
from ..ports.ports import (
    find_ports,
    write_icmp_limit,
)
from ..states.storage import SEED, new_seed
from . import attach, port_warnings, switching
from .bundle import Bundle
from .host_state import HostState, Refreshed
from .install import install
from .integrity import with_objects
from .lock import Lock
from .opened import Opened
from .pinned import Pinned
from .refresh import refresh
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


class Loaded(Opened):
    """A pipeline of the host."""

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
            doubts = port_warnings.warnings(bundle.manifest, ports, netlink, mode, config.spans)
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
                    switching.finish(name, about, grace)
                loaded = cls.opened(name, about, owned, lock, netlink, grace)
                loaded.read_book()
                return loaded
            except BpfError as error:
                doing = f"open the pipeline `{name}`"
                raise errors.refused(errors.of_kernel(error, doing)) from error

    def refresh(self, seen: HostState | None = None) -> Refreshed:
        """Update ports, addresses, neighbours and the next hops in rules to the host's state now,
        or as `seen`, and attach to interfaces that are back. Raises `Refused`."""
        return refresh(self, seen)


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
