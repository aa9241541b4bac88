"""The events that a private run's packets raise."""

from __future__ import annotations

from collections.abc import Mapping

from ...lang.contract.manifest.manifest import EventRing
from ...lang.contract.world.emitted import by_tag, decode
from ...lang.contract.world.environment import Emitted
from ..kernel.handles import Map
from ..kernel.ring import Ring


class EmittedEvents:
    """Reads the ring after each packet. `limited`: the limits hold from packet to packet. Close
    it."""

    def __init__(self, ring: EventRing, maps: Mapping[str, Map]) -> None:
        """Raises BpfError."""
        self.limited = False
        self._kinds = by_tag(ring.kinds)
        self._buckets = maps["event_buckets"].mmap()
        self._ring = Ring(maps["event_ring"])

    def begin(self) -> None:
        """A packet is to come: unless the limits hold on, its buckets are full."""
        if not self.limited:
            self.refill()

    def refill(self) -> None:
        """No event was raised yet."""
        self._buckets[:] = bytes(len(self._buckets))

    def read(self) -> tuple[Emitted, ...]:
        """Those of the packets since the last call. Raises `Unreadable`."""
        return tuple(decode(record, self._kinds).emitted for record in self._ring.records())

    def close(self) -> None:
        """May be called again."""
        self._ring.close()
        self._buckets.release()

    def __enter__(self) -> EmittedEvents:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
