"""Chains of headers, `chain extension by next_header max 8 {…}`, as plain nodes and edges.

What comes after this sees the members as nodes in the order of their declaration, with edges from
each to all behind it: a packet has any of them. That they come in any order, and again, only
parsers know, by the edges that lead back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations

from ...lang import tree
from ...lang.text.diagnostics import Diagnostics
from ...lang.text.frozen import Frozen
from ...lang.text.source import Span
from .. import model
from ..model import guards
from . import chain_errors as said
from .edge_fits import to_chain
from .edge_guards import EdgeGuards
from .header_layout import CheckedHeader

LONGEST_CHAIN = 32
WIDEST = 32  # bits of what announces the next header


class Chained(Frozen):
    """`parser`: without chains; `again`: the edges that lead back within one; `chains`: those that
    can be checked further. `members`: the nodes of all; `further`: but for the first of each chain.
    What is wrong with an edge that leaves the chain is said of the first."""

    parser: tree.Parser
    again: tuple[tree.Edge, ...] = ()
    chains: tuple[tree.Chain, ...] = ()
    members: frozenset[str] = frozenset()
    further: frozenset[str] = frozenset()


def without_chains(parser: tree.Parser, found: Diagnostics) -> Chained:
    """An edge that leads to a chain leads to each of its headers; one that leaves it, each."""
    if not parser.chains:
        return Chained(parser)
    chains = {chain.name.text: chain for chain in parser.chains}
    members = {m.node.text: chain for chain in parser.chains for m in chain.members}
    sound = [chain for chain in parser.chains if _is_sound(chain, parser, found)]
    edges: list[tree.Edge] = []
    for edge in parser.edges:
        if _may_lead(edge, chains, members, found):
            edges += (into for out in _leaving(edge, chains) for into in _leading(out, chains))
    again: list[tree.Edge] = []
    for chain in parser.chains:
        for i, front in enumerate(chain.members):
            for j, behind in enumerate(chain.members):
                (edges if i < j else again).append(_within(chain, front, behind))
    further = frozenset(m.node.text for chain in parser.chains for m in chain.members[1:])
    plain = replace(parser, edges=tuple(edges), chains=())
    return Chained(plain, tuple(again), tuple(sound), frozenset(members), further)


def _may_lead(
    edge: tree.Edge,
    chains: Mapping[str, tree.Chain],
    members: Mapping[str, tree.Chain],
    found: Diagnostics,
) -> bool:
    """Whether an edge leads to, or leaves, no more of a chain than all of it."""
    target = edge.alias or edge.target
    left, led = chains.get(edge.source.text), chains.get(edge.target.text)
    for name in (edge.source, target):
        if name.text in members:
            found.add(said.one_of_a_chain(name, members[name.text].name))
            return False
    tested = [t.field for t in edge.guard if led and t.field.text == led.by.text]
    if led is not None and tested:
        found.add(said.tested_by_chain(tested[0], led))
    elif led is not None and edge.alias is not None:
        found.add(said.second_name(edge.alias, led.name))
    elif led is not None and edge.fits is not None:
        found.add(to_chain(edge.fits, led.name))
    elif led is not None and edge.depth is not None:
        found.add(said.two_bounds(edge.depth.span, led))
    elif left is not None and left is led:
        found.add(said.leads_to_itself(edge.span, led))
    else:
        return True
    return False


def _leaving(edge: tree.Edge, chains: Mapping[str, tree.Chain]) -> Iterator[tree.Edge]:
    chain = chains.get(edge.source.text)
    if chain is None:
        yield edge
        return
    for member in chain.members:
        yield replace(edge, source=tree.Name(edge.source.span, member.node.text))


def _leading(edge: tree.Edge, chains: Mapping[str, tree.Chain]) -> Iterator[tree.Edge]:
    chain = chains.get(edge.target.text)
    if chain is None:
        yield edge
        return
    for member in chain.members:
        guard = (*edge.guard, _test(chain, member))
        written = _written(edge, member)
        target = replace(edge, target=member.target, alias=member.alias)
        yield replace(target, guard=guard, write=written)


def _written(edge: tree.Edge, member: tree.ChainMember) -> tuple[tree.Expr, ...]:
    """Values for each test, where the edge or the member says one; () where none does, or a test
    has several and says none."""
    tested = [t.alternatives for t in edge.guard if t.ahead is None]
    own = list(edge.write) or [x for each in tested for x in _only(each)]
    last = member.write or _only(member.alternatives)
    if not (edge.write or member.write) or not last or (not edge.write and len(own) < len(tested)):
        return ()
    return (*own, *last)


def _only(alternatives: tuple[tree.Range, ...]) -> tuple[tree.Expr, ...]:
    """The value that a test asks for, if that is one."""
    first = alternatives[0]
    several = len(alternatives) > 1 or first.high is not None or first.mask is not None
    return () if several else (first.low,)


def _within(chain: tree.Chain, front: tree.ChainMember, behind: tree.ChainMember) -> tree.Edge:
    source = tree.Name(front.node.span, front.node.text)
    return tree.Edge(
        behind.span, source, behind.target, behind.alias, (_test(chain, behind),), behind.write, ()
    )


def _test(chain: tree.Chain, member: tree.ChainMember) -> tree.Test:
    first, last = member.alternatives[0].span, member.alternatives[-1].span
    return tree.Test(first.to(last), chain.by, member.alternatives)


# ---- a chain by itself ----------------------------------------------------------------------


def _is_sound(chain: tree.Chain, parser: tree.Parser, found: Diagnostics) -> bool:
    before = len(found.errors)
    if not 1 <= chain.most.value <= LONGEST_CHAIN:
        found.add(said.no_bound(chain.most.span, LONGEST_CHAIN))
    if not chain.members:
        found.add(said.empty(chain.name))
        return False
    name = chain.name.text
    if not any(e.target.text == name for e in parser.edges):
        found.add(said.not_led_to(chain.name))
    elif not any(e.source.text == name for e in parser.edges):
        found.add(said.not_left(chain.name, chain.by.text))
    seen: dict[str, Span] = {}
    for member in chain.members:
        if member.node.text in seen:
            found.add(said.twice(member.node, seen[member.node.text]))
        seen.setdefault(member.node.text, member.node.span)
    for edge in parser.edges:
        for test in edge.guard if edge.source.text == name else ():
            if test.ahead is None and test.field.text != chain.by.text:
                found.add(said.other_field(test.field, chain))
    return len(found.errors) == before


# ---- a chain of known headers ---------------------------------------------------------------


def check_chain(
    chain: tree.Chain,
    headers: Mapping[str, CheckedHeader],
    fronts: Mapping[str, Span],
    found: Diagnostics,
) -> model.Chain | None:
    """`headers`: by node. `fronts`: the nodes in front of the chain, and where an edge says so."""
    before = len(found.errors)
    if any(n not in headers for n in (*fronts, *(m.node.text for m in chain.members))):
        return None
    fields = (f for name in fronts for f in headers[name].header.fields if f.name == chain.by.text)
    width = next((f.width for f in fields), None)
    for member in chain.members:
        field = _announcing(chain, headers[member.node.text], member.target.span, found)
        if field is None:
            return None
        if headers[member.node.text].header.optional(field):
            found.add(said.not_always(chain, member.target, field.span))
        if width is not None and field.width != width:
            found.add(said.two_widths(chain, member.target, field, width))
        width = width or field.width
        if why := _unfit(headers[member.node.text].header):
            found.add(said.unfit_header(member.target, why))
    for front, span in fronts.items():
        field = _announcing(chain, headers[front], span, found)
        if field is not None and field.width != width:
            found.add(said.two_widths(chain, tree.Name(span, front), field, width or 0))
        if headers[front].header.link:
            found.add(said.behind_link(span, front))
    if len(found.errors) > before:
        return None
    _check_values(chain, headers[chain.members[0].node.text], found)
    if len(found.errors) > before:
        return None
    members = tuple(m.node.text for m in chain.members)
    most, by = chain.most.value, chain.by.text
    return model.Chain(
        chain.name.text, by, width or 0, most, members, tuple(fronts), chain.name.span
    )


def _announcing(
    chain: tree.Chain, header: CheckedHeader, where: Span, found: Diagnostics
) -> model.Field | None:
    name = chain.by.text
    if name in header.broken:
        return None
    field = next((f for f in header.header.fields if f.name == name), None)
    if field is None:
        found.add(said.lacking(chain, header.header.name, where))
        return None
    if field.kind != "uint" or field.width > WIDEST or header.header.array(field):
        found.add(said.no_number(chain, header.header.name, where, field.span, WIDEST))
        return None
    return field


def _unfit(header: model.Header) -> str:
    """Why a header cannot stand in a chain; empty if it can."""
    if header.link:
        return "is a link header: tags in a row are a stack, as in `-> vlan[2]`"
    if header.extent is not None or header.reach is not None:
        return "says where the packet ends: it stands in front of a chain, or behind it"
    if any(isinstance(f.default, model.Derived) for f in header.fields):
        return "has a length or a checksum of more than itself"
    return ""


def _check_values(chain: tree.Chain, header: CheckedHeader, found: Diagnostics) -> None:
    """What announces one header announces no other."""
    checker = EdgeGuards(found)
    tests: list[tuple[tree.ChainMember, model.Test]] = []
    for member in chain.members:
        test = _test(chain, member)
        field = checker.tested_field(test, header)
        made = checker.test(test, field) if field is not None else None
        if made is not None:
            tests.append((member, made))
    for (first, one), (second, other) in combinations(tests, 2):
        if guards.overlap((one,), (other,)):
            found.add(said.same_value(first, second))
