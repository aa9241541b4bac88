"""Chains of headers: a function that reads one of them, and a loop that calls it.

The verifier follows the function once. In the loop nothing is known of a header but what is in
memory, so that it follows a few instructions for each header of the bound, whatever these are.
"""

from __future__ import annotations

from dataclasses import replace

from ..headers.context import announced, place_of
from ..headers.fragments import begun_within, in_first_fragments
from ..headers.frame import DATA, END, let_edges
from ..ir.builder import Builder
from ..ir.expr import Call, Expr, HelperCall, Name, State
from ..ir.expr_builders import both, either, low_bits
from ..ir.names import c_name, chain_label, node_label
from ..ir.nodes import Blank, Goto, Label, Opaque, StatementStart
from ..ir.types import BYTES, U32
from ..model import And, Chain, Edge, Test
from ..model.parse_graph import announcing
from . import trace
from .context import LoweringContext
from .header_steps import (
    AT,
    EVENT,
    LIMIT,
    SIZE,
    P,
    ahead_test,
    begun,
    bytes_ahead,
    fragmented,
    frame_begins,
    header_holds,
    read_header,
    value_test,
)

#: What the function returns: where the next header starts, below MOVED, or in the upper half what
#: is to be done instead, and with MALFORMED the event in the lower half.
MOVED, DONE, TINY, MALFORMED = 1 << 16, 1, 2, 3
_OFFSET_BITS = 15


#: What it returned.
CAME = Name("came")


def let_walked(w: Builder, chains: list[Chain]) -> None:
    """What the loops need, in front of all nodes."""
    for chain in chains:
        w.let(U32, _walked(chain).name, 1)
    if chains:
        w.let(U32, CAME.name)


def _walked(chain: Chain) -> Name:
    """How many headers of a chain the parser came to, once it came to one."""
    return Name(f"{c_name(chain.name)}_walked")


# ---- the loop -------------------------------------------------------------------------------


def lower_chain(site: LoweringContext, chain: Chain, bounded: bool, parts: frozenset[str]) -> None:
    """What the parser does at a chain, from its first header to what stands behind it."""
    w, graph = site.writer, site.graph
    what = f"walk_{c_name(chain.name)}"
    call = site.helper(what, lambda inner: _one_header(inner, chain, bounded))
    assert isinstance(call, HelperCall)
    with w.at(chain.span):
        w.put(Blank(), Label(chain_label(chain.name)), StatementStart())
        w.set(AT, Call("forgotten", (State("scratch", BYTES), AT)))
        w.set(CAME, replace(call, a=AT, b=LIMIT))
        for name in chain.members:
            trace.node(site, graph.node(name), place_of(name))
        with w.unless(CAME < MOVED):
            _stop(site, chain, parts)
        w.set(AT, low_bits(CAME, _OFFSET_BITS))
        w.set(P, DATA + AT)
        w.put(Opaque(P, "one pointer for the check and for every use"))
        said = announced(chain)
        leaving = graph.leaving(chain.members[0], site.role)
        _leave(site, chain, [e for e in leaving if e.target not in chain.members], parts)
        again = either(value_test(test, said) for test in announcing(graph, chain).values())
        with w.when(both((again, _walked(chain) < chain.most))):
            w.add(_walked(chain), 1)
            w.put(Goto(chain_label(chain.name), most=chain.most))
        w.put(Goto("done", leaves=True))


def _stop(site: LoweringContext, chain: Chain, parts: frozenset[str]) -> None:
    w, why = site.writer, CAME >> 16
    w.set(EVENT, low_bits(CAME, 16))
    with w.when(why.is_(MALFORMED)):
        w.put(Goto("malformed", leaves=True))
    if parts & {*chain.members} or _may_begin_within(site, chain):
        with w.when(why.is_(TINY)):
            w.put(Goto("tiny", leaves=True))
    w.put(Goto("done", leaves=True))


def _may_begin_within(site: LoweringContext, chain: Chain) -> bool:
    nodes = map(site.graph.node, chain.members)
    return any(begun_within(site.graph, node, site.role) for node in nodes)


def _leave(site: LoweringContext, chain: Chain, edges: list[Edge], parts: frozenset[str]) -> None:
    """Go on at what stands behind the chain, at P."""
    w, graph = site.writer, site.graph
    aheads: dict[int, Expr] = {}
    for count in sorted({bytes_ahead(t) for e in edges for t in e.tests if t.ahead}):
        aheads[count] = w.local(BYTES, "ahead", P)
        with w.when(either((P + count > END, AT + count > LIMIT))):
            w.set(aheads[count], 0)
    for edge in edges:
        with w.at(edge.span):
            target = graph.node(edge.target)
            tests = [_test(chain, test, aheads) for test in edge.tests]
            behind = graph.chain(target.name)
            with w.when(both(tests)) if tests else w.block():
                frame_begins(site, target, graph.node(chain.members[0]).header, parts)
                w.put(Goto(chain_label(behind.name) if behind else node_label(target.name)))


def _test(chain: Chain, test: Test, aheads: dict[int, Expr]) -> Expr:
    if not test.ahead:
        return value_test(test, announced(chain))
    ahead = aheads[bytes_ahead(test)]
    return both((ahead, ahead_test(test, ahead)))


# ---- the function ---------------------------------------------------------------------------


def _one_header(site: LoweringContext, chain: Chain, bounded: bool) -> None:
    """Read the header of the chain that starts at byte `a` and was announced; `b`: LIMIT."""
    w, graph = site.writer, site.graph
    let_edges(w)
    w.let(U32, AT.name, low_bits(Name("a"), _OFFSET_BITS))
    w.let(U32, LIMIT.name, Name("b"))
    w.let(BYTES, P.name, DATA + AT)
    w.let(U32, SIZE.name)
    w.let(U32, EVENT.name)
    *others, last = announcing(graph, chain).items()
    for name, test in others:
        with w.when(value_test(test, announced(chain))):
            w.put(Goto(node_label(name)))
    w.put(Goto(node_label(last[0])))
    parts = in_first_fragments(graph, site.role) & {*chain.members}
    tiny = bool(parts) or _may_begin_within(site, chain)
    for name in chain.members:
        node = graph.node(name)
        with w.at(node.span):
            w.put(Blank(), Label(node_label(name)))
            read_header(site, node, bounded, name in parts)
            if node.header.payload:
                with w.unless(header_holds(site, node.header, And(node.header.payload))):
                    begun(site, node)
                    w.put(Goto("done", leaves=True))
            w.returns(low_bits(AT + SIZE, 16))
    w.put(Blank(), Label("done", unlikely=True))
    w.returns(DONE << 16)
    if parts:
        w.put(Label("cut", unlikely=True))
        with w.when(fragmented(site)):
            w.put(Goto("tiny", leaves=True))
    w.put(Label("malformed", unlikely=True))
    w.returns(EVENT | MALFORMED << 16)
    if tiny:
        w.put(Label("tiny", unlikely=True))
        w.returns(TINY << 16)
