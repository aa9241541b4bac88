"""Follows a flow's headers through the parse graph, and derives what is known of its packets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address

from ...lang.contract.manifest.manifest import Manifest
from ...lang.contract.manifest.parse_graph import Layer, ParseGraph, Step
from ...lang.contract.rules.ie_values import fold
from ...lang.text.diagnostics import Diagnostic, Diagnostics, Label, did_you_mean, ticked
from ...lang.text.source import Span
from ...lang.text.yaml_reader import Entry
from ..edge.yaml_nodes import Nodes
from .document import LayerSpec

#: Headers that have ports, and those behind which they are looked for.
_PORTS, _NETWORK = ("tcp", "udp"), ("ipv4", "ipv6")


@dataclass(frozen=True)
class Place:
    """A header of a flow: `spec` as it is written."""

    layer: Layer
    spec: LayerSpec


@dataclass
class Flow:
    """Headers from the outermost in. `follows`: the edges between them. `used`: fields that
    somebody has asked for. `words`: numbers that have names, by node and field. `tunnels`: nodes
    behind which an IP header may stand."""

    words: Mapping[tuple[str, str], Mapping[str, int]]
    places: list[Place] = field(default_factory=list)
    follows: list[Step] = field(default_factory=list)
    used: set[tuple[str, str]] = field(default_factory=set)
    tunnels: frozenset[str] = frozenset()

    def at(self, node: str) -> Place | None:
        """The header at a node of the parse graph; "l4": that which has the ports."""
        if node == "l4":
            return self._ports()
        return next((p for p in self.places if p.layer.name == node), None)

    def _ports(self) -> Place | None:
        behind = ""
        for place in reversed(self.places):
            if place.layer.protocol in _PORTS:  # of a tunnel, if what it carries may have its own
                return None if behind in self.tunnels else place
            if place.layer.protocol in _NETWORK:
                return None
            behind = place.layer.name
        return None

    def entry(self, node: str, name: str) -> Entry | None:
        """A field as it is written."""
        place = self.at(node)
        found = place.spec.fields.get(name) if place is not None else None
        if place is not None and found is not None:
            self.used.add((place.layer.name, name))
        return found

    def number(self, node: str, name: str) -> int | None:
        """A field's value, as it is written or as what follows has it; None: any, or a word."""
        place = self.at(node)
        if place is None:
            return None
        node = place.layer.name
        written = place.spec.fields.get(name)
        if written is None:
            return self.implied(node, name)
        text = str(written.value.value)
        return self.words.get((node, name), {}).get(fold(text), number_of(text))

    def implied(self, node: str, name: str) -> int | None:
        """What a field must be so that this header follows its own."""
        for step in self.follows:
            if step.source == node:
                for required, ranges in step.when:
                    if required == name and len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
                        return ranges[0][0]
        return None

    def unused(self) -> Iterator[tuple[Place, str, Entry]]:
        """Fields that are written, that nobody asked for, and that do not follow from the rest."""
        for place in self.places:
            for name, entry in place.spec.fields.items():
                implied = self.implied(place.layer.name, name)
                known = name in place.layer.fields  # or that was said already
                if known and (place.layer.name, name) not in self.used and implied is None:
                    yield place, name, entry


def number_of(text: str) -> int | None:
    """Of what is written as a number or an address."""
    try:
        if text[:1].isdigit() and "." not in text and ":" not in text:
            return int(text, 0)
        return int(ip_address(text))
    except ValueError:
        return None


