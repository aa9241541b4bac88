"""The manifest of a pipeline: what the runtime knows of it."""

from __future__ import annotations

from ..lang.contract.manifest import manifest as m
from .ir.unit import Unit
from .lower.anatomy import anatomy_of
from .lower.reads import answers
from .model import Bridge, Forward, Pipeline, RuleCount
from .model.walk import walk
from .tables.layout import MAX_PORTS, flow_size, meters_of, row_of_counts


def manifest_of(pipeline: Pipeline, unit: Unit, digest: str = "") -> m.Manifest:
    """The contract for the runtime; `digest` is that of the object, where it is built."""
    return m.Manifest(
        format=m.FORMAT,
        pipeline=pipeline.name,
        source=unit.source,
        digest=digest,
        join=unit.join,
        roles=pipeline.roles,
        default=pipeline.default,
        elements=tuple(
            m.Element(
                e.name,
                e.number,
                e.type,
                e.width,
                e.kind,
                dict(e.symbols),
                e.references,
                e.doc,
                e.most,
                tuple(m.Reserved(r.name, r.value, r.reason) for r in e.reserved),
            )
            for e in pipeline.elements
        ),
        rules=tuple(t.manifest for t in unit.tables),
        counters=unit.counters,
        programs=tuple(m.Program(p.name, p.stage, p.role, p.slot) for p in unit.programs),
        scratch=m.Scratch(egress=0, steered=4 if unit.steers and unit.target != "nfp" else None),
        max_ports=MAX_PORTS,
        states=(*unit.states, *unit.registers),
        target="nfp" if unit.target == "nfp" else "host",
        hook="tc" if unit.target == "tc" else "xdp",
        atomic="request" if unit.target != "nfp" else "rule",
        forwards=any(isinstance(part, Forward | Bridge) for part in walk(pipeline.stages)),
        routes=any(isinstance(part, Forward) for part in walk(pipeline.stages)),
        answers=answers(pipeline),
        doc=pipeline.doc,
        anatomy=anatomy_of(pipeline),
        layout=m.LAYOUT,
        events=unit.ring,
        counts=row_of_counts(t.manifest for t in unit.tables),
        meters=meters_of(t.manifest for t in unit.tables),
        sums=any(isinstance(part, RuleCount) for part in walk(pipeline.stages)),
        flows=flow_size(t.manifest for t in unit.tables) if unit.target != "nfp" else 0,
        at=_attach_points(pipeline, unit),
        bare=pipeline.bare,
    )


def _attach_points(pipeline: Pipeline, unit: Unit) -> tuple[m.AttachPoint, ...]:
    """Of programs for tc alone, roles that would be at XDP are at tc.ingress."""
    if unit.target != "tc":
        return pipeline.at
    return tuple("tc.ingress" if at == "xdp" else at for at in pipeline.at)
