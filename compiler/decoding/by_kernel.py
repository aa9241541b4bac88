"""Decodes packets with the generated parser, in the same form as the reference parser."""

from __future__ import annotations

from collections.abc import Callable

from ..captures.packets import ETHERNET, Captured
from ..interpret.header_view import Value
from ..interpret.parse_packet import header_at
from ..lower.decode_probe import places
from ..model import Graph, Node
from .decoded import TINY, Decoded, DecodedNode, Decoder, json_value

#: The words that a decoding program left for a frame, and why it is malformed, or the event's name
#: of a tiny fragment.
Parse = Callable[[bytes], tuple[list[int], str]]


class KernelDecoder:
    """`parse` runs frames of `shortest` to `longest` bytes; others are `refused`. The reference
    parser decides whether a packet is cut: the kernel gets zeros for bytes that were not
    captured."""

    def __init__(self, graph: Graph, role: str, parse: Parse, shortest: int, longest: int) -> None:
        self._nodes, self._role, self._parse = graph.nodes, role, parse
        self._reference = Decoder(graph, role)
        self._sizes = shortest, longest
        self._places = places(graph)

    def decode(self, packet: Captured) -> Decoded:
        if packet.link != ETHERNET or packet.is_cut:
            said = self._reference.decode(packet)
            if said.result in ("foreign", "cut"):
                return said
        shortest, longest = self._sizes
        frame = packet.whole
        if not shortest <= len(frame) <= longest:
            reason = f"the kernel test-runs frames of {shortest} to {longest} bytes"
            return Decoded(packet, self._role, "refused", reason)
        words, reason = self._parse(frame)
        nodes = [self._node(node, frame, words) for node in self._nodes]
        there = sorted((n for n in nodes if n is not None), key=lambda n: n.offset)
        if reason in ("", "tiny_fragment"):
            return Decoded(packet, self._role, "ok", reason and TINY, tuple(there))
        return Decoded(packet, self._role, "malformed", reason, tuple(there))

    def _node(self, node: Node, frame: bytes, words: list[int]) -> DecodedNode | None:
        offset = words[self._places[node.name, ""]] - 1
        if offset < 0:
            return None
        layer = header_at(node, frame, offset)
        fields: dict[str, Value] = dict(layer.fields) if layer else {}
        for name in fields:  # values that the program read take precedence
            if (node.name, name) in self._places:
                fields[name] = words[self._places[node.name, name]]
        shown = {name: json_value(node.header.field(name), value) for name, value in fields.items()}
        return DecodedNode(node.name, node.header, offset, shown)
