"""What a packet will look like when it leaves, with the values of what was pushed."""

from __future__ import annotations

from ...lang.text.frozen import Frozen
from ..headers.outline import Outline
from ..ir.expr import Expr
from ..ir.expr_builders import total
from ..model import Edge, Graph
from ..model.parse_graph import writable as announcing
from .header_out import HeaderOut


class Appended(Frozen):
    """What is to follow the header of `behind`, which `writes` announce it by."""

    behind: str
    headers: tuple[HeaderOut, ...]
    writes: tuple[tuple[str, int], ...]


class Shape(Outline):
    """`pushed`, `appended`: the headers. `clamp`: at `forward`, the MSS. `carried`: how many of the
    innermost pushed headers an earlier stage pushed; they take so many `words` of the scratch
    record."""

    pushed: tuple[HeaderOut, ...] = ()
    clamp: bool = False
    appended: Appended | None = None
    carried: int = 0
    words: int = 0

    @property
    def framed(self) -> bool:
        """Whether a frame within a tunnel begins with what is pushed."""
        outer = [h.header.link for h in self.pushed]
        return any(link and False in outer[:i] for i, link in enumerate(outer))


def writable(graph: Graph, source: str, target: str) -> Edge:
    """The edge that says how `source` announces `target` (whatever the port role)."""
    return announcing(graph, source, target)[0]  # H0284


def constant_size(headers: tuple[HeaderOut, ...]) -> int:
    """Bytes up to and with the fixed part of the first header of variable size."""
    size = 0
    for h in headers:
        if h.variable:
            return size + h.header.fixed // 8
        size += h.known_size
    return size


def pushed_size(shape: Shape) -> Expr:
    return total(h.size() for h in shape.pushed)
