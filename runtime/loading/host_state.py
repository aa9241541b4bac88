"""The host's interfaces, addresses, routes and neighbours, as far as a pipeline follows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...lang.text.diagnostics import Diagnostic
from ..kernel.netlink import Link as Interface
from ..ports.ports import Port

Neighbours = Mapping[tuple[int, bytes], bytes]
"""MAC addresses by interface and address."""
Routes = Mapping[tuple[int, bytes], "bytes | None"]
"""Neighbours by the interface and the address that they lead to; None without a route."""


@dataclass(frozen=True)
class HostState:
    """The host's state as far as a pipeline's ports need it. `routes`: of next hops in use; `bare`:
    numbers of the ports that have no program."""

    ports: tuple[Port, ...]
    local: frozenset[bytes]
    neighbours: Neighbours
    routes: Routes
    bare: frozenset[int]
    links: tuple[Interface, ...] = field(compare=False)


@dataclass(frozen=True)
class Refreshed:
    """`rules` got another next hop; `attached` names ports whose interface had gone and is back,
    `gone` those whose interface is missing. `findings`: why a port could not be attached."""

    rules: int
    attached: tuple[str, ...]
    gone: tuple[str, ...]
    findings: tuple[Diagnostic, ...] = ()
