"""Parse graphs that nobody wrote: own headers and standard ones in any order, several ways to a
node, stacks, roles, packets that start differently by role."""

from __future__ import annotations

from dataclasses import dataclass, field

import random_names
from chance import Chance
from random_chains import Chained, chain
from random_guards import Leaving, exact, guard, leaving
from random_headers import Own, header, row
from random_options import perhaps_fitting, with_options

LINKS = ("ethernet", "vlan")
IPS = ("ipv4", "ipv6")
MOST_NODES = 13
#: How often a standard header stands anywhere, beside those of tunnels.
ANYWHERE = {"gre": 0.3, "udp": 0.4, "arp": 0.2, "mpls": 0.17, "vxlan": 0.12, "geneve": 0.2,
            "gtpu": 0.12, "pdu_session": 0.2, "srh": 0.1, "ipv6_fragment": 0.25,
            "ipv6_destination": 0.15}  # fmt: skip
#: Where a standard header is declared.
HOMES = {
    "std.ethernet": ("ethernet", "vlan", "arp"),
    "std.ip": ("ipv4", "tcp", "udp", "icmp"),
    "std.ipv6": ("ipv6", "icmpv6", "ipv6_destination", "ipv6_fragment"),
    "std.gre": ("gre",), "std.vxlan": ("vxlan",), "std.geneve": ("geneve",),
    "std.gtpu": ("gtpu", "pdu_session"), "std.mpls": ("mpls",), "std.srv6": ("srh",),
}  # fmt: skip


@dataclass
class Spot:
    """A node while the graph grows."""

    name: str
    header: str
    link: bool
    leaving: Leaving
    roles: set[str] = field(default_factory=set)

    @property
    def open(self) -> set[str]:
        """Roles on which there is room for another edge."""
        return self.roles - self.leaving.closed


@dataclass(frozen=True)
class Grown:
    """Text of the headers and of the edges, and the modules that these need."""

    headers: list[str]
    edges: list[str]
    imports: list[str]


def graph(chance: Chance, roles: list[str]) -> Grown:
    return GraphMaker(chance, roles).make()


