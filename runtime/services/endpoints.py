"""Which endpoints of a service take its new connections, on one node.

As kube-proxy chooses them: those that are ready, and that topology hints mean for this node where
all of them have hints; without any, those that end and still serve (KEP-1669, KEP-2433, KEP-4444).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from .objects import Endpoint, Node, ServicePort, Slice

#: Members that a spread takes.
MOST = 255


class Backend(NamedTuple):
    """An endpoint's port. `name`: of its rule."""

    name: str
    port: int
    endpoint: Endpoint


def backends(slices: Iterable[Slice], family: int, port: ServicePort) -> dict[str, Backend]:
    """By name. One that stands in two slices while it moves is as good as the better of both."""
    found: dict[str, Backend] = {}
    for each in slices:
        if each.family != family:
            continue
        for name, protocol, number in each.ports:
            if (name, protocol) != (port.name, port.protocol):
                continue
            for endpoint in each.endpoints:
                made = Backend(_name(endpoint, number), number, endpoint)
                other = found.get(made.name)
                if other is None or _better(endpoint, other.endpoint):
                    found[made.name] = made
    return found


def anywhere(found: Mapping[str, Backend], node: Node) -> list[str]:
    """The endpoints of policy `Cluster`."""
    hinted = _hinted([b.endpoint for b in found.values() if b.endpoint.ready], node)
    return _taking(found, {name for name, b in found.items() if hinted(b.endpoint)})


def here(found: Mapping[str, Backend], node: Node) -> list[str]:
    """Those of policy `Local`."""
    return _taking(found, {name for name, b in found.items() if b.endpoint.node == node.name})


def few(names: Sequence[str], node: Node) -> list[str]:
    """As many as a spread takes: others on other nodes, and mostly the same after a change."""
    if len(names) <= MOST:
        return sorted(names)
    return sorted(sorted(names, key=lambda name: _rank(node.name, name))[:MOST])


def _name(endpoint: Endpoint, port: int) -> str:
    address = f"[{endpoint.address}]" if ":" in endpoint.address else endpoint.address
    return f"{address}:{port}" + (f"~{endpoint.pod[:8]}" if endpoint.pod else "")


def _better(one: Endpoint, other: Endpoint) -> bool:
    return _merit(one) > _merit(other)


def _merit(endpoint: Endpoint) -> tuple[object, ...]:
    return endpoint.ready, endpoint.serving, not endpoint.terminating, endpoint


def _taking(found: Mapping[str, Backend], meant: set[str]) -> list[str]:
    """Without one that is ready among those that are meant, any that ends and serves."""
    ready = [name for name in meant if found[name].endpoint.ready]
    return ready or [
        name for name in meant
        if found[name].endpoint.serving and found[name].endpoint.terminating
    ]  # fmt: skip


class _Hinted(NamedTuple):
    node: str
    zone: str

    def __call__(self, endpoint: Endpoint) -> bool:
        if self.node:
            return self.node in endpoint.nodes
        return not self.zone or self.zone in endpoint.zones


def _hinted(ready: Sequence[Endpoint], node: Node) -> _Hinted:
    """Hints count where all have some, and some are for us."""
    if ready and all(e.nodes for e in ready) and any(node.name in e.nodes for e in ready):
        return _Hinted(node.name, "")
    if node.zone and all(e.zones for e in ready) and any(node.zone in e.zones for e in ready):
        return _Hinted("", node.zone)
    return _Hinted("", "")


def _rank(node: str, name: str) -> bytes:
    return hashlib.blake2b(f"{node} {name}".encode(), digest_size=8).digest()
