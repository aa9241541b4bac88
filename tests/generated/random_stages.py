"""Stages that nobody wrote: statements that fit the packets and rules known where they stand."""

from __future__ import annotations

from collections.abc import Callable

from places import Ground, Lines, Operand, Place, nested
from random_changes import Changes
from random_conditions import Conditions
from random_copies import CopyMaker
from random_events import EventMaker
from random_exits import Exits
from random_kept import KeptMaker
from random_lookups import Blocks, Lookups
from random_many import ManyMaker
from random_options import OptionMaker
from random_pushes import Pushes
from random_registers import RegisterMaker
from random_values import Values


class StageMaker:
    """`budget`: statements that may still be written."""

    def __init__(self, ground: Ground, seed: str) -> None:
        self.events = EventMaker(ground, seed)
        self.registers = RegisterMaker(ground, seed)
        self.kept = KeptMaker(ground, seed)
        self.many = ManyMaker(ground, seed)
        self.options = OptionMaker(ground.facts, seed)
        self.copies = CopyMaker(ground, seed)
        self.ground, self.chance, self.facts = ground, ground.chance, ground.facts
        self.values = Values(ground)
        self.conditions = Conditions(ground, self.values)
        self.changes = Changes(ground, self.values)
        self.pushes = Pushes(ground, self.values)
        self.exits = Exits(ground, self.values)
        blocks = Blocks(self.block, self.ending, self.missed)
        self.lookups = Lookups(ground, self.values, self.changes, blocks)
        self.budget = ground.chance.number(8, 30)

    def make(self, anchor: str) -> tuple[list[tuple[str, Lines]], list[Lines]]:
        """Stages and actions."""
        chance = self.chance
        place = Place(self.facts.worlds)
        stages = []
        count = chance.number(1, 4)
        for i in range(count):
            last = i == count - 1
            lines: Lines = []
            self.budget = max(self.budget, 2)
            place.recalled = frozenset()
            if i == 0:
                lines += self.entered(place, anchor)
            if place.worlds and chance.maybe(0.3):
                lines += self.changes.assign(place)
            if not place.popped and not place.pushed and chance.maybe(0.8):
                lines += self.opened(place, anchor)
            if place.worlds and chance.maybe(0.3):
                lines += self.changes.assign(place)
            if "CLS" not in place.maybe and (last or chance.maybe(0.4)) and place.worlds:
                lines += self.lookups.find(place, "CLS")
            lines += self.block(place, last)
            stages.append((f"s{i}", lines))
        actions = self.lookups.actions.values()
        return stages, [[f"action {n}(ACT) {{", *nested(body), "}"] for n, body in actions]

    # ---- how stages begin --------------------------------------------------------------------

    def entered(self, place: Place, anchor: str) -> Lines:
        """Packets without the anchor leave first, mostly: with it there is more to do."""
        without = frozenset(w for w in place.worlds if anchor not in w.way)
        if not without or self.chance.maybe(0.1):
            return []
        inner = place.branch(without)
        body = self.changes.assign(inner) if self.chance.maybe(0.3) else []
        body += self.exits.verdict(inner)
        place.worlds = place.worlds - without
        return [f"if not {anchor} {{", *nested(body), "}"]

    def opened(self, place: Place, anchor: str) -> Lines:
        """Tunnels are opened where packets come in them."""
        changes = self.changes
        inner = {
            w.role for w in place.worlds
            if anchor in w.way and changes.removed(w.way, anchor)
        }  # fmt: skip
        worlds = frozenset(w for w in place.worlds if w.role in inner)
        if not inner or any(anchor not in w.way for w in worlds):
            return []
        at = place.branch(worlds)
        if not changes.can_pop(at, anchor) or (changes.owes(at, anchor) and self.chance.maybe(0.7)):
            return []
        changes.popped(at, anchor)
        place.popped, place.owed, place.own = True, place.owed or at.owed, place.own or at.own
        place.opened = place.opened or at.opened
        rest = place.worlds - worlds
        place.worlds = rest | at.worlds
        if not rest:
            return [f"pop to {anchor}"]
        test = " or ".join(f"port is {r}" for r in sorted(inner))
        return [f"if {test} {{ pop to {anchor} }}"]

    # ---- blocks ------------------------------------------------------------------------------

    def block(self, place: Place, ends: bool, most: int = 3) -> Lines:
        lines: Lines = []
        place.ends, place.free = ends, place.free or ends
        for _ in range(self.chance.number(0 if place.deep else 1, most)):
            self.budget -= 1
            if self.budget < 0 or place.deep > 6 or not place.worlds:
                break
            lines += self.events.emit(place) + self.copies.use(place)
            lines += self.options.use(place) + self.registers.use(place) + self.kept.use(place)
            lines += self.many.use(place)
            lines += self.statement(place) + self.conditions.aware(place)
        if ends:
            lines += self.ending(place)
        return lines

    def statement(self, place: Place) -> Lines:
        chance = self.chance
        options: list[Callable[[Place], Lines]] = [
            self.branch,
            *[self.lookups.find_any] * 2,
            self.named,
        ]
        if self.ground.states:
            options += [self.changes.remember] + [self.lookups.recall] * 2
            options += [self.changes.forget] if chance.maybe(0.5) else []
            options += [self.lookups.inserted]
        if self.changes.changeable(place) and chance.maybe(0.7):
            return self.first_of([self.changes.update, self.lookups.exchange], place, 1)
        if place.free:
            options += [self.changes.pop] + [self.changes.assign] * 3
            options += [self.changes.pop_link, self.untagged]
        if place.free and (place.ends or (not place.deep and chance.maybe(0.15))):
            options += [self.pushes.push] * 3 + [self.pushes.append] * place.ends
        if place.ends:
            options += [self.clamp] if chance.maybe(0.2) else []
        options += [self.changes.queue] if chance.maybe(0.25) and not self.copies.on else []
        if self.lookups.gives_at(place):
            options += [self.lookups.given] * 2
        return self.first_of(options, place, 4)

    def named(self, place: Place) -> Lines:
        """A value under a name, which is another each time."""
        chance, name = self.chance, self.values.fresh()
        if chance.maybe(0.25):
            moment = self.values.of_moment(place)
            place.named += (Operand(name, "uint", max(1, moment.high.bit_length())),)
            return [f"let {name} = {moment.text}"]
        kind = chance.one(("uint", "uint", "uint", "ip4", "ip6", "mac"))
        known = self.values.of_kind(place, kind, 128)
        if kind == "uint" or not known:
            numbers = [o for o in self.values.operands(place) if o.kind == "uint"]
            if not numbers:
                return []
            of = chance.one(numbers)
            forms = ("{}", "~{}", "{} ^ 1", "{} +% 7", "{} *% 3", "{} -% 9")  # any of that width
            form = chance.one(forms)
            if of.text == "frame.length" and form in ("{}", "{} ^ 1"):
                form = "~{}"  # a length has no more than 15 bits to be compared with (H0349)
            value, width, kind = form.format(of.text), of.width, "uint"
        else:
            value, width = chance.one(known), {"ip4": 32, "ip6": 128, "mac": 48}[kind]
            value = self.values.masked(kind, value) if chance.maybe(0.5) else value
        place.named += (Operand(name, kind, width),)
        return [f"let {name} = {value}"]

    def ending(self, place: Place) -> Lines:
        """Out, mostly with something changed."""
        often = 0.5 if place.deep else 0.6
        if not place.worlds or self.budget < 0 or place.deep > 6:
            return self.sent(place) if place.worlds else self.exits.verdict(place)
        if self.chance.maybe(often):
            return self.sent(place)
        self.budget -= 1
        lookups = self.lookups
        if lookups.choosable(place) and self.chance.maybe(0.8):
            return lookups.choose(place)
        if "ACT" in place.bound and not place.action and self.chance.maybe(0.6):
            return lookups.apply(place)
        if lookups.matchable(place) and self.chance.maybe(0.96):
            return lookups.match(place)
        if lookups.gives_at(place) and self.chance.maybe(0.6):
            return lookups.given_end(place)
        options: list[Callable[[Place], Lines]] = [self.fork, self.sent, self.exits.verdict]
        return self.first_of(options, place, 6) or self.exits.verdict(place)

    def first_of(self, options: list[Callable[[Place], Lines]], place: Place, tries: int) -> Lines:
        for _ in range(tries):
            if lines := self.chance.one(options)(place):
                return lines
        return []

    # ---- ways out ----------------------------------------------------------------------------

    def sent(self, place: Place) -> Lines:
        """Changed, and out."""
        chance = self.chance
        lines: Lines = self.lookups.port(place) if chance.maybe(0.7) else []
        lines += self.changes.pop(place) if chance.maybe(0.5) else []
        lines += self.changes.pop_link(place) if chance.maybe(0.6) else []
        lines += self.changes.assign(place) if chance.maybe(0.5) else []
        lines += self.changes.remember(place) if chance.maybe(0.2) else []
        if chance.maybe(0.85):
            lines += self.lookups.listed(place, self.pushes.needed(place))
        if chance.maybe(0.3):
            lines += self.lookups.listed(place, {("ip4", 32), ("ip6", 128)})
        if chance.maybe(0.8):
            lines += self.pushes.push(place)
            lines += self.pushes.push(place) if chance.maybe(0.6) else []
        elif chance.maybe(0.5):
            lines += self.pushes.append(place)
        return lines + self.exits.onward(place)

    def untagged(self, place: Place) -> Lines:
        """Packets that have a tag leave without it."""
        for node in self.chance.shuffled(self.facts.names):
            tagged = frozenset(w for w in place.worlds if node in w.way)
            rest = place.worlds - tagged
            inner = place.branch(tagged)
            lines = self.changes.pop_link(inner, node) if tagged and rest else []
            if lines:
                place.worlds = rest
                return [f"if {node} {{", *nested([*lines, *self.sent(inner)]), "}"]
        return []

    def missed(self, place: Place) -> Lines:
        """What becomes of packets that something was not found for; one line at most."""
        return self.exits.verdict(place)

    def clamp(self, place: Place) -> Lines:
        place.clamped = True
        return ["clamp mss"]

    # ---- branches ----------------------------------------------------------------------------

    def branch(self, place: Place) -> Lines:
        """An `if` that something falls out of."""
        made = self.conditions.condition(place.worlds, place)
        if made is None:
            return []
        text, yes, no = made
        if self.chance.maybe(0.4):  # one way ends: the other goes on alone
            inner = place.branch(yes)
            lines = [f"if {text} {{", *nested(self.block(inner, True)), "}"]
            place.worlds = no
            return lines
        then = place.branch(yes, free=False)
        lines = [f"if {text} {{", *nested(self.block(then, False, most=2)), "}"]
        place.worlds = no
        if self.chance.maybe(0.4):
            other = place.branch(free=False)
            lines[-1] = "} else {"
            lines += [*nested(self.block(other, False, most=2)), "}"]
            place.worlds = frozenset()
            place.meet(other)
        place.meet(then)
        return lines

    def fork(self, place: Place) -> Lines:
        made = self.conditions.condition(place.worlds, place)
        if made is None:
            return []
        text, yes, no = made
        then, other = place.branch(yes), place.branch(no)
        return [
            f"if {text} {{", *nested(self.block(then, True)), "} else {",
            *nested(self.block(other, True)), "}",
        ]  # fmt: skip
