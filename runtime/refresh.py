"""What the kernel owns, brought up to date in a loaded pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .plans import Changes

if TYPE_CHECKING:
    from .loader import Loaded


def refresh(loaded: Loaded) -> int:
    """Ports, the host's addresses, neighbours; then the rules whose next hop is another one now, in
    one transaction. Returns how many those are. Raises `Refused`."""
    loaded.ports = loaded.find_ports()
    loaded.neighbourhood.refresh(loaded.ports)
    loaded.write_surroundings()
    return refresh_rules(loaded)


def refresh_rules(loaded: Loaded) -> int:
    """Resolve the next hops in all rules again."""
    writer = loaded.writer
    stale = []
    for table in writer.tables.values():
        for rule in table.rules() if table.codec.has_next_hop else ():
            if table.next_hops_stale(rule, writer.next_hops.next_hop):
                stale.append((rule, rule))
    if stale:
        writer.try_apply(Changes(changed=tuple(stale)))
    return len(stale)
