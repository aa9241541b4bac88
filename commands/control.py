"""What `helioctl` can do with a pipeline, by an agent or without one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ..lang.contract.request.request import Request
from ..lang.text.diagnostics import Diagnostic
from ..lang.text.source import Source
from ..runtime.base.outcome import Outcome
from ..runtime.rules.report import Meant, Shown, Statistics
from ..runtime.states.entry import Entry, StateCount, Where

if TYPE_CHECKING:
    from ..lang.contract.manifest.manifest import Manifest
    from ..runtime.loading.bundle import Bundle
    from ..runtime.observe.status import Overlay, StatusView
    from ..runtime.shadow.options import ShadowOptions


class LoadedNow(NamedTuple):
    """The result of a load. `ports`: name, role, interface."""

    name: str
    ports: Sequence[tuple[str, str, str]]
    rules: int
    warnings: Sequence[Diagnostic]


class UpgradedNow(NamedTuple):
    """The result of an upgrade, or of a dry run. `difference` of the builds as a table; empty where
    there is none. `rewritten`: how many of the `rules` are written again. `warnings`: of ports that
    are new."""

    name: str
    difference: str
    rules: int
    rewritten: int
    warnings: Sequence[Diagnostic] = ()


class RefreshedNow(NamedTuple):
    rules: int
    attached: Sequence[str]
    gone: Sequence[str]


class Control(Protocol):
    """Every method raises `Refused`. `push` takes what `request_files.read_request` reads."""

    def load(self, bundle: Bundle, config: Path) -> LoadedNow: ...
    def upgrade(
        self, bundle: Bundle | None, mapping: Path | None, config: Path | None, dry_run: bool
    ) -> UpgradedNow: ...
    def shadow(
        self, bundle: Bundle, mapping: Source | None, options: ShadowOptions,
        stopped: Callable[[], bool],
    ) -> dict[str, Any]:  # fmt: skip
        """What a bundle does otherwise beside the one in force: see `report_json`."""

    def unload(self) -> str: ...

    def names(self) -> tuple[list[str], list[str]]:
        """Loaded pipelines, and incomplete ones."""

    def manifest(self) -> Manifest: ...
    def apply(self, request: Request) -> Outcome: ...
    def push(self, file: Path, kind: str) -> Outcome: ...
    def rules(self, which: Meant) -> list[Shown]: ...

    # Of state tables; `where` and keys: see `states.entry.Where`.

    def states(self) -> list[StateCount]: ...
    def entries(self, state: str, where: Where = (), limit: int = 0) -> Iterator[Entry]: ...
    def entry(self, state: str, key: Where) -> Entry: ...
    def delete_entry(self, state: str, key: Where) -> None: ...
    def flush(self, state: str, where: Where) -> int: ...

    def overlays(self) -> list[Overlay]:
        """With their quality where they are probed."""

    def findings(self) -> list[Diagnostic]:
        """Of the agent; none without an agent."""

    def status(self) -> StatusView:
        """Of the pipeline that is named, or of all."""

    def statistics(self) -> Statistics: ...
    def refresh(self) -> RefreshedNow: ...
