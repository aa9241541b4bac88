"""Stages that nobody wrote: statements that fit the packets and rules known where they stand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise

from chance import Chance
from compare import ADDRESSES
from helioc.compiler.graph import writable
from helioc.compiler.model import Derived, Edge, Field, Header, Own
from random_rules import Element, Facts, Kind

World = tuple[str, tuple[str, ...]]  # role, nodes outermost first
Worlds = frozenset[World]
Lines = list[str]
#: Headers whose checksums a push does not write yet.
UNWRITABLE = ("udp", "tcp", "icmp")


@dataclass
class Place:
    """What is known at a statement. `bound`: rules that surely are, by name; `maybe`: all that may
    be; `locked`: rules that arms depend on; `free`: packets may be changed here, because all that
    get behind this place come through it."""

    worlds: Worlds
    bound: dict[str, Kind]
    maybe: set[str]
    ports: list[str] = field(default_factory=list)
    locked: frozenset[str] = frozenset()
    pushed: tuple[str, ...] = ()
    popped: bool = False
    changed: frozenset[str] = frozenset()  # roles on which packets were popped or pushed upon
    owed: bool = False  # no link header announces what a pop left first
    free: bool = True
    action: bool = False
    deep: int = 0
    ends: bool = False  # the packet leaves in this block: it may be pushed upon

    def branch(self, worlds: Worlds | None = None, free: bool = True) -> Place:
        return replace(
            self,
            worlds=self.worlds if worlds is None else worlds,
            bound=dict(self.bound),
            maybe=set(self.maybe),
            ports=list(self.ports),
            free=self.free and free,
            deep=self.deep + 1,
        )

    @property
    def sure(self) -> list[str]:
        """Nodes that all packets have as they came."""
        some = next(iter(sorted(self.worlds)), None)
        if some is None:
            return []
        return [n for n in some[1]
                if n not in self.pushed and all(n in w for _, w in self.worlds)]  # fmt: skip


class StageMaker:
    def __init__(
        self, chance: Chance, facts: Facts, kinds: dict[str, Kind], hooks: dict[str, str]
    ) -> None:
        self.chance, self.facts, self.kinds, self.hooks = chance, facts, kinds, hooks
        self.graph = facts.graph
        self.actions: dict[object, tuple[str, Lines]] = {}
        self.budget = chance.number(8, 30)
        self.layer4 = facts.one_layer4()
        self.names = 0

    # ---- stages ------------------------------------------------------------------------------

    def make(self, anchor: str) -> tuple[list[tuple[str, Lines]], list[Lines]]:
        """Stages and actions."""
        chance = self.chance
        worlds = frozenset((r, w) for r, several in self.facts.ways.items() for w in several)
        place = Place(worlds, {}, set())
        stages = []
        count = chance.number(1, 4)
        for i in range(count):
            lines: Lines = []
            self.budget = max(self.budget, 2)
            if i == 0:
                lines += self.entered(place, anchor)
            if not place.popped and not place.pushed and chance.maybe(0.8):
                lines += self.opened(place, anchor)
            if i == chance.number(0, count - 1) or i == count - 1:
                lines += self.classified(place)
            lines += self.block(place, ends=i == count - 1)
            stages.append((f"s{i}", lines))
        return stages, [
            [f"action {n}(ACT) {{", *_in(body), "}"] for n, body in self.actions.values()
        ]

    def entered(self, place: Place, anchor: str) -> Lines:
        """Packets without the anchor leave first, mostly: with it there is more to do."""
        without = frozenset(w for w in place.worlds if anchor not in w[1])
        if not without or self.chance.maybe(0.1):
            return []
        inner = place.branch(without)
        body = self.verdict(inner)
        place.worlds = place.worlds - without
        return [f"if not {anchor} {{", *_in(body), "}"]

    def opened(self, place: Place, anchor: str) -> Lines:
        """Tunnels are opened where packets come in them."""
        inner = {(r, w) for r, w in place.worlds if anchor in w
                 and [n for n in w[: w.index(anchor)] if not self.link(n)]}  # fmt: skip
        roles = {r for r, _ in inner}
        worlds = frozenset(w for w in place.worlds if w[0] in roles)
        if not roles or any(anchor not in w for _, w in worlds) or self.link(anchor):
            return []
        at = place.branch(worlds)
        if not self.can_pop(at, anchor):
            return []
        self.popped(at, anchor)
        place.popped, place.owed = True, place.owed or at.owed
        place.changed |= at.changed
        rest = place.worlds - worlds
        place.worlds = rest | at.worlds
        if not rest:
            return [f"pop to {anchor}"]
        test = " or ".join(f"port is {r}" for r in sorted(roles))
        return [f"if {test} {{ pop to {anchor} }}"]

    def classified(self, place: Place) -> Lines:
        if "CLS" in place.maybe or not place.worlds:
            return []
        return self.find(place, "CLS")

    # ---- blocks ------------------------------------------------------------------------------

    def block(self, place: Place, ends: bool, most: int = 3) -> Lines:
        lines: Lines = []
        place.ends = ends
        for _ in range(self.chance.number(0 if place.deep else 1, most)):
            self.budget -= 1
            if self.budget < 0 or place.deep > 6 or not place.worlds:
                break
            lines += self.statement(place)
        if ends:
            lines += self.ending(place)
        return lines

    def statement(self, place: Place) -> Lines:
        chance = self.chance
        options: list[Callable[[Place], Lines]] = [self.branch, self.look_up, self.look_up]
        if place.free:
            options += [self.pop, self.pop]
        if place.free and place.ends:
            options += [self.push, self.push, self.push]
            options += [self.clamp] if chance.maybe(0.3) else []
        if self.gives_at(place):
            options += [self.given] * 2
        for _ in range(4):
            lines = chance.one(options)(place)
            if lines:
                return lines
        return []

    def ending(self, place: Place) -> Lines:
        chance = self.chance
        often = 0.6 if place.deep else 0.9
        if place.worlds and chance.maybe(often) and (lines := self.sent(place)):
            return lines
        if self.budget < 0 or place.deep > 6 or not place.worlds:
            return self.verdict(place)
        self.budget -= 1
        options = [self.fork, self.verdict, self.sent, self.sent, self.sent, self.sent]
        if self.matchable(place):
            options += [self.match] * 5
        if "ACT" in place.bound and not place.action:
            options += [self.apply] * 3
        if self.choosable(place):
            options += [self.choose] * 12
        if self.gives_at(place):
            options += [self.given_end] * 4
        for _ in range(6):
            lines = chance.one(options)(place)
            if lines:
                return lines
        return self.verdict(place)

    # ---- verdicts ----------------------------------------------------------------------------

    def verdict(self, place: Place) -> Lines:
        words = ["drop"] if place.owed else ["pass", "pass", "send back", "pass", "drop", "default"]
        return [self.chance.one(words)]

    def forward(self, place: Place) -> Lines:
        if not self.can_forward(place):
            return []
        ports = list(place.ports)
        for name, kind in place.bound.items():
            ports += [f"{name}.{e.name}" for e in kind.gives if "port" in e.references]
        vias = [
            f"{n}.{f.name}" for n in place.sure for f in self.facts.fields(n) if f.kind == "ip4"
        ]
        given = self.attributes(place, "ip4", 32)
        if not ports or not (vias or given):
            return []
        vias = given * 3 + vias
        lines = self.clamp(place) if self.chance.maybe(0.3) else []
        return [*lines, f"forward {self.chance.one(ports)} via {self.chance.one(vias)}"]

    def sent(self, place: Place) -> Lines:
        """Changed, and out."""
        if not place.free:
            return []
        lines = self.pop(place) if self.chance.maybe(0.5) else []
        lines += self.push(place) or self.push(place) if self.chance.maybe(0.9) else []
        if not lines and not self.can_forward(place):
            return []
        out = self.forward(place) if self.chance.maybe(0.8) else []
        if out or place.owed or self.chance.maybe(0.2):
            return lines + (out or self.verdict(place))
        return [*lines, self.chance.one(("pass", "send back", "default"))]

    def can_forward(self, place: Place) -> bool:
        if place.owed:
            return False
        firsts: dict[str, set[str]] = {}
        for role, way in place.worlds:
            behind = [n for n in way if not self.link(n)]
            came = [n for n in behind if n not in place.pushed]
            if not came or self.protocol(came[0]) != "ipv4":
                return False
            if not writable(self.graph, "ethernet", behind[0]):
                return False
            if role not in place.changed:
                firsts.setdefault(role, set())
        for role in firsts:
            for way in self.facts.ways[role]:
                front = [n for n in way if not self.link(n)][:1]
                firsts[role] |= {n for n in front if self.protocol(n) == "ipv4"}
        return all(len(names) <= 1 for names in firsts.values())

    def clamp(self, place: Place) -> Lines:
        return ["clamp mss"]

    # ---- branches ----------------------------------------------------------------------------

    def branch(self, place: Place) -> Lines:
        """An `if` that something falls out of."""
        made = self.condition(place.worlds, place)
        if made is None:
            return []
        text, yes, no = made
        if place.free and self.chance.maybe(0.5):  # one way ends: the other goes on alone
            inner = place.branch(yes)
            lines = [f"if {text} {{", *_in(self.block(inner, ends=True)), "}"]
            place.worlds = no
            return lines
        then = place.branch(yes, free=False)
        lines = [f"if {text} {{", *_in(self.block(then, ends=False, most=2)), "}"]
        if self.chance.maybe(0.4):
            other = place.branch(no, free=False)
            lines[-1] = "} else {"
            lines += [*_in(self.block(other, ends=False, most=2)), "}"]
            _meet(place, other)
        _meet(place, then)
        return lines

    def fork(self, place: Place) -> Lines:
        made = self.condition(place.worlds, place)
        if made is None:
            return []
        text, yes, no = made
        then, other = place.branch(yes), place.branch(no)
        return [
            f"if {text} {{", *_in(self.block(then, ends=True)), "} else {",
            *_in(self.block(other, ends=True)), "}",
        ]  # fmt: skip

    # ---- rules -------------------------------------------------------------------------------

    def look_up(self, place: Place) -> Lines:
        known = [n for n, k in self.kinds.items() if k.matches and not k.spread]
        return self.find(place, self.chance.one(known))

    def find(self, place: Place, name: str) -> Lines:
        kind = self.kinds[name]
        if name in place.locked or self.reads_pushed(place, kind):
            return []
        missed = place.branch()
        missed.bound.pop(name, None)
        place.maybe.add(name)
        if place.free and self.chance.maybe(0.75):
            body = (
                self.block(missed, ends=True, most=1)
                if self.chance.maybe(0.3)
                else self.verdict(missed)
            )
            place.bound[name] = kind
            return [f"find {name} else {{", *_in(body), "}"]
        place.bound.pop(name, None)
        missed.free = False
        body = self.block(missed, ends=False, most=1) if self.chance.maybe(0.5) else []
        _meet(place, missed)
        return [f"find {name} else {{", *_in(body), "}"] if body else [f"find {name}"]

    def reads_pushed(self, place: Place, kind: Kind) -> bool:
        return any(m.operand.split(".")[0] in place.pushed for m in kind.matches)

    def gives_at(self, place: Place) -> list[str]:
        """Bound rules that may give an ACT which is bound nowhere yet."""
        if "ACT" in place.maybe:
            return []
        return [n for n, k in place.bound.items() if "ACT" in k.alternatives]

    def given(self, place: Place) -> Lines:
        name = self.chance.one(self.gives_at(place))
        then = place.branch(free=False)
        then.bound["ACT"] = self.kinds["ACT"]
        then.maybe.add("ACT")
        lines = [f"if {name} gives ACT {{", *_in(self.block(then, ends=False, most=2)), "}"]
        then.maybe.discard("ACT")
        _meet(place, then)
        return lines

    def given_end(self, place: Place) -> Lines:
        name = self.chance.one(self.gives_at(place))
        then, other = place.branch(), place.branch()
        then.bound["ACT"] = self.kinds["ACT"]
        then.maybe.add("ACT")
        lines = [f"if {name} gives ACT {{", *_in(self.block(then, ends=True))]
        return [*lines, "} else {", *_in(self.block(other, ends=True)), "}"]

    def choosable(self, place: Place) -> bool:
        group = self.kinds.get("GRP")
        if group is None or "CLS" not in place.bound or "ACT" in place.locked:
            return False
        hashed = group.spread.split("hash(")[1].rstrip(")").split(", ")
        nodes = {h.split(".")[0] for h in hashed} - {"l4"}
        return nodes <= set(place.sure) and not self.reads_pushed(place, group)

    def choose(self, place: Place) -> Lines:
        missed = place.branch()
        missed.bound.pop("ACT", None)
        place.bound["ACT"] = self.kinds["ACT"]
        place.maybe.add("ACT")
        text = "choose ACT from CLS.GRP"
        if self.chance.maybe(0.7):
            text += f" else {{ {self.verdict(missed)[0]} }}"
        return [text, *self.ending(place)]

    def matchable(self, place: Place) -> list[tuple[str, Element]]:
        return [(n, e) for n, k in place.bound.items() for e in k.gives
                if e.symbols or e.references]  # fmt: skip

    def match(self, place: Place) -> Lines:
        name, element = self.chance.one(self.matchable(place))
        lines: Lines = [f"match {name}.{element.name} {{"]
        for pattern, word, inner in self.arms(place, name, element):
            body = self.block(inner, ends=True, most=2)
            lines += _in([f"{pattern}{word} => {{", *_in(body), "}"])
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

    def apply(self, place: Place) -> Lines:
        key = (place.worlds, place.pushed, place.popped, place.owed, place.locked)
        if key not in self.actions:
            inner = replace(place.branch(), bound={"ACT": self.kinds["ACT"]}, ports=[], action=True)
            name = f"act{len(self.actions)}"
            self.actions[key] = (name, self.block(inner, ends=True))
        return [f"{self.actions[key][0]}(ACT)"]

    # ---- pop and push ------------------------------------------------------------------------

    def pop(self, place: Place) -> Lines:
        if place.pushed:
            return []
        options = [n for n in place.sure if not self.link(n) and self.can_pop(place, n)]
        useful = [n for n in options if any(not self.link(x) for _, w in place.worlds
                                            for x in w[: w.index(n)])]  # fmt: skip
        if not useful:
            return []
        node = self.chance.one(useful)
        self.popped(place, node)
        return [f"pop to {node}"]

    def popped(self, place: Place, node: str) -> None:
        worlds, same = set(), set()
        for role, way in place.worlds:
            links = list(way[: self.links(way)])
            rest = way[way.index(node) :]
            if (
                links
                and len(links) + len(rest) < len(way)
                and not writable(self.graph, links[-1], node)
            ):
                place.owed = True
            same |= {role} if len(links) + len(rest) == len(way) else set()
            worlds.add((role, (*links, *rest)))
        place.worlds, place.popped = frozenset(worlds), True
        place.changed |= {r for r, _ in worlds} - same

    def links(self, way: tuple[str, ...]) -> int:
        return next((i for i, n in enumerate(way) if not self.link(n)), len(way))

    def can_pop(self, place: Place, node: str) -> bool:
        """What is removed can be written back, where hooks answer; what is left can be announced in
        one way at most."""
        answered = "reply icmp" in self.hooks.values()
        for _, way in place.worlds:
            count = self.links(way)
            gone = way[count : way.index(node) + 1]
            told = [len(writable(self.graph, a, b)) for a, b in pairwise(gone)]
            if answered and set(told) - {1}:
                return False
            if count and len(writable(self.graph, way[count - 1], node)) > 1:
                return False
        return True

    def push(self, place: Place) -> Lines:
        if place.pushed:
            return []
        targets = [n for n in place.sure if not self.link(n)]
        for before in self.chance.shuffled(targets):
            path = self.path_to(place, before)
            if path is None:
                continue
            values = [self.written(place, node, edge) for node, edge in path]
            if any(v is None for v in values):
                continue
            said = " / ".join(
                f"{node} {{ {', '.join(v)} }}" if v else node
                for (node, _), v in zip(path, values, strict=True) if v is not None
            )  # fmt: skip
            self.pushed(place, [n for n, _ in path], before)
            return [f"push {said} before {before}"]
        return []

    def pushed(self, place: Place, path: list[str], before: str) -> None:
        worlds = set()
        for role, way in place.worlds:
            at = way.index(before)
            if at and self.link(way[at - 1]) and not writable(self.graph, way[at - 1], path[0]):
                place.owed = True
            order = {n: i for i, n in enumerate(self.facts.names)}
            worlds.add((role, tuple(sorted((*way, *path), key=order.__getitem__))))
        place.worlds, place.pushed = frozenset(worlds), tuple(path)
        place.changed |= {r for r, _ in worlds}

    def path_to(self, place: Place, before: str) -> list[tuple[str, Edge]] | None:
        """Nodes that no packet here has, each announcing the next, the last one `before`."""
        graph, chance = self.graph, self.chance
        having = {n for _, way in place.worlds for n in way}
        path: list[tuple[str, Edge]] = []
        target = before
        for _ in range(chance.one((1, 1, 2, 2, 3))):
            sources = []
            for edge in graph.entering(target):
                node = graph.node(edge.source)
                ways = writable(graph, edge.source, target)
                if (edge.source in having or node.header.link or len(ways) != 1
                        or not self.can_write(node.header)
                        or any(edge.source == n for n, _ in path)):  # fmt: skip
                    continue
                sources.append((edge.source, ways[0]))
            if not sources:
                break
            path.insert(0, chance.one(sources))
            target = path[0][0]
        if not path:
            return None
        for _, way in place.worlds:
            at = way.index(before)
            if not at:
                return None
            different = writable(graph, way[at - 1], path[0][0])
            if len(different) > 1 or (not different and not self.link(way[at - 1])):
                return None
        return path

    def can_write(self, header: Header) -> bool:
        if header.protocol in UNWRITABLE or (header.size is not None and header.flags):
            return False
        return not any(
            f.width > 64 or (f.kind == "bytes" and f.width and f.default is None)
            for f in header.fields if not f.group
        )  # fmt: skip

    def written(self, place: Place, node: str, edge: Edge) -> Lines | None:
        """`field = value` for what must be said, and some more."""
        header, chance = self.graph.node(node).header, self.chance
        announced = {name for name, _ in edge.writes or ()}
        flags = set(header.flags)
        own = set(_own(header.size))
        said: Lines = []
        groups = {g.name for g in header.groups if chance.maybe(0.4)}
        groups -= {f.group for f in header.fields if isinstance(f.default, Derived)}
        parts: dict[str, list[Field]] = {}
        for f in header.fields:
            if f.part_of:
                parts.setdefault(f.part_of, []).append(f)
        for f in header.fields:
            if f.part_of or f.name.startswith("_") or (f.group and f.group not in groups):
                continue
            if f.name in flags | own | announced or isinstance(f.default, Derived) or not f.width:
                if f.name in own and f.default is None:
                    return None
                continue
            pieces = [p for p in parts.get(f.name, []) if not p.name.startswith("_")]
            if any(
                p.name in announced | flags | own or isinstance(p.default, Derived) for p in pieces
            ):
                return None
            whole_reserved = len(pieces) < len(parts.get(f.name, []))
            settled = f.default is not None or (
                pieces and all(p.default is not None for p in pieces)
            )
            if settled and chance.maybe(0.7):
                continue
            if pieces and not whole_reserved and chance.maybe(0.5) and not f.group:
                picked = pieces if not settled else chance.some(pieces, 1, len(pieces))
                values = [(p, self.value_for(place, p)) for p in picked]
            else:
                values = [(f, self.value_for(place, f))]
            if any(v is None for _, v in values):
                return None
            said += [f"{p.name} = {v}" for p, v in values]
        return chance.shuffled(said)

    def value_for(self, place: Place, f: Field) -> str | None:
        chance = self.chance
        if f.kind == "bytes" or f.width > 64:
            return None
        if f.kind != "uint":
            known = self.attributes(place, f.kind, f.width, bare=True) * 2
            known += [f"{n}.{x.name}" for n in place.sure for x in self.facts.fields(n)
                      if x.kind == f.kind]  # fmt: skip
            known.append("02:00:00:00:00:09" if f.kind == "mac" else chance.one(ADDRESSES))
            return chance.one(known)
        known = self.attributes(place, "uint", f.width, bare=True)
        if known and chance.maybe(0.6):
            return chance.one(known)
        for _ in range(3):
            text, high = self.number(place)
            if high < 1 << f.width and "." in text:
                return text
        return str(chance.value(f.width))

    # ---- expressions -------------------------------------------------------------------------

    def attributes(self, place: Place, kind: str, width: int, bare: bool = False) -> list[str]:
        return [
            f"{name}.{e.name}" for name, k in place.bound.items() for e, optional in k.readable
            if e.kind == kind and e.width <= width and (bare or not optional or kind == "uint")
        ]  # fmt: skip

    def number(self, place: Place, deep: int = 1) -> tuple[str, int]:
        """An expression and the highest that it may be."""
        chance = self.chance
        known: list[tuple[str, int]] = [
            (f"{n}.{f.name}", f.width) for n in place.sure for f in self.facts.fields(n)
            if f.kind == "uint"
        ]  # fmt: skip
        for name, kind in place.bound.items():
            known += [
                (f"{name}.{e.name}", e.width) for e, _ in kind.readable if e.kind == "uint"
            ] * 2
        if self.layer4 and not place.pushed:
            known.append(("l4.dst", 16))
        if chance.maybe(0.08):
            several = [t for t, w in known if w <= 64]
            if several:
                return f"hash({', '.join(chance.some(several, 1, 3))})", (1 << 32) - 1
        if not known:
            return str(chance.number(0, 99)), 99
        text, width = chance.one(known)
        high = (1 << width) - 1
        if not deep or width > 56 or chance.maybe(0.5):
            return text, high
        match chance.number(0, 5):
            case 0:
                mask = chance.number(1, high)
                return f"({text} & {mask:#x})", mask
            case 1:
                bits = chance.number(1, width)
                return f"({text} >> {bits})", high >> bits
            case 2:
                bits = chance.number(1, 6)
                return f"({text} << {bits})", high << bits
            case 3:
                return f"({text} * {3})", high * 3
            case 4:
                less = chance.number(0, 9)
                return f"({text} + 9 - {less})", high + 9 - less
        other, top = self.number(place, 0)
        return (f"({text} + {other})", high + top) if top < 1 << 56 else (text, high)

    # ---- conditions --------------------------------------------------------------------------

    def condition(
        self, worlds: Worlds, place: Place, deep: int = 2
    ) -> tuple[str, Worlds, Worlds] | None:
        """Text, and the packets for which it holds and does not: some each."""
        chance = self.chance
        if deep and chance.maybe(0.3):
            return self.joined(worlds, place, deep)
        here = replace(place, worlds=worlds)
        leaves = [self.compare, self.compare, self.present, self.present, self.local,
                  self.fragment, self.role]  # fmt: skip
        for leaf in chance.shuffled(leaves):
            made = leaf(here)
            if made is not None:
                text, yes, no = made
                if deep and chance.maybe(0.2):
                    return f"not ({text})", no, yes
                return made
        return None

    def joined(self, worlds: Worlds, place: Place, deep: int) -> tuple[str, Worlds, Worlds] | None:
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

    def compare(self, here: Place) -> tuple[str, Worlds, Worlds] | None:
        chance = self.chance
        if chance.maybe(0.15):
            wide = [f"{n}.{f.name}" for n in here.sure for f in self.facts.fields(n)
                    if f.kind == "ip4"] + self.attributes(here, "ip4", 32)  # fmt: skip
            if wide:
                operator = chance.one(("=", "!=", "<", ">="))
                other = chance.one(wide + ADDRESSES)
                return f"{chance.one(wide)} {operator} {other}", here.worlds, here.worlds
        if not here.sure:
            return None
        text, high = self.number(here)
        if high >> 64:
            return None
        if chance.maybe(0.2):
            other, _ = self.number(here)
            if "." in text and "." in other:
                return (
                    f"{text} {chance.one(('=', '!=', '<', '>='))} {other}",
                    here.worlds,
                    here.worlds,
                )
        if "." not in text:
            return None
        low = 9 if " + 9 - " in text else 0
        value = chance.number(0, high) if chance.maybe(0.5) else chance.number(0, min(high, 9))
        value = max(value, min(low, high))
        operator = chance.one(("=", "!=", "<", "<=", ">", ">="))
        return f"{text} {operator} {value}", here.worlds, here.worlds

    def present(self, here: Place) -> tuple[str, Worlds, Worlds] | None:
        for node in self.chance.shuffled(self.facts.names):
            yes = frozenset(w for w in here.worlds if node in w[1])
            if node not in here.pushed and yes and yes != here.worlds:
                return node, yes, here.worlds - yes
        return None

    def local(self, here: Place) -> tuple[str, Worlds, Worlds] | None:
        known = [f"{n}.{f.name}" for n in here.sure for f in self.facts.fields(n)
                 if f.kind == "ip4"]  # fmt: skip
        return (f"{self.chance.one(known)} is local", here.worlds, here.worlds) if known else None

    def fragment(self, here: Place) -> tuple[str, Worlds, Worlds] | None:
        known = [n for n in here.sure if self.protocol(n) == "ipv4"]
        return (
            (f"{self.chance.one(known)} is fragment", here.worlds, here.worlds) if known else None
        )

    def role(self, here: Place) -> tuple[str, Worlds, Worlds] | None:
        role = self.chance.one(self.facts.roles)
        yes = frozenset(w for w in here.worlds if w[0] == role)
        if not yes or yes == here.worlds:
            return None
        return f"port is {role}", yes, here.worlds - yes

    # ---- nodes -------------------------------------------------------------------------------

    def link(self, node: str) -> bool:
        return self.graph.node(node).header.link

    def protocol(self, node: str) -> str:
        return self.graph.node(node).header.protocol


def _meet(place: Place, other: Place) -> None:
    """What is known behind a branch that another way goes through as well."""
    place.maybe |= other.maybe
    place.bound = {n: k for n, k in place.bound.items() if n in other.bound}


def _own(expr: object) -> list[str]:
    if isinstance(expr, Own):
        return [expr.field]
    sides = (getattr(expr, "left", None), getattr(expr, "right", None))
    return [name for side in sides if side is not None for name in _own(side)]


def _in(lines: Lines) -> Lines:
    return [f"  {line}" for line in lines]
