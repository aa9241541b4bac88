"""The counters of loaded pipelines as Prometheus reads them (docs/metrics.md lists all).

The number of names and labels is bounded by the pipelines, not by their rules: single rules are
reported only of the kinds that are asked for, and of the busiest.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from itertools import accumulate
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt
from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from ...lang.text.diagnostics import Refused
from ..base.latency_stats import BOUNDS, LatencyReport
from ..base.paths import this_namespace
from ..base.published import published_by_agent
from ..base.waits import SLOW
from ..intents.push_status import OUTCOMES
from ..kernel.handles import BpfError
from ..kernel.netlink import Netlink
from ..loading.card_reader import reader_of
from ..loading.reader import Reader
from ..loading.releases import loaded_names
from .sampling import KindSample, Sample, sample

Array = npt.NDArray[Any]
#: Rules of a kind that are latency of one by one, the busiest: however many are asked for.
MOST_RULES = 1000
PREFIX = "helio_"
#: Groups of events: metric, the label of the reason, help.
_EVENTS = {
    "verdict": ("packets", "verdict", "Packets by what became of them."),
    "drop": ("drops", "reason", "Packets dropped for a reason of the data path's own."),
    "hook": ("hooks", "hook", "Packets that ran a hook."),
    "miss": ("misses", "kind", "Look-ups that found nothing, by rule kind or state."),
    "lost": ("state_changes_lost", "state", "Changes of entries that were gone meanwhile."),
    "evicted": ("state_evictions", "state", "Entries that made room for others."),
    "kept": ("kept", "reason", "Packets that were not forwarded, but left to the kernel."),
    "emitted": ("events", "event", "Records of events that packets and rules raised."),
    "suppressed": ("events_suppressed", "event", "Events of packets that were over a limit."),
    "unwritten": ("events_lost", "event", "Events of packets for which the ring had no room."),
    "count": ("counted", "reason", "Packets that came to a `count` of the pipeline."),
}
_PORT = {
    "receive_packets": "rx_packets",
    "receive_bytes": "rx_bytes",
    "receive_drops": "rx_dropped",
    "receive_errors": "rx_errors",
    "transmit_packets": "tx_packets",
    "transmit_bytes": "tx_bytes",
    "transmit_drops": "tx_dropped",
    "transmit_errors": "tx_errors",
}


class Metrics(Collector):
    """Of every pipeline of this network namespace, or of one. Counters of a kind go on where rules
    are deleted, as far as was seen: each look adds what its rules counted since the last."""

    def __init__(self, name: str = "") -> None:
        self._name, self._lock = name, Lock()
        self._totals: dict[tuple[str, str], _Total] = {}

    def collect(self) -> Iterable[Metric]:
        return self.families(())

    def kinds(self) -> set[str]:
        """The rule kinds that there are."""
        return loaded_kinds(self._name)

    def families(self, rules_of: Collection[str]) -> list[Metric]:
        """All metrics; `rules_of`: kinds of which single rules are reported, too."""
        begun = time.monotonic()
        found = _Families()
        with self._lock, Netlink() as netlink:
            names = [self._name] if self._name else loaded_names(this_namespace())
            for name in names:
                # one that is unloaded just now is none any more
                with suppress(Refused, BpfError, FileNotFoundError), reader_of(name) as reader:
                    self._pipeline(found, reader, sample(reader, netlink), rules_of)
        found.gauge("journal_losses", "What the agent's journal has lost and nobody has accepted.",
                    {}, published_by_agent("journal") or 0)  # fmt: skip
        for certificate, subject, ends in published_by_agent("certificates") or ():
            labels = {"certificate": certificate, "subject": subject}
            help_ = "When a certificate of the agent's ends, in seconds of the Unix epoch."
            found.gauge("certificate_ends_seconds", help_, labels, ends)
        found.gauge("scrape_seconds", "How long it took to find all this out.", {},
                    time.monotonic() - begun)  # fmt: skip
        return list(found)

    def _pipeline(
        self, found: _Families, reader: Reader, now: Sample, rules_of: Collection[str]
    ) -> None:
        of, manifest = {"pipeline": now.name}, reader.manifest
        about = {**of, "program": manifest.pipeline, "digest": manifest.digest[:12]}
        found.gauge("pipeline_info", "1; what is loaded.", about, 1)
        found.gauge("revision", "Number of the last transaction.", of, now.revision)
        found.gauge("epoch", "What packets compare: the lowest 16 bits of the revision.", of,
                    now.revision & 0xFFFF)  # fmt: skip
        _events(found, now, of)
        for event, due in now.due.items():
            help_ = "Events that rules are to raise and that wait for the event's limit."
            found.gauge("events_due", help_, {**of, "event": event}, due)
        for kind in now.kinds:
            key = f"{now.name} {reader.incarnation}", kind.kind.name
            total = self._totals.setdefault(key, _Total())
            _kind(found, kind, {**of, "kind": kind.kind.name}, total)
            if kind.kind.name in rules_of:
                _rules(found, reader, kind, of)
        for state, entries in now.states:
            labels = {**of, "state": state.name}
            found.gauge("state_entries", "Entries of a state table.", labels, entries)
            found.gauge("state_capacity", "Entries that there is room for.", labels, state.capacity)
        _ports(found, now, of)
        _overlays(found, now, of)
        _steered(found, now, of)
        _sessions(found, now, of)
        for outcome in OUTCOMES if now.reports is not None else ():
            help_ = "Reports of intents that the agent pushed, dropped, or failed to push once."
            count = getattr(now.reports, outcome)
            found.counter("reports", help_, {**of, "outcome": outcome}, count)
        if now.tally is not None:
            _requests(found, now.tally, of)


def loaded_kinds(name: str = "") -> set[str]:
    """The rule kinds of the pipelines that metrics are of."""
    found = set[str]()
    for each in [name] if name else loaded_names(this_namespace()):
        with suppress(Refused, BpfError, FileNotFoundError), reader_of(each) as reader:
            found |= {kind.name for kind in reader.manifest.rules}
    return found


def exposition(rules_of: Collection[str] = (), name: str = "") -> str:
    """All metrics once, in Prometheus' text format."""
    return render(Metrics(name).families(rules_of), generate_latest).decode()


