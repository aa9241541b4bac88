"""Parse graphs that nobody wrote: own headers and standard ones in any order, several ways to a
node, roles, guards with sets, ranges and masks that do not overlap."""

from __future__ import annotations

from dataclasses import dataclass, field

from chance import Chance
from random_headers import Own, header

#: Standard headers: the fields that edges test, and those that another test may be about.
STANDARD = {
    "ethernet": [("type", 16)],
    "vlan": [("type", 16), ("pcp", 3)],
    "ipv4": [("protocol", 8), ("more_fragments", 1), ("dscp", 6)],
    "gre": [("protocol", 16), ("sequence_present", 1)],
    "udp": [("dst", 16), ("src", 16)],
    "tcp": [("dst", 16), ("syn", 1)],
    "icmp": [("type", 8), ("code", 8)],
    "arp": [("operation", 16)],
}
#: How the world announces them, which is how they are announced mostly.
USUAL = {
    ("type", "vlan"): 0x8100, ("type", "ipv4"): 0x0800, ("type", "arp"): 0x0806,
    ("protocol", "gre"): 47, ("protocol", "tcp"): 6, ("protocol", "udp"): 17,
    ("protocol", "icmp"): 1, ("protocol", "ipv4"): 4,
}  # fmt: skip
LINKS = ("ethernet", "vlan")


@dataclass
class Place:
    """A node while the graph grows. `taken`: by role, what edges that leave it match already."""

    name: str
    header: str
    link: bool
    selectors: list[tuple[str, int]]
    style: str
    mask: int
    depth: int
    taken: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)  # roles on which an edge takes all packets
    roles: set[str] = field(default_factory=set)


@dataclass
class Grown:
    """Text of the headers and of the edges."""

    headers: list[str]
    edges: list[str]


