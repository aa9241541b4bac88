"""Sets the filter of a traced build, and reads its records as traces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...lang.contract.manifest.manifest import Manifest
from ...lang.contract.trace.decode import Decoder, Recorded
from ...lang.contract.trace.schema import Schema
from ..kernel.handles import Map
from ..kernel.ring import Ring
from ..rules.counters import read_sums
from ..rules.images import ImageCodec
from .control import Control, TraceFilter


class Tracer:
    """Has a traced build's programs record packets, and reads the records. Close it."""

    def __init__(self, schema: Schema, manifest: Manifest, maps: Mapping[str, Map]) -> None:
        """`maps` by whole name, the caller's. Raises BpfError."""
        self._maps = maps
        self._control = Control(maps["trace_control"])
        self._ring = Ring(maps["trace_ring"])
        self._codecs = {kind.name: ImageCodec(manifest, kind) for kind in manifest.rules}
        self._decoder = Decoder(schema, manifest, self._name_of)

    def ask(self, asked: TraceFilter, seconds: float | None = None) -> None:
        """Which packets are recorded, from now on, for so long (None: for ever)."""
        self._control.ask(asked, seconds)

    @property
    def keeps_frames(self) -> bool:
        """Whether a filter may ask for whole frames."""
        return self._control.keeps_frames

    def take(self, count: int) -> None:
        """Record so many more packets of which frames are wanted whole."""
        self._control.take(count)

    def extend(self, seconds: float) -> None:
        """For so long from now on."""
        self._control.extend(seconds)

    def wait(self, seconds: float) -> None:
        """Until a packet was recorded, or so long."""
        self._ring.wait(seconds)

    def recorded(self) -> Iterator[Recorded]:
        """The traces since the last call."""
        return map(self._decoder.decode, self._ring.records())

    @property
    def lost(self) -> int:
        """How many packets were selected, but came too fast."""
        return int(read_sums(self._maps["trace_lost"], 1)[0, 0])

    def _name_of(self, kind: str, slot: int, sequence: int) -> str:
        """By the control plane's own copy, if that is still of this rule."""
        codec = self._codecs[kind]
        if not codec.kind.named:
            return ""
        image = self._maps[f"{codec.kind.prefix}_images"].lookup(slot.to_bytes(4, "little"))
        try:
            rule, _ = codec.rule_of(image or b"")
        except (ValueError, IndexError):
            return ""
        return rule.name if rule.sequence == sequence else ""

    def close(self) -> None:
        """May be called again."""
        self._ring.close()
        self._control.close()

    def __enter__(self) -> Tracer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
