"""What a packet will look like when it leaves: pops and pushes, collected until the verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...lang.source import Span
from ..model import Edge
from .headers_out import HeaderOut

if TYPE_CHECKING:
    from .values import Site


@dataclass(frozen=True)
class Shape:
    """What the packet will look like. `fronts`: nodes that may be the first behind the link nodes
    and the pushes; `popped` what was removed in front of it, outermost first; `pushed` outermost
    first."""

    fronts: tuple[str, ...]
    popped: tuple[str, ...] = ()
    pushed: tuple[HeaderOut, ...] = ()

    @property
    def touched(self) -> bool:
        return bool(self.popped or self.pushed)


class Unsupported(Exception):
    """The pipeline needs something that is not compiled yet; `span` is what asks for it."""

    def __init__(self, what: str, span: Span | None = None) -> None:
        super().__init__(what)
        self.span = span


def writable(site: Site, source: str, target: str) -> Edge:
    """The edge that says how `source` announces `target` (whatever the port role)."""
    edges = [
        e
        for e in site.pipeline.graph.leaving(source)
        if e.target == target and e.writes is not None
    ]
    if not edges:
        raise Unsupported(f"{source} has no edge to {target} that can be written")
    return edges[0]


def constant_size(headers: tuple[HeaderOut, ...]) -> int:
    """Octets up to and with the fixed part of the first header of variable size."""
    size = 0
    for h in headers:
        size += h.header.fixed // 8
        if h.variable:
            break
    return size


def pushed_size(site: Site) -> str:
    return " + ".join(h.size_text() for h in site.shape.pushed) or "0"
