"""A packet on its way through the stages: pops, pushes, and the octets that leave in the end.

docs/semantics.md, "Changing a packet".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ...lang.contract.world.environment import Port
from ..model import Derived, Graph, Pipeline, PushElement
from ..model.parse_graph import ethertypes, tells, writable
from ..model.sums import NETWORK, is_checksum
from .build_packet import Heading, build
from .changed_octets import (
    assigned,
    changed_words,
    find_mss,
    grown,
    of_length,
    over,
    summed,
    with_value,
)
from .octets import Octets, Value, followed, is_fragment, put, updated
from .parse_packet import Layer, Parsed

#: Octets without options.
HEADER_SIZE = {"ipv4": 20, "ipv6": 40, "tcp": 20}
#: What counts how far a packet may still go (RFC 791, RFC 8200).
TIME_TO_LIVE = {"ipv4": "ttl", "ipv6": "hop_limit"}
ECT_1, ECT_0, CE = 1, 2, 3  # RFC 3168 section 5


class NotCaptured(Exception):
    """What becomes of a packet depends on octets of it that nobody knows: those behind the header
    that is named."""


class Rewriting:
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
        """`changed` is told of each field that is changed in place: node, field, old and new.
        `missing`: octets at the frame's end that nobody knows."""
        self._changed, self._missing = changed, missing
        self.graph: Graph = pipeline.graph
        self.frame = frame
        self.chain: list[Layer | Heading] = list(parsed.layers)
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
        return bool(self.links and self.links[0].octets.data[0] & 1)

    @property
    def pushed(self) -> int:
        """Octets that pushes will add."""
        return sum(x.size for x in self.chain if isinstance(x, Heading))

    def ask(self, end: int, node: str) -> None:
        """The frame's octets up to `end` decide, which stand behind this node. Raises
        `NotCaptured`."""
        if len(self.frame) - self._missing < min(end, len(self.frame)):
            raise NotCaptured(f"behind {node}")

    def in_front(self, node: str) -> list[Layer]:
        """What a pop to `node` removes."""
        at = self._index(node)
        start = 0 if self.graph.node(node).header.link else len(self.links)
        return [x for x in self.chain[start:at] if isinstance(x, Layer)]

    # ---- changes ----------------------------------------------------------------------------

    def pop(self, node: str) -> bool:
        """Remove what lies between the link headers and `node`. False if ECN says drop."""
        target, removed = self.layer(node), self.in_front(node)
        assert target is not None
        self.popped += removed
        self.chain = [x for x in self.chain if x not in removed]
        if not removed or target.header.protocol not in NETWORK:
            return True
        outer = next((x for x in reversed(self.popped) if x.header.protocol in NETWORK), None)
        met = outer.octets.number("ecn") if outer else 0
        had = target.octets.number("ecn")
        if met == CE and not had:
            return False
        if met == CE or (met, had) == (ECT_1, ECT_0):
            self.assign(node, "ecn", met)
        return True

    def pop_link(self, node: str) -> None:
        """Remove a leading link header: what it says of what follows, the one in front says now."""
        at = self._index(node)
        front = self.chain[at - 1].name
        for field in tells(self.graph, front):
            said = self.layer(node)
            assert said is not None
            self.change(front, field, said.octets.number(field))
        gone = self.chain.pop(at)
        assert isinstance(gone, Layer)
        self.frame = self.frame[: gone.offset] + self.frame[gone.behind :]
        self.chain = [
            x.moved(self.frame, gone.size if i >= at else 0, gone.size)
            if isinstance(x, Layer)
            else x
            for i, x in enumerate(self.chain)
        ]
        self.untagged = True

    def push(
        self,
        elements: Sequence[tuple[PushElement, Mapping[str, Value]]],
        before: str,
        behind: str = "",
    ) -> list[Heading]:
        """Insert headers, outermost first, in front of `before`, or behind `behind`; returns what
        they became."""
        at = self._index(behind) + 1 if behind else self._index(before)
        following = [e.node for e, _ in elements[1:]] + [before]
        target = self._wrapped(at)
        pushed = [
            replace(
                self.heading(e.node, self._with_ecn(e, values, target), after),
                computed=e.computed,
            )
            for (e, values), after in zip(elements, following, strict=True)
        ]
        self.chain[at:at] = pushed
        return pushed

    def _wrapped(self, at: int) -> Layer | Heading | None:
        """What a push at that place goes around: the first IP header that was pushed there, else
        the first that came. None if nothing is known of what stands there."""
        behind = self.chain[at:]
        ip = (x for x in behind if isinstance(x, Layer) or x.header.protocol in NETWORK)
        return next(ip, None)

    def append(
        self, elements: Sequence[tuple[PushElement, Mapping[str, Value]]], behind: str
    ) -> list[Heading]:
        """Put headers, outermost first, in place of all behind the header of `behind`; returns what
        they became."""
        following = [e.node for e, _ in elements[1:]] + [""]
        appended = [
            replace(self.heading(e.node, values, after), computed=e.computed)
            for (e, values), after in zip(elements, following, strict=True)
        ]
        self.chain[self._index(behind) + 1 :] = appended
        self.appended = True
        return appended

    def heading(self, node: str, values: Mapping[str, Value], following: str) -> Heading:
        """A header in front of `following`, announcing it as the edge between them says."""
        return Heading(node, self.graph.node(node).header, values, self._writes(node, following))

    def assign(self, node: str, field: str, value: int) -> None:
        """Change a field in place; a checksum over the header is kept incrementally."""
        layer = self.layer(node)
        assert layer is not None
        self._changed(node, field, layer.octets.number(field), value)
        octets = assigned(layer.octets, field, value)
        self._patch(layer.offset, octets)

    def change(self, node: str, field: str, value: int, index: int = 0) -> None:
        """Change a field or an element of an array in place, and every checksum that covers it: the
        header's own, that of the layer above where an address changes, and those of headers in
        front over their payload. Of a group that is absent nothing changes, nor beyond an array."""
        layer = self.layer(node)
        assert layer is not None
        found = layer.header.field(field)
        offset, array = layer.octets.offset(found), layer.header.array(found)
        if offset is None or (array is not None and index >= layer.octets.count(array)):
            return
        offset, width = offset + index * found.width, found.width
        old_value = layer.octets.element(field, index) if array else layer.octets.number(field)
        self._changed(node, field, old_value, value & ((1 << width) - 1))
        first, last = offset // 16 * 2, (offset + width + 15) // 16 * 2
        new = put(layer.octets.data, offset, width, value)
        old, new = layer.octets.data[first:last], new[first:last]
        self._write(layer.offset + first, new)
        odd = bytes(len(old) % 2)  # at the end of a header of an odd number of octets
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
        octets = self._again(layer).octets
        gone = come = b""
        for field in octets.header.fields:
            at, derived = octets.offset(field), field.default
            if not is_checksum(field) or at is None:
                continue
            assert isinstance(derived, Derived)
            before = octets.number(field.name)
            optional = octets.header.protocol == "udp"
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
        final = field == "segments" and not index and layer.octets.number("segments_left") > 0
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
        """Lower the MSS option of a SYN to what fits `room` octets with the innermost IP header
        (RFC 9293 section 3.7.1)."""
        tcp = next((x for x in self.layers if x.header.protocol == "tcp"), None)
        if tcp is None or not tcp.octets.number("syn"):
            return
        fragment, headers = False, 0
        for layer in self.layers[: self.layers.index(tcp)]:
            protocol = layer.header.protocol
            if protocol in NETWORK:
                headers = HEADER_SIZE[protocol] + HEADER_SIZE["tcp"]
            if protocol in (*NETWORK, "ipv6_fragment"):
                fragment = protocol != "ipv6" and is_fragment(layer.octets)
        most = room - headers
        if fragment:
            return
        data = tcp.octets.data
        at = find_mss(data)
        if at is None or int.from_bytes(data[at : at + 2], "big") <= most:
            return
        new = data[:at] + most.to_bytes(2, "big") + data[at + 2 :]
        total = updated(tcp.octets.number("checksum"), *changed_words(data, new))
        self._patch(tcp.offset, Octets(tcp.header, with_value(tcp.header, new, "checksum", total)))

    # ---- the octets that leave --------------------------------------------------------------

    def unpushed(self) -> None:
        """Forget the pushes: a hook sees the packet without them."""
        self.chain = [x for x in self.chain if isinstance(x, Layer)]

    def with_own_link(self) -> bytes:
        """The frame behind its own link headers, the last of them announcing what follows."""
        if self.appended:
            return self._ended()
        links = self.links
        link = b"".join(x.octets.data for x in links)
        rest = self.chain[len(links) :]
        if not rest:
            return self.frame[links[0].offset if links else 0 :]
        last, first = links[-1], rest[0]
        if not isinstance(first, Layer) or first.offset != last.behind:
            start = link[: len(link) - last.size]
            link = start + _written(last, self._writes(last.name, first.name))
        return link + self.behind_link()

    def _ended(self) -> bytes:
        """The frame with what was appended as its end; what the headers in front say of their
        payload follows."""
        headings = [x for x in self.chain if isinstance(x, Heading)]
        last = self.layers[-1]
        frame = self.frame[: last.behind] + build(headings, b"")
        came = [x.octets for x in self.layers]
        came[-1] = Octets(last.header, _written(last, self._writes(last.name, headings[0].name)))
        starts = [x.offset for x in self.layers]
        for i in reversed(range(len(came))):
            came[i] = of_length(came[i], len(frame) - starts[i])
            frame = over(frame, starts[i], came[i].data)
        for i in reversed(range(len(came))):
            came[i] = summed(came[:i], came[i], frame[starts[i] + len(came[i].data) :])
            frame = over(frame, starts[i], came[i].data)
        return frame

    def with_link_of(self, port: Port, to: bytes) -> bytes:
        """The frame behind a fresh Ethernet header of `port` towards the MAC address `to`."""
        first = self.chain[len(self.links)].name
        kind = next(iter(ethertypes(self.graph, first)), 0)
        return to + port.mac + port.tag + kind.to_bytes(2, "big") + self.behind_link()

    def behind_link(self) -> bytes:
        """Everything behind the link headers, with padding unless a frame within a tunnel begins
        with what is pushed: that has no length of its own, and ends where the packet does."""
        out, belongs, added = b"", 0, 0  # `belongs`: octets of `out` that are not padding
        following = ""
        if isinstance(self.chain[-1], Heading):  # in front of what nobody parsed
            out = self.frame[self.layers[-1].behind :]
            belongs = len(out)
        inside = self.chain[len(self.links) :]
        pushed = [x.header.link for x in inside if isinstance(x, Heading)]
        framed = any(link and False in pushed[:i] for i, link in enumerate(pushed))
        for run in reversed(_runs(inside)):
            if isinstance(run[0], Heading):
                out = out[:belongs] if framed else out
                data = build([x for x in run if isinstance(x, Heading)], out[:belongs])
                added += len(data)
                belongs += len(data)
            else:
                layers = [x for x in run if isinstance(x, Layer)]
                data = self._kept(layers, added, following)
                first = layers[0]
                belongs = len(data) + len(out)
                if first.header.extent is not None:
                    belongs = first.end - first.offset + added
            out, following = data + out, run[0].name
        return out

    def _kept(self, layers: list[Layer], added: int, following: str) -> bytes:
        """Headers that came and stay; `added` octets were pushed behind them."""
        if not following:  # the innermost: with payload and padding
            return self.frame[layers[0].offset :]
        last = layers[-1]
        changed = _written(last, self._writes(last.name, following))
        data = [x.octets for x in layers[:-1]] + [Octets(last.header, changed)]
        return b"".join(grown(x, added) for x in data)

    def _index(self, node: str) -> int:
        return next(i for i, x in enumerate(self.chain) if x.name == node)

    def _writes(self, node: str, following: str) -> tuple[tuple[str, int], ...]:
        """What `node` says of `following`, whatever the port's role."""
        edges = writable(self.graph, node, following)
        return edges[0].writes or () if edges else ()

    def _with_ecn(
        self, element: PushElement, values: Mapping[str, Value], target: Layer | Heading | None
    ) -> Mapping[str, Value]:
        """RFC 6040 section 4.1, normal mode: ECN is copied unless the push says what it is, be it
        by what a rule may leave out."""
        header, told = self.graph.node(element.node).header, {name for name, _ in element.values}
        if target is None or not {header.protocol, target.header.protocol} <= set(NETWORK):
            return values
        if {"tos", "traffic_class", "dscp", "ecn"} & told:
            return values
        inner = target.octets if isinstance(target, Layer) else Octets(target.header, target.plain)
        return {**values, "ecn": inner.number("ecn")}

    def _patch(self, offset: int, octets: Octets) -> None:
        self._write(offset, octets.data)


def _runs(items: list[Layer | Heading]) -> list[list[Layer | Heading]]:
    """The chain cut where headers that came and headers that are pushed meet."""
    runs: list[list[Layer | Heading]] = []
    for item in items:
        if runs and isinstance(runs[-1][0], Heading) == isinstance(item, Heading):
            runs[-1].append(item)
        else:
            runs.append([item])
    return runs


def _written(layer: Layer, writes: tuple[tuple[str, int], ...]) -> bytes:
    octets = layer.octets
    for field, value in writes:
        octets = assigned(octets, field, value)
    return octets.data
