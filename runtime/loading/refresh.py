"""Updates a loaded pipeline to the host's interfaces, addresses, routes and neighbours."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...lang.text.diagnostics import Diagnostic, Refused
from ..kernel.netlink import Netlink
from ..ports.ports import Port, find_ports, local_addresses
from ..rules.bulk import rows
from ..rules.plans import Change, Changes
from ..rules.stored import SLOT
from ..rules.tables import Table, record_numbers
from . import attach
from .attach import bare_ports
from .host_state import HostState, Refreshed, Routes
from .opened import Opened
from .pinned import Pinned


def observe_host(netlink: Netlink, loaded: Pinned, routes: Routes | None = None) -> HostState:
    """Query the kernel; for routes only where they are not given. From any thread."""
    links, addresses = netlink.links(), netlink.addresses()
    ports = find_ports(loaded.port_configs, links, addresses)
    above = {port.number: port.neighbours_of for port in ports}
    neighbours = netlink.neighbours()
    if routes is None:
        asked = [(above[n], to) for n, to in loaded.next_hops.asked() if n in above]
        routes = {(index, to): netlink.next_hop(index, to) for index, to in set(asked)}
    bare = frozenset(port.number for port in bare_ports(loaded.name, ports, links))
    return HostState(
        tuple(ports), frozenset(local_addresses(addresses)),
        {key: mac for key, mac in neighbours.items() if key[0] in above.values()},
        routes, bare, tuple(links),
    )  # fmt: skip


def refresh(loaded: Opened, seen: HostState | None = None) -> Refreshed:
    """Update ports, addresses and neighbours; then, in one transaction, the rules whose next hop
    changed; then links: an interface that went took its link along, and gets a new one when it is
    back. Raises `Refused`."""
    if seen is None:
        seen = observe_host(loaded.netlink, loaded)
    _renumber(loaded, seen.ports)
    stale = loaded.next_hops.refresh(seen.ports, seen.neighbours, seen.routes)
    loaded.write_host_state(seen.local)
    rules = refresh_rules(loaded, stale)
    loaded.seen = seen
    attached, findings = _attach_again(loaded, seen)
    here = {port.number for port in loaded.ports}
    gone = tuple(port.name for port in loaded.port_configs if port.number not in here)
    return Refreshed(rules, attached, gone, tuple(findings))


def _renumber(loaded: Opened, ports: Iterable[Port]) -> None:
    """Set the ports. Requests may name interfaces by kernel numbers: if these change so does the
    revision, so that a journal shows which numbers a request meant."""
    loaded.ports = list(ports)
    ifindexes = {port.number: port.ifindex for port in loaded.ports}
    if ifindexes != loaded.book.ifindexes:
        loaded.book.ifindexes = ifindexes
        loaded.writer.skip_to(loaded.revision + 1)


def _attach_again(loaded: Opened, seen: HostState) -> tuple[tuple[str, ...], list[Diagnostic]]:
    """Names of the ports that got a new link, and why others got none."""
    bare = [
        port
        for port in loaded.ports
        if not attach.is_attached(loaded.name, port.number, port.ifindex)
    ]
    attached, findings = list[str](), list[Diagnostic]()
    if not bare:
        return (), findings
    mode = attach.mode_of(loaded.mode)
    for port in bare:
        try:
            attach.check(loaded.manifest, [port], seen.links, mode, {}, loaded.ports)
            attach.link_of(loaded.name, port.number).unlink(missing_ok=True)
            attach.attach(loaded, [port], mode, {})
            attached.append(port.name)
        except Refused as error:
            findings += error.diagnostics
    return tuple(attached), findings


def refresh_rules(loaded: Opened, stale: frozenset[bytes] | None = None) -> int:
    """Resolve the next hops in rules again, in all or in those that have one of `stale`: what they
    resolved to when they were written."""
    writer, found = loaded.writer, list[Change]()
    for table in writer.tables.values():
        if table.codec.has_next_hop:
            cells = table.sequences.values() if stale is None else _having(table, stale)
            for rule in [table.rule_at(cell) for cell in cells]:
                if table.next_hops_stale(rule, writer.next_hops.next_hop):
                    found.append((rule, rule))
    if found:
        writer.try_apply(Changes(changed=found))
    loaded.next_hops.complete = True
    return len(found)


def _having(table: Table, stale: frozenset[bytes]) -> list[int]:
    """The cells of live rules with one of these next hops, found without making the rules."""
    slots = np.frombuffer(table.cells, "<u8") >> np.uint64(24) & np.uint64(SLOT)
    slots[0] = 0  # the directory's
    live = np.flatnonzero(slots) if stale else np.array([], np.int64)
    records = rows(table.records, table.record_stride)
    at = record_numbers(table.kind, live, slots[live])
    hit = np.zeros(len(live), np.bool_)
    for member in table.kind.record:
        if member.kind == "next_hop":
            data = records[at, member.offset : member.offset + member.size].tobytes()
            starts = range(0, len(data), member.size)
            hit |= np.array([data[i : i + member.size] in stale for i in starts], np.bool_)
    cells: list[int] = live[hit].tolist()
    return cells
