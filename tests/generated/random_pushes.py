"""Pushes that nobody wrote: paths that the graph can write, with values for what must be said."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from helioc.compiler.check.assigns import decides_reading
from helioc.compiler.check.contents import Contents, holds
from helioc.compiler.check.push_fields import own_fields
from helioc.compiler.model import Derived, Edge, Field, Header
from helioc.compiler.model.checksums import NETWORK, is_checksum
from helioc.compiler.model.header_sizes import solved
from helioc.compiler.model.parse_graph import ethertypes, selector_fields, writable
from places import Ground, Lines, Place
from random_values import Values

Path = list[tuple[str, Edge | None]]  # by what each header announces the next, if there is one


class Pushes:
    def __init__(self, ground: Ground, values: Values) -> None:
        self.chance, self.facts, self.values = ground.chance, ground.facts, values
        self.graph = ground.facts.graph

    def push(self, place: Place) -> Lines:
        if place.appended or (place.pushed and self.chance.maybe(0.1)):
            return []
        if self.chance.maybe(0.2) and (lines := self.push_behind(place)):
            return lines
        targets = self.chance.shuffled(self.targets(place)) * 3
        paths = [(path, b) for b in targets if (path := self.path_to(place, b)) is not None]
        if self.chance.maybe(0.8):  # those with an array first
            paths.sort(key=lambda p: not any(self.facts.arrays(n) for n, _ in p[0]))
        for path, before in paths:
            said = self.said(place, path)
            if said:
                self.pushed(place, [n for n, _ in path], before)
                return [f"push {said} before {before}"]
        return []

    def push_behind(self, place: Place) -> Lines:
        """Tags behind a link header, whatever follows that."""
        if place.opened or place.pushed:
            return []
        for behind in self.chance.shuffled(place.sure):
            if any(way.index(behind) >= self.facts.leading(way) for way in place.ways):
                continue
            path = self.tags(place, behind)
            known = (
                set(selector_fields(self.graph, behind)) if self.chance.maybe(0.8) else set[str]()
            )
            said = self.said(place, path, known) if path else ""
            if said:
                names = tuple(n for n, _ in path)
                place.change(lambda way, at=behind, new=names: _put_behind(way, at, new))  # type: ignore[misc]
                place.pushed, place.behind = names, True
                return [f"push {said} behind {behind}"]
        return []

    def tags(self, place: Place, behind: str) -> Path:
        """Nodes of which each announces the next, the last as `behind` announces what follows."""
        chance, graph = self.chance, self.graph
        having = {n for way in place.ways for n in way}
        names = [behind]
        for _ in range(chance.one((1, 1, 2))):
            found = [
                n for n in dict.fromkeys(e.target for e in graph.leaving(names[-1]))
                if n not in having | set(names) and len(writable(graph, names[-1], n)) == 1
                and not self.measures(n) and self.can_write(place, self.facts.header(n))
            ]  # fmt: skip
            if not found:
                break
            names.append(chance.one(found))
        while len(names) > 1 and not self.facts.alike(behind, names[-1]):
            names.pop()
        edges = [writable(graph, a, b)[0] for a, b in pairwise(names[1:])]
        return list(zip(names[1:], [*edges, None], strict=True)) if names[1:] else []

    def measures(self, node: str) -> bool:
        """Whether a header says how long what follows it is, or sums it up."""
        derived = [f.default for f in self.facts.header(node).fields]
        return any(isinstance(d, Derived) and "payload" in d.over for d in derived)

    def append(self, place: Place) -> Lines:
        """In place of all that stands behind a header."""
        if place.pushed or place.popped:
            return []
        for behind in self.chance.shuffled(place.sure) * 2:
            path = self.path_from(place, behind) if self.can_follow(place, behind) else []
            said = self.said(place, path) if path else ""
            if said:
                self.appended(place, [n for n, _ in path], behind)
                return [f"append {said} behind {behind}"]
        return []

    def said(self, place: Place, path: Path, known: set[str] | frozenset[str] = frozenset()) -> str:
        """The headers with what is written of each; empty if that cannot be said. `known`: what
        need not be said of the last."""
        said = [
            self.written(place, node, edge, known if edge is None else ()) for node, edge in path
        ]
        if any(each is None for each in said):
            return ""
        return " / ".join(
            f"{node} {{ {', '.join(each)} }}" if each else node
            for (node, _), each in zip(path, said, strict=True) if each is not None
        )  # fmt: skip

    def appended(self, place: Place, path: list[str], behind: str) -> None:
        place.change(lambda way: (*way[: way.index(behind) + 1], *path))
        place.pushed, place.appended = tuple(path), True

    def pushed(self, place: Place, path: list[str], before: str) -> None:
        fronts = {way[: way.index(before)] for way in place.ways}
        place.bare = place.bare or () in fronts
        place.dangling = any(f and not writable(self.graph, f[-1], path[0]) for f in fronts)
        place.change(lambda way: (*way[: way.index(before)], *path, *way[way.index(before) :]))
        place.pushed = (*path, *place.pushed)

    # ---- where -------------------------------------------------------------------------------

    def targets(self, place: Place) -> list[str]:
        """The first header, or the first behind the leading link headers: of all packets here. Of
        what was pushed upon the outermost that was pushed."""
        if place.pushed:
            return [place.pushed[0]]
        first = 0 if self.chance.maybe(0.85) and not place.opened else None  # any link header
        places = [
            {way[0], *way[self.facts.leading(way) if first is None else 0 :][:1]}
            | set(way[1 : self.facts.leading(way)] if first == 0 else ())
            for way in place.ways
        ]
        return [n for n in place.sure if all(n in each for each in places)]

    def path_to(self, place: Place, before: str) -> Path | None:
        """Nodes that no packet here has, each announcing the next, the last one `before`."""
        chance, graph = self.chance, self.graph
        having = {n for way in place.ways for n in way}
        path: Path = []
        target = before
        for _ in range(chance.one((1, 1, 2, 2, 3, 3))):
            taken = having | {n for n, _ in path}
            sources = []
            for name in dict.fromkeys(e.source for e in graph.entering(target)):
                ways = writable(graph, name, target)
                if name in taken or len(ways) != 1 or (place.behind and self.measures(name)):
                    continue
                if self.can_write(place, self.facts.header(name)):
                    weight = 30 if self.facts.arrays(name) else 5 if self.sums(name) else 1
                    sources += [(name, ways[0])] * weight
            if not sources:
                break
            path.insert(0, chance.one(sources))
            target = path[0][0]
        return path if path and self.fits(place, path, before) else None

    def fits(self, place: Place, path: Path, before: str) -> bool:
        """Whether what stands in front can announce the path in one way at most, and mostly whether
        a fresh link header can."""
        if len(ethertypes(self.graph, path[0][0])) != 1 and self.chance.maybe(0.8):
            return False
        for way in place.ways:
            at = way.index(before)
            if at and len(writable(self.graph, way[at - 1], path[0][0])) > 1:
                return False
        return True

    def can_write(self, place: Place, header: Header) -> bool:
        arrays = [g for g in header.groups if g.count is not None]
        if arrays and not self.lists(place, header):
            return False
        if header.size is not None and not _has_size(header):
            return False
        return not any(
            f.kind == "bytes" and f.width and f.default is None
            for f in header.fields if not header.optional(f)
        )  # fmt: skip

    def needed(self, place: Place) -> set[tuple[str, int]]:
        """Kinds and widths of the arrays that a push may have to fill here."""
        having = {n for way in place.ways for n in way}
        arrays = [a for n in self.facts.names if n not in having for a in self.facts.arrays(n)]
        return {(field.kind, field.width) for field, _ in arrays}

    def sums(self, node: str) -> bool:
        """Whether a checksum of the header is there only if a push says so."""
        header = self.facts.header(node)
        return any(is_checksum(f) and (f.group or header.protocol == "udp") for f in header.fields)

    def lists(self, place: Place, header: Header) -> list[str]:
        """What an array of the header may be given."""
        field = next(f for f in header.fields if header.array(f))
        array = header.array(field)
        assert array is not None
        found = []
        assert array.count is not None
        none = bool(solved(header, array.count, lambda count: count == 0)[0])
        for name, kind in place.bound.items():
            for element in kind.lists:
                if (element.kind, element.width) != (field.kind, field.width):
                    continue
                text, most = f"{name}.{element.name}", element.most
                for said, count in ((text, most), (f"rest({text})", most - 1)):
                    if 0 < count <= array.most and (none or said == text):
                        found += [said, f"reversed({said})"]
        return found if field.width in (8, 16, 32, 64, 128) else []

    def path_from(self, place: Place, behind: str) -> Path:
        """Nodes of which each announces the next, the first of them announced by `behind`."""
        chance, graph = self.chance, self.graph
        having = {n for way in place.ways for n in way[: way.index(behind) + 1]}
        names, edges = [behind], list[Edge]()
        for _ in range(chance.one((1, 1, 2, 2, 3))):
            found = []
            for name in dict.fromkeys(e.target for e in graph.leaving(names[-1])):
                ways = writable(graph, names[-1], name)
                if name in having | set(names) or self.facts.link(name) or len(ways) != 1:
                    continue
                known = names[-1] != behind or self.can_tell(behind, ways[0])
                if (
                    known
                    and self.alone(names[1:], name)
                    and self.can_write(place, self.facts.header(name))
                ):
                    found.append((name, ways[0]))
            if not found:
                break
            picked = chance.one(found)
            names.append(picked[0])
            edges.append(picked[1])
        return list(zip(names[1:], [*edges[1:], None], strict=True)) if edges else []

    def can_follow(self, place: Place, behind: str) -> bool:
        """Whether lengths of what is in front stand where nothing is optional."""
        front = {n for way in place.ways for n in way[: way.index(behind) + 1]}
        fields = [f for n in front for f in self.facts.header(n).fields if f.group]
        return all(is_checksum(f) for f in fields if isinstance(f.default, Derived))

    def can_tell(self, behind: str, edge: Edge) -> bool:
        """Whether a header that came can be told of another one behind it."""
        header = self.facts.header(behind)
        fields = [header.field(name) for name, _ in edge.writes or ()]
        return not any(f.group or decides_reading(header, f) for f in fields)

    def alone(self, outer: list[str], name: str) -> bool:
        """Whether its checksums need no header but those of the path."""
        network = any(self.facts.protocol(n) in NETWORK for n in outer)
        sums = [f.default for f in self.facts.header(name).fields if is_checksum(f)]
        return network or not any(isinstance(s, Derived) and "pseudo" in s.over for s in sums)

    # ---- what --------------------------------------------------------------------------------

    def written(
        self, place: Place, node: str, edge: Edge | None, known: Iterable[str] = ()
    ) -> Lines | None:
        """`field = value` for what must be said, and some more; None if it cannot be said."""
        header, chance = self.facts.header(node), self.chance
        writes = dict(edge.writes or ()) if edge else {}
        announced = set(writes)
        groups, said = self.groups(place, header, writes)
        kept = own_fields(header.size) if header.size is not None else set[str]()
        kept |= {n for g in header.groups if g.count is not None for n in own_fields(g.count)}
        settled = header.flags | kept | announced | set(known)
        silent = {g.name for g in header.groups if len(g.flags) == 1 and g.name in groups}
        careful = self.careful(node, settled, kept, groups)
        if careful is None:
            return None
        for f in header.fields:
            if f.part_of or f.name.startswith("_") or not f.width:
                continue
            if f.name in careful:
                number = careful[f.name]
                said += [f"{f.name} = {number}"] if number is not None else []
                continue
            if header.optional(f) and f.group not in groups:
                continue
            if header.array(f):
                said.append(f"{f.name} = {chance.one(self.lists(place, header))}")
                continue
            if is_checksum(f) and (f.group or header.protocol == "udp") and chance.maybe(0.7):
                said.append(f"{f.name} = computed")
            if f.name in settled or isinstance(f.default, Derived):
                continue
            made = self.field(place, header, f, settled, must=f.group in silent)
            if made is None:
                return None
            said += made
            silent.discard(f.group or "")
        return chance.shuffled(said)

    def careful(
        self, node: str, settled: set[str] | frozenset[str], kept: set[str], groups: set[str]
    ) -> dict[str, int | None] | None:
        """Numbers (None: what the field has by default) for the fields by which the header is read,
        with which it is; None if none are found."""
        header, found = self.facts.header(node), dict[str, int | None]()
        clauses = (*header.accept, *header.require, *header.payload)
        counted = [c for c in clauses if own_fields(c) & kept]
        ahead = max((t.ahead for e in self.graph.entering(node) for t in e.tests), default=0)
        read = set[str]().union(*(own_fields(c) for c in clauses))
        free = [
            f for f in header.fields
            if not f.part_of and f.group is None and f.name[0] != "_" and f.name not in settled
            and f.width and f.kind == "uint" and not isinstance(f.default, Derived)
            and (_names(header, f) & read or f.offset < ahead)
        ]  # fmt: skip
        alone = {g.flags[0]: int(g.name in groups) for g in header.groups if len(g.flags) == 1}
        flags = {flag: (there, there) for flag, there in alone.items()}
        for attempt in range(40):
            for f in free:
                default = all(p.default is not None for p in _leaves(header, f))
                plain = default and (attempt < 2 or self.chance.maybe(0.5))
                few = any(f.name in own_fields(c) for c in counted)
                number = self.chance.number(0, 1) if few else self.chance.value(f.width)
                found[f.name] = None if plain else number
            said = {name: (n, n) for name, n in found.items() if n is not None} | flags
            if all(holds(c, Contents(header, said)) for c in clauses if c not in counted):
                return found
        return None

    def groups(
        self, place: Place, header: Header, writes: dict[str, int]
    ) -> tuple[set[str], Lines]:
        """Optional groups that are written, and the flags that must be said for that: of a group
        with several one or more, of others none."""
        chance = self.chance
        groups = {g.name for g in header.groups if g.flags and chance.maybe(0.4)}
        announced = {n for n in writes if writes[n] or n not in header.flags}
        groups |= {header.field(n).group or "" for n in announced}
        groups |= {g.name for g in header.groups if announced & set(g.flags)}
        said: dict[str, str] = {}
        for group in header.groups:
            free = [f for f in group.flags if header.group_of_flag(f) is None]
            if group.name in groups and len(group.flags) > 1:
                for flag in chance.some([f for f in free if f not in writes], 0, 2):
                    said[flag] = chance.one(("1", "1", self.values.fitting(place, "uint", 1)))
        alone = {g.flags[0] for g in header.groups if len(g.flags) == 1 and g.name in groups}
        there = {f for f, text in said.items() if text != "0"} | alone | announced
        groups = {g.name for g in header.groups if there & set(g.flags)}
        return groups, [f"{flag} = {text}" for flag, text in said.items()]

    def field(
        self, place: Place, header: Header, f: Field, settled: set[str] | frozenset[str], must: bool
    ) -> Lines | None:
        """A value for the field, or for its parts; none if it has one already, mostly, and `must`
        not be told because its group is there then."""
        chance = self.chance
        parts = [p for p in header.fields if p.part_of == f.name]
        pieces = [p for p in parts if not p.name.startswith("_")]
        if any(p.name in settled or isinstance(p.default, Derived) for p in pieces):
            return None
        default = f.default is not None or bool(
            pieces and all(p.default is not None for p in pieces)
        )
        if default and not must and chance.maybe(0.7):
            return []
        if f.kind == "bytes":
            return None if not default else []
        if pieces and len(pieces) == len(parts) and chance.maybe(0.5) and not f.group:
            picked = pieces if not default else chance.some(pieces, 1, len(pieces))
            return [f"{p.name} = {self.values.fitting(place, 'uint', p.width)}" for p in picked]
        return [f"{f.name} = {self.values.fitting(place, f.kind, f.width, optional=True)}"]


def _put_behind(way: tuple[str, ...], node: str, new: tuple[str, ...]) -> tuple[str, ...]:
    at = way.index(node) + 1
    return (*way[:at], *new, *way[at:])


def _leaves(header: Header, field: Field) -> list[Field]:
    """The field, unless it has a default of its own or no parts; else its parts."""
    parts = [p for p in header.fields if p.part_of == field.name and p.name[0] != "_"]
    return [field] if field.default is not None or not parts else parts


def _names(header: Header, field: Field) -> set[str]:
    """Its own, and those of its parts."""
    return {field.name, *(p.name for p in header.fields if p.part_of == field.name)}


def _has_size(header: Header) -> bool:
    """Whether the header can say how long it is, with all that it may have."""
    assert header.size is not None
    most = header.fixed + sum(g.width * g.most for g in header.groups)
    return solved(header, header.size, lambda size: size * 8 >= most)[0] != ""
