"""The parse graph: from edges as written to nodes in order."""

from __future__ import annotations

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, Diagnostics, did_you_mean, error
from ...lang.text.frozen import Frozen
from ...lang.text.source import Span
from .. import model
from . import errors
from .chains import check_chain, without_chains
from .edge_fits import nodes_that_fit
from .edge_guards import EdgeGuards
from .entries import ENTRY, Entries
from .graph_shape import check_overlaps, check_reach, check_size, cycle_among
from .header_layout import CheckedHeader
from .names import RESERVED
from .resolve import HOMES
from .rest_headers import check_edges
from .stacks import is_copy, unrolled

START = "start"  # `start -> ethernet as inner on lan`
WRITTEN = "push"  # `ethernet -> vlan as service when … on push`: no port has a role of that name


class CheckedGraph(Frozen):
    """`headers` by node; `sound` is False where edges or nodes had to be left out, so that what
    follows from the graph's shape is not to be held against the user. `declared`: all headers that
    an edge could lead to."""

    graph: model.Graph
    headers: dict[str, CheckedHeader]
    sound: bool
    declared: tuple[str, ...] = ()


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
        self.chained = without_chains(parser, found)
        self.parser = unrolled(self.chained.parser, found)
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
        chains = self.chains()
        unsure = self.chained.members - {m for chain in chains for m in chain.members}
        written = [
            e
            for e in self.parser.edges
            if e not in self.starts and not unsure & {e.source.text, (e.alias or e.target).text}
        ]
        kinds = {name: checked.header for name, checked in self.headers.items()}
        check_edges(self.parser.edges, self.chained.chains, kinds, self.found)
        edges = [e for e in map(self.edge, written) if e is not None]
        back = [e for e in self.chained.again if e.source.text not in unsure]
        again = [e for e in map(self.edge, back) if e is not None]
        places = Entries(self.starts, self.parser, self.found)
        entries = places.by_role(self.headers, self.roles, self.edge_roles)
        before = len(self.found.errors)
        places.check_entry(edges, self.sound)
        self.sound = self.sound and places.sound
        check_overlaps(self.parser, [*edges, *again], self.chained.further, self.found)
        order = self.order(edges)
        fitting = nodes_that_fit(self.parser, self.found)
        nodes = tuple(
            model.Node(n, self.headers[n].header, self.spans[n], fits=n in fitting)
            for n in order
            if n in self.headers
        )
        there = {n.name for n in nodes}
        known = tuple((role, name) for role, name in entries if name in there)
        graph = model.Graph(nodes, tuple(edges), known, chains, tuple(again))
        if self.sound and len(self.found.errors) == before:
            check_reach(graph, self.roles, self.found)
            check_size(graph, self.roles, self.parser.span, self.found)
        self.sound = self.sound and len(self.found.errors) == before
        return CheckedGraph(graph, self.headers, self.sound, (*self.known,))

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
                self.found.add(errors.name_taken(taken, f"`{name}` of the stack"))
                self.sound = False

    def chains(self) -> tuple[model.Chain, ...]:
        for chain in self.chained.chains:
            taken = dict.fromkeys(self.headers, "a node") | RESERVED
            if chain.name.text in taken:
                self.found.add(errors.name_taken(chain.name, taken[chain.name.text]))
        made = [
            check_chain(chain, self.headers, self.fronts(chain), self.found)
            for chain in self.chained.chains
        ]
        self.sound = self.sound and None not in made
        return tuple(chain for chain in made if chain is not None)

    def fronts(self, chain: tree.Chain) -> dict[str, Span]:
        """The nodes in front of a chain, and where an edge says so."""
        members = {m.node.text for m in chain.members}
        return {
            e.source.text: e.source.span
            for e in reversed(self.parser.edges)
            if (e.alias or e.target).text in members and e.source.text not in members
        }

    def name_alias(self, alias: tree.Name, target: tree.Name) -> None:
        name = alias.text
        header = self.known.get(target.text)
        first = self.headers.get(name)
        if header is None:
            aliases = {e.alias.text for e in self.parser.edges if e.alias}
            if target.text in aliases:
                self.found.add(_unneeded_alias(alias, target))
            else:
                self.unknown_header(target)
            self.lost.add(name)
            self.sound = False
        elif name in RESERVED:
            self.found.add(errors.name_taken(alias, RESERVED[name]))
            self.sound = False
            self.headers.setdefault(name, header)
            self.spans.setdefault(name, alias.span)
        elif first is not None and first is not header:
            self.found.add(
                _two_headers(alias, f"`{target.text}`", self.spans[name], f"`{first.header.name}`")
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
                self.found.add(errors.name_taken(target, RESERVED[target.text]))
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
            errors.unknown(
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
        said = is_copy(source) or source in self.chained.further
        guards_of = EdgeGuards(Diagnostics()) if said else self.guards
        tests = guards_of.guard(edge, header)
        if target not in self.headers or tests is None:
            self.sound = False
            return None
        return model.Edge(
            source, target, tests, guards_of.writes(edge, tests, header), roles, edge.span
        )

    def not_started(self, name: tree.Name) -> None:
        """`ethernet -> …` beside `start -> …`, which says where packets start."""
        starts = [(e.alias or e.target).text for e in self.starts]
        if self.headers.keys() >= {*starts} and all(e.alias for e in self.starts):
            help = f"packets start at `{starts[0]}`: write `{starts[0]} -> …`"
            self.found.add(errors.unknown("node", name, (), help))

    def unknown_source(self, name: tree.Name) -> None:
        if name.text == ENTRY and ENTRY in self.known:
            self.not_started(name)
        elif name.text == ENTRY:
            self.unknown_header(name)
        else:
            self.found.add(
                errors.unknown(
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
                    errors.unknown(
                        "port role", port, self.roles, f"the roles are {', '.join(self.roles)}"
                    )
                )
        return frozenset(named or self.roles)

    # ---- the whole ---------------------------------------------------------------------------

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
                self.found.add(cycle_among(edges, [n for n in self.headers if n in waiting]))
                return placed + waiting
            placed.append(ready)
            waiting.remove(ready)
        return placed


# ---- errors ---------------------------------------------------------------------------------


def _two_headers(alias: tree.Name, header: str, first: Span, other: str) -> Diagnostic:
    return error(
        "H0210",
        f"`{alias.text}` names two headers",
        (alias.span, f"here it is {header}"),
        (first, f"here it is {other}"),
        help="give one of the two nodes another name",
    )


def _unneeded_alias(alias: tree.Name, target: tree.Name) -> Diagnostic:
    return error(
        "H0226",
        f"`{target.text}` is a node already",
        (alias.span, f"would give `{target.text}` a second name"),
        (target.span, "a node, not a header"),
        help=f"write `-> {target.text}`, or name a header in front of `as`",
    )
