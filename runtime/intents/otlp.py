"""Encodes reports as an OTLP ExportMetricsServiceRequest in JSON (opentelemetry-proto 1.x, OTLP
1.x: 64-bit numbers are strings, enumerations numbers)."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from typing import Any

from ..rules.moment import SIZES
from .reports import Reports

_DELTA, _CUMULATIVE = 1, 2  # AggregationTemporality
_Points = list[dict[str, Any]]


def request(
    found: Reports, pipeline: str, pushed: Mapping[str, int], began: float
) -> dict[str, Any]:
    """`pushed`: what became of earlier reports, since `began` (seconds of the Unix epoch)."""
    metrics = (*_intents(found), *_host(found), *_pushed(found, pushed, began))
    about = {
        "service.name": "heliod",
        "host.name": socket.gethostname(),
        "helio.pipeline": pipeline,
    }
    return {
        "resourceMetrics": [{
            "resource": {"attributes": list(_attributes(about))},
            "scopeMetrics": [{
                "scope": {"name": "helio.intents", "version": version("helioc")},
                "metrics": [each for each in metrics if _points(each)],
            }],
        }],
    }  # fmt: skip


# ---- metrics --------------------------------------------------------------------------------


def _intents(found: Reports) -> Iterator[dict[str, Any]]:
    """Counters since an intent began; 0 again where another took its place."""
    each = [(r, {"helio.intent": r.intent.id}) for r in found.intents]
    since = [_times(r.intent.begins, found.time) for r in found.intents]
    yield _sum(
        "helio.intent.packets", "{packet}", "Packets that the intent's rules counted.",
        [{**_whole(r.packets, of), **times} for (r, of), times in zip(each, since, strict=True)],
    )  # fmt: skip
    yield _sum(
        "helio.intent.io", "By", "Bytes of these.",
        [{**_whole(r.byte_count, of), **times} for (r, of), times in zip(each, since, strict=True)],
    )  # fmt: skip
    yield _gauge(
        "helio.intent.active", "1", "1 while the intent's rules are in force.",
        [{**_whole(r.intent.state == "active", of), **_at(found)} for r, of in each],
    )  # fmt: skip
    yield _gauge(
        "helio.intent.cpu", "1", "Of one CPU's time, what programs took for its packets.",
        [{**_part(r.cpu, of), **_at(found)} for r, of in each if r.cpu is not None],
    )  # fmt: skip
    yield _sum(
        "helio.intent.lost_at_most", "{packet}", "Frames that the queues of its CPUs dropped.",
        [{**_whole(r.new_lost, of), **_lately(found)} for r, of in each if r.new_lost is not None],
        _DELTA,
    )  # fmt: skip
    yield _histogram(
        "helio.intent.packet_size", "By", "Its packets by size, with the frame check sequence.",
        [{**_sizes(r.sizes, of), **times}
         for (r, of), times in zip(each, since, strict=True) if r.sizes],
    )  # fmt: skip


def _host(found: Reports) -> Iterator[dict[str, Any]]:
    """Drops of the input queues of CPUs, of ports on arrival, of CPUs' queues behind the
    pipeline."""
    drops = {"cpu": found.softnet_drops, "port": found.port_drops, "queue": found.queue_drops}
    yield _sum(
        "helio.host.drops", "{packet}", "Frames dropped, by whom.",
        [{**_whole(count, {"helio.drop.by": by}), **_lately(found)}
         for by, count in drops.items() if count is not None],
        _DELTA,
    )  # fmt: skip
    yield _gauge(
        "helio.host.cpu", "1", "How busy each CPU was.",
        [{**_part(busy, {"cpu": str(cpu)}), **_at(found)} for cpu, busy in enumerate(found.cpus)],
    )  # fmt: skip
    times = [] if found.nanoseconds is None else [{**_part(found.nanoseconds, {}), **_at(found)}]
    yield _gauge("helio.packet.time", "ns", "What a packet took the programs on average.", times)


def _pushed(found: Reports, pushed: Mapping[str, int], began: float) -> Iterator[dict[str, Any]]:
    times = _times(began, found.time)
    yield _sum("helio.reports", "{report}", "Earlier reports by what became of them.",
               [{**_whole(count, {"helio.report.outcome": outcome}), **times}
                for outcome, count in pushed.items()])  # fmt: skip


def _points(metric: Mapping[str, Any]) -> object:
    """What a metric says; nothing of one that was not measured."""
    return next(data["dataPoints"] for data in metric.values() if isinstance(data, dict))


# ---- their parts ----------------------------------------------------------------------------


def _sum(
    name: str, unit: str, about: str, points: _Points, temporality: int = _CUMULATIVE
) -> dict[str, Any]:
    data = {"aggregationTemporality": temporality, "isMonotonic": True, "dataPoints": points}
    return {"name": name, "unit": unit, "description": about, "sum": data}


def _histogram(name: str, unit: str, about: str, points: _Points) -> dict[str, Any]:
    data = {"aggregationTemporality": _CUMULATIVE, "dataPoints": points}
    return {"name": name, "unit": unit, "description": about, "histogram": data}


def _gauge(name: str, unit: str, about: str, points: _Points) -> dict[str, Any]:
    return {"name": name, "unit": unit, "description": about, "gauge": {"dataPoints": points}}


def _whole(value: int | None, attributes: Mapping[str, str]) -> dict[str, Any]:
    return {"asInt": str(int(value or 0)), "attributes": list(_attributes(attributes))}


def _part(value: float | None, attributes: Mapping[str, str]) -> dict[str, Any]:
    return {"asDouble": value, "attributes": list(_attributes(attributes))}


def _sizes(counts: Iterable[int], attributes: Mapping[str, str]) -> dict[str, Any]:
    found = list(counts)
    return {
        "count": str(sum(found)), "bucketCounts": [str(n) for n in found],
        "explicitBounds": [float(bound) for bound in SIZES],
        "attributes": list(_attributes(attributes)),
    }  # fmt: skip


def _attributes(of: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for key, value in of.items():
        yield {"key": key, "value": {"stringValue": value}}


def _nanoseconds(seconds: float) -> str:
    return str(int(seconds * 1e9))


def _at(found: Reports) -> dict[str, str]:
    return {"timeUnixNano": _nanoseconds(found.time)}


def _times(begin: float, end: float) -> dict[str, str]:
    start = _nanoseconds(min(begin, end))
    return {"startTimeUnixNano": start, "timeUnixNano": _nanoseconds(end)}


def _lately(found: Reports) -> dict[str, str]:
    return _times(found.time - found.seconds, found.time)
