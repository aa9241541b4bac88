"""Headers whose options go on to the packet's end, `tlv(…) within rest`: nothing stands behind
them, and nothing else says where they end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, Diagnostics, error
from ...lang.text.source import Span
from .. import model

#: Bytes of such a header that are looked at: of one that is longer none are.
MOST_REST = 4096


def check_rest(
    header: tree.Header, options: tree.Field | None, tail: bool, found: Diagnostics
) -> None:
    """What the header says beside them. `tail`: fields stand behind the options."""
    assert options is not None
    if header.link:
        found.add(
            _nothing_behind(header.name.span, "a link header has one behind it", options.span)
        )
    for member in header.members:
        if isinstance(member, tree.Size | tree.Extent | tree.Reach):
            found.add(_nothing_behind(member.span, "says that it ends elsewhere", options.span))
    if tail:
        behind = [m for m in header.members if isinstance(m, tree.Field)]
        last = next(m for m in reversed(behind) if m is not options)
        found.add(_nothing_behind(last.span, "stands behind them", options.span))


def check_edges(
    edges: Iterable[tree.Edge],
    chains: Iterable[tree.Chain],
    headers: Mapping[str, model.Header],
    found: Diagnostics,
) -> None:
    """No edge leaves such a header, nor is one in a chain, which goes on behind it."""
    members = [member.node for chain in chains for member in chain.members]
    chained = {member.text for member in members}
    leaving = [edge.source for edge in edges if edge.source.text not in chained]
    for name, says in (
        *((member, "others of the chain may follow") for member in members),
        *((source, "this edge leaves it") for source in leaving),
    ):
        header = headers.get(name.text)
        if header is not None and header.takes_rest:
            found.add(_nothing_behind(name.span, says, header.span))


def not_written(node: model.Node, span: Span) -> Diagnostic:
    """Of a push, or an append (behind it, too)."""
    return error(
        "H0521",
        f"`{node.name}` takes what is left of the packet, and is not written",
        (span, "its options are those that came"),
        (node.header.span, "ends where the packet does"),
        help="push a header without options, which says how long it is",
    )


def _nothing_behind(span: Span, says: str, options: Span) -> Diagnostic:
    return error(
        "H0521",
        "what takes the rest of a packet ends with it",
        (span, says),
        (options, "options up to the packet's end"),
        help="where the header says how many bytes they have, write that: "
        "`tlv(…) within length * 4`, or a line `size …`",
    )
