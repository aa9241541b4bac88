"""What the kernel owns, brought up to date in a loaded pipeline."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import attach
from .handles import BpfError, Link, XdpMode
from .plans import Changes
from .ports import Port

if TYPE_CHECKING:
    from .loader import Loaded


@dataclass(frozen=True)
class Refreshed:
    """`rules` got another next hop; `attached` names ports whose interface had gone and is back,
    `gone` those whose interface is missing."""

    rules: int
    attached: tuple[str, ...]
    gone: tuple[str, ...]


def refresh(loaded: Loaded) -> Refreshed:
    """Ports, the host's addresses, neighbours; then the rules whose next hop is another one now, in
    one transaction. Raises `Refused`."""
    loaded.ports = loaded.find_ports()
    loaded.neighbourhood.refresh(loaded.ports)
    loaded.write_surroundings()
    here = {port.number for port in loaded.ports}
    gone = tuple(port.name for port in loaded.wanted if port.number not in here)
    return Refreshed(refresh_rules(loaded), _attach_again(loaded), gone)


def _attach_again(loaded: Loaded) -> tuple[str, ...]:
    """An interface takes its XDP link along when it goes; one that is back gets a new one."""
    bare = [port for port in loaded.ports if not _is_attached(loaded, port)]
    if bare:
        mode = XdpMode.GENERIC if loaded.mode == "generic" else XdpMode.NATIVE
        attach.check(bare, loaded.netlink.links(), mode, {}, loaded.manifest.forwards)
        for port in bare:
            attach.link_of(loaded.name, port.number).unlink(missing_ok=True)
        entries = loaded.entry_programs()
        attach.attach(bare, entries, mode, loaded.name, {})
    return tuple(port.name for port in bare)


def _is_attached(loaded: Loaded, port: Port) -> bool:
    with suppress(BpfError), Link.open_pinned(attach.link_of(loaded.name, port.number)) as link:
        return link.info().ifindex == port.ifindex
    return False


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
