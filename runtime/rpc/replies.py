"""The agent's messages as the runtime knows them: the client's side, quick to import."""

from __future__ import annotations

from ...lang.contract.request.request import Request
from ...lang.contract.rules.rules import Reference
from ..base.outcome import Outcome
from ..rules.report import Shown
from ..states.entry import Entry, StateCount
from . import control_pb2 as pb
from .failures import diagnostic_of


def outcome(reply: pb.ApplyReply, request: Request | None = None) -> Outcome:
    """Places are in `request`'s own text where it has one."""
    return Outcome(
        reply.revision,
        tuple(Reference(r.kind, r.id) for r in reply.created),
        reply.created_count,
        reply.changed_count,
        reply.removed_count,
        tuple([diagnostic_of(found, request) for found in reply.warnings]),
        reply.repeated,
    )


def shown(rule: pb.Rule) -> Shown:
    packets = rule.packets if rule.HasField("packets") else None
    counted = rule.octets if rule.HasField("octets") else None
    owner = Reference(rule.owner.kind, rule.owner.id) if rule.HasField("owner") else None
    return Shown(rule.kind, rule.id, rule.name, rule.text, packets, counted, rule.owned, owner)


def entry(found: pb.Entry) -> Entry:
    values = tuple((slot.name, slot.value) for slot in found.slots)
    return Entry(values, found.age if found.HasField("age") else None)


def state_count(found: pb.StateCount) -> StateCount:
    evicted = found.evicted if found.HasField("evicted") else None
    lost = found.lost if found.HasField("lost") else None
    return StateCount(found.state, found.entries, found.capacity, found.expired, evicted, lost)
