"""Delay, jitter and loss of paths, as agents measure them. The one place that knows from where.

An overlay's figures are those of the STAMP session that has the overlay's name, while it measures;
else those of the prober (`liveness` in the edge's YAML); else not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from helioc.runtime.rpc import control_pb2 as pb

NAN = float("nan")


class Path(NamedTuple):
    """Seconds of a round trip, and its parts where they are known; `loss`: 0 to 1. `by`: who
    measured it, in words."""

    delay: float = NAN
    jitter: float = NAN
    loss: float = NAN
    forward: float = NAN
    backward: float = NAN
    by: str = ""


class _Counts(NamedTuple):
    """Of a session, at the last look."""

    sent: int
    lost: int
    delays: tuple[tuple[int, float], ...]  # how many, and their sum: forward, backward, round trip
    jitter: tuple[int, float]


class Sessions:
    """What sessions of STAMP measured from one look to the next, from what they measured in all."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, int], tuple[_Counts, Path]] = {}

    def measured(self, pipeline: str, session: pb.StampSession) -> Path:
        """Means since the last look, so not known at the first; of a session that had no answer
        since then the last ones, for as long as it runs."""
        key = pipeline, session.parameters.ssid
        now = _counts(session)
        then, path = self._last.get(key, (now, Path()))
        if now.sent < then.sent:  # it was created again
            then, path = _counts(pb.StampSession()), Path()
        delays = [_mean(a, b) for a, b in zip(now.delays, then.delays, strict=True)]
        jitter = _mean(now.jitter, then.jitter)
        ended = now.lost - then.lost + now.delays[2][0] - then.delays[2][0]
        loss = (now.lost - then.lost) / ended if ended > 0 else path.loss
        if not session.running and not ended:
            path = Path()
        elif ended > 0:
            path = Path(delays[2], jitter if jitter == jitter else path.jitter, loss, delays[0],
                        delays[1], f"STAMP session {session.parameters.ssid}")  # fmt: skip
        self._last[key] = now, path
        return path

    def keep(self, known: set[tuple[str, int]]) -> None:
        """Forget all others."""
        self._last = {key: last for key, last in self._last.items() if key in known}


def _counts(session: pb.StampSession) -> _Counts:
    ways = session.forward, session.backward, session.round_trip
    delays = tuple((way.count, way.count * way.mean) for way in ways)
    pairs = session.round_trip.pairs
    return _Counts(session.sent, session.lost, delays, (pairs, pairs * session.round_trip.jitter))


def _mean(now: tuple[int, float], then: tuple[int, float]) -> float:
    more = now[0] - then[0]
    return max((now[1] - then[1]) / more, 0.0) if more > 0 else NAN


def overlay_paths(
    overlays: Iterable[pb.Overlay], sessions: Mapping[str, Path]
) -> Iterable[tuple[pb.Overlay, Path]]:
    """`sessions`: what those of the pipeline measured, by their names."""
    for overlay in overlays:
        measured = sessions.get(overlay.name)
        yield overlay, measured if measured is not None and measured.by else _probed(overlay)


def _probed(overlay: pb.Overlay) -> Path:
    if not overlay.sent:
        return Path()
    if not overlay.answered:
        return Path(loss=overlay.loss, by="probes")
    return Path(overlay.delay, overlay.jitter, overlay.loss, by="probes")
