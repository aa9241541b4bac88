"""`Control` of pipelines without an agent, on the kernel's maps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..lang.contract.request.request import Request
from ..lang.text.diagnostics import Diagnostic
from ..lang.text.source import Source
from ..runtime.base.outcome import Outcome, outcome_of
from ..runtime.rules.report import Meant, Shown, Statistics
from ..runtime.states.entry import Entry, StateCount, Where
from .control import LoadedNow, RefreshedNow, UpgradedNow

if TYPE_CHECKING:
    from ..lang.contract.manifest.manifest import Manifest
    from ..runtime.loading.any_loaded import AnyLoaded
    from ..runtime.loading.bundle import Bundle
    from ..runtime.loading.reader import Reader
    from ..runtime.observe.status import Overlay, StatusView
    from ..runtime.shadow.options import ShadowOptions


class Local:
    """On the kernel's maps. Close it."""

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
        from ..runtime.loading.any_loaded import open_loaded

        return open_loaded(self.name)

    def close(self) -> None:
        self._owned.close()

    def load(self, bundle: Bundle, config: Path) -> LoadedNow:
        from ..runtime.base.files import read_source
        from ..runtime.edge.read_config import read_here
        from ..runtime.loading.any_loaded import load

        settings, warnings = read_here(read_source(config), bundle.manifest)
        with load(bundle, settings, self.name) as loaded:
            return _loaded_now(loaded, [*warnings.found, *loaded.warnings])

    def upgrade(
        self, bundle: Bundle | None, mapping: Path | None, config: Path | None, dry_run: bool
    ) -> UpgradedNow:
        from ..runtime.base.errors import no_bundle, refused
        from ..runtime.base.files import read_source
        from ..runtime.loading.card import LoadedCard
        from ..runtime.loading.card_errors import config_of_card
        from ..runtime.loading.upgrade import upgrade
        from ..runtime.loading.upgrade_plan import plan_upgrade

        if bundle is None:
            why = "without an agent `upgrade` needs one: name it, or as `bundle:` in the YAML"
            raise refused(no_bundle(Path("…"), why))
        with self._open() as running:
            if isinstance(running, LoadedCard):
                if config is not None:
                    raise refused(config_of_card(running.name))
                running.need_fit(bundle)
                if not dry_run:
                    running.replace(bundle)
                return UpgradedNow(running.name, "", len(running.book), 0)
            answers = read_source(mapping) if mapping is not None else None
            edge = read_source(config) if config is not None else None
            plan = plan_upgrade(running, bundle, answers, edge)
            warnings: Sequence[Diagnostic] = ()
            if not dry_run:
                with closing(upgrade(running, plan)) as upgraded:
                    warnings = upgraded.warnings
            counted = len(running.book), len(plan.rules)
            return UpgradedNow(running.name, plan.difference, *counted, warnings)

    def shadow(
        self, bundle: Bundle, mapping: Source | None, options: ShadowOptions,
        stopped: Callable[[], bool],
    ) -> dict[str, Any]:  # fmt: skip
        from ..runtime.shadow.shadow import shadow_report

        return shadow_report(self.name, bundle, mapping, options, stopped)

    def unload(self) -> str:
        from ..runtime.loading.loader import unload
        from ..runtime.loading.releases import pick_to_remove

        name = pick_to_remove(self.name)
        unload(name)
        return name

    def names(self) -> tuple[list[str], list[str]]:
        from ..runtime.loading.releases import incomplete_names, loaded_names, need_bpffs

        names, left = loaded_names(), incomplete_names()
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
        from ..runtime.base.request_files import read_request

        with self._open() as loaded:
            request = read_request(file, loaded.manifest, loaded.book.kinds, kind)
            plan = loaded.apply(request)
            return outcome_of(plan, loaded.revision)

    def rules(self, which: Meant) -> list[Shown]:
        from ..runtime.rules.report import chosen, shown

        moment = self._reader.snapshot()
        return shown(chosen(moment, which), moment)

    def states(self) -> list[StateCount]:
        return self._reader.state_counts()

    def entries(self, state: str, where: Where = (), limit: int = 0) -> Iterator[Entry]:
        return islice(self._reader.state(state).entries(where), limit or None)

    def entry(self, state: str, key: Where) -> Entry:
        return self._reader.state(state).entry(key)

    def delete_entry(self, state: str, key: Where) -> None:
        with self._same_build() as reader:
            reader.state(state).delete(key)

    def flush(self, state: str, where: Where) -> int:
        with self._same_build() as reader:
            return reader.state(state).flush(where)

    @contextmanager
    def _same_build(self) -> Iterator[Reader]:
        """The pipeline, which nobody puts another build in the place of within this block."""
        from ..runtime.loading.lock import Lock
        from ..runtime.loading.releases import pick

        with closing(Lock(pick(self.name))):
            yield self._reader

    def overlays(self) -> list[Overlay]:
        from ..runtime.observe.status import overlays_of

        return overlays_of(self._reader)

    def findings(self) -> list[Diagnostic]:
        return []

    def status(self) -> StatusView:
        from ..runtime.loading.releases import pick
        from ..runtime.observe.status import local_status

        return local_status([pick(self.name)] if self.name else self.names()[0])

    def statistics(self) -> Statistics:
        from ..runtime.rules.report import shown

        reader, moment = self._reader, self._reader.snapshot()
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
