"""The headers that a packet came with, and changes of their fields in place.

docs/semantics.md#changing-a-packet.
"""

from __future__ import annotations

from collections.abc import Callable

from ..model import Derived, Graph, Pipeline
from ..model.checksums import NETWORK, is_checksum
from .build_packet import Heading
from .changed_headers import assigned, changed_words, find_mss, with_value
from .header_view import followed, is_fragment, put, updated
from .parse_packet import Layer, Parsed

#: Bytes without options.
HEADER_SIZE = {"ipv4": 20, "ipv6": 40, "tcp": 20}
#: What counts how far a packet may still go (RFC 791, RFC 8200).
TIME_TO_LIVE = {"ipv4": "ttl", "ipv6": "hop_limit"}


class NotCaptured(Exception):
    """The outcome of a packet depends on bytes that were not captured: those behind the header
    that is named."""


class PacketFields:
    """`frame` is the frame as it came, but for fields that were changed in place. `chain` is what
    the packet will consist of: headers that came, and headings to be pushed, outermost first."""

    def __init__(
        self,
        pipeline: Pipeline,
        frame: bytes,
        parsed: Parsed,
        changed: Callable[[str, str, int, int], None] = lambda *_: None,
        missing: int = 0,
    ) -> None:
        """`changed` is called for each field that is changed in place: node, field, old and new.
        `missing`: bytes at the frame's end that were not captured."""
        self._changed, self._missing = changed, missing
        self.graph: Graph = pipeline.graph
        self.frame = frame
        # Headers of a chain in the order of their declaration, in whichever they came.
        order = {node.name: i for i, node in enumerate(self.graph.nodes)}
        came = sorted(parsed.layers, key=lambda layer: order[layer.name])
        self.chain: list[Layer | Heading] = list(came)
        self.popped: list[Layer] = []
        self.untagged = self.appended = False

    # ---- what is there ----------------------------------------------------------------------

    def layer(self, node: str) -> Layer | None:
        """The header of a node that came with the packet and is still there."""
        return next((x for x in self.layers if x.name == node), None)

    @property
    def layers(self) -> list[Layer]:
        return [x for x in self.chain if isinstance(x, Layer)]

    @property
    def links(self) -> list[Layer]:
        """The leading link headers."""
        found = []
        for item in self.chain:
            if not isinstance(item, Layer) or not item.header.link:
                break
            found.append(item)
        return found

    @property
    def front(self) -> Layer | None:
        """The IP header by which the packet is forwarded: the outermost one that came, unless a
        tunnel carries the whole frame."""
        carried = self.carried
        return carried if carried and carried.header.protocol in NETWORK else None

    @property
    def carried(self) -> Layer | None:
        """The first header behind the leading link headers and the pushes."""
        return next((x for x in self.chain[len(self.links) :] if isinstance(x, Layer)), None)

    @property
    def carries_frame(self) -> bool:
        """Whether pushes stand in front of the packet's own link header."""
        return self.carried is not None and self.carried.header.link

    @property
    def to_group(self) -> bool:
        """Whether the frame is a link-layer broadcast or multicast."""
        return bool(self.links and self.links[0].view.data[0] & 1)

    @property
    def pushed(self) -> int:
        """Bytes that pushes will add."""
        return sum(x.size for x in self.chain if isinstance(x, Heading))

    def ask(self, end: int, node: str) -> None:
        """The frame's bytes up to `end` decide, which stand behind this node. Raises
        `NotCaptured`."""
        if len(self.frame) - self._missing < min(end, len(self.frame)):
            raise NotCaptured(f"behind {node}")

    # ---- fields in place --------------------------------------------------------------------

    def assign(self, node: str, field: str, value: int) -> None:
        """Change a field in place; a checksum over the header is kept incrementally."""
        layer = self.layer(node)
        assert layer is not None
        self._changed(node, field, layer.view.number(field), value)
        self._write(layer.offset, assigned(layer.view, field, value).data)

    def change(self, node: str, field: str, value: int, index: int = 0) -> None:
        """Change a field or an element of an array in place, and every checksum that covers it: the
        header's own, that of the layer above where an address changes, and those of headers in
        front over their payload. Of a group that is absent nothing changes, nor beyond an array."""
        layer = self.layer(node)
        assert layer is not None
        found = layer.header.field(field)
        offset, array = layer.view.offset(found), layer.header.array(found)
        if offset is None or (array is not None and index >= layer.view.count(array)):
            return
        offset, width = offset + index * found.width, found.width
        old_value = layer.view.element(field, index) if array else layer.view.number(field)
        self._changed(node, field, old_value, value & ((1 << width) - 1))
        first, last = offset // 16 * 2, (offset + width + 15) // 16 * 2
        new = put(layer.view.data, offset, width, value)
        old, new = layer.view.data[first:last], new[first:last]
        self._write(layer.offset + first, new)
        odd = bytes(len(old) % 2)  # at the end of a header of an odd number of bytes
        old, new = old + odd, new + odd
        total = old, new
        for covered, part in (
            *((layer, "header"),),
            *((upper, "pseudo") for upper in self._above(layer, field, index)),
        ):
            before, after = self._follow(covered, part, old, new)
            total = total[0] + before, total[1] + after
        for outer in reversed(self.layers[: self.layers.index(self._again(layer))]):
            before, after = self._follow(outer, "payload", *total)
            total = total[0] + before, total[1] + after

    def _follow(self, layer: Layer, part: str, old: bytes, new: bytes) -> tuple[bytes, bytes]:
        """Keep the checksums of a header right that cover this part, of which `old` became `new`.
        Returns what was written there before and is now."""
        view = self._again(layer).view
        gone = come = b""
        for field in view.header.fields:
            at, derived = view.offset(field), field.default
            if not is_checksum(field) or at is None:
                continue
            assert isinstance(derived, Derived)
            before = view.number(field.name)
            optional = view.header.protocol == "udp"
            if part not in derived.over or (optional and not before):
                continue
            after = followed(before, old, new)
            if optional and not after:
                after = 0xFFFF
            self._write(layer.offset + at // 8, after.to_bytes(2, "big"))
            gone, come = gone + before.to_bytes(2, "big"), come + after.to_bytes(2, "big")
        return gone, come

    def _above(self, layer: Layer, field: str, index: int) -> list[Layer]:
        """Headers whose checksum covers this address by a pseudo header. The destination of an IPv6
        header in front of a routing header is not that, but the last segment of one that has
        segments left (RFC 8200 section 8.1)."""
        final = field == "segments" and not index and layer.view.number("segments_left") > 0
        last = layer.header.protocol == "srh" and final
        if not last and (layer.header.protocol not in NETWORK or field not in ("src", "dst")):
            return []
        found = []
        for behind in self.layers[self.layers.index(self._again(layer)) + 1 :]:
            if behind.header.protocol in NETWORK:
                break
            if behind.header.protocol == "srh" and field != "src":
                return []
            found.append(behind)
        return found

    def _again(self, layer: Layer) -> Layer:
        """The header as it is now."""
        return next(x for x in self.layers if x.offset == layer.offset and x.name == layer.name)

    def _write(self, offset: int, data: bytes) -> None:
        self.frame = self.frame[:offset] + data + self.frame[offset + len(data) :]
        self.chain = [x.reread(self.frame) if isinstance(x, Layer) else x for x in self.chain]

    def clamp_mss(self, room: int) -> None:
        """Lower the MSS option of a SYN to what fits `room` bytes with the innermost IP header
        (RFC 9293 section 3.7.1)."""
        tcp = next((x for x in self.layers if x.header.protocol == "tcp"), None)
        if tcp is None or not tcp.view.number("syn"):
            return
        fragment, headers = False, 0
        for layer in self.layers[: self.layers.index(tcp)]:
            protocol = layer.header.protocol
            if protocol in NETWORK:
                headers = HEADER_SIZE[protocol] + HEADER_SIZE["tcp"]
            if protocol in NETWORK:
                fragment = protocol != "ipv6" and is_fragment(layer.view)
            elif protocol == "ipv6_fragment":
                fragment = fragment or is_fragment(layer.view)
        most = room - headers
        if fragment:
            return
        data = tcp.view.data
        at = find_mss(data)
        if at is None or int.from_bytes(data[at : at + 2], "big") <= most:
            return
        new = data[:at] + most.to_bytes(2, "big") + data[at + 2 :]
        total = updated(tcp.view.number("checksum"), *changed_words(data, new))
        self._write(tcp.offset, with_value(tcp.header, new, "checksum", total))
