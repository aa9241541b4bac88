"""Rules and ports that entries of states keep, by states that nobody wrote. Their draws are their
own: what else a seed makes stays the same."""

from __future__ import annotations

from dataclasses import dataclass, replace

from chance import Chance
from places import Ground, Lines, Place, nested
from random_rules import Kind
from random_values import Values


@dataclass(frozen=True)
class _State:
    """`more`: it is changed in place; `aging`: the clause."""

    name: str
    kind: str
    more: str
    aging: str

    @property
    def text(self) -> str:
        return (
            f"state {self.name} [256] {{ match k : u8 gives r : {self.kind}, p : port{self.more}"
            f"{self.aging} }}"
        )


class KeptMaker:
    """`declared`: the states of the statements made so far."""

    def __init__(self, ground: Ground, seed: str) -> None:
        self.chance = Chance(f"kept {seed}")
        self._kinds = ground.kinds
        self._values = Values(replace(ground, chance=self.chance))
        self._often = 0.35 if self.chance.maybe(0.6) else 0
        self._known: list[_State] = []

    @property
    def declared(self) -> Lines:
        return [state.text for state in self._known]

    def use(self, place: Place) -> Lines:
        """Now and then a rule that is bound is kept, or one that was kept is found."""
        if not place.worlds or not self.chance.maybe(self._often):
            return []
        names = sorted(n for n, kind in place.bound.items() if not kind.spread)
        ranked = [n for n in names if _ranked(place.bound[n])]
        names = ranked if ranked and self.chance.maybe(0.6) else names
        lines = self._remember(place, self.chance.one(names)) if names else []
        found = [s for s in self._known if self._may_find(place, s.kind)]
        if found and self.chance.maybe(0.7):
            lines += self._find(place, self.chance.one(found))
        return lines

    def _remember(self, place: Place, name: str) -> Lines:
        kind, chance = place.bound[name].name, self.chance
        states = [state for state in self._known if state.kind == kind]
        if not states or chance.maybe(0.2):
            more = chance.one(("", ", n : u8"))
            aging = chance.one(("", " ages 300", " ages 300 idle", " counts packets"))
            states = [_State(f"KP{len(self._known)}", kind, more, aging)]
            self._known += states
        state = chance.one(states)
        port = chance.one(["port", *self._values.ports(place)])
        said = [f"k = {chance.number(0, 2)}", f"r = {name}", f"p = {port}"]
        said += ["n = 1"] if state.more else []
        end = " else {}" if chance.maybe(0.25) else ""
        return [f"remember {state.name}({', '.join(chance.shuffled(said))}){end}"]

    def _may_find(self, place: Place, kind: str) -> bool:
        """Not where arms depend on the one that is bound, nor where one may be bound."""
        free = kind not in place.maybe or kind in place.bound
        return free and kind not in place.locked and not place.action

    def _find(self, place: Place, state: _State) -> Lines:
        chance, kind = self.chance, self._kinds[state.kind]
        test = f"{kind.name}.id {chance.one(('=', '<', '!='))} {chance.number(1, 9)}"
        known = [e for e, optional in kind.readable if e.kind == "uint" and not optional]
        if known and chance.maybe(0.7):
            element = chance.one(known)
            test = f"{kind.name}.{element.name} >= {chance.number(0, (1 << element.width) - 1)}"
        changed = [f"{state.name}.n += 1"] if state.more and chance.maybe(0.5) else []
        found = [f"if {test} {{ count kept_rule }}", *changed]
        find = f"find {kind.name} from {state.name}.r"
        if kind.name in place.bound:  # and is so behind this
            lines = [f"{find} else {{ drop }}", *found]
        else:
            lines = [f"if {find} {{", *nested(found), f"}} else {{ count gone{state.name} }}"]
            place.maybe.add(kind.name)
        return [f"if recall {state.name}(k = {chance.number(0, 2)}) {{", *nested(lines), "}"]


def _ranked(kind: Kind) -> bool:
    return any(line.startswith(("priority", "precedence")) for line in kind.extra)
