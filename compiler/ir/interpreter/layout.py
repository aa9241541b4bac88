"""Where the members of structures are, in bytes."""

from __future__ import annotations

from ....lang.contract.manifest.manifest import NEXT_HOP_SIZE
from ...tables.layout import member_name
from ..unit import Unit

_FIXED = {
    "next_hop": {"port": 0, "mtu": 4, "vlan": 6, "mac": 8, "resolved": 20},
    "port": {
        "ifindex": 0, "mtu": 4, "vlan": 6, "mac": 8, "role": 14, "in_use": 15, "address": 16,
        "routed": 20, "address6": 24,
    },
    "decode_probe": {"word": 0},
    "held": {},
    "trace": {"node": 0},
}  # fmt: skip
PORT_SIZE = 40
TRACE_SIZE = 1 << 12
HELD_SIZE = 16


class Layout:
    """Of a unit's structures: `offsets` of members, by structure, and `sizes`."""

    def __init__(self, unit: Unit) -> None:
        self.offsets: dict[str, dict[str, int]] = dict(_FIXED)
        self.sizes = {
            "next_hop": NEXT_HOP_SIZE, "port": PORT_SIZE, "decode_probe": 8 * unit.probe_words,
            "trace": TRACE_SIZE, "held": HELD_SIZE,
        }  # fmt: skip
        for table in unit.tables:
            name = f"{table.manifest.prefix}_record"
            self.offsets[name] = {member.name: member.offset for member in table.manifest.record}
            self.sizes[name] = table.manifest.record_size
            if (card := table.manifest.offload) is not None:
                self.offsets[f"{table.manifest.prefix}_entry"] = {"cell": card.cell_at}
        for state in unit.states:
            name = f"{state.prefix}_entry"
            slots = {member_name(slot.name): slot.offset for slot in state.gives}
            self.offsets[name] = {"seen": 0} | slots
            self.sizes[name] = state.entry_size
