"""Look-ups that nobody wrote: rules found, chosen, given and matched on, entries recalled."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from places import Ground, Lines, Place, nested
from random_changes import Changes
from random_facts import Worlds
from random_rules import Element, Kind
from random_states import State
from random_values import Values


@dataclass(frozen=True)
class Blocks:
    """What goes into braces: statements (how many at most; whether they end), the last ones of a
    block, a verdict."""

    block: Callable[[Place, bool, int], Lines]
    ending: Callable[[Place], Lines]
    verdict: Callable[[Place], Lines]


class Lookups:
    def __init__(self, ground: Ground, values: Values, changes: Changes, blocks: Blocks) -> None:
        self.chance, self.kinds, self.states = ground.chance, ground.kinds, ground.states
        self.values, self.changes, self.blocks = values, changes, blocks
        self.actions: dict[object, tuple[str, Lines]] = {}
        self.names = 0

    # ---- find and recall ---------------------------------------------------------------------

    def find_any(self, place: Place) -> Lines:
        known = [n for n, k in self.kinds.items() if k.matches and not k.spread]
        return self.find(place, self.chance.one(known))

    def port(self, place: Place) -> Lines:
        """Something that says where to send the packet, if nothing does yet."""
        known = [n for n, k in self.kinds.items() if k.matches and not k.spread and k.ports]
        if self.values.ports(place) or place.deep > 6:
            return []
        if self.states and (not known or self.chance.maybe(0.55)):
            return self.recall(place)
        return self.find(place, self.chance.one(known)) if known else []

    def listed(self, place: Place, expected: set[tuple[str, int]]) -> Lines:
        """A rule with values for an array of such elements."""
        known = [n for n, k in self.kinds.items() if k.matches and not k.spread
                 and any((e.kind, e.width) in expected for e in k.lists)]  # fmt: skip
        if not known or place.deep > 6 or set(known) & set(place.bound):
            return []
        return self.find(place, self.chance.one(known))

    def find(self, place: Place, name: str) -> Lines:
        kind = self.kinds[name]
        said = self.said(place, kind)
        found = _found(place, kind, said)
        if name in place.locked or not found or _reads_pushed(place, kind, set(said)):
            return []
        missed = place.branch(_with(place.worlds, name, False))
        missed.bound.pop(name, None)
        place.maybe.add(name)
        values = ", ".join(f"{element} = {text}" for element, text in said.items())

        def bound() -> None:
            place.bound[name] = kind
            place.worlds = found

        return self.looked_up(place, missed, f"find {name}" + f"({values})" * bool(said), bound)

    def said(self, place: Place, kind: Kind) -> dict[str, str]:
        """The values that the look-up says itself, by element: where it must, and now and then in
        place of a field that shares its bytes with no other."""
        said = {}
        nodes = [m.operand.split(".")[0] for m in kind.matches]
        for m in kind.matches:
            alone = nodes.count(m.operand.split(".")[0]) == 1 and "." in m.operand
            alone = alone and m.element.kind not in ("bytes", "name")
            if m.operand == "given" or (alone and self.chance.maybe(0.15)):
                element = m.element
                said[element.name] = self.values.fitting(place, element.kind, element.width)
        return said

    def recall(self, place: Place) -> Lines:
        if not self.states:
            return []
        state = self.chance.one(list(self.states.values()))
        return self.recalled(place, state)

    def recalled(self, place: Place, state: State) -> Lines:
        text = self.changes.entry(place, "recall", state, state.match)
        missed = place.branch()
        missed.recalled -= {state.name}

        def bound() -> None:
            place.recalled |= {state.name}

        return self.looked_up(place, missed, text, bound)

    def inserted(self, place: Place) -> Lines:
        """Remembered where there is no entry; it is there on both ways."""
        state = self.chance.one(list(self.states.values()))
        text = self.changes.entry(place, "remember", state, (*state.match, *state.gives))
        place.recalled |= {state.name}
        return self.looked_up(place, place.branch(), text, lambda: None, whole=True)

    def exchange(self, place: Place) -> Lines:
        name, slot = self.chance.one(self.changes.changeable(place))
        before, after = (self.changes.slot(place, slot) for _ in range(2))
        text = f"exchange {name}.{slot.name} from {before} to {after}"
        return self.looked_up(place, place.branch(), text, lambda: None)

    def looked_up(
        self,
        place: Place,
        missed: Place,
        text: str,
        bound: Callable[[], None],
        whole: bool = False,
    ) -> Lines:
        """With an `else` that ends, so that what was looked up is there behind it, or with one that
        does not; now and then as the question of an `if`. `whole`: the `else` is not left out."""
        asked = self.chance.maybe(0.25)
        text = f"if {text} {{}}" if asked else text
        if self.chance.maybe(0.75):
            long = self.chance.maybe(0.5)
            body = self.blocks.block(missed, True, 1) if long else self.blocks.verdict(missed)
            bound()
            return [f"{text} else {{", *nested(body), "}"]
        missed.free = False
        body = self.blocks.block(missed, False, 1) if self.chance.maybe(0.5) else []
        bound()
        place.meet(missed)
        return [f"{text} else {{", *nested(body), "}"] if body or whole else [text]

    # ---- what rules give ---------------------------------------------------------------------

    def gives_at(self, place: Place) -> list[str]:
        """Bound rules that may give an ACT which is bound nowhere yet."""
        if "ACT" in place.maybe:
            return []
        return [n for n, k in place.bound.items() if "ACT" in k.alternatives]

    def given(self, place: Place) -> Lines:
        name = self.chance.one(self.gives_at(place))
        then = self.with_action(place.branch(free=False))
        lines = [f"if {name} gives ACT {{", *nested(self.blocks.block(then, False, 2)), "}"]
        then.maybe.discard("ACT")
        place.meet(then)
        return lines

    def given_end(self, place: Place) -> Lines:
        name = self.chance.one(self.gives_at(place))
        then, other = self.with_action(place.branch()), place.branch()
        lines = [f"if {name} gives ACT {{", *nested(self.blocks.block(then, True, 3))]
        return [*lines, "} else {", *nested(self.blocks.block(other, True, 3)), "}"]

    def with_action(self, place: Place) -> Place:
        place.bound["ACT"] = self.kinds["ACT"]
        place.maybe.add("ACT")
        return place

    def choosable(self, place: Place) -> bool:
        group = self.kinds.get("GRP")
        if group is None or "CLS" not in place.bound or "ACT" in place.locked:
            return False
        nodes = {h.split(".")[0] for h in group.hashed}
        return not nodes & set(place.pushed) and not _reads_pushed(place, group)

    def choose(self, place: Place) -> Lines:
        said = self.said(place, self.kinds["GRP"])
        values = ", ".join(f"{element} = {text}" for element, text in said.items())
        text = "choose ACT from CLS.GRP" + f"({values})" * bool(said)
        if self.chance.maybe(0.8):
            text += f" over {self.values.hashed(place)}"
        missed = place.branch()
        missed.bound.pop("ACT", None)
        self.with_action(place)
        if self.chance.maybe(0.7):
            text += f" else {{ {' '.join(self.blocks.verdict(missed))} }}"
        return [text, *self.blocks.ending(place)]

    # ---- match -------------------------------------------------------------------------------

    def matchable(self, place: Place) -> list[tuple[str, Element]]:
        return [(n, e) for n, k in place.bound.items() for e in k.gives
                if (e.symbols or e.references) and f"{n}.{e.name}" not in place.asked]  # fmt: skip

    def match(self, place: Place) -> Lines:
        name, element = self.chance.one(self.matchable(place))
        place.asked |= {f"{name}.{element.name}"}
        lines: Lines = [f"match {name}.{element.name} {{"]
        for pattern, word, inner in self.arms(place, name, element):
            body = self.blocks.block(inner, True, 2)
            lines += nested([f"{pattern}{word} => {{", *nested(body), "}"])
        return [*lines, "}"]

    def arms(self, place: Place, name: str, element: Element) -> list[tuple[str, str, Place]]:
        out = []
        if element.symbols:
            several = self.chance.shuffled(element.symbols)
            if len(several) > 2 and self.chance.maybe(0.5):
                several = [*several[:2], "_"]
            for symbol in several:
                inner = place.branch()
                inner.locked = place.locked | {name}
                out.append((symbol, "", inner))
            return out
        for kind in self.chance.shuffled(element.references):
            inner = place.branch()
            self.names += 1
            word = f"{'p' if kind == 'port' else 't'}{self.names}"
            if kind == "port":
                inner.ports.append(word)
            else:
                inner.bound[word] = self.kinds[kind]
            out.append((kind, f" {word}", inner))
        return out

    # ---- actions -----------------------------------------------------------------------------

    def apply(self, place: Place) -> Lines:
        """An action that begins with just these packets; the same one again if it can be."""
        key = (place.worlds, place.pushed, place.popped, place.owed, place.dangling, place.own,
               place.bare, place.clamped, place.locked)  # fmt: skip
        if key not in self.actions:
            inner = place.branch()
            inner.bound, inner.ports, inner.recalled = {"ACT": self.kinds["ACT"]}, [], frozenset()
            inner.action, inner.named = True, ()
            name = f"act{len(self.actions)}"
            self.actions[key] = (name, self.blocks.block(inner, True, 3))
        return [f"{self.actions[key][0]}(ACT)"]


def _found(place: Place, kind: Kind, said: Iterable[str]) -> Worlds:
    """The packets for which a rule may be found: they have what each rule matches."""
    needed = {m.operand.split(".")[0] for m in kind.matches
              if m.how == "exact" and m.element.name not in said and "." in m.operand}  # fmt: skip
    having = frozenset(w for w in place.worlds if needed - {"l4"} <= set(w.way))
    return _with(having, kind.name, True)


def _with(worlds: Worlds, name: str, found: bool) -> Worlds:
    """The packets with a rule found for them, or missed."""
    more = {name} if found else set()
    return frozenset(w._replace(found=tuple(sorted({*w.found} - {name} | more))) for w in worlds)


def _reads_pushed(place: Place, kind: Kind, said: set[str] | frozenset[str] = frozenset()) -> bool:
    return any(
        m.operand.split(".")[0] in place.pushed for m in kind.matches if m.element.name not in said
    )
