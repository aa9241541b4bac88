"""Decoded packets, and their two forms: an object of JSON each, and a tree."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Literal

from ...lang.contract.base import domain_names
from ..captures.links import link_name
from ..captures.packets import ETHERNET, Captured
from ..interpret.header_view import Value
from ..interpret.parse_packet import PacketParser
from ..model import NAME_KINDS, Field, Graph, Header

#: `cut`: a header that the parser asks for was not captured; `foreign`: no Ethernet frame;
#: `refused`: the kernel cannot be asked.
Result = Literal["ok", "malformed", "cut", "foreign", "refused"]
JsonValue = int | str | list[int | str]
TINY = "tiny fragment"


@dataclass(frozen=True)
class DecodedNode:
    """A header of a packet. `offset`: bytes from the frame's start. `fields`: numbers, addresses
    as text, bytes as hexadecimal text; those that are not there are left out."""

    name: str
    header: Header
    offset: int
    fields: dict[str, JsonValue]


@dataclass(frozen=True)
class Decoded:
    """What the parser made of a packet. `reason` says of a malformed one which node and why, of one
    that is cut which node was not captured whole, of one that is `ok` whether it is a `TINY`."""

    packet: Captured
    role: str
    result: Result
    reason: str
    nodes: tuple[DecodedNode, ...] = ()

    def to_json(self) -> str:
        """On one line."""
        packet = self.packet
        out: dict[str, object] = {
            "number": packet.number,
            "length": packet.length,
            "captured": len(packet.data),
            "role": self.role,
            "result": self.result,
            "reason": self.reason,
            "notes": list(packet.notes),
            "nodes": [
                {"name": n.name, "header": n.header.name, "offset": n.offset, "fields": n.fields}
                for n in self.nodes
            ],
        }
        return json.dumps(out)

    def to_tree(self) -> str:
        """For people; several lines."""
        packet = self.packet
        kept = len(packet.data)
        size = f"{kept} bytes" if kept == packet.length else f"{kept} of {packet.length} bytes"
        why = f" ({self.reason})" if self.reason else ""
        notes = "".join(f"; {note}" for note in packet.notes)
        lines = [f"packet {packet.number}: {size}, {self.result}{why}{notes}"]
        for node in self.nodes:
            of = "" if node.name == node.header.name else f": {node.header.name}"
            lines.append(f"  {node.name}{of} at {node.offset}")
            lines += _field_lines(node)
        return "\n".join(lines)


def _field_lines(node: DecodedNode) -> Iterator[str]:
    inside = {f.name: bool(f.part_of) for f in node.header.fields}
    width = max((len(name) + 2 * inside[name] for name in node.fields), default=0)
    for name, value in node.fields.items():
        indented = f"{'  ' * inside[name]}{name}"
        yield f"    {indented.ljust(width)}  {_for_people(value)}".rstrip()


def _for_people(value: JsonValue) -> str:
    if isinstance(value, list):
        return ", ".join(map(_for_people, value))
    return f"{value} ({value:#x})" if isinstance(value, int) and value > 9 else str(value)


# ---- values ---------------------------------------------------------------------------------


def json_value(field: Field, value: Value | Sequence[int]) -> JsonValue:
    """A field's value as JSON has it."""
    if isinstance(value, bytes):
        return value.hex()
    if field.kind in NAME_KINDS and not isinstance(value, int):
        return domain_names.shown_as(field.kind, bytes(value))
    if not isinstance(value, int):
        return [one for item in value if not isinstance(one := json_value(field, item), list)]
    match field.kind:
        case "ip4":
            return str(IPv4Address(value))
        case "ip6":
            return str(IPv6Address(value))
        case "mac":
            return value.to_bytes(6, "big").hex(":")
        case "bytes":
            return value.to_bytes(field.width // 8, "big").hex()
    return value


# ---- by the interpreter ---------------------------------------------------------------------


class Decoder:
    """The reference parser of one graph, on packets that arrive on ports of `role`."""

    def __init__(self, graph: Graph, role: str) -> None:
        self._parser = PacketParser(graph)
        self._role = role

    def decode(self, packet: Captured) -> Decoded:
        if packet.link != ETHERNET:
            return Decoded(packet, self._role, "foreign", link_name(packet.link))
        parsed = self._parser.parse(self._role, packet.whole, len(packet.data))
        nodes = [
            DecodedNode(
                layer.name,
                layer.header,
                layer.offset,
                {
                    name: json_value(layer.header.field(name), value)
                    for name, value in layer.fields.items()
                },
            )
            for layer in parsed.layers
        ]
        reason = TINY if parsed.tiny else parsed.reason
        return Decoded(packet, self._role, parsed.result, reason, tuple(nodes))
