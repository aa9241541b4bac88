"""A packet on its way through the stages: pops, pushes, and the bytes that leave in the end.

docs/semantics.md#changing-a-packet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace

from ...lang.contract.world.environment import Port
from ..model import PushElement
from ..model.checksums import NETWORK
from ..model.parse_graph import ethertypes, selector_fields, writable
from .build_packet import Heading, build
from .changed_headers import assigned, grown, of_length, over, summed
from .header_view import HeaderView, Value
from .packet_fields import PacketFields
from .parse_packet import Layer

ECT_1, ECT_0, CE = 1, 2, 3  # RFC 3168 section 5


class Rewriting(PacketFields):
    """A packet with its pops and pushes."""

    def copied(self) -> Rewriting:
        """A packet like this one, whose changes are its own, and no step of the packet's."""
        made = copy(self)
        made.chain, made.popped = [*self.chain], [*self.popped]
        made._changed = lambda *_: None
        return made

    def in_front(self, node: str) -> list[Layer]:
        """What a pop to `node` removes."""
        at = self._index(node)
        start = 0 if self.graph.node(node).header.link else len(self.links)
        return [x for x in self.chain[start:at] if isinstance(x, Layer)]

    def pop(self, node: str) -> bool:
        """Remove what lies between the link headers and `node`. False if ECN says drop."""
        target, removed = self.layer(node), self.in_front(node)
        assert target is not None
        self.popped += removed
        self.chain = [x for x in self.chain if x not in removed]
        if not removed or target.header.protocol not in NETWORK:
            return True
        outer = next((x for x in reversed(self.popped) if x.header.protocol in NETWORK), None)
        met = outer.view.number("ecn") if outer else 0
        had = target.view.number("ecn")
        if met == CE and not had:
            return False
        if met == CE or (met, had) == (ECT_1, ECT_0):
            self.assign(node, "ecn", met)
        return True

    def pop_link(self, node: str) -> None:
        """Remove a leading link header: what it says of what follows, the one in front says now."""
        at = self._index(node)
        front = self.chain[at - 1].name
        for field in selector_fields(self.graph, front):
            said = self.layer(node)
            assert said is not None
            self.change(front, field, said.view.number(field))
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

    def _index(self, node: str) -> int:
        return next(i for i, x in enumerate(self.chain) if x.name == node)

    # ---- the bytes that leave --------------------------------------------------------------

    def unpushed(self) -> None:
        """Forget the pushes: a hook sees the packet without them."""
        self.chain = [x for x in self.chain if isinstance(x, Layer)]

    def with_own_link(self) -> bytes:
        """The frame behind its own link headers, the last of them announcing what follows."""
        if self.appended:
            return self._ended()
        links = self.links
        link = b"".join(x.view.data for x in links)
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
        came = [x.view for x in self.layers]
        came[-1] = HeaderView(
            last.header, _written(last, self._writes(last.name, headings[0].name))
        )
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
        out, belongs, added = b"", 0, 0  # `belongs`: bytes of `out` that are not padding
        following = ""
        if isinstance(self.chain[-1], Heading):  # in front of what was not parsed
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
        """Headers that came and stay; `added` bytes were pushed behind them."""
        if not following:  # the innermost: with payload and padding
            return self.frame[layers[0].offset :]
        last = layers[-1]
        changed = _written(last, self._writes(last.name, following))
        data = [x.view for x in layers[:-1]] + [HeaderView(last.header, changed)]
        return b"".join(grown(x, added) for x in data)

    def _writes(self, node: str, following: str) -> tuple[tuple[str, int], ...]:
        """What `node` says of `following`, whatever the port's role."""
        edges = writable(self.graph, node, following)
        return edges[0].writes or () if edges else ()

    def _with_ecn(
        self, element: PushElement, values: Mapping[str, Value], target: Layer | Heading | None
    ) -> Mapping[str, Value]:
        """RFC 6040 section 4.1, normal mode: ECN is copied unless the push says what it is, be it
        by what a rule may leave out."""
        header, given = self.graph.node(element.node).header, {name for name, _ in element.values}
        if target is None or not {header.protocol, target.header.protocol} <= set(NETWORK):
            return values
        if {"tos", "traffic_class", "dscp", "ecn"} & given:
            return values
        inner = (
            target.view if isinstance(target, Layer) else HeaderView(target.header, target.plain)
        )
        return {**values, "ecn": inner.number("ecn")}


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
    view = layer.view
    for field, value in writes:
        view = assigned(view, field, value)
    return view.data
