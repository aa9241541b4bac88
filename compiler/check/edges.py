"""The parse graph: from edges as written to nodes in order."""

from __future__ import annotations

from ...lang import tree
from ...lang.text.diagnostics import Diagnostics, did_you_mean
from ...lang.text.frozen import Frozen
from ...lang.text.source import Span
from .. import model
from ..model import guards
from ..model.parse_graph import count_ways, deepest, reachable
from . import faults_files
from . import faults_graph as faults
from .edge_guards import EdgeGuards, mend, shown_common, shown_guard
from .headers import CheckedHeader
from .names import RESERVED
from .resolve import HOMES
from .stacks import is_copy, unrolled

START = "start"  # `start -> ethernet as inner on lan`
WRITTEN = "push"  # `ethernet -> vlan as service when … on push`: no port has a role of that name
ENTRY = "ethernet"  # where packets start unless it is said
MOST_NODES = 32
MOST_WAYS = 2_048
DEEPEST = 32_767


class CheckedGraph(Frozen):
    """`headers` by node; `sound` is False where edges or nodes had to be left out, so that what
    follows from the graph's shape is not to be held against the user."""

    graph: model.Graph
    headers: dict[str, CheckedHeader]
    sound: bool


def check_graph(
    parser: tree.Parser,
    known: dict[str, CheckedHeader],
    roles: tuple[str, ...],
    found: Diagnostics,
    incomplete: bool = False,
) -> CheckedGraph:
    """`incomplete`: an import failed, so an unknown header is not held against the user."""
    return _GraphChecker(parser, known, roles, found, incomplete).check()


