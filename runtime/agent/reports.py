"""`ReportingOwners`: the state of the agent and of its pipelines, for clients and metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...lang.text.diagnostics import Diagnostic
from ..base.wall_clock import wall_time
from ..edge.steering_status import SteeredSpread
from ..journal.loss import data_loss
from .owners import Owners
from .status import PipelineStatus, status_of, unprobed

#: Spreads that a status has, of which members are left out first.
_MOST_STEERED = 100


class ReportingOwners(Owners):
    """Looks, and changes nothing."""

    def status(self) -> list[PipelineStatus]:
        """Of every pipeline, by name."""
        owners, findings = dict(self._owners), dict(self._findings)
        found = [
            replace(
                status_of(owner, self._said(name, findings)),
                overlays=(probed := tuple(self.prober.overlays(name))),
                unprobed=unprobed(owner, {rule.id for rule, _ in probed}),
                congestion=self.watcher.status(owner),
                steered=sorted(self.prober.steered(name), key=_takes_all)[:_MOST_STEERED],
            )
            for name, owner in owners.items()
        ]
        found += [
            PipelineStatus(name, None, 0, (), (), tuple(said))
            for name, said in findings.items() if name not in owners
        ]  # fmt: skip
        return sorted(found, key=lambda status: status.name)

    def synced(self) -> float:
        """When what was written came to the disk last, in seconds of the Unix epoch; 0: not yet."""
        journals = (owner.journal for owner in self.owners())
        logs = (each.log.synced for each in journals if each is not None)
        last = max(self.store.synced if self.store is not None else 0.0, *logs, 0.0)
        return wall_time(last) if last else 0.0

    @property
    def started(self) -> float:
        """In seconds of the Unix epoch."""
        return wall_time(self._started)

    @property
    def journalled(self) -> bool:
        """Everything that was asked for is written down, or can be."""
        unwritten = self.store.stuck if self.store is not None else ()
        return not unwritten and not any(owner.unwritten for owner in self.owners())

    @property
    def unrestored(self) -> bool:
        """A pipeline of the journal, or one that is loaded, is not owned."""
        return any(name not in self._owners for name in list(self._findings))

    @property
    def bare(self) -> bool:
        """A port has lost its program: packets go to the kernel unprocessed."""
        return any(self.inspector.bare(owner) for owner in self.owners())

    @property
    def findings(self) -> tuple[Diagnostic, ...]:
        """What is wrong with the agent, whatever it has loaded."""
        store = self.store
        if store is None:
            return ()
        lost = [data_loss(store.directory, loss) for loss in store.losses]
        return (*store.stuck, *lost, *(note for _, note in store.notes))

    def _of_journal(self, name: str) -> list[Diagnostic]:
        """What the journal has to say of a pipeline."""
        store = self.store
        if store is None:
            return []
        lost = [data_loss(store.directory, loss)
                for loss in store.losses if loss.pipeline == name]  # fmt: skip
        return [*lost, *(note for of, note in store.notes if of == name)]

    def _said(self, name: str, findings: Mapping[str, list[Diagnostic]]) -> list[Diagnostic]:
        owner, store = self._owners.get(name), self.store
        unwritten = owner.unwritten if owner is not None else ()
        unwritten = unwritten or (store.findings if store is not None else ())
        objects = self.inspector.findings(owner) if owner is not None else ()
        unknown = self._unknown(owner) if owner is not None else []
        now = (*unknown, *unwritten, *objects, *self.net_watcher.findings(name),
               *self.prober.findings(name))  # fmt: skip
        return [*findings.get(name, ()), *self._of_journal(name), *now]


def _takes_all(spread: SteeredSpread) -> bool:
    """Whether all its members take flows."""
    return all(member.in_force == member.weight for member in spread.members)