class GraphMaker:
    def __init__(self, chance: Chance, roles: list[str]) -> None:
        self.chance, self.roles = chance, roles
        self.own: dict[str, Own] = {}
        self.spots: list[Spot] = []
        self.starts: list[str] = []
        self.edges: list[str] = []
        self.chain: Chained | None = None

    def make(self) -> Grown:
        chance = self.chance
        for i in range(chance.number(0, 3)):
            self.declare(f"own{i}")
        overlay = chance.maybe(0.25)
        if overlay:
            self.overlay()
        else:
            self.start("ethernet", set(self.roles), known=chance.maybe(0.1))
        self.links()
        if not overlay and chance.maybe(0.7):
            self.tunnel()
        for name, head in self.needed():
            if len(self.spots) < MOST_NODES:
                self.reach(name, head, self.before(head))
        self.pushable("more", Chance(" ".join(self.edges)))
        self.chained(Chance("chain " + " ".join(self.edges)))
        self.labelled(Chance("label " + " ".join(self.edges)))
        used = {s.header for s in self.spots} | (
            {"vlan"} if "as more" in "".join(self.edges) else set()
        )
        imports = [m for m, names in HOMES.items() if used & set(names)]
        if self.chain and self.chain.standard and "std.ipv6" not in imports:
            imports.append("std.ipv6")
        lines, headers = (self.chain.lines, self.chain.headers) if self.chain else ([], [])
        own = [*(with_options(o.text) for o in self.own.values()), *headers]
        if any(s.header == random_names.NODE for s in self.spots):
            own.append(Chance("form " + " ".join(self.edges)).one(random_names.FORMS))
        return Grown(
            own, [*self.starts, *perhaps_fitting([*self.edges, *lines], self.starts)], imports
        )

    def declare(self, name: str, link: bool = False) -> None:
        self.own[name] = header(self.chance, name, link)

    # ---- the front ---------------------------------------------------------------------------

    def start(self, name: str, roles: set[str], known: bool) -> Spot:
        spot = self.add(name, "ethernet", roles)
        if known:
            alias = f" as {name}" if name != "ethernet" else ""
            self.starts.append(f"start -> ethernet{alias} on {', '.join(sorted(roles))}")
        return spot

    def links(self) -> None:
        """Link headers behind the one that packets start with."""
        chance, first = self.chance, self.spots[0]
        if chance.maybe(0.4):
            self.reach("vlan", "vlan", [first], chance.one((1, 2, 2, 2, 3)))
        for name in ("service", "mark"):  # that packets on some roles have, and a push gives others
            if chance.maybe(0.35):
                links = [s for s in self.spots if s.link and s.header in LINKS]
                self.reach(name, "vlan", links)
        if chance.maybe(0.25):
            self.declare("tag", link=True)
            self.reach("tag", "tag", [s for s in self.spots if s.link and s.name != "carried"])

    def overlay(self) -> None:
        """Frames that come bare on some roles and in tunnels on the others (on all, if there is but
        one role)."""
        chance = self.chance
        outside = set(chance.some(self.roles, 1, max(1, len(self.roles) - 1)))
        bare = set(self.roles) - outside
        at = self.start("ethernet", outside, known=True)
        path = chance.one((["vxlan"], ["udp", "vxlan"], ["udp", "geneve"], ["gre"], ["own"], []))
        names = [("outer", chance.one(IPS)), *((f"t_{h}", h) for h in self.any_own(path))]
        names += self.row()
        for name, head in names:
            at = self.then(at, name, head, outside) or at
        reached = self.edge(at, "carried", "ethernet", outside, single=True)
        if bare:
            inner = self.start("carried", bare | reached, known=False)
            self.starts.append(f"start -> ethernet as carried on {', '.join(sorted(bare))}")
        elif reached:
            inner = self.add("carried", "ethernet", reached)
        else:
            return
        inner.leaving.style = "values"
        if chance.maybe(0.5):
            self.reach("within", "vlan", [inner])

    def pushable(self, name: str, chance: Chance) -> None:
        """Perhaps a tag that no packet comes with."""
        if chance.maybe(0.6):
            return
        at = chance.one([i for i, s in enumerate(self.spots) if s.header in LINKS])
        first = f"{self.spots[at].name} -> vlan as {name} when type"
        self.edges.append(f"{first} = {chance.one((0x8100, 0x88A8, 0x9100)):#x} on push")
        for i, spot in enumerate(chance.some(self.spots[at + 1 :], 0, 2)):
            alias = f" as {spot.name}" if spot.name != spot.header else ""
            self.edges.append(f"{name} -> {spot.header}{alias} when type = {0x88B5 + i:#x}")

    def chained(self, chance: Chance) -> None:
        """Perhaps a chain behind a node that tells its packets apart by values."""
        for _ in range(6 if chance.maybe(0.35) else 0):
            at = chance.number(1, len(self.spots) - 1) if len(self.spots) > 1 else 0
            spot = self.spots[at]
            if spot.link or spot.open != spot.roles or not spot.roles:
                continue
            behind = [
                s.name if s.name == s.header else f"{s.header} as {s.name}"
                for s in self.spots[at + 1 :]
                if not s.link
            ]
            self.chain = chain(chance, spot.name, spot.leaving, sorted(spot.roles), behind)
            if self.chain is not None:
                return

    def labelled(self, chance: Chance) -> None:
        """Perhaps a header with a domain name, behind nodes that have room for an edge."""
        if chance.maybe(0.65):
            return
        roles: set[str] = set()
        for spot in chance.some([s for s in self.spots if s.open and not s.link], 1, 2):
            own = sorted(spot.open)
            said = exact(chance, spot.leaving, random_names.NODE, own)
            if said is not None:
                on = f" on {', '.join(own)}" if len(own) < len(self.roles) else ""
                self.edges.append(f"{spot.name} -> {random_names.NODE}{said}{on}")
                roles |= set(own)
        if roles:
            known = leaving(chance, random_names.NODE, [("kind", 8)])
            self.spots.append(Spot(random_names.NODE, random_names.NODE, False, known, roles))

    # ---- tunnels -----------------------------------------------------------------------------

    def tunnel(self) -> None:
        """A node `inner` that comes bare on some roles and within other headers on the others: what
        pushes and pops are about."""
        chance = self.chance
        within = set(chance.some(self.roles, 1, max(1, len(self.roles) - 1)))
        bare = set(self.roles) - within or set(within)
        if chance.maybe(0.2):
            bare = set()
        at: Spot | None = self.spots[0]
        family = chance.one(("ipv4", "ipv4", "ipv6"))
        path = [("t_ip", family), *((f"t_{h}", h) for h in self.any_own(self.middle(family)))]
        if chance.maybe(0.1):
            path = [("t_mpls", "mpls")]
        path += self.row()
        inner = chance.one(("ipv4", "ipv4", "ipv6"))
        for name, head in [*path, ("inner", inner)]:
            at = self.then(at, name, head, within) if at else None
        if at is None:
            return
        for spot in self.spots:
            if spot.link and bare & spot.roles and (spot is self.spots[0] or chance.maybe(0.7)):
                at.roles |= self.edge(spot, "inner", inner, bare, single=True)

    def row(self) -> list[tuple[str, str]]:
        """Perhaps a header more, with an array that can be pushed."""
        if not self.chance.maybe(0.6):
            return []
        self.own["row"] = row(self.chance, "row")
        return [("t_row", "row")]

    def middle(self, family: str) -> list[str]:
        """Headers between the two IP headers of a tunnel."""
        options = [["gre"], ["udp", "gtpu"], ["udp", "gtpu", "pdu_session"], ["udp", "own"],
                   ["own"], ["own"], ["own", "own"], ["udp"], []]  # fmt: skip
        options += [["own"]] * 6 * any(own.array for own in self.own.values())
        if family == "ipv6":
            options += [["srh"]] * 6 + [["ipv6_destination"], ["own", "srh"], ["ipv6_fragment"]]
        return self.chance.one(options)

    def any_own(self, path: list[str]) -> list[str]:
        """The path with names of own headers, each at most once."""
        left = self.chance.shuffled([o for o in self.own if o != "tag"])
        if self.chance.maybe(0.75):  # those with an array first
            left.sort(key=lambda o: self.own[o].array)
        known = [left.pop() if head == "own" and left else head for head in path]
        return [head for head in known if head != "own"]

    # ---- all the rest ------------------------------------------------------------------------

    def needed(self) -> list[tuple[str, str]]:
        """Nodes behind the link headers, roughly outermost first."""
        chance = self.chance
        out: list[tuple[str, str]] = []
        own = [o for o in self.own if o not in ("tag", "row")]
        first = chance.one([*IPS, "ipv4", *own])
        out.append(("front" if first in IPS else first, first))
        rest = [(o, o) for o in own if o != first]
        if rest and chance.maybe(0.3):  # the same header under another name
            rest.append((f"{rest[0][0]}_again", rest[0][0]))
        for name, probability in ANYWHERE.items():
            if chance.maybe(probability) and all(s.name != name for s in self.spots):
                rest.append((name, name))
        if first not in IPS or chance.maybe(0.4):
            rest.append(("user", chance.one(IPS)))
        out += chance.shuffled(rest)
        late = [("tcp", 0.5), ("icmp", 0.25), ("udp", 0.2), ("icmpv6", 0.3)]
        return out + [(n, n) for n, p in late if chance.maybe(p) and (n, n) not in rest]

    def before(self, head: str) -> list[Spot]:
        """What may stand in front of such a header."""
        if head in ("tcp", "icmp", "icmpv6"):
            expected = {"icmp": ("ipv4",), "icmpv6": ("ipv6",)}.get(head, IPS)
            sources = [s for s in self.spots if s.header in expected]
            if sources and self.chance.maybe(0.8):
                return sources
        return self.spots

    # ---- growing -----------------------------------------------------------------------------

    def add(self, name: str, head: str, roles: set[str]) -> Spot:
        own = self.own.get(head)
        known = leaving(self.chance, head, own.selectors if own else None)
        spot = Spot(name, head, head in LINKS or head == "tag", known, set(roles))
        self.spots.append(spot)
        return spot

    def then(self, source: Spot, name: str, head: str, roles: set[str]) -> Spot | None:
        """A node behind another, by an edge that can be written."""
        reached = self.edge(source, name, head, roles, single=True)
        if not reached:
            return None
        spot = self.add(name, head, reached)
        if spot.leaving.style == "mask":
            spot.leaving.style = "values"
        return spot

    def reach(self, name: str, head: str, sources: list[Spot], depth: int = 1) -> None:
        """Lead edges to a new node; where no source has room for one there is no node."""
        if any(s.name == name for s in self.spots):
            return
        count = self.chance.one((1, 1, 1, 2, 2, 3))
        # The deeper the better, but the front must be reached as well.
        open_ = [s for s in sources if s.open]
        picked = self.chance.some(open_[-4:] + open_[:1], 1, count)
        if head == "mpls" or (head in self.own and self.chance.maybe(0.15)):
            depth = self.chance.one((1, 2, 2, 3))
        known = leaving(self.chance, head, self.own[head].selectors if head in self.own else None)
        again = exact(self.chance, known, head, self.roles) if depth > 1 else None
        roles: set[str] = set()
        for source in {s.name: s for s in picked}.values():
            roles |= self.edge(source, name, head, depth=depth if again else 1)
        if roles:
            self.add(name, head, roles).leaving = known
            if again:  # a row of them
                self.edges.append(f"{name} -> {name}{again}")

    def edge(
        self,
        source: Spot,
        name: str,
        head: str,
        among: set[str] | None = None,
        single: bool = False,
        depth: int = 1,
    ) -> set[str]:
        """Roles on which an edge now leads there. `single`: for one value only. `depth`: to a row
        of so many."""
        chance = self.chance
        roles = sorted(source.open)
        if among is not None:
            roles = [r for r in roles if r in among]
        elif len(roles) > 1 and chance.maybe(0.35):
            roles = chance.some(roles, 1, len(roles) - 1)
        if not roles:
            return set()
        said = (exact if single else guard)(chance, source.leaving, head, roles)
        if said is None:
            return set()
        row = f"[{depth}]" if depth > 1 else ""
        alias = f" as {name}" if name != head else ""
        on = f" on {', '.join(roles)}" if len(roles) < len(self.roles) or chance.maybe(0.1) else ""
        self.edges.append(f"{source.name} -> {head}{row}{alias}{said}{on}")
        return set(roles)