class _GraphChecker:
    def __init__(
        self,
        parser: tree.Parser,
        known: dict[str, CheckedHeader],
        roles: tuple[str, ...],
        found: Diagnostics,
        incomplete: bool,
    ) -> None:
        self.incomplete = incomplete
        before = len(found.errors)
        self.parser = unrolled(parser, found)
        self.known = known
        self.roles = roles
        self.found = found
        self.headers: dict[str, CheckedHeader] = {}
        self.spans: dict[str, Span] = {}
        self.lost: set[str] = set()  # nodes whose header is unknown
        self.sound = len(found.errors) == before
        self.guards = EdgeGuards(found)
        self.starts = [e for e in self.parser.edges if e.source.text == START]

    def check(self) -> CheckedGraph:
        self.name_nodes()
        self.check_names()
        written = [e for e in self.parser.edges if e not in self.starts]
        edges = [e for e in map(self.edge, written) if e is not None]
        entries = self.entries()
        before = len(self.found.errors)
        self.check_entry(edges)
        self.check_overlaps(edges)
        order = self.order(edges)
        nodes = tuple(
            model.Node(n, self.headers[n].header, self.spans[n]) for n in order if n in self.headers
        )
        there = {n.name for n in nodes}
        known = tuple((role, name) for role, name in entries if name in there)
        graph = model.Graph(nodes, tuple(edges), known)
        if self.sound and len(self.found.errors) == before:
            self.check_reach(graph)
            self.check_size(graph)
        self.sound = self.sound and len(self.found.errors) == before
        return CheckedGraph(graph, self.headers, self.sound)

    # ---- nodes -------------------------------------------------------------------------------

    def name_nodes(self) -> None:
        """Aliases first: an edge may lead to a node that is named further down."""
        if ENTRY in self.known and not self.starts:
            self.headers[ENTRY] = self.known[ENTRY]
            self.spans[ENTRY] = next(
                (e.source.span for e in self.parser.edges if e.source.text == ENTRY),
                self.parser.span,
            )
        for edge in self.parser.edges:
            if edge.alias is not None:
                self.name_alias(edge.alias, edge.target)
        for edge in self.parser.edges:
            if edge.alias is None and edge.target.text not in self.headers:
                self.name_plain(edge.target)
        named = [(e.alias or e.target).text for e in self.parser.edges]
        if not self.starts:
            named.insert(0, ENTRY)
        self.headers = {n: self.headers[n] for n in dict.fromkeys(named) if n in self.headers}

    def check_names(self) -> None:
        """`vlan[1]` is `vlan__1` in C."""
        for name in filter(is_copy, self.headers):
            plain = name.replace("[", "__").removesuffix("]")
            if plain in self.headers:
                taken = tree.Name(self.spans[plain], plain)
                self.found.add(faults_files.name_taken(taken, f"`{name}` of the stack"))
                self.sound = False

    def name_alias(self, alias: tree.Name, target: tree.Name) -> None:
        name = alias.text
        header = self.known.get(target.text)
        first = self.headers.get(name)
        if header is None:
            aliases = {e.alias.text for e in self.parser.edges if e.alias}
            if target.text in aliases:
                self.found.add(faults.unneeded_alias(alias, target))
            else:
                self.unknown_header(target)
            self.lost.add(name)
            self.sound = False
        elif name in RESERVED:
            self.found.add(faults_files.name_taken(alias, RESERVED[name]))
            self.sound = False
            self.headers.setdefault(name, header)
            self.spans.setdefault(name, alias.span)
        elif first is not None and first is not header:
            self.found.add(
                faults.two_headers(
                    alias, f"`{target.text}`", self.spans[name], f"`{first.header.name}`"
                )
            )
            self.sound = False
        else:
            self.headers.setdefault(name, header)
            self.spans.setdefault(name, alias.span)

    def name_plain(self, target: tree.Name) -> None:
        if target.text in self.lost:
            return
        if target.text in self.known:
            self.headers[target.text] = self.known[target.text]
            self.spans[target.text] = target.span
            if target.text in RESERVED:
                self.found.add(faults_files.name_taken(target, RESERVED[target.text]))
            return
        self.unknown_header(target)
        self.lost.add(target.text)
        self.sound = False

    def unknown_header(self, target: tree.Name) -> None:
        if self.incomplete:
            return
        home = HOMES.get(target.text)
        candidates = [*self.known, *self.headers]
        near = did_you_mean(target.text, candidates)
        otherwise = f"add `import {home}`" if home else "import the file that declares it"
        self.found.add(
            faults_files.unknown(
                "header",
                target,
                () if home else candidates,
                near if not home and near else otherwise,
            )
        )

    # ---- edges -------------------------------------------------------------------------------

    def edge(self, edge: tree.Edge) -> model.Edge | None:
        source, target = edge.source.text, (edge.alias or edge.target).text
        written_only = [port.text for port in edge.ports] == [WRITTEN]
        roles = frozenset[str]() if written_only else self.edge_roles(edge)
        if source not in self.headers:
            if source not in self.lost:
                self.unknown_source(edge.source)
            self.sound = False
            return None
        header = self.headers[source]
        guards_of = EdgeGuards(Diagnostics()) if is_copy(source) else self.guards
        tests = guards_of.guard(edge, header)
        if target not in self.headers or tests is None:
            self.sound = False
            return None
        return model.Edge(
            source, target, tests, guards_of.writes(edge, tests, header), roles, edge.span
        )

    def unknown_source(self, name: tree.Name) -> None:
        if name.text == ENTRY:
            self.unknown_header(name)
        else:
            self.found.add(
                faults_files.unknown(
                    "node", name, self.headers, "lead an edge to it first: `ethernet -> …`"
                )
            )
        self.lost.add(name.text)

    def edge_roles(self, edge: tree.Edge) -> frozenset[str]:
        named = set()
        for port in edge.ports:
            if port.text in self.roles:
                named.add(port.text)
            else:
                self.found.add(
                    faults_files.unknown(
                        "port role", port, self.roles, f"the roles are {', '.join(self.roles)}"
                    )
                )
        return frozenset(named or self.roles)

    # ---- the whole ---------------------------------------------------------------------------

    def entries(self) -> tuple[tuple[str, str], ...]:
        """Where packets start, by role."""
        found: dict[str, tuple[str, Span]] = {}
        for edge in self.starts:
            node = (edge.alias or edge.target).text
            header = self.headers.get(node)
            if edge.guard or edge.write:
                place = (edge.guard or edge.write)[0].span
                self.found.add(faults.guarded_start(place))
                self.sound = False
            if header is not None and header.header.protocol != "ethernet":
                self.found.add(faults.no_start(edge.target, header.header.name))
                self.sound = False
            for role in sorted(self.edge_roles(edge)):
                if role in found:
                    self.found.add(faults.two_starts(edge.span, role, found[role][1]))
                    self.sound = False
                found.setdefault(role, (node, edge.span))
        for role in self.roles if self.starts else ():
            if role not in found:
                self.found.add(faults.never_starts(self.starts[0].span, role))
                self.sound = False
        return tuple((role, node) for role, (node, _) in found.items())

    def check_entry(self, edges: list[model.Edge]) -> None:
        if self.starts:
            return
        for edge in edges:
            if edge.target == ENTRY:
                self.found.add(faults.enters_ethernet(edge.span))
                self.sound = False
        if self.sound and not any(e.source == ENTRY for e in edges):
            first = self.parser.edges[0].span if self.parser.edges else self.parser.span
            self.found.add(
                faults.not_entered_at_ethernet(
                    first, sorted({e.source.text for e in self.parser.edges[:1]})
                )
            )
            self.sound = False

    def check_overlaps(self, edges: list[model.Edge]) -> None:
        guards_of = {id(e): t for e, t in ((e, self.guard_span(e)) for e in edges)}
        for i, second in enumerate(edges):
            for first in edges[:i]:
                if first.source != second.source or not first.roles & second.roles:
                    continue
                if is_copy(first.source):
                    continue  # said of the first node of the stack
                if not guards.overlap(first.tests, second.tests):
                    continue
                if first.target == second.target and first.tests == second.tests:
                    self.found.add(faults.duplicate_edge(second.span, first.span))
                else:
                    self.found.add(
                        faults.overlapping_edges(
                            guards_of[id(first)],
                            guards_of[id(second)],
                            shown_guard(first),
                            shown_common(first, second),
                            mend(first, second),
                        )
                    )
                break

    def guard_span(self, edge: model.Edge) -> Span:
        written = next(e for e in self.parser.edges if e.span == edge.span)
        return written.guard[0].span.to(written.guard[-1].span) if written.guard else edge.span

    def order(self, edges: list[model.Edge]) -> list[str]:
        """Nodes so that every edge leads forward, else in order of appearance."""
        waiting = list(self.headers)
        placed: list[str] = []
        edges = [e for e in edges if self.starts or e.target != ENTRY]
        while waiting:
            ready = next(
                (n for n in waiting if all(e.source in placed for e in edges if e.target == n)),
                None,
            )
            if ready is None:
                self.report_cycle(edges, set(waiting))
                self.sound = False
                return placed + waiting
            placed.append(ready)
            waiting.remove(ready)
        return placed

    def report_cycle(self, edges: list[model.Edge], among: set[str]) -> None:
        at = next(n for n in self.headers if n in among)
        way: list[model.Edge] = []
        while at not in (e.target for e in way):
            # Every node that waits has a predecessor that waits: walk back until one comes again.
            edge = next(e for e in edges if e.target == at and e.source in among)
            way.append(edge)
            at = edge.source
        start = next(i for i, e in enumerate(way) if e.target == at)
        circle = list(reversed(way[start:]))
        self.found.add(faults.cycle([(e.span, f"{e.source} -> {e.target}") for e in circle]))

    def check_reach(self, graph: model.Graph) -> None:
        reached = {role: reachable(graph, role) for role in self.roles}
        for node in graph.nodes:
            if any(node.name in r for r in reached.values()):
                continue
            entering = graph.entering(node.name)
            if any(not e.roles for e in entering):
                continue  # it is there to be pushed
            if any(all(e.source not in r for r in reached.values()) for e in entering):
                continue  # what leads here is reported itself
            sources = [(e.span, e.source) for e in entering]
            self.found.add(faults.unreachable_node(node.span, node.name, sources))
            self.sound = False

    def check_size(self, graph: model.Graph) -> None:
        if len(graph.nodes) > MOST_NODES:
            self.found.add(
                faults.too_large(self.parser.span, "nodes", len(graph.nodes), MOST_NODES)
            )
            return
        for role in self.roles:
            count = count_ways(graph, role)
            if count > MOST_WAYS:
                self.found.add(
                    faults.too_large(self.parser.span, f"ways on `{role}`", count, MOST_WAYS)
                )
                return
        depth, way = deepest(graph)
        if depth > DEEPEST:
            self.found.add(faults.too_deep(graph.node(way[-1]).span, depth, way, DEEPEST))