class Follower:
    """Follows flows; what is wrong with them is noted."""

    def __init__(self, nodes: Nodes, manifest: Manifest, anatomy: ParseGraph) -> None:
        self.nodes, self.anatomy = nodes, anatomy
        self.found: Diagnostics = nodes.found
        self.layers = {layer.name: layer for layer in anatomy.layers}
        symbols = {e.name: {fold(n): v for n, v in e.symbols.items()} for e in manifest.elements}
        self.words = {place: symbols[r.element] for r in anatomy.readings for place in r.fields}
        self.tunnels = self._tunnels()

    def follow(self, spec: Sequence[LayerSpec]) -> Flow | None:
        """None where the headers are not those of a packet of this pipeline. One that packets do
        not start with may stand first: in front of it are the headers that always are, and in
        front of these anything."""
        flow = Flow(self.words, tunnels=self.tunnels)
        names: Sequence[str] = self.anatomy.entries
        if spec and not self._called(spec[0].name, names):
            names = self._called(spec[0].name, self.layers) or names
        for number, each in enumerate(spec, 1):
            place = self._place(each, names, flow, spec[number : number + 1])
            if place is None:
                return None
            flow.places.append(place)
            if len(flow.places) == 1:
                self._lead(flow)
            names = self.behind(place.layer.name)
        for place in flow.places:
            self._fields(place, flow)
        return flow

    def _lead(self, flow: Flow) -> None:
        """Put in front of the first header those that it cannot come without."""
        spec = flow.places[0].spec
        while (first := flow.places[0].layer.name) not in self.anatomy.entries:
            steps = [step for step in self.anatomy.steps if step.target == first]
            if len(steps) != 1:
                return
            layer = self.layers[steps[0].source]
            flow.places.insert(0, Place(layer, LayerSpec(layer.header, spec.span, {})))
            flow.follows.insert(0, steps[0])

    def _tunnels(self) -> frozenset[str]:
        """Nodes from which an IP header can be reached, and these."""
        found = {layer.name for layer in self.layers.values() if layer.protocol in _NETWORK}
        while more := {s.source for s in self.anatomy.steps if s.target in found} - found:
            found |= more
        return frozenset(found)

    def beyond(self, flow: Flow) -> set[str]:
        """Nodes that may stand behind the last header."""
        found, waiting = set[str](), [flow.places[-1].layer.name]
        while waiting:
            last = waiting.pop()
            more = {s.target for s in self.anatomy.steps
                    if s.source == last and taken(s, flow) is not False} - found  # fmt: skip
            found |= more
            waiting += more
        return found

    def behind(self, node: str) -> list[str]:
        return list(dict.fromkeys(s.target for s in self.anatomy.steps if s.source == node))

    def _called(self, name: str, nodes: Iterable[str]) -> list[str]:
        """Nodes by their own name or their header's."""
        nodes = list(nodes)
        return [n for n in nodes if n == name] or [
            n for n in nodes if self.layers[n].header == name
        ]

    def _place(
        self, spec: LayerSpec, names: Sequence[str], flow: Flow, then: Sequence[LayerSpec]
    ) -> Place | None:
        fitting = self._called(spec.name, names)
        before = flow.places[-1] if flow.places else None
        if before is not None and len(fitting) > 1:
            fitting = [n for n in fitting if self._steps(before, n, flow)] or fitting
        for next_ in then if len(fitting) > 1 else ():
            fitting = [n for n in fitting if self._called(next_.name, self.behind(n))] or fitting
        if not fitting:
            after = before.spec.name if before is not None else ""
            headers = [self.layers[n].header for n in names]
            required = [
                h if headers.count(h) == 1 else n for n, h in zip(names, headers, strict=True)
            ]
            self.found.add(_not_next(spec.span, spec.name, after, required))
            return None
        if len(fitting) > 1:
            self.found.add(_several(spec.span, spec.name, fitting))
            return None
        if before is not None:
            steps = self._steps(before, fitting[0], flow) or [
                s for s in self.anatomy.steps
                if (s.source, s.target) == (before.layer.name, fitting[0])
            ]  # fmt: skip
            flow.follows.append(steps[0])
        return Place(self.layers[fitting[0]], spec)

    def _steps(self, before: Place, to: str, flow: Flow) -> list[Step]:
        """Edges that what is known of the header before does not rule out."""
        between = (s for s in self.anatomy.steps if (s.source, s.target) == (before.layer.name, to))
        return [s for s in between if taken(s, flow) is not False]

    def _fields(self, place: Place, flow: Flow) -> None:
        layer = place.layer
        following = {s.source: dict(s.when) for s in flow.follows}.get(layer.name, {})
        for name, entry in place.spec.fields.items():
            if name not in layer.fields:
                where = self.nodes.span(entry.key)
                self.found.add(_unknown_field(where, name, place.spec.name, list(layer.fields)))
                continue
            text, value = str(entry.value.value), flow.number(layer.name, name)
            where, bits = self.nodes.span(entry.value), layer.fields[name]
            if value is not None and value >> bits:
                why = f"it has {bits} bits"
                self.found.add(_bad_value(where, text, place.spec.name, name, why))
            ranges = following.get(name)
            if value is not None and ranges and not any(low <= value <= up for low, up in ranges):
                required = " | ".join(f"{a}" if a == b else f"{a}..{b}" for a, b in ranges)
                why = f"what follows comes where it is {required}"
                self.found.add(_bad_value(where, text, place.spec.name, name, why))


def taken(step: Step, flow: Flow) -> bool | None:
    """Whether what is known of a flow has the edge taken; None: not enough is."""
    verdict: bool | None = True if step.when else None
    for name, ranges in step.when:
        value = flow.number(step.source, name)
        if value is None:
            verdict = None
        elif not any(low <= value <= up for low, up in ranges):
            return False
    return verdict


# ---- errors ---------------------------------------------------------------------------------


def _not_next(where: Span, name: str, after: str, next_: Sequence[str]) -> Diagnostic:
    behind = f"behind `{after}`" if after else "first"
    help_ = f"{behind} may come {ticked(next_)}" if next_ else "nothing is known behind it"
    title = f"`{name}` is not what comes {behind}"
    return Diagnostic("H0824", title, (Label(where, "not there"),),
                      did_you_mean(name, next_) or help_)  # fmt: skip


def _several(where: Span, name: str, nodes: Sequence[str]) -> Diagnostic:
    return Diagnostic("H0824", f"`{name}` may be one of several headers here",
                      (Label(where, "which one?"),), f"name it: {ticked(nodes)}")  # fmt: skip


def _unknown_field(where: Span, name: str, layer: str, known: Sequence[str]) -> Diagnostic:
    help_ = did_you_mean(name, known) or f"its fields are {ticked(known)}"
    return Diagnostic("H0825", f"`{layer}` has no field `{name}`", (Label(where, "unknown"),),
                      help_)  # fmt: skip


def _bad_value(where: Span, text: str, layer: str, field: str, why: str) -> Diagnostic:
    return Diagnostic("H0826", f"`{layer}` cannot have `{field}` {text[:80]}",
                      (Label(where, why),), "leave it out, or describe other headers"
                      )  # fmt: skip
