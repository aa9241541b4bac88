"""Conditions that nobody wrote, and which packets are left where they hold."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_network

from chance import Chance
from helioc.compiler.check.errors import LONGEST_FRAME
from places import Ground, Place
from random_facts import Worlds
from random_values import CONSTANTS, Number, Values, varies

#: Text, and the packets for which it holds and does not.
Said = tuple[str, Worlds, Worlds]


def _seen(made: Number) -> int:
    """The greatest number that it may be compared with: `check` refuses longer frames than programs
    see (H0349)."""
    if "frame.length" not in made.text:
        return made.high
    return min(made.high, LONGEST_FRAME) if made.text == "frame.length" else made.low


class Conditions:
    def __init__(self, ground: Ground, values: Values) -> None:
        self.chance, self.facts, self.values = ground.chance, ground.facts, values

    def condition(self, worlds: Worlds, place: Place, deep: int = 2) -> Said | None:
        """With some packets for which it holds, and some for which it does not."""
        chance = self.chance
        if deep and chance.maybe(0.3):
            return self.joined(worlds, place, deep)
        here = replace(place, worlds=worlds)
        if here.perhaps and chance.maybe(0.6):
            return self.found(here)
        leaves = [self.compare, self.compare, self.among, self.address, *[self.local] * 3,
                  self.role, *[self.present] * 2, *[self.multicast] * 2, *[self.fragment] * 6,
                  *[self.limited] * 2]  # fmt: skip
        for leaf in chance.shuffled(leaves):
            made = leaf(here)
            if made is not None:
                text, yes, no = made
                if yes == no == here.worlds:
                    text = self.told(here, self.metered(here, text))
                    made = text, yes, no
                if deep and chance.maybe(0.2):
                    return f"not ({text})", no, yes
                return made
        return None

    def joined(self, worlds: Worlds, place: Place, deep: int) -> Said | None:
        left = self.condition(worlds, place, deep - 1)
        if left is None:
            return None
        word = self.chance.one(("and", "or"))
        right = self.condition(left[1] if word == "and" else left[2], place, deep - 1)
        if right is None:
            return left
        text = f"({left[0]}) {word} ({right[0]})"
        if word == "and":
            return text, right[1], left[2] | right[2]
        return text, left[1] | right[1], right[2]

    # ---- comparisons -------------------------------------------------------------------------

    def compare(self, here: Place) -> Said | None:
        chance = self.chance
        made = self.values.number(here)
        if made.high >> 64 or not varies(made.text):
            return None
        if chance.maybe(0.2):
            other = self.values.number(here)
            if varies(other.text) and not other.high >> 64:
                operator = chance.one(("=", "!=", "<", ">="))
                return f"{made.text} {operator} {other.text}", here.worlds, here.worlds
        value = chance.number(0, made.high) if chance.maybe(0.5) else chance.number(0, 9)
        value = min(max(value, made.low), _seen(made))
        operator = chance.one(("=", "!=", "<", "<=", ">", ">="))
        return f"{made.text} {operator} {value}", here.worlds, here.worlds

    def among(self, here: Place) -> Said | None:
        """Whether a number, or an address, is in a set."""
        chance = self.chance
        if chance.maybe(0.4):
            kind = chance.one(("ip4", "ip6"))
            known = self.values.of_kind(here, kind, 128)
            subject = chance.one(known) if known else ""
            members = [self.prefix(kind), *chance.some(CONSTANTS[kind], 0, 2)]
        else:
            made = self.values.number(here)
            high = _seen(made)
            least = chance.number(made.low, high)
            most = chance.number(least, high)
            subject = made.text if varies(made.text) and not made.high >> 64 else ""
            span = f"{least}..{most}" if (least, most) != (made.low, made.high) else str(least)
            members = [span, *(str(chance.number(made.low, high)) for _ in range(2))]
            members = chance.some(members, 1, 3)
        if not subject:
            return None
        inside = members[0] if len(members) == 1 else f"{{ {', '.join(members)} }}"
        return f"{subject} in {inside}", here.worlds, here.worlds

    def prefix(self, kind: str) -> str:
        """One that has addresses that packets have."""
        length = self.chance.number(1, 32 if kind == "ip4" else 128)
        text = f"{self.chance.one(CONSTANTS[kind])}/{length}"
        return str(ip_network(text, strict=False))

    def address(self, here: Place) -> Said | None:
        """Of a MAC or IP address: with another or a constant."""
        chance = self.chance
        kind = chance.one(("ip4", "ip6", "ip6", "mac"))
        known = self.values.of_kind(here, kind, 128)
        if not known or chance.maybe(0.4):
            return None
        other = chance.one(known + CONSTANTS[kind])
        operator = chance.one(("=", "!=", "<", ">="))
        return f"{chance.one(known)} {operator} {other}", here.worlds, here.worlds

    # ---- questions ---------------------------------------------------------------------------

    def present(self, here: Place) -> Said | None:
        for node in self.chance.shuffled(self.facts.names):
            yes = frozenset(w for w in here.worlds if node in w.way)
            if node not in here.pushed and yes and yes != here.worlds:
                return node, yes, here.worlds - yes
        return None

    def local(self, here: Place) -> Said | None:
        return self.asked(here, "local", ("ip4", "ip6"))

    def multicast(self, here: Place) -> Said | None:
        return self.asked(here, "multicast", ("ip4", "ip6", "mac"))

    def asked(self, here: Place, what: str, kinds: tuple[str, ...]) -> Said | None:
        known = [f"{n}.{f.name}" for n in here.sure for f in self.facts.fields(n)
                 if f.kind in kinds]  # fmt: skip
        said = f"{self.chance.one(known)} is {what}" if known else ""
        return (said, here.worlds, here.worlds) if said else None

    def fragment(self, here: Place) -> Said | None:
        known = [n for n in here.sure if self.facts.protocol(n) == "ipv4"]
        said = f"{self.chance.one(known)} is fragment" if known else ""
        return (said, here.worlds, here.worlds) if said else None

    def limited(self, here: Place) -> Said:
        """Of the errors that may be sent, asking takes one."""
        return "error is limited", here.worlds, here.worlds

    def metered(self, here: Place, text: str) -> str:
        """And of which colours a packet is, where a rule with a meter was found. By a chance of its
        own: all else stays what it would be."""
        own, meters = Chance(text), self.meters(here)
        if not meters or own.maybe(0.1):
            return text
        name = own.one(list(meters))
        known = ["green", "yellow", "red"] if meters[name] > 2 else ["green", "red"]
        word, colours = own.one(("and", "or")), own.some(known, 1, 2)
        given = f" from {own.one(known)}" if len(known) > 2 and own.maybe(0.6) else ""
        return f"{text} {word} meter {name}{given} is {' | '.join(colours)}"

    def meters(self, here: Place) -> dict[str, int]:
        """Rules and entries that are bound and have meters, each with how many elements."""
        states = self.values.states
        found = {n: len(kind.meters) for n, kind in here.bound.items() if kind.meters}
        return found | {n: len(states[n].meters) for n in sorted(here.recalled) if states[n].meters}

    def aware(self, here: Place) -> list[str]:
        """Where one meter may go by the colour of another one, mostly that."""
        meters = self.meters(here)
        kinds = {n: here.bound[n].name if n in here.bound else n for n in meters}
        pairs = [(a, b) for a in meters if meters[a] > 2 for b in meters if kinds[a] != kinds[b]]
        own = Chance(f"aware {pairs} {len(here.worlds)}")  # of its own, too
        if not pairs or not here.worlds or own.maybe(0.4):
            return []
        behind, front = own.one(pairs)
        colours = own.some(["green", "yellow", "red"], 1, 2)
        return [f"if meter {behind} from {front} is {' | '.join(colours)} {{ count measured }}"]

    def told(self, here: Place, text: str) -> str:
        """And which rule was found, or what it counted. By a chance of its own, too."""
        own = Chance(f"told {text}")
        if not here.bound or own.maybe(0.1):
            return text
        name = own.one(list(here.bound))
        what = own.one(here.bound[name].told + here.bound[name].told[1:] * 2)
        word, most = own.one(("and", "or")), 2000 if what == "bytes" else 4
        test = f"{own.one(('<', '>='))} {own.number(1, most)}"
        return f"{text} {word} {name}.{what} {own.one((test, '& 1 = 0'))}"

    def found(self, here: Place) -> Said:
        """Whether a rule was."""
        name = self.chance.one(here.perhaps)
        yes = frozenset(w for w in here.worlds if name in w.found)
        return name, yes, here.worlds - yes

    def role(self, here: Place) -> Said | None:
        role = self.chance.one(self.facts.roles)
        yes = frozenset(w for w in here.worlds if w.role == role)
        if not yes or yes == here.worlds:
            return None
        return f"port is {role}", yes, here.worlds - yes