class GraphMaker:
    def __init__(self, chance: Chance, roles: list[str]) -> None:
        self.chance, self.roles = chance, roles
        self.own: dict[str, Own] = {}
        self.places: list[Place] = []
        self.edges: list[str] = []

    def make(self) -> Grown:
        chance = self.chance
        self.add("ethernet", "ethernet", set(self.roles))
        if chance.maybe(0.4):
            self.reach("vlan", "vlan", [self.places[0]])
        if chance.maybe(0.25):
            self.declare("tag", link=True)
            self.reach("tag", "tag", [p for p in self.places if p.link])
        wanted = self.wanted()
        if chance.maybe(0.65):
            self.tunnel()
        for name, head in wanted:
            self.reach(name, head, self.before(head))
        return Grown([o.text for o in self.own.values()], self.edges)

    def wanted(self) -> list[tuple[str, str]]:
        """Nodes behind the link headers, roughly outermost first."""
        chance = self.chance
        out: list[tuple[str, str]] = []
        for i in range(chance.number(0, 4)):
            self.declare(f"own{i}")
        own = [o for o in self.own if o != "tag"]
        first = chance.one(["ipv4", "ipv4", "ipv4", "ipv4", *own][:5])
        out.append(("outer" if first == "ipv4" else first, first))
        rest = [(o, o) for o in own if o != first]
        if rest and chance.maybe(0.3):  # the same header under another name
            rest.append((f"{rest[0][0]}_again", rest[0][0]))
        for name, probability in (("gre", 0.45), ("udp", 0.5), ("arp", 0.1)):
            if chance.maybe(probability):
                rest.append((name, name))
        if first != "ipv4" or chance.maybe(0.5):
            rest.append(("user", "ipv4"))
        out += chance.shuffled(rest)
        late = [("tcp", 0.5), ("icmp", 0.25)]
        out += [(n, n) for n, p in late if chance.maybe(p)]
        return out[:14]

    def tunnel(self) -> None:
        """A node `inner` that comes bare on some roles and within other headers on the others: what
        pushes and pops are about."""
        chance = self.chance
        within = set(chance.some(self.roles, 1, max(1, len(self.roles) - 1)))
        bare = set(self.roles) - within or set(within)
        if chance.maybe(0.25):
            bare = set()
        middle = [("t_gre", "gre"), *((f"t_{o}", o) for o in self.own if o != "tag")]
        path = [("t_ip", "ipv4"), *chance.some(chance.shuffled(middle), 0, 2)]
        at = self.places[0]
        for name, head in [*path, ("inner", "ipv4")]:
            roles = self.edge(at, name, head, within)
            if not roles:
                return
            at = self.add(name, head, roles)
            at.style = "values"
        for place in self.places:
            if (
                place.link
                and bare & place.roles
                and (place.name == "ethernet" or chance.maybe(0.7))
            ):
                at.roles |= self.edge(place, "inner", "ipv4", bare)

    def declare(self, name: str, link: bool = False) -> None:
        self.own[name] = header(self.chance, name, link)

    # ---- growing -----------------------------------------------------------------------------

    def add(self, name: str, head: str, roles: set[str]) -> Place:
        own = self.own.get(head)
        selectors = own.selectors if own else STANDARD[head]
        style = self.chance.one(["values", "values", "values", "values", "mask", "all"])
        if head == "ethernet":
            style = self.chance.one(["values"] * 9 + ["mask"])
        width = selectors[0][1]
        mask = self.chance.number(1, (1 << width) - 1) | 1 << (width - 1)
        link = head in LINKS or head == "tag"
        place = Place(name, head, link, selectors, style, mask, 0, roles=set(roles))
        self.places.append(place)
        return place

    def before(self, head: str) -> list[Place]:
        """What may stand in front of such a header."""
        if head in ("tcp", "icmp"):
            sources = [p for p in self.places if p.header == "ipv4"]
            if sources and self.chance.maybe(0.8):
                return sources
        return self.places

    def reach(self, name: str, head: str, sources: list[Place]) -> None:
        """Lead edges to a new node; where no source has room for one there is no node."""
        count = self.chance.one((1, 1, 1, 2, 2, 3))
        # The deeper the better, but the front must be reached as well.
        open_ = [p for p in sources if p.roles - p.closed]
        picked = self.chance.some(open_[-4:] + open_[:1], 1, count)
        roles: set[str] = set()
        for source in dict.fromkeys(p.name for p in picked):
            place = next(p for p in self.places if p.name == source)
            roles |= self.edge(place, name, head)
        if roles:
            self.add(name, head, roles)
            if self.own.get(head) is not None and head not in LINKS:
                return
        return

    def edge(self, source: Place, name: str, head: str, among: set[str] | None = None) -> set[str]:
        """Roles on which an edge now leads there. `among`: on these, and for one value only."""
        chance = self.chance
        roles = sorted(source.roles - source.closed)
        if among is not None:
            roles = [r for r in roles if r in among]
        elif len(roles) > 1 and chance.maybe(0.35):
            roles = chance.some(roles, 1, len(roles) - 1)
        if not roles:
            return set()
        if among is not None:
            guard = self.exact(source, head, roles)
        else:
            guard = self.guard(source, name, head, roles)
        if guard is None:
            return set()
        alias = f" as {name}" if name != head else ""
        on = f" on {', '.join(roles)}" if len(roles) < len(self.roles) or chance.maybe(0.1) else ""
        self.edges.append(f"{source.name} -> {head}{alias}{guard}{on}")
        return set(roles)

    # ---- guards ------------------------------------------------------------------------------

    def guard(self, source: Place, name: str, head: str, roles: list[str]) -> str | None:
        """Text that overlaps with no other guard of these roles; None if there is no room."""
        chance = self.chance
        field_, width = source.selectors[0]
        taken = [r for role in roles for r in source.taken.get(role, [])]
        if source.style == "all" and not taken and source.header != "ethernet":
            source.closed.update(roles)
            return ""
        if source.style == "mask":
            return self.masked(source, field_, width, roles, taken)
        ranges = self.ranges(field_, width, head, taken)
        if not ranges:
            return None
        for role in roles:
            source.taken.setdefault(role, []).extend(ranges)
        said = " | ".join(f"{a:#x}" if a == b else f"{a}..{b}" for a, b in ranges)
        text, writes = f" when {field_} = {said}", [str(chance.number(*chance.one(ranges)))]
        single = len(ranges) == 1 and ranges[0][0] == ranges[0][1]
        if len(source.selectors) > 1 and chance.maybe(0.2):
            other, bits = source.selectors[-1]
            value = chance.number(0, (1 << bits) - 1) if bits > 1 else 0
            text += f" and {other} = {value}"
            writes.append(str(value))
        if not single and chance.maybe(0.8):
            text += f" write {', '.join(writes)}"
        return text

    def exact(self, source: Place, head: str, roles: list[str]) -> str | None:
        field_, width = source.selectors[0]
        taken = [r for role in roles for r in source.taken.get(role, [])]
        mask = source.mask if source.style == "mask" else (1 << width) - 1
        for i in range(9):
            value = self.chance.value(width) & mask
            value = USUAL.get((field_, head), value) & mask if i == 0 else value
            if _free((value, value), taken):
                for role in roles:
                    source.taken.setdefault(role, []).append((value, value))
                under = f" & {mask:#x} write {value}" if source.style == "mask" else ""
                return f" when {field_} = {value:#x}{under}"
        return None

    def ranges(
        self, field_: str, width: int, head: str, taken: list[tuple[int, int]]
    ) -> list[tuple[int, int]]:
        chance, full = self.chance, (1 << width) - 1
        usual = USUAL.get((field_, head))
        if usual is not None and chance.maybe(0.8) and _free((usual, usual), taken):
            return [(usual, usual)]
        found: list[tuple[int, int]] = []
        for _ in range(chance.one((1, 1, 1, 2, 3))):
            low = chance.value(width)
            high = min(full, low + chance.number(1, 1 + full // 8)) if chance.maybe(0.25) else low
            if _free((low, high), taken + found):
                found.append((low, high))
        return found

    def masked(
        self, source: Place, field_: str, width: int, roles: list[str], taken: list[tuple[int, int]]
    ) -> str | None:
        values = [
            v for v in {self.chance.value(width) & source.mask for _ in range(6)}
            if _free((v, v), taken)
        ]  # fmt: skip
        if not values:
            return None
        picked = sorted(values)[: self.chance.one((1, 1, 2))]
        for role in roles:
            source.taken.setdefault(role, []).extend((v, v) for v in picked)
        said = " | ".join(f"{v:#x} & {source.mask:#x}" for v in picked)
        write = f" write {picked[0]}" if self.chance.maybe(0.8) else ""
        return f" when {field_} = {said}{write}"


def _free(one: tuple[int, int], taken: list[tuple[int, int]]) -> bool:
    return all(one[1] < low or high < one[0] for low, high in taken)


def graph(chance: Chance, roles: list[str]) -> Grown:
    return GraphMaker(chance, roles).make()