def render(families: Iterable[Metric], encode: Callable[[Any], bytes]) -> bytes:
    """Metrics by one of prometheus_client's encoders."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collected(families))
    return encode(registry)


class _Collected(Collector):
    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


# ---- families -------------------------------------------------------------------------------


class _Families:
    """Metrics by name, in the order in which they were first used."""

    def __init__(self) -> None:
        self._found: dict[str, Metric] = {}

    def __iter__(self) -> Iterator[Metric]:
        return iter(self._found.values())

    def counter(self, name: str, help_: str, labels: dict[str, str], value: float) -> None:
        """`name` without its `_total`."""
        self._add(CounterMetricFamily, name, help_, labels, value)

    def gauge(self, name: str, help_: str, labels: dict[str, str], value: float) -> None:
        self._add(GaugeMetricFamily, name, help_, labels, value)

    def histogram(
        self, name: str, help_: str, labels: dict[str, str], counts: Iterable[int], sum_: float
    ) -> None:
        """`counts`: of each class by `BOUNDS`, and of what is above."""
        bounds = (*map(repr, BOUNDS), "+Inf")
        buckets = list(zip(bounds, accumulate(counts), strict=True))
        self._family(HistogramMetricFamily, name, help_, labels).add_metric(
            list(labels.values()), buckets, sum_
        )

    def _add(self, form: Any, name: str, help_: str, labels: dict[str, str], value: float) -> None:
        self._family(form, name, help_, labels).add_metric(list(labels.values()), value)

    def _family(self, form: Any, name: str, help_: str, labels: Iterable[str]) -> Any:
        family = self._found.get(name)
        if family is None:
            family = self._found[name] = form(f"{PREFIX}{name}", help_, labels=list(labels))
        return family


def _events(found: _Families, now: Sample, of: dict[str, str]) -> None:
    for counter, count in now.events:
        if counter.group == "malformed":
            node, _, error = counter.reason.partition(": ")
            help_ = "Packets that are malformed, by the header where that was seen."
            found.counter("parse_errors", help_, {**of, "node": node, "error": error}, count)
            continue
        name, label, help_ = _EVENTS.get(
            counter.group, (counter.group, "reason", "Events of the data path.")
        )
        found.counter(name, help_, {**of, label: counter.reason}, count)


def _kind(found: _Families, now: KindSample, labels: dict[str, str], total: _Total) -> None:
    kind = now.kind
    found.gauge("rules", "Rules that there are.", labels, now.rules)
    found.gauge("rules_capacity", "Rules that there is room for.", labels, kind.capacity)
    if now.masks is not None:
        found.gauge("masks", "Masks under which rules are looked for.", labels, now.masks)
        found.gauge("masks_capacity", "Masks that there can be.", labels, kind.tuples)
    if kind.counts:
        packets, byte_count = total.add(now)
        found.counter("rule_packets", "Packets that rules counted.", labels, packets)
        found.counter("rule_bytes", "Bytes on arrival that rules counted.", labels, byte_count)


def _rules(found: _Families, reader: Reader, now: KindSample, of: dict[str, str]) -> None:
    if not now.kind.counts:
        return
    for row in busiest(now.counts[:, 0], MOST_RULES):
        rule = reader.rule_in(now.kind, int(now.cells[row]))
        if rule is None or rule.sequence != int(now.sequences[row]):
            continue
        # rules of a group share an id: what tells them apart is their age
        labels = {**of, "kind": rule.kind, "id": str(rule.id), "name": rule.name,
                  "sequence": str(rule.sequence)}  # fmt: skip
        packets, byte_count = now.counts[row].tolist()
        found.counter("single_rule_packets", "Packets that a rule counted.", labels, packets)
        found.counter("single_rule_bytes", "Bytes that a rule counted.", labels, byte_count)


def _ports(found: _Families, now: Sample, of: dict[str, str]) -> None:
    for port in now.ports:
        labels = {**of, "port": port.name, "role": port.role, "interface": port.interface}
        help_ = "1 where the port's interface has a program, is up, and has a carrier."
        found.gauge("port_up", help_, labels, int(port.state == "up"))
        if port.counts is None:
            continue
        for name, field in _PORT.items():
            help_ = f"The kernel's {field} of the port's interface."
            found.counter(f"port_{name}", help_, labels, getattr(port.counts, field))


def _overlays(found: _Families, now: Sample, of: dict[str, str]) -> None:
    for kind, name, quality in now.overlays:
        labels = {**of, "kind": kind, "overlay": name}
        help_ = "1 unless the overlay is found dead, so that spreads leave it out."
        found.gauge("overlay_up", help_, labels, int(quality.state != "dead"))
        help_ = "The part of the last 100 probes that was not answered in time."
        found.gauge("overlay_loss_ratio", help_, labels, quality.loss)
        if quality.delays is not None:
            delay, jitter = quality.delays
            help_ = "Round-trip time of probes, smoothed."
            found.gauge("overlay_delay_seconds", help_, labels, delay)
            found.gauge("overlay_jitter_seconds", "Its mean deviation.", labels, jitter)
        found.counter("overlay_probes", "Probes sent.", labels, quality.sent)
        found.counter("overlay_answers", "Probes answered in time.", labels, quality.answered)


def _steered(found: _Families, now: Sample, of: dict[str, str]) -> None:
    for spread in now.steered:
        labels = {**of, "kind": spread.kind, "rule": spread.text}
        help_ = "How often other members of a spread took flows, by what its paths measure."
        found.counter("steering_changes", help_, labels, spread.changes)
        for member in spread.members:
            which = {**labels, "member": f"{member.kind} {member.id}", "overlay": member.overlay}
            help_ = "The weight that packets find: the rule's own, or 0."
            found.gauge("steering_weight", help_, which, member.in_force)


def _sessions(found: _Families, now: Sample, of: dict[str, str]) -> None:
    for each in now.sessions:
        labels = {**of, "ssid": str(each.ssid), "session": each.name}
        help_ = "1 while the session of STAMP sends test packets."
        found.gauge("stamp_running", help_, labels, int(each.running))
        for what, count in each.counts.items():
            help_ = "Test packets of the session and answers to them, by what became of them."
            found.counter("stamp_packets", help_, {**labels, "what": what}, count)
        for direction, (delays, delay, pairs, jitter) in each.delays.items():
            towards = {**labels, "direction": direction}
            found.counter("stamp_delays", "Delays that were measured.", towards, delays)
            found.counter("stamp_delay_seconds", "Their sum.", towards, delay)
            help_ = "Variations of the delay from one packet to the next."
            found.counter("stamp_jitters", help_, towards, pairs)
            found.counter("stamp_jitter_seconds", "Their sum.", towards, jitter)


def _requests(found: _Families, latency: LatencyReport, of: dict[str, str]) -> None:
    help_ = "How long requests took: until in force, and from then until they could be answered."
    for step, made in (("force", latency.force), ("answer", latency.answer)):
        labels = {**of, "step": step}
        found.histogram("request_seconds", help_, labels, made.counts, made.sum)
    found.counter("requests_refused", "Requests that were refused.", of, latency.refused)
    help_ = f"Requests that took {1000 * SLOW:g} ms and more."
    found.counter("slow_requests", help_, of, latency.slow)
    help_ = "Seconds that these took, by what they waited for."
    for cause, seconds in latency.waits.items():
        found.counter("slow_request_seconds", help_, {**of, "wait": cause}, seconds)
    help_ = "How often an agent took the pipeline over, since it was loaded or the host booted."
    found.counter("agent_starts", help_, of, latency.starts)
    help_ = "When an agent did last, in seconds of the Unix epoch."
    found.gauge("agent_start_time_seconds", help_, of, latency.started)


def busiest(values: Array, most: int) -> list[int]:
    """Rows of the highest values that are not 0, falling."""
    if 0 < most < len(values):
        rows = np.argpartition(values, -most)[-most:]
    else:
        rows = np.arange(min(most, len(values)))
    rows = rows[np.argsort(values[rows], kind="stable")[::-1]]
    return [int(row) for row in rows if values[row]]


class _Total:
    """What the rules of a kind counted, including deleted ones."""

    def __init__(self) -> None:
        self._sum = np.zeros(2, np.uint64)
        self._last: KindSample | None = None

    def add(self, now: KindSample) -> tuple[int, int]:
        """Packets and bytes up to now."""
        self._sum += gained(self._last, now).sum(axis=0, dtype=np.uint64)
        self._last = now
        packets, byte_count = self._sum.tolist()
        return packets, byte_count


def gained(last: KindSample | None, now: KindSample) -> Array:
    """What each rule counted since: all of it where there is no `last`, or it is new. A rule is
    known by its sequence, for an upgrade may give it another cell. No rows where the kind does not
    count."""
    if last is None or not len(last.counts):
        return now.counts
    order = np.argsort(last.sequences, kind="stable")
    at = np.searchsorted(last.sequences, now.sequences, sorter=order)
    at = order[np.minimum(at, len(order) - 1)]
    before = last.counts[at]
    same = (last.sequences[at] == now.sequences) & (now.counts[:, 0] >= before[:, 0])
    more: Array = now.counts - np.where(same[:, None], before, np.uint64(0))
    return more
