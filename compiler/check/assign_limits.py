"""Assignments whose checksums cannot follow: those in front of what changes know its words only
where they start at even bytes."""

from __future__ import annotations

from collections.abc import Iterator

from ...lang.text.diagnostics import Diagnostic, error
from ...lang.text.source import Span
from .. import model
from ..headers.outline import behind
from ..model.checksums import NETWORK, is_checksum
from ..model.header_sizes import is_even, starts_even, sums_are_even
from ..model.parse_graph import below, selector_fields
from .packet_edits import Edits, Place, in_front, link_ways


def assign_limits(pipeline: model.Pipeline, place: Place) -> Iterator[Diagnostic]:
    """Of an assignment, and of `pop NODE`, which assigns to the header in front."""
    graph, role, statement = pipeline.graph, place.role, place.statement
    found = Change(graph, role, place.edits, statement.span)
    match statement:
        case model.Assign(fields):
            for target, _ in fields:
                yield from found.check(target.node, target.field, isinstance(target, model.Item))
        case model.PopLink(node):
            ways = link_ways(graph, role, place.edits, node)
            for front in dict.fromkeys(way[-1] for way in ways):
                for name in selector_fields(graph, front):
                    yield from found.check(front, name, False)


class Change:
    """A change of fields at `span`, for packets of a role that were edited so."""

    def __init__(self, graph: model.Graph, role: str, edits: Edits, span: Span) -> None:
        self.graph, self.role, self.edits, self.span = graph, role, edits, span

    def check(self, node: str, name: str, element: bool) -> Iterator[Diagnostic]:
        """`element`: of an array."""
        header = self.graph.node(node).header
        field = header.field(name)
        above, covering = self.with_address(node, name), self.covering(node)
        if covering:
            yield from self.odd_in_front(node, covering[0])
        if above and covering:
            yield from self.odd_behind(node, covering[0], above)
        odd = (
            field.group is not None
            and header.option(field.group) is None
            and not starts_even(header, field.group)
        )
        if (above or covering or _sums(header, "header")) and (
            odd or (element and field.width % 16)
        ):
            yield _odd_field(self.span, f"{node}.{name}", field.span)

    def optional_sums(self, node: str, name: str) -> list[model.Field]:
        """Checksums that follow a change and that packets may lack."""
        above = [self.graph.node(n).header for n in self.with_address(node, name)]
        found = [
            *_sums(self.graph.node(node).header, "header"),
            *(f for header in above for f in _sums(header, "pseudo")),
            *(f for n in self.covering(node) for f in _sums(n.header, "payload")),
        ]
        return [f for f in found if f.group is not None]

    def covering(self, node: str) -> list[model.Node]:
        """Nodes in front with a checksum over their payload, innermost first."""
        return [n for n in self.kept(node) if _sums(n.header, "payload")]

    def kept(self, node: str) -> list[model.Node]:
        """Nodes that may be in front."""
        gone = self.edits.gone(self.graph, self.role)
        names = in_front(self.graph, self.role, node)[1:]
        return [self.graph.node(n) for n in names if n not in gone]

    def with_address(self, node: str, name: str) -> list[str]:
        """Nodes behind an IP header, or a routing header, whose checksum its address may count
        for."""
        protocol = self.graph.node(node).header.protocol
        last = protocol == "srh" and name == "segments"
        if not last and (protocol not in NETWORK or name not in ("src", "dst")):
            return []
        found = below(self.graph, self.role, node)
        headers = {n: self.graph.node(n).header for n in found}
        return [n for n, h in headers.items() if h.protocol == "srh" or _sums(h, "pseudo")]

    def odd_in_front(self, node: str, covering: model.Node) -> Iterator[Diagnostic]:
        """Where the words of the field cannot be known to the checksum in front."""
        kept = self.kept(node)
        for each in (n for n in kept if not is_even(n.header)):
            says = "may have an odd number of bytes"
            yield _odd_words(self.span, node, covering, each.header.span, says)
            return
        for each in (self.graph.node(node), *kept):
            if not sums_are_even(each.header):
                says = "has a checksum that may start at an odd byte"
                yield _odd_words(self.span, node, covering, each.header.span, says)
                return

    def odd_behind(self, node: str, covering: model.Node, above: list[str]) -> Iterator[Diagnostic]:
        """Checksums behind an address that change with it, as the one in front sees them."""
        graph, role = self.graph, self.role
        summed = [n for n in above if _sums(graph.node(n).header, "pseudo")]
        between = [n for n in below(graph, role, node) if behind(graph, role, n) & set(summed)]
        odd = [n for n in (node, *between) if not is_even(graph.node(n).header)]
        odd += [n for n in summed if not sums_are_even(graph.node(n).header)]
        if odd:
            yield _odd_behind(self.span, node, covering, odd[0], graph.node(odd[0]).header.span)


def _sums(header: model.Header, part: str) -> list[model.Field]:
    """The checksums of a header that cover a part."""
    return [f for f in header.fields if is_checksum(f) and part in _over(f)]


def _over(field: model.Field) -> frozenset[str]:
    assert isinstance(field.default, model.Derived)
    return field.default.over


# ---- errors -----------------------------------------------------------------------------------


def _odd_field(span: Span, field: str, where: Span) -> Diagnostic:
    return error(
        "H0346",
        f"`{field}` may start at an odd byte, and a checksum covers it",
        (span, "assigned here"),
        (where, "not always at an even byte of its header"),
        help="declare an even number of bytes in front of it, or pop the header and push it again",
    )


def _odd_words(span: Span, node: str, covering: model.Node, where: Span, says: str) -> Diagnostic:
    return error(
        "H0347",
        f"the checksum of `{covering.name}` cannot follow a change of `{node}`",
        (span, "assigned here"),
        (where, says),
        help=f"pop `{covering.name}` first, or declare headers of an even number of bytes",
    )


def _odd_behind(span: Span, node: str, covering: model.Node, odd: str, where: Span) -> Diagnostic:
    return error(
        "H0348",
        f"the checksum of `{covering.name}` cannot follow a new address of `{node}`",
        (span, "changes a checksum behind it, too, which may start at an odd byte"),
        (where, f"`{odd}` makes it odd"),
        help=f"pop `{covering.name}` first, or declare `{odd}` with an even number of bytes",
    )
