"""What an agent is asked about a pipeline at each look: calls that the role `read` may make."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from helioc.runtime.client import Client, Rejected
from helioc.runtime.http2.codes import Code
from helioc.runtime.rpc import control_pb2 as pb

#: Rules of a kind whose counts are read at each look, and of an edge in all. With more the agent
#: would have too much to do: such kinds are shown as not read.
MOST_RULES, MOST_OF_ALL = 2000, 5000
#: Packets and bytes of rules, by kind and id.
RuleCounts = Mapping[tuple[str, int], tuple[float, float]]
UNKNOWN = float("nan"), float("nan")


@dataclass(frozen=True)
class Answers:
    """Of one pipeline. `…_at`: when that came, in seconds of a clock that nobody sets: rates are by
    these. `read`: the kinds whose rules were read."""

    status: pb.PipelineStatus
    status_at: float
    events: Sequence[pb.EventCount]
    events_at: float
    rules: RuleCounts
    read: set[str]
    rules_at: float
    sessions: Sequence[pb.StampSession]
    sessions_at: float
    intents: Sequence[pb.Intent]


def ask(client: Client, status: pb.PipelineStatus, status_at: float) -> Answers:
    """Raises `Refused`."""
    intents = client.intents()
    read = _to_read(client, status, intents)
    sessions, sessions_at = _sessions(client), time.monotonic()
    events, events_at = client.stats().events, time.monotonic()
    rules, rules_at = _rules(client, status, read), time.monotonic()
    return Answers(status, status_at, events, events_at, rules, read, rules_at, sessions,
                   sessions_at, intents)  # fmt: skip


def _to_read(client: Client, status: pb.PipelineStatus, intents: Iterable[pb.Intent]) -> set[str]:
    """The kinds that count and have few rules: first those of overlays and intents."""
    counting = {kind.name for kind in client.schema().manifest.rules if kind.counts}
    first = {overlay.kind for overlay in (*status.overlays, *status.unprobed)}
    first |= {rule.kind for intent in intents for rule in intent.rules}
    read, left = set[str](), MOST_OF_ALL
    for kind in sorted(status.kinds, key=lambda kind: (kind.kind not in first, kind.rules)):
        if kind.kind in counting and kind.rules <= min(MOST_RULES, left):
            read.add(kind.kind)
            left -= kind.rules
    return read


def _rules(client: Client, status: pb.PipelineStatus, read: set[str]) -> RuleCounts:
    if not any(kind.rules for kind in status.kinds if kind.kind in read):
        return {}
    rules = client.rules(kinds=sorted(read), text=False)
    return {(r.kind, r.id): (r.packets or 0, r.octets or 0) for r in rules}


def _sessions(client: Client) -> Sequence[pb.StampSession]:
    """None of an agent of an earlier release, which knows no sessions."""
    try:
        return client.stamp_sessions().sessions
    except Rejected as rejected:
        if rejected.status != Code.UNIMPLEMENTED:
            raise
        return ()
