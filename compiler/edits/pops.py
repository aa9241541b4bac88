"""`pop to NODE`: noted in the `Shape` where it stands, carried out at the verdict."""

from __future__ import annotations

from contextlib import nullcontext

from ..headers.outline import popped_to
from ..ir.expr import NotNull, not_
from ..ir.expr_builders import both, either
from ..ir.nodes import MakePointer
from ..ir.types import U8
from ..ir.values import Value
from . import trace
from .context import EditContext
from .ip import VERSIONS, version_of
from .shape import Shape

ECT_0, ECN_CE = 2, 3


def pop(site: EditContext, node: str) -> Shape:
    """Note the removal; join ECN now, while the outer header is at hand (RFC 6040 section 4.2)."""
    shape = site.shape
    left = popped_to(shape, site.graph, site.role, node)
    if left.popped in ((), shape.popped):
        return left
    assert not shape.own, "H0343"
    if version_of(site, node):
        with site.writer.block("join_ecn"):
            _join_ecn(site, node, left.popped)
    return left


def _join_ecn(site: EditContext, inner: str, popped: tuple[tuple[str, ...], ...]) -> None:
    """By the innermost IP header that is removed, whichever the packet has."""
    outer: list[str] = []
    for node in reversed([n.name for n in site.graph.nodes if version_of(site, n.name)]):
        if any(node in way for way in popped):
            outer.append(node)
        if all(node in way for way in popped):
            break  # those further out are never asked
    for node in (inner, *outer):
        site.writer.put(MakePointer(site.pointer(node)))  # for all ways that the tests below open
    for i, node in enumerate(outer):
        if all(node in way for way in popped):
            with site.writer.otherwise() if i else nullcontext():
                _take_ecn(site.branch() if i else site, inner, node)
            return
        with site.writer.either(i == 0, NotNull(site.pointer(node))):
            _take_ecn(site.branch({node}), inner, node)


def _take_ecn(site: EditContext, inner: str, outer: str) -> None:
    w, pointer = site.writer, site.node(inner)
    own, version = VERSIONS[site.header(inner).protocol], version_of(site, outer)
    assert version is not None
    met = w.capture(U8, "met", version.ecn(site.node(outer)))
    with w.when(met & 1):  # CE, or ECT(1)
        with w.when(both((met.is_(ECN_CE), not_(own.ecn(pointer))))):
            site.drop("ecn")
        with w.when(either((met.is_(ECN_CE), own.ecn(pointer).is_(ECT_0)))):
            trace.change(site, inner, "ecn", pointer, Value(met, 2))
            w.do(own.marks, pointer, met)
