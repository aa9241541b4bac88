"""Where packets enter the parse graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, Diagnostics, error, listed
from ...lang.text.source import Span
from .. import model
from .header_layout import CheckedHeader

ENTRY = "ethernet"  # where packets start unless it is said


class Entries:
    """`starts`: the edges that say it. `sound` is False where it was said wrongly."""

    def __init__(
        self, starts: Sequence[tree.Edge], parser: tree.Parser, found: Diagnostics
    ) -> None:
        self.starts, self.parser, self.found = starts, parser, found
        self.sound = True

    def refuse(self, diagnostic: Diagnostic) -> None:
        self.found.add(diagnostic)
        self.sound = False

    def by_role(
        self,
        headers: Mapping[str, CheckedHeader],
        roles: Sequence[str],
        roles_of: Callable[[tree.Edge], frozenset[str]],
    ) -> tuple[tuple[str, str], ...]:
        """Where packets start, by role. `roles_of` an edge: those that it names."""
        found: dict[str, tuple[str, Span]] = {}
        for edge in self.starts:
            node = (edge.alias or edge.target).text
            header = headers.get(node)
            if edge.guard or edge.write:
                place = (edge.guard or edge.write)[0].span
                self.refuse(_guarded_start(place))
            if header is not None and header.header.protocol != "ethernet":
                self.refuse(_no_start(edge.target, header.header.name))
            for role in sorted(roles_of(edge)):
                if role in found:
                    self.refuse(_two_starts(edge.span, role, found[role][1]))
                found.setdefault(role, (node, edge.span))
        for role in roles if self.starts else ():
            if role not in found:
                self.refuse(_never_starts(self.starts[0].span, role))
        return tuple((role, node) for role, (node, _) in found.items())

    def check_entry(self, edges: list[model.Edge], sound: bool) -> None:
        """Of a graph without `start`; `sound`: so far."""
        if self.starts:
            return
        for edge in edges:
            if edge.target == ENTRY:
                self.refuse(_enters_ethernet(edge.span))
        if sound and self.sound and not any(e.source == ENTRY for e in edges):
            first = self.parser.edges[0].span if self.parser.edges else self.parser.span
            sources = sorted({e.source.text for e in self.parser.edges[:1]})
            self.refuse(_not_entered_at_ethernet(first, sources))


# ---- errors ---------------------------------------------------------------------------------


def _not_entered_at_ethernet(span: Span, sources: Sequence[str]) -> Diagnostic:
    return error(
        "H0211",
        "no edge leaves `ethernet`",
        (span, f"begins with {listed(sources)}" if sources else "no edges"),
        help="every packet starts as `ethernet`: import std.ethernet and add `ethernet -> …`",
    )


def _enters_ethernet(span: Span) -> Diagnostic:
    return error(
        "H0214",
        "an edge leads back to `ethernet`",
        (span, "enters the node where packets start"),
        help="give an inner Ethernet header a name of its own: `-> ethernet as inner`",
    )


def _guarded_start(span: Span) -> Diagnostic:
    return error(
        "H0320",
        "`start` has nothing to test",
        (span, "tests a field, but no header is in front"),
        help="say only where packets start: `start -> ethernet on lan`",
    )


def _no_start(target: tree.Name, header: str) -> Diagnostic:
    return error(
        "H0320",
        f"packets do not start with `{header}`",
        (target.span, "a frame of XDP starts with an Ethernet header"),
        help="start at std.ethernet's: `start -> ethernet as inner on lan`",
    )


def _two_starts(span: Span, role: str, first: Span) -> Diagnostic:
    return error(
        "H0320",
        f"packets on `{role}` start twice",
        (span, "here"),
        (first, "and here"),
        help="name the roles of each: `start -> ethernet on lan`",
    )


def _never_starts(span: Span, role: str) -> Diagnostic:
    return error(
        "H0320",
        f"packets on `{role}` start nowhere",
        (span, "says where those of other roles start"),
        help=f"add `start -> ethernet on {role}`",
    )
