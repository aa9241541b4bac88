"""Prints intents and their reports as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ..runtime.rules.report import table

if TYPE_CHECKING:
    from ..runtime.rpc import control_pb2 as pb


_LAST = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp()


def state_of(number: int) -> str:
    from ..runtime.rpc import control_pb2 as pb

    return pb.Intent.State.Name(number).lower()


def moment(seconds: float) -> str:
    """RFC 3339, to the second, in UTC: of whatever comes later the last that it can say."""
    return datetime.fromtimestamp(min(seconds, _LAST), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def said_of(intent: pb.Intent) -> str:
    """`video-17 is active until 2027-01-31T12:00:00Z: SERVICE 3`"""
    state, until = state_of(intent.state), ""
    if state == "pending":
        until = f" until it begins at {moment(intent.begins)}"
    elif state == "active" and intent.HasField("ends"):
        until = f" until {moment(intent.ends)}"
    rules = ", ".join(f"{rule.kind} {rule.id}" for rule in intent.rules[:8])
    more = f" and {len(intent.rules) - 8} more" if len(intent.rules) > 8 else ""
    about = intent.why or (f"{rules}{more}" if state == "active" else "")
    return f"{intent.id} is {state}{until}" + (f": {about}" if about else "")


def intent_rows(intents: Iterable[pb.Intent]) -> str:
    rows = []
    for each in intents:
        ends = moment(each.ends) if each.HasField("ends") else "-"
        rules = ", ".join(f"{rule.kind} {rule.id}" for rule in each.rules[:4])
        more = ", …" if len(each.rules) > 4 else ""
        about = each.why or f"{rules}{more}" or "-"
        rows.append((each.id, state_of(each.state), moment(each.begins), ends, about))
    head = ("intent", "state", "begins", "ends", "rules")
    return table(head, rows, frozenset()) if rows else "there are no intents"


def intent_json(intents: Iterable[pb.Intent]) -> list[dict[str, Any]]:
    return [
        {
            "resourceId": each.id, "pipeline": each.pipeline, "state": state_of(each.state),
            "begins": each.begins, "ends": each.ends if each.HasField("ends") else None,
            "rules": [[rule.kind, rule.id] for rule in each.rules], "why": each.why,
        }
        for each in intents
    ]  # fmt: skip


def report_rows(found: pb.IntentReports) -> str:
    """A line of the host and one for each intent."""
    host = found.host
    busy = " ".join(f"{cpu:.0%}" for cpu in host.cpus)
    lost = f"{host.softnet_drops} dropped by CPUs, {host.port_drops} by ports"
    if host.HasField("queue_drops"):
        lost += f", {host.queue_drops} behind the pipeline"
    each = f", {host.nanoseconds:.0f} ns a packet" if host.HasField("nanoseconds") else ""
    rows = []
    for report in found.intents:
        rate = report.new_packets / found.seconds if found.seconds else 0.0
        bits = 8 * report.new_octets / found.seconds if found.seconds else 0.0
        cpu = f"{report.cpu:.2%}" if report.HasField("cpu") else "-"
        at_most = f"{report.new_lost_at_most:,}" if report.HasField("new_lost_at_most") else "-"
        rows.append((f"{report.packets:,}", f"{report.octets:,}", f"{rate:,.0f}", f"{bits:,.0f}",
                     at_most, cpu, state_of(report.state), report.id))  # fmt: skip
    columns = ("packets", "bytes", "packets/s", "bits/s", "lost <=", "CPU", "state", "intent")
    head = f"{moment(found.time)}  the host: {lost}; CPUs busy {busy}{each}"
    return f"{head}\n{table(columns, rows, frozenset(range(6)))}"


def report_json(found: pb.IntentReports) -> dict[str, Any]:
    host = found.host
    return {
        "time": found.time, "seconds": found.seconds,
        "host": {
            "softnet_drops": host.softnet_drops, "port_drops": host.port_drops,
            "cpus": list(host.cpus),
            "nanoseconds": host.nanoseconds if host.HasField("nanoseconds") else None,
            "queue_drops": host.queue_drops if host.HasField("queue_drops") else None,
        },
        "intents": [
            {
                "resourceId": each.id, "state": state_of(each.state), "packets": each.packets,
                "octets": each.octets, "new_packets": each.new_packets,
                "new_octets": each.new_octets, "cpu": each.cpu if each.HasField("cpu") else None,
                "new_lost_at_most":
                    each.new_lost_at_most if each.HasField("new_lost_at_most") else None,
                "sizes": {str(size.octets): size.packets for size in each.sizes},
                "not_measured": list(each.not_measured),
            }
            for each in found.intents
        ],
    }  # fmt: skip
