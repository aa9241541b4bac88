"""What a traced unit writes down of a packet, read as the record of a traced program is."""

from __future__ import annotations

from ....lang.contract.manifest.manifest import Manifest
from ....lang.contract.trace.decode import Decoder
from ....lang.contract.trace.schema import FORMAT, HEAD, SNAP, WORDS, Schema
from ....lang.contract.trace.steps import Step
from ..unit import Unit
from .memory import ones
from .tables import Tables

Read = tuple[tuple[tuple[str, int], ...], tuple[Step, ...]]


class Traces:
    """Of one traced unit."""

    def __init__(self, unit: Unit, manifest: Manifest) -> None:
        assert unit.traced is not None
        self._places, self._manifest = unit.traced.places, manifest
        self._prefixes = {t.rule.name: t.manifest.prefix for t in unit.tables}
        nodes, points = unit.traced.nodes, unit.traced.points
        self._schema = Schema(FORMAT, unit.name, "", "", nodes, points)

    def read(self, found: dict[int, int], words: list[int], tables: Tables) -> Read:
        """The path and the steps of a packet. `found`: nodes, and one more than where they
        start."""

        def name_of(kind: str, slot: int, _: int) -> str:
            rule = tables.rule(self._prefixes[kind], slot)
            return (rule.name or "") if rule else ""

        starts = (found.get(i, 0).to_bytes(2, "little") for i in range(self._places))
        head = HEAD.pack(0, 0, 0, 0, len(words), 0) + b"".join(starts) + bytes(SNAP)
        written = b"".join((word & ones(64)).to_bytes(8, "little") for word in words[:WORDS])
        trace = Decoder(self._schema, self._manifest, name_of).decode(head + written).trace
        return trace.path, trace.steps
