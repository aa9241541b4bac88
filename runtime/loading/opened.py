"""An installed release of a pipeline: its maps, a writer, and the rule book that they hold."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack, suppress
from typing import Any, Self

from ...lang.contract.manifest.manifest import ManifestError
from ...lang.contract.rules.interleaving import NONE, YieldPoint
from ...lang.contract.rules.rulebook import Plan
from ..base import errors
from ..edge.liveness_settings import LIVENESS
from ..kernel.clock import WallClock, read_wall_clock
from ..kernel.handles import BpfError, Map
from ..kernel.netlink import Netlink
from ..ports.ports import (
    DEFAULT_VERDICTS,
    NextHopCache,
    Port,
    find_ports,
    local_addresses,
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
from .excluded_members import excluded_members
from .lock import Lock
from .pinned import Pinned


class Opened(Pinned):
    """A release of a pipeline of the host that is installed, and open for writing."""

    netlink: Netlink
    grace: Callable[[], None]
    writer: Writer

    def __init__(self, name: str, about: dict[str, Any], owned: ExitStack, lock: Lock) -> None:
        super().__init__(name, about, owned, lock)
        self.ports = []
        self.control = about["control"]

    @classmethod
    def opened(
        cls, name: str, about: dict[str, Any], owned: ExitStack, lock: Lock, netlink: Netlink,
        grace: Callable[[], None], prepare: Callable[[Mapping[str, Map]], None] = lambda _: None,
    ) -> Self:  # fmt: skip
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
