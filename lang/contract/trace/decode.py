"""The records of a traced program to traces."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from ..manifest.manifest import Manifest, State
from ..manifest.manifest import Slot as StateSlot
from .schema import EGRESS, EVENT, HEAD, REST, SNAP, WORDS, Node, Point, Schema, Slot, places
from .steps import Bound, Step, Trace, TracedValue

VERDICTS = {0: "aborted", 1: "drop", 2: "pass", 3: "tx", 4: "redirect"}  # enum xdp_action

#: A rule's name by kind, record slot and sequence; "" where it has none, or is there no more.
NameOf = Callable[[str, int, int], str]


@dataclass(frozen=True)
class Recorded:
    """A trace, when its packet arrived (ns of CLOCK_MONOTONIC), and the first bytes of the frame,
    or those that were kept, where all were asked for."""

    trace: Trace
    time: int
    frame: bytes


class Decoder:
    """Of one traced program."""

    def __init__(self, schema: Schema, manifest: Manifest, name_of: NameOf) -> None:
        self._schema, self._manifest, self._name_of = schema, manifest, name_of
        self._nodes = struct.Struct(f"<{places(len(schema.nodes))}H")
        self._links = {node.name: node for node in schema.nodes}
        self._kinds = {e.name: "port" if e.type == "port" else e.kind for e in manifest.elements}

    def decode(self, record: bytes) -> Recorded:
        """Raises ValueError where the bytes are no record of this program."""
        try:
            time, length, port, action, used, kept = HEAD.unpack_from(record)
            starts = self._nodes.unpack_from(record, HEAD.size)
        except struct.error:
            raise ValueError("the record is too short") from None
        at = HEAD.size + self._nodes.size
        frame = record[at : at + min(length, SNAP)]
        if kept:
            behind = at + SNAP + 8 * (WORDS + 4)
            frame = (frame + record[behind : behind + REST])[:kept]
        written = record[at + SNAP : at + SNAP + 8 * min(used, WORDS)]
        words = struct.unpack(f"<{len(written) // 8}Q", written)
        there = [
            (node.name, start - 1)
            for node, start in zip(self._schema.nodes, starts, strict=False)
            if start
        ]
        path = tuple(sorted(there, key=lambda node: node[1]))  # those of a chain come in any order
        reading = _Reading(self, words, [name for name, _ in there], used > WORDS)
        steps = tuple(reading.steps())
        verdict = VERDICTS.get(action, f"verdict {action}")
        egress = port if verdict == "tx" else reading.egress if verdict == "redirect" else None
        trace = Trace(port, length, path, steps, verdict, egress, reading.cut)
        return Recorded(trace, time, frame)

    # ---- steps ------------------------------------------------------------------------------

    def point(self, index: int) -> Point:
        """Raises ValueError."""
        if index >= len(self._schema.points):
            raise ValueError(f"there is no point {index}")
        return self._schema.points[index]

    def node(self, name: str) -> Node:
        return self._links[name]

    def event(self, index: int) -> Step | None:
        """A counter's; None for a verdict, which is recorded separately."""
        if index >= len(self._manifest.counters):
            raise ValueError(f"there is no counter {index}")
        counter = self._manifest.counters[index]
        if counter.group == "verdict":
            return None
        return Step("event", counter.group, reason=counter.reason)

    def words_of(self, point: Point) -> int:
        """How many follow the first one."""
        match point.what:
            case "look":
                return (self._manifest.rule(point.name).key_size + 7) // 8
            case "rule":
                return 3
            case "recall" | "forget":
                return self._state(point).key_size // 8
            case "recalled":
                return sum(_words(slot) for slot in self._state(point).gives)
            case "remember":
                state = self._state(point)
                return state.key_size // 8 + sum(_words(slot) for slot in state.given)
        return sum(slot.words for slot in point.slots)

    def step(self, point: Point, words: tuple[int, ...]) -> Step:
        match point.what:
            case "look":
                return Step("look", point.name, self._key(point.name, words))
            case "rule":
                return Step("rule", point.name, rule=self._bound(point.kind, *words))
            case "recall" | "recalled" | "remember" | "forget":
                return Step(point.what, point.name, self._entry(point, words))
        return Step(point.what, point.name, tuple(_values(point.slots, words)), nodes=point.nodes)

    def _key(self, name: str, words: tuple[int, ...]) -> tuple[TracedValue, ...]:
        kind = self._manifest.rule(name)
        key = int.from_bytes(_bytes(words)[: kind.key_size], "big")
        values = []
        if kind.group_position is not None:
            values.append(TracedValue("id", key >> kind.group_position & 0xFFFFFFFF))
        for match in kind.match:
            there = match.presence is None or key >> match.presence & 1
            value = key >> match.position & ((1 << match.width) - 1) if there else None
            values.append(TracedValue(match.element, value, self._kinds[match.element]))
        return tuple(values)

    def _bound(self, kind: str, sequence: int, identity: int, slot: int) -> Bound:
        priority = identity >> 32 if self._manifest.rule(kind).priority else None
        return Bound(kind, identity & 0xFFFFFFFF, self._name_of(kind, slot, sequence), priority)

    def _state(self, point: Point) -> State:
        return next(s for s in self._manifest.states if s.name == point.name)

    def _entry(self, point: Point, words: tuple[int, ...]) -> tuple[TracedValue, ...]:
        state, values = self._state(point), []
        at = 0 if point.what == "recalled" else state.key_size // 8
        key = _bytes(words[:at])
        if point.what != "recalled":
            values += [
                _slot_value(s, key[s.offset : s.offset + s.size], "big") for s in state.match
            ]
        if point.what in ("recalled", "remember"):
            for slot in state.gives if point.what == "recalled" else state.given:
                data = _bytes(words[at : at + _words(slot)])[: slot.size]
                values.append(_slot_value(slot, data, "little"))
                at += _words(slot)
        return tuple(values)


