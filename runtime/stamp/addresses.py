"""The addresses that a session has from the host it runs on."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address

from ..base.errors import refused
from ..kernel.netlink import Netlink
from .errors import no_address, no_way
from .parameters import Parameters
from .sockets import source_for


def resolved(about: Parameters, source4: str, source6: str) -> Parameters:
    """With its `source`, and the `outer` one where it takes one: what it says, what is usual here
    (`source4`, `source6`), what the route has. Raises `Refused`."""
    usual = source4 if about.version == 4 else source6
    outer = about.outer
    if about.way in ("H_ENCAPS", "H_ENCAPS_RED"):
        same = about.source or usual if about.version == 6 else ""
        outer = outer or same or source6 or _routed(about.sids[0])
    source = about.source or usual or _routed(_first(about))
    for address in filter(None, (source, outer)):
        need_own(address)
    return replace(about, source=source, outer=outer)


def _first(about: Parameters) -> str:
    """Where its packets go first, as far as that is of the reflector's version."""
    return about.sids[0] if about.sids and about.version == 6 else about.reflector


def _routed(to: str) -> str:
    try:
        return source_for(to)
    except OSError as error:
        raise refused(no_way(to, (error.strerror or str(error)).lower())) from None


def need_own(address: str) -> None:
    """Raises `Refused` where the host does not have it."""
    with Netlink() as netlink:
        have = {each.address for each in netlink.addresses()}
    if ip_address(address).packed not in have:
        known = sorted(str(ip_address(each)) for each in have if len(each) in (4, 16))
        raise refused(no_address(address, known))
