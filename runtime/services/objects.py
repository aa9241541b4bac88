"""What is read of Kubernetes' objects: Services, EndpointSlices, and the Node.

As the API server has them in JSON. What a field that is missing means is what the API's reference
says of it (`k8s.io/api/core/v1`, `discovery/v1`). What cannot be read raises `Unreadable`.
"""

from __future__ import annotations

from collections.abc import Mapping
from socket import AF_INET, AF_INET6, inet_ntop, inet_pton
from typing import Any, NamedTuple

Json = Mapping[str, Any]
#: Of an EndpointSlice: its Service. Of either: whom it is for, if not for us.
OWNER, OTHER_PROXY = "kubernetes.io/service-name", "service.kubernetes.io/service-proxy-name"
ZONE = "topology.kubernetes.io/zone"
#: Of a Service, as a label or an annotation: the number of its SLICE.
SLICE = "helio/slice"
_HOURS = 10800  # seconds that session affinity lasts where nothing is said


class Key(NamedTuple):
    """Of an object within its resource."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class Unreadable(ValueError):
    """An object that is not what the API says it is."""


class ServicePort(NamedTuple):
    """`name` is its number where it has none; `node_port` is 0 where it has none."""

    name: str
    protocol: str
    number: int
    node_port: int


class Service(NamedTuple):
    """`created`: as text that sorts by time. `balanced`: addresses of load balancers whose packets
    arrive with them. `ranges`: `loadBalancerSourceRanges`. `affinity`: seconds, or 0."""

    key: Key
    created: str
    cluster: tuple[str, ...]
    external: tuple[str, ...]
    balanced: tuple[str, ...]
    ranges: tuple[str, ...]
    ports: tuple[ServicePort, ...]
    external_local: bool
    internal_local: bool
    affinity: int
    slice: int

    @property
    def age(self) -> tuple[str, Key]:
        """Sorts the oldest first."""
        return self.created, self.key


class Endpoint(NamedTuple):
    """`node`: where it is, or "". `zones` and `nodes`: which of them it is for, by hints. `pod`: of
    whom the address is; another pod with the same one is another endpoint."""

    address: str
    ready: bool
    serving: bool
    terminating: bool
    node: str
    zones: tuple[str, ...]
    nodes: tuple[str, ...]
    pod: str


class Slice(NamedTuple):
    """An EndpointSlice. `ports`: name, protocol, number."""

    key: Key
    service: Key
    family: int
    ports: tuple[tuple[str, str, int], ...]
    endpoints: tuple[Endpoint, ...]


class Node(NamedTuple):
    """The addresses by which it is reached, the first of each family its own."""

    name: str
    zone: str = ""
    addresses: tuple[str, ...] = ()


def key_of(found: Json) -> Key:
    meta = found["metadata"]
    return Key(str(meta.get("namespace") or ""), str(meta["name"]))


def service_of(found: Json) -> Service | None:
    """None: it has no address, as headless ones and those of `ExternalName`, or is somebody
    else's."""
    try:
        return _service(found)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Unreadable(f"{type(error).__name__}: {error}") from None


def slice_of(found: Json) -> Slice | None:
    """None: it belongs to no Service, or has names in place of addresses."""
    try:
        return _slice(found)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Unreadable(f"{type(error).__name__}: {error}") from None


def node_of(found: Json) -> Node:
    try:
        given = found.get("status", {}).get("addresses") or ()
        by_type = {t: [_address(a["address"]) for a in given if a["type"] == t]
                   for t in ("InternalIP", "ExternalIP")}  # fmt: skip
        addresses = tuple(dict.fromkeys(by_type["InternalIP"] + by_type["ExternalIP"]))
        labels = found["metadata"].get("labels") or {}
        return Node(str(found["metadata"]["name"]), str(labels.get(ZONE, "")), addresses)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Unreadable(f"{type(error).__name__}: {error}") from None


def family_of(address: str) -> int:
    return 6 if ":" in address else 4


def _service(found: Json) -> Service | None:
    meta, spec = found["metadata"], found["spec"]
    labels = meta.get("labels") or {}
    cluster = spec.get("clusterIPs") or [spec.get("clusterIP") or ""]
    if spec.get("type") == "ExternalName" or cluster[0] in ("", "None") or OTHER_PROXY in labels:
        return None
    ingress = found.get("status", {}).get("loadBalancer", {}).get("ingress") or ()
    affinity = 0
    if spec.get("sessionAffinity") == "ClientIP":
        said = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
        affinity = int(said.get("timeoutSeconds") or _HOURS)
    return Service(
        key_of(found), str(meta.get("creationTimestamp") or ""),
        tuple(map(_address, cluster)), tuple(map(_address, spec.get("externalIPs") or ())),
        tuple(_address(each["ip"]) for each in ingress
              if each.get("ip") and each.get("ipMode") != "Proxy"),
        tuple(map(str, spec.get("loadBalancerSourceRanges") or ())),
        tuple(map(_port, spec.get("ports") or ())),
        spec.get("externalTrafficPolicy") == "Local", spec.get("internalTrafficPolicy") == "Local",
        affinity, _number_of_slice(labels, meta.get("annotations") or {}),
    )  # fmt: skip


def _port(found: Json) -> ServicePort:
    number = int(found["port"])
    return ServicePort(str(found.get("name") or ""), str(found.get("protocol") or "TCP"), number,
                       int(found.get("nodePort") or 0))  # fmt: skip


def _number_of_slice(*where: Mapping[str, str]) -> int:
    said = next((each[SLICE] for each in where if SLICE in each), "0")
    if not (said.isascii() and said.isdecimal() and int(said) < 1 << 16):
        raise ValueError(f"`{SLICE}: {said}` is no number of a SLICE, 1 to 65535")
    return int(said)


def _slice(found: Json) -> Slice | None:
    meta = found["metadata"]
    owner = (meta.get("labels") or {}).get(OWNER)
    family = {"IPv4": 4, "IPv6": 6}.get(found["addressType"])
    if not owner or family is None:
        return None
    ports = tuple(
        (str(each.get("name") or ""), str(each.get("protocol") or "TCP"), int(each["port"]))
        for each in found.get("ports") or () if each.get("port") is not None
    )  # fmt: skip
    key = key_of(found)
    endpoints = tuple(map(_endpoint, found.get("endpoints") or ()))
    return Slice(key, Key(key.namespace, str(owner)), family, ports, endpoints)


def _endpoint(found: Json) -> Endpoint:
    said, hints = found.get("conditions") or {}, found.get("hints") or {}
    ready = said.get("ready") is not False
    serving = ready if said.get("serving") is None else bool(said["serving"])
    pod = (found.get("targetRef") or {}).get("uid") or ""
    return Endpoint(
        _address(found["addresses"][0]), ready, serving, bool(said.get("terminating")),
        str(found.get("nodeName") or ""),
        tuple(str(each["name"]) for each in hints.get("forZones") or ()),
        tuple(str(each["name"]) for each in hints.get("forNodes") or ()), str(pod),
    )  # fmt: skip


def _address(text: str) -> str:
    """In its canonical form, which rules have, too."""
    family = AF_INET6 if ":" in text else AF_INET
    try:
        return inet_ntop(family, inet_pton(family, text))
    except OSError:
        raise ValueError(f"`{text}` is no address") from None
