"""The state of a pipeline's ports by the kernel's interfaces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ...lang.contract.manifest.manifest import AttachPoint
from ..loading.attach import has_program

if TYPE_CHECKING:
    from ..kernel.netlink import Counts, Link
    from ..ports.ports import Port, PortConfig

#: Of a port's interface: it carries packets; it is set down; its link is; it has no program; it is
#: missing.
PortState = Literal["up", "down", "no carrier", "no program", "gone"]


@dataclass(frozen=True)
class PortSample:
    """A port; `counts`: what the kernel counted of its interface, None while that is missing; `at`:
    where its program is attached."""

    name: str
    role: str
    interface: str
    state: PortState
    counts: Counts | None
    at: AttachPoint = "xdp"

    @property
    def place(self) -> str:
        """`eth0`, `eth0 at tc.ingress`."""
        return self.interface if self.at == "xdp" else f"{self.interface} at {self.at}"


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