class _Reading:
    """One record's words, read once."""

    def __init__(
        self, decoder: Decoder, words: tuple[int, ...], path: list[str], cut: bool
    ) -> None:
        self._decoder, self._words, self._chain, self.cut = decoder, words, path, cut
        self.egress: int | None = None

    def steps(self) -> Iterator[Step]:
        at = 0
        while at < len(self._words):
            index, more = self._words[at] & 0xFFFFFFFF, self._words[at] >> 32
            at += 1
            if index == EVENT:
                event = self._decoder.event(more)
                if event is not None:
                    yield event
                continue
            if index == EGRESS:
                self.egress = more
                continue
            point = self._decoder.point(index)
            end = at + self._decoder.words_of(point)
            if end > len(self._words):
                if not self.cut:
                    raise ValueError("the record ends within a step")
                return
            step = self._decoder.step(point, self._words[at:end])
            yield self._popped(step) if step.what == "pop" else step
            at = end

    def _popped(self, step: Step) -> Step:
        """With the nodes that it removes of this packet: those in front of the one that it leads
        to, but for the leading link nodes where it leads to none of these."""
        if step.nodes:
            self._chain = [n for n in self._chain if n not in step.nodes]
            return step
        end = self._chain.index(step.name) if step.name in self._chain else 0
        start = 0
        if not self._decoder.node(step.name).link:
            while start < end and self._decoder.node(self._chain[start]).link:
                start += 1
        removed = tuple(self._chain[start:end])
        del self._chain[start:end]
        return Step("pop", step.name, nodes=removed)


def _values(slots: tuple[Slot, ...], words: tuple[int, ...]) -> Iterator[TracedValue]:
    at = 0
    for slot in slots:
        value: int | None = None
        if not slot.given or words[at]:
            own = words[at + slot.given : at + slot.words]
            value = int.from_bytes(_bytes(own), "little") & ((1 << slot.width) - 1)
        yield TracedValue(slot.name, value, slot.kind)
        at += slot.words


def _slot_value(slot: StateSlot, data: bytes, port: Literal["big", "little"]) -> TracedValue:
    """Of a state: in network order, but a port's number in an entry. Of a rule its id."""
    if slot.type == "rule":
        return TracedValue(slot.name, int.from_bytes(data[8:12], "little"))
    if slot.type == "port":
        return TracedValue(slot.name, int.from_bytes(data, port), "port")
    kind = slot.type if slot.type in ("ip4", "ip6", "mac") else "uint"
    return TracedValue(slot.name, int.from_bytes(data, "big"), kind)


def _words(slot: StateSlot) -> int:
    return (slot.size + 7) // 8


def _bytes(words: tuple[int, ...]) -> bytes:
    return b"".join(word.to_bytes(8, "little") for word in words)
