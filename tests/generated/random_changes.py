"""Changes that nobody wrote: pops, fields in place, entries of state tables."""

from __future__ import annotations

from itertools import pairwise

from helioc.compiler.model import Field, Group
from helioc.compiler.model.parse_graph import writable
from places import Ground, Lines, Place
from random_states import LIFETIME, LIFETIMES, Slot, State
from random_values import Values


class Changes:
    def __init__(self, ground: Ground, values: Values) -> None:
        self.ground, self.values = ground, values
        self.chance, self.facts = ground.chance, ground.facts
        self.graph = ground.facts.graph

    # ---- pop ---------------------------------------------------------------------------------

    def pop(self, place: Place) -> Lines:
        """Of something."""
        if place.pushed or place.own:
            return []
        useful = [n for n in place.sure if self.can_pop(place, n)
                  and any(self.removed(way, n) for way in place.ways)]  # fmt: skip
        announced = [n for n in useful if not self.owes(place, n)]
        useful = announced if self.chance.maybe(0.8) else useful
        if not useful:
            return []
        node = self.chance.one(useful)
        self.popped(place, node)
        return [f"pop to {node}"]

    def removed(self, way: tuple[str, ...], node: str) -> tuple[str, ...]:
        """What a pop to the node takes from such a packet."""
        first = 0 if self.facts.link(node) else self.facts.leading(way)
        return way[first : way.index(node)]

    def owes(self, place: Place, node: str) -> bool:
        """Whether a link header of some packet could not announce what a pop leaves first."""
        for way in place.ways:
            links = () if self.facts.link(node) else way[: self.facts.leading(way)]
            gone = self.removed(way, node)
            if links and gone and not writable(self.graph, links[-1], node):
                return True
        return False

    def popped(self, place: Place, node: str) -> None:
        place.owed = place.owed or self.owes(place, node)

        def left(way: tuple[str, ...]) -> tuple[str, ...]:
            links = () if self.facts.link(node) else way[: self.facts.leading(way)]
            return (*links, *way[way.index(node) :])

        place.change(left)
        place.own, place.popped = place.own or self.facts.link(node), True
        place.opened = place.opened or not self.facts.link(node)

    def can_pop(self, place: Place, node: str) -> bool:
        """What is removed can be written back, where hooks answer; what is left can be announced in
        one way at most."""
        answered = self.ground.answers
        for way in place.ways:
            count = self.facts.leading(way)
            if self.facts.link(node):
                if 0 < way.index(node) < count:
                    return False
                continue
            gone = way[count : way.index(node) + 1]
            if answered and not all(writable(self.graph, a, b) for a, b in pairwise(gone)):
                return False
            if count and len(writable(self.graph, way[count - 1], node)) > 1:
                return False
        return True

    def pop_link(self, place: Place, only: str = "") -> Lines:
        """Of a tag; of that one."""
        if place.pushed:
            return []
        useful = [n for n in place.sure if all(self.is_tag(place, way, n) for way in place.ways)]
        useful = [n for n in useful if n == only or not only]
        if not useful:
            return []
        node = self.chance.one(useful)
        for way in place.ways:
            front, *behind = way[way.index(node) - 1 :]
            if place.opened and behind[1:] and not writable(self.graph, front, behind[1]):
                place.owed = True
        place.change(lambda way: tuple(n for n in way if n != node))
        place.popped = True
        return [f"pop {node}"]

    def is_tag(self, place: Place, way: tuple[str, ...], node: str) -> bool:
        """Whether the header in front can say what it says."""
        at = way.index(node)
        if not 0 < at < self.facts.leading(way) or not self.facts.alike(way[at - 1], node):
            return False
        behind = way[at + 1 : at + 2] if place.opened else ()
        return all(len(writable(self.graph, way[at - 1], n)) < 2 for n in behind)

    # ---- fields in place ---------------------------------------------------------------------

    def assign(self, place: Place) -> Lines:
        """One field, or two exchanged; or an element of an array."""
        arrays = [(n, *a) for n in place.sure for a in self.facts.elements(n)]
        if arrays and self.chance.maybe(0.85):
            return self.element(place, *self.chance.one(arrays))
        fields = [(n, f) for n in place.sure for f in self.facts.assignable(n, place.worlds)]
        if not fields:
            return []
        groups = [(n, f) for n, f in fields if f.group]
        fields = groups if groups and self.chance.maybe(0.95) else fields
        node, field = self.chance.one(self.preferred(fields))
        target = f"{node}.{field.name}"
        optional = self.facts.header(node).optional(field)
        alike = [f"{n}.{f.name}" for n, f in fields
                 if (f.kind, f.width) == (field.kind, field.width)
                 and not self.facts.header(n).optional(f)]  # fmt: skip
        others = [text for text in alike if text != target and not optional]
        if others and self.chance.maybe(0.5):
            return [f"swap {target}, {self.chance.one(others)}"]
        return [f"{target} = {self.values.fitting(place, field.kind, field.width)}"]

    def element(self, place: Place, node: str, field: Field, group: Group) -> Lines:
        index = self.values.index(group.most, place)
        if not self.facts.is_covered(node, place.worlds):  # the first is an address
            index = str(self.chance.number(1, group.most - 1))
        value = self.values.fitting(place, field.kind, field.width)
        return [f"{node}.{field.name}[{index}] = {value}"]

    def preferred(self, fields: list[tuple[str, Field]]) -> list[tuple[str, Field]]:
        """Those that checksums cover, mostly."""
        covered = [(n, f) for n, f in fields if f.name in ("src", "dst") or f.width == 16]
        return covered if covered and self.chance.maybe(0.6) else fields

    def queue(self, place: Place) -> Lines:
        return [f"queue {self.values.fitting(place, 'uint', 8)}"]

    # ---- states ------------------------------------------------------------------------------

    def remember(self, place: Place) -> Lines:
        if not self.ground.states:
            return []
        state = self.chance.one(list(self.ground.states.values()))
        text = self.entry(place, "remember", state, (*state.match, *state.gives))
        place.recalled |= {state.name}
        return [text]

    def forget(self, place: Place) -> Lines:
        """Now and then with the question whether it is gone."""
        state = self.chance.one(list(self.ground.states.values()))
        text = self.entry(place, "", state, state.match)
        place.recalled -= {state.name}
        again = f"if recall{text} {{ count there }} else {{ count gone }}"
        may_ask = f"{state.name}." not in text  # of which nothing is bound any more
        return [f"forget{text}", *([again] if may_ask and self.chance.maybe(0.5) else [])]

    def entry(self, place: Place, verb: str, state: State, slots: tuple[Slot, ...]) -> str:
        said = self.chance.shuffled(self.slots(place, slots))
        return f"{verb} {state.name}({', '.join(said)})"

    def changeable(self, place: Place) -> list[tuple[str, Slot]]:
        """Slots of entries that are bound here."""
        return [(name, s) for name in sorted(place.recalled)
                for s in self.ground.states[name].gives
                if s.kind in ("uint", "ip4", "mac")]  # fmt: skip

    def update(self, place: Place) -> Lines:
        name, slot = self.chance.one(self.changeable(place))
        signs = ["", "+", "+", "-", "+%", "-%", "|", "&", "^"]
        sign = self.chance.one(signs) if slot.kind == "uint" and slot.name != LIFETIME else ""
        text, value = f"{name}.{slot.name}", self.slot(place, slot)
        return [
            f"{text} {sign}= {value}",
            *([f"if {text} = {value} {{ count as_said }}"] if self.chance.maybe(0.5) else []),
        ]

    def slots(self, place: Place, slots: tuple[Slot, ...]) -> Lines:
        """`slot = value`; keys mostly of few values, so that they are found again."""
        return [f"{s.name} = {self.slot(place, s)}" for s in slots]

    def slot(self, place: Place, slot: Slot) -> str:
        if slot.kind == "port":
            return "port"
        if slot.name == LIFETIME:
            return self.chance.one(LIFETIMES)
        if self.chance.maybe(0.6) and slot.kind == "uint":
            most = (1 << slot.width) - 1
            ends = slot.name == "n" and self.chance.maybe(
                0.5
            )  # where what is added stops, or wraps
            return str(most - self.chance.number(0, 1) if ends else self.chance.number(0, 1))
        return self.values.fitting(place, slot.kind, slot.width)
