"""What generators ask of a graph."""

from __future__ import annotations

from typing import NamedTuple

from helioc.compiler.check.assigns import COVERED
from helioc.compiler.check.push_fields import own_fields
from helioc.compiler.model import NAME_KINDS, Derived, Field, Graph, Group, Header
from helioc.compiler.model.checksums import LAYER4, NETWORK, is_checksum
from helioc.compiler.model.header_sizes import is_even, starts_even, sums_are_even
from helioc.compiler.model.parse_graph import (
    below,
    reachable,
    selector_fields,
    surely_present,
    ways,
)


class World(NamedTuple):
    """A sort of packets: where they came in, their nodes (outermost first), and the rule kinds of
    which a look-up found one for them."""

    role: str
    way: tuple[str, ...]
    found: tuple[str, ...] = ()


Worlds = frozenset[World]


class Facts:
    """Of one graph and its port roles."""

    def __init__(self, graph: Graph, roles: tuple[str, ...]) -> None:
        self.graph, self.roles = graph, roles
        self.names = [n.name for n in graph.nodes]
        self.families = {n.header.protocol for n in graph.nodes if n.header.protocol in NETWORK}
        self.has_layer4 = any(n.header.protocol in ("tcp", "udp") for n in graph.nodes)
        self.worlds: Worlds = frozenset(
            World(role, self.order(way)) for role in roles for way in ways(graph, role)
        )

    def order(self, way: int) -> tuple[str, ...]:
        return tuple(n for i, n in enumerate(self.names) if way >> i & 1)

    def header(self, node: str) -> Header:
        return self.graph.node(node).header

    def link(self, node: str) -> bool:
        return self.header(node).link

    def protocol(self, node: str) -> str:
        return self.header(node).protocol

    def leading(self, way: tuple[str, ...]) -> int:
        """How many link nodes stand in front of all else."""
        return next((i for i, n in enumerate(way) if not self.link(n)), len(way))

    def alike(self, front: str, node: str) -> bool:
        """Whether a header has the fields by which another says what follows it."""
        fields = (self.header(front).field(name) for name in selector_fields(self.graph, front))
        own = {(f.name, f.width, f.kind, f.group) for f in self.header(node).fields}
        return all((f.name, f.width, f.kind, None) in own for f in fields)

    def sure(self, node: str) -> list[str]:
        """Nodes that every packet with that node has, on every role that has it."""
        with_it = [r for r in self.roles if node in reachable(self.graph, r)]
        common = [surely_present(self.graph, r, node) for r in with_it]
        both = frozenset.intersection(*common) if common else frozenset()
        return [n for n in self.names if n in both]

    # ---- fields ------------------------------------------------------------------------------

    def fields(self, node: str, optional: bool = False) -> list[Field]:
        """Those that have a name and one value; with `optional` also such as a header may lack."""
        header = self.header(node)
        return [
            f for f in header.fields
            if not f.name.startswith("_") and f.kind != "bytes" and not header.array(f)
            and (optional or not header.optional(f))
        ]  # fmt: skip

    def arrays(self, node: str) -> list[tuple[Field, Group]]:
        header = self.header(node)
        found = ((f, header.array(f)) for f in header.fields)
        return [(f, group) for f, group in found if group is not None and f.kind not in NAME_KINDS]

    def assignable(self, node: str, behind: Worlds) -> list[Field]:
        """Fields that may be changed in place of packets that have the node; `behind`: those that
        get there."""
        header = self.header(node)
        taken = self._decides(node)
        ahead = max((t.ahead for e in self.graph.entering(node) for t in e.tests), default=0)
        odd = any(self._odd_in_front(role, node) for role in self.roles)
        covered = self.is_covered(node, behind)
        return [
            f for f in self.fields(node, optional=True)
            if not isinstance(f.default, Derived) and not odd
            and (f.offset if f.group is None else header.fixed) >= ahead
            and (f.group is None or starts_even(header, f.group))
            and not any(_overlap(f, header.field(name)) for name in taken)
            and (covered or f.name not in ("src", "dst"))
        ]  # fmt: skip

    def changes_options(self, node: str) -> bool:
        """Whether fields of its options may be changed in place."""
        ahead = max((t.ahead for e in self.graph.entering(node) for t in e.tests), default=0)
        odd = any(self._odd_in_front(role, node) for role in self.roles)
        return not odd and self.header(node).fixed >= ahead

    def elements(self, node: str) -> list[tuple[Field, Group]]:
        """Arrays of which elements may be changed in place."""
        header, odd = self.header(node), any(self._odd_in_front(r, node) for r in self.roles)
        summed = [n for n in self.names if _covers_payload(self.header(n))]
        alone = not summed and not any(is_checksum(f) for f in header.fields)
        return [
            (f, group) for f, group in self.arrays(node)
            if alone or (not odd and f.width % 16 == 0 and starts_even(header, group.name))
        ]  # fmt: skip

    def _decides(self, node: str) -> set[str]:
        """Fields that say how packets are parsed."""
        header = self.header(node)
        clauses = (header.size, header.extent, header.reach, *header.accept, *header.payload)
        tests = [t for e in self.graph.leaving(node) for t in e.tests if not t.ahead]
        found = {t.field for t in tests} if header.protocol not in LAYER4 else set[str]()
        found |= header.flags | {f.name for f in header.fields if isinstance(f.default, Derived)}
        for part in (*clauses, *(g.count for g in header.groups)):
            found |= own_fields(part) if part is not None else set()
        return found | ({"more_fragments"} if header.protocol == "ipv4" else set())

    def _odd_in_front(self, role: str, node: str) -> bool:
        """Whether a checksum in front may cover the node, or a checksum that follows, at an odd
        byte."""
        found = [node]
        for other in reversed(self.names):
            targets = {e.target for e in self.graph.leaving(other, role)}
            if targets & set(found) and other in reachable(self.graph, role):
                found.append(other)
        headers = [self.header(n) for n in found[1:]]
        later = [self.header(n) for n in below(self.graph, role, node)]
        aligned = all(map(is_even, (*headers, *later)))
        aligned = aligned and all(map(sums_are_even, (*(self.header(n) for n in found), *later)))
        return any(map(_covers_payload, headers)) and not aligned

    def is_covered(self, node: str, behind: Worlds) -> bool:
        """Whether the checksums over a pseudo header are known, wherever there may be one."""
        upper = COVERED.get(self.protocol(node), ())
        last = {w.role for w in behind if w.way and w.way[-1] == node}
        return all(
            set(upper) <= {self.protocol(n) for n in below(self.graph, role, node)} for role in last
        )


def _overlap(a: Field, b: Field) -> bool:
    return a.group == b.group and a.offset < b.offset + b.width and b.offset < a.offset + a.width


def _covers_payload(header: Header) -> bool:
    return any(
        is_checksum(f) and isinstance(f.default, Derived) and "payload" in f.default.over
        for f in header.fields
    )
