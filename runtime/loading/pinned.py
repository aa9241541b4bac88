"""The interface of an open pipeline, on the host or on a card."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Self

from ...lang.contract.manifest.manifest import ManifestError
from ...lang.contract.manifest.read_manifest import from_json
from ...lang.contract.request.request import Request
from ...lang.contract.rules.columns import Columns
from ...lang.contract.rules.interleaving import NONE, YieldPoint
from ...lang.contract.rules.rulebook import Plan, RuleBook
from ...lang.text.diagnostics import Diagnostic
from ..base import errors
from ..kernel.clock import WallClock
from ..ports.ports import NextHopCache, Port, PortConfig
from .host_state import HostState, Refreshed
from .lock import Lock
from .pinned_maps import PinnedMaps
from .releases import release_of, remove_pinned


class Pinned(ABC):
    """A pipeline in the kernel, and the only writer of its rules while it is open. Closing leaves
    the pipeline running."""

    book: RuleBook
    ports: list[Port]
    next_hops: NextHopCache
    seen: HostState | None = None  # of the last refresh
    warnings: Sequence[Diagnostic] = ()  # about rules and ports that it was loaded with

    def __init__(self, name: str, about: dict[str, Any], owned: ExitStack, lock: Lock) -> None:
        """Raises `Refused` where `about` cannot be understood."""
        self.name, self.about, self._owned, self.lock = name, about, owned, lock
        self.release: int = about["release"]
        self.directory = release_of(name, self.release)
        self.maps = PinnedMaps(name)
        try:
            self.manifest = from_json(about["manifest"])
            self.port_configs = tuple(PortConfig(**port) for port in about["ports"])
            self.default = about["default"] or self.manifest.default
            self.mode = about["mode"]
        except ManifestError as error:
            raise errors.refused(errors.damaged(name, str(error))) from None

    def _empty_book(self) -> RuleBook:
        ifindexes = {port.number: port.ifindex for port in self.ports}
        roles = {port.number: self.manifest.roles[port.role] for port in self.port_configs}
        return RuleBook(self.manifest, self.port_numbers, ifindexes, roles)

    @property
    def port_numbers(self) -> dict[str, int]:
        return {port.name: port.number for port in self.port_configs}

    # ---- rules ------------------------------------------------------------------------------

    @property
    @abstractmethod
    def revision(self) -> int:
        """The number of the last transaction."""

    @abstractmethod
    def skip_to(self, revision: int) -> None:
        """Go on counting from a revision, if it is a later one."""

    @abstractmethod
    def snapshot(self) -> list[bytes]:
        """The rules as bytes."""

    def apply(
        self, request: Request | Columns, again: Mapping[str, Sequence[int]] | None = None
    ) -> Plan:
        """Make a request's changes, or create packed rules, in one transaction. Raises `Refused`
        with nothing changed. `again`: see `RuleBook.plan`."""
        plan = self.plan(request, again)
        self.apply_plan(plan)
        return plan

    def plan(
        self, request: Request | Columns, again: Mapping[str, Sequence[int]] | None = None
    ) -> Plan:
        """Plan a request. Raises `Refused`; changes nothing."""
        if isinstance(request, Request):
            return self.book.plan(request, again)
        return self.book.plan_columns(request)

    @abstractmethod
    def apply_plan(
        self, plan: Plan, ready: Callable[[], None] = lambda: None, pause: YieldPoint = NONE
    ) -> None:
        """Carry out a plan of `book`. `ready` and `pause`: see `Writer.apply`; what is changed in
        pauses must be nothing that the plan rests on."""

    # ---- the host ---------------------------------------------------------------------------

    @abstractmethod
    def refresh(self, seen: HostState | None = None) -> Refreshed:
        """Update the maps to the host's state as it is now, or as `seen`. Raises `Refused`."""

    def publish_clock(self, clock: WallClock) -> None:  # noqa: B027 - a card reads none
        """Have packets read this wall clock, where they read any; from any thread."""

    # ---- the end ----------------------------------------------------------------------------

    def close(self) -> None:
        """Settle and release; the pipeline runs on. May be called again."""
        self._owned.close()

    @property
    def closed(self) -> bool:
        return not self.lock.held

    def unload(self) -> None:
        """Detach and remove everything; this is closed then."""
        remove_pinned(self.name)
        self.lock.remove()
        self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
