"""The state of a pipeline's ports by the kernel's interfaces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ..loading.attach import has_program
from .port_sample import PortSample, PortState

if TYPE_CHECKING:
    from ..kernel.netlink import Link
    from ..ports.ports import Port, PortConfig


def port_samples(
    name: str, ports: Iterable[PortConfig | Port], roles: Sequence[str], links: Iterable[Link]
) -> Iterator[PortSample]:
    """Of each port of a loaded pipeline, as its interface is among `links`."""
    by_name = {link.name: link for link in links}
    for port in ports:
        link = by_name.get(port.interface)
        counts = link.counts if link is not None else None
        state = _state(name, port, link)
        yield PortSample(port.name, roles[port.role], port.interface, state, counts, port.at)


def _state(name: str, port: PortConfig | Port, link: Link | None) -> PortState:
    if link is None:
        return "gone"
    if not has_program(name, port, link):
        return "no program"
    return "down" if not link.up else "up" if link.carrier else "no carrier"
