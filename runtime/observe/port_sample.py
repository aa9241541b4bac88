"""What a port of a loaded pipeline is like; `port_samples.py` looks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from ...lang.contract.manifest.manifest import AttachPoint
    from ..kernel.netlink import Counts

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
