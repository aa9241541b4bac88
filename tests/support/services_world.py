"""Objects of Kubernetes as its API server has them, and rules of `nodeport` without a kernel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from checked import checked
from helioc.compiler.driver import lower_pipeline
from helioc.compiler.manifest import manifest_of
from helioc.lang.contract.manifest.manifest import Manifest
from helioc.lang.contract.request.request import Request
from helioc.lang.contract.rules.bulk import Bulk
from helioc.lang.contract.rules.columns import Columns
from helioc.lang.contract.rules.rule_text import format_rule
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.contract.rules.wire import Codecs, decode, encode
from helioc.runtime.rules.report import Shown
from helioc.runtime.services.plan import Settings
from helioc.runtime.services.wanted import KINDS, Key, Rule, standing

HP = Path(__file__).parents[2] / "pipelines" / "nodeport.hp"
NODE = "node1"
PORTS = {"UPLINK": 1, "HOST": 2, "POD-A": 3, "POD-B": 4}
#: Addresses of pods on this node, and their ports.
PODS = {"10.244.1.2": "POD-A", "10.244.1.3": "POD-B", "fd00:1::2": "POD-A", "fd00:1::3": "POD-B"}
SETTINGS = Settings(NODE, "UPLINK", PODS.get)
Json = dict[str, Any]


@cache
def manifest() -> Manifest:
    pipeline = checked(HP)
    return manifest_of(pipeline, lower_pipeline(pipeline))


# ---- objects --------------------------------------------------------------------------------


def service(
    name: str = "web", *, ports: Sequence[Json] = (), created: str = "2026-01-01T00:00:00Z",
    labels: Mapping[str, str] | None = None, addresses: Sequence[str] = ("10.96.0.10",),
    balanced: Sequence[Json] = (), **spec: Any,
) -> Json:  # fmt: skip
    meta = {"namespace": "default", "name": name, "creationTimestamp": created,
            "labels": dict(labels or {})}  # fmt: skip
    spec = {"clusterIP": addresses[0], "clusterIPs": [*addresses], "type": "ClusterIP",
            "ports": [*ports] or [port()], **spec}  # fmt: skip
    status = {"loadBalancer": {"ingress": [*balanced]} if balanced else {}}
    return {"metadata": meta, "spec": spec, "status": status}


def port(number: int = 80, name: str = "http", protocol: str = "TCP", **more: Any) -> Json:
    return {"name": name, "port": number, "protocol": protocol, **more}


def endpoints(
    *found: Json, name: str = "web-a1b2c", of: str = "web", family: str = "IPv4",
    ports: Sequence[Json] = (),
) -> Json:  # fmt: skip
    """An EndpointSlice."""
    meta = {"namespace": "default", "name": name, "labels": {"kubernetes.io/service-name": of}}
    given = [*ports] or [{"name": "http", "port": 8080, "protocol": "TCP"}]
    return {"metadata": meta, "addressType": family, "ports": given, "endpoints": [*found]}


def endpoint(
    address: str, node: str = NODE, *, pod: str = "", ready: bool | None = None,
    serving: bool | None = None, terminating: bool | None = None, zones: Iterable[str] = (),
    nodes: Iterable[str] = (),
) -> Json:  # fmt: skip
    said = {"ready": ready, "serving": serving, "terminating": terminating}
    hints = {"forZones": [{"name": each} for each in zones],
             "forNodes": [{"name": each} for each in nodes]}  # fmt: skip
    return {
        "addresses": [address], "nodeName": node,
        "conditions": {name: value for name, value in said.items() if value is not None},
        "hints": {name: value for name, value in hints.items() if value},
        "targetRef": {"kind": "Pod", "uid": pod} if pod else None,
    }  # fmt: skip


def node(
    name: str = NODE, zone: str = "", addresses: Sequence[str] = ("192.0.2.11", "2001:db8::11")
) -> Json:
    labels = {"topology.kubernetes.io/zone": zone} if zone else {}
    given = [{"type": "InternalIP", "address": each} for each in addresses]
    given.append({"type": "Hostname", "address": name})
    return {"metadata": {"name": name, "labels": labels}, "status": {"addresses": given}}


# ---- rules ----------------------------------------------------------------------------------


class Book:
    """What an agent has, without a kernel: the planner of requests, and its rules."""

    def __init__(self) -> None:
        self.book = RuleBook(manifest(), PORTS, {n: n + 10 for n in PORTS.values()})
        self.codecs = Codecs(manifest(), self.book.kinds)
        self.sent = 0

    def apply(self, sent: Request | Columns) -> None:
        """As an agent does: a request comes as bytes. Raises `Refused`."""
        self.sent += 1
        if isinstance(sent, Columns):
            plan = Bulk(self.book, sent).plan()
        else:
            plan = self.book.plan(decode(encode(sent, self.codecs), self.codecs))
        self.book.commit(plan)

    def shown(self) -> list[Shown]:
        return [Shown(rule.kind, rule.id, rule.name, format_rule(rule, manifest(), self.book))
                for kind in KINDS for rule in self.book.rules(kind)]  # fmt: skip

    def rules(self) -> dict[Key, Rule]:
        return standing(self.shown())
