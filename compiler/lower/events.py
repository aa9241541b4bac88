"""Which events a pipeline counts."""

from __future__ import annotations

from typing import get_args

from ...lang.contract.manifest.manifest import Counter
from ..ir.events import Events
from ..model import Copy, Counted, Event, Find, Pipeline, Pop, Reply
from ..model.walk import walk
from .reads import limits_errors

VERDICTS = ("pass", "drop", "redirect", "tx")
MALFORMED = ("truncated", "length", "invalid")
HOOKS: tuple[Event, ...] = get_args(Event)
DROPS = ("ecn", "no member", "absent reference", "in the clear", "internal")
EMITTING = ("emitted", "suppressed", "unwritten")  # over its limit; no room in the ring
COPIES = ("sent", "failed", "too_big", "ttl_expired", "no_headroom", "unresolved")
KEPT = ("link-layer group", "link-local")  # what `forward` does not; dropped out of a tunnel


def events_of(pipeline: Pipeline) -> Events:
    names = [("verdict", v) for v in VERDICTS]
    names += [("hook", h) for h in HOOKS]
    names += [("drop", d) for d in DROPS]
    names += [("kept", k) for k in KEPT]
    names += [("miss", r.name) for r in pipeline.rules if r.match or r.grouped]
    names += [("miss", s.name) for s in pipeline.states]
    parts = list(walk(pipeline.stages))
    finding = (p.rule for p in parts if isinstance(p, Find) and p.kept is not None)
    names += [("gone", rule) for rule in dict.fromkeys(finding)]
    in_place = [s.name for s in pipeline.states if s.in_place]
    names += [(what, name) for name in in_place for what in ("lost", "evicted")]
    names += [
        ("malformed", f"{node.name}: {what}") for node in pipeline.graph.nodes for what in MALFORMED
    ]
    walked = [node.name for node in pipeline.graph.nodes if node.options]
    names += [("malformed", f"{name}: options") for name in walked]
    reasons = (part.reason for part in parts if isinstance(part, Counted))
    names += [("count", reason) for reason in dict.fromkeys(reasons)]
    names += [(what, e.name) for e in pipeline.emits for what in EMITTING]
    if any(isinstance(part, Copy) for part in parts):
        names += [("copy", reason) for reason in (*COPIES, *KEPT)]
    errors = dict.fromkeys(part.error for part in parts if isinstance(part, Reply))
    names += [("reply", error) for error in errors]
    if limits_errors(pipeline):
        names.append(("drop", "icmp limit"))
    if any(isinstance(part, Pop) for part in parts):
        names += [("drop", k) for k in KEPT]
    return Events(Counter(i, group, reason) for i, (group, reason) in enumerate(names))
