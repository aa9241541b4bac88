"""Pops and pushes: noted in the `Shape` where they stand, carried out at the verdict."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from functools import partial

from ..ir.expr import Cast, Expr, NotNull, as_bytes, both, either, element, not_, reads
from ..ir.nodes import MakePointer
from ..ir.types import U8, U64, U128
from ..model import Append, Pop, Push, PushElement
from . import trace
from .fields import Value
from .headers_out import HeaderOut
from .ip import VERSIONS, version_of
from .lists import Room, carried_list, pushed_list
from .padding import kept_padding, padded
from .shape import Appended, Shape, Unsupported, fronts_behind, ways_to, writable
from .site import Site
from .stores import is_known
from .values import stored, value
from .verdicts import drop

ECT_0, ECN_CE = 2, 3


def pop(site: Site, statement: Pop) -> Shape:
    """Note the removal; join ECN now, while the outer header is at hand (RFC 6040 section 4.2)."""
    graph, role, shape, node = site.pipeline.graph, site.role, site.shape, statement.node
    first = shape.own or graph.entry(role).name
    if node == first or (shape.popped and shape.fronts == (node,)):
        return shape
    if site.header(node).link:
        return replace(shape, fronts=fronts_behind(graph, role, node), popped=(), own=node)
    popped = ways_to(graph, role, first, node)
    if popped == ((),):
        return replace(shape, fronts=(node,))
    if shape.own:
        raise Unsupported(f"popping to {node} behind a pop to {shape.own}", site.writer.span)
    left = replace(shape, fronts=(node,), popped=popped)
    if site.card and left.perhaps_gone(graph, role):
        what = (
            "popping a link header that other packets have in front of all else, on a network card"
        )
        raise Unsupported(what, site.writer.span)
    if version_of(site, node):
        _join_ecn(site, node, popped)
    return left


def _join_ecn(site: Site, inner: str, popped: tuple[tuple[str, ...], ...]) -> None:
    """By the innermost IP header that is removed, whichever the packet has."""
    outer: list[str] = []
    for node in reversed([n.name for n in site.pipeline.graph.nodes if version_of(site, n.name)]):
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


def _take_ecn(site: Site, inner: str, outer: str) -> None:
    w, pointer = site.writer, site.node(inner)
    own, version = VERSIONS[site.header(inner).protocol], version_of(site, outer)
    assert version is not None
    met = w.capture(U8, "met", version.ecn(site.node(outer)))
    with w.when(met & 1):  # CE, or ECT(1)
        with w.when(both((met.is_(ECN_CE), not_(own.ecn(pointer))))):
            drop(site, "ecn")
        with w.when(either((met.is_(ECN_CE), own.ecn(pointer).is_(ECT_0)))):
            trace.change(site, inner, "ecn", pointer, Value(met, 2))
            w.do(own.marks, pointer, met)


def push(site: Site, statement: Push) -> Shape:
    """Take the values now (they may change later); the octets are written at the verdict."""
    following = [e.node for e in statement.elements[1:]] + [statement.before]
    out = []
    for pushed, after in zip(statement.elements, following, strict=True):
        made = header_out(site, pushed, after)
        version = VERSIONS.get(made.header.protocol)
        given = made.given
        if version and not version.parts & given.keys():
            ecn = _ecn_behind(site, statement)
            given |= {"ecn": captured(site, ecn)} if ecn else {}
        out.append(made)
    trace.push(site, "push", out, statement.before)
    shape = replace(site.shape, pushed=(*out, *site.shape.pushed))
    if statement.behind:
        shape = replace(shape, behind=statement.behind)
    elif not site.shape.pushed:
        shape = replace(shape, fronts=(statement.before,))
    return shape


def _ecn_behind(site: Site, statement: Push) -> Value | None:
    """ECN of the IP header that a push goes around: the first that was pushed before, else that of
    the first header that came, if it is one."""
    for header in site.shape.pushed:
        if header.header.protocol in VERSIONS:
            return header.part("ecn")
    came = site.shape.fronts[0] if site.shape.pushed else statement.before
    version = None if site.shape.behind or not came else version_of(site, came)
    return Value(version.ecn(site.node(came)), 2) if version else None


def append(site: Site, statement: Append) -> Shape:
    """Take the values now: they may change later."""
    following = [*(e.node for e in statement.elements[1:]), ""]
    headers = tuple(
        header_out(site, each, after)
        for each, after in zip(statement.elements, following, strict=True)
    )
    trace.push(site, "append", headers, statement.behind)
    writes = writable(site, statement.behind, headers[0].node).writes or ()
    return replace(site.shape, appended=Appended(statement.behind, headers, writes))


def header_out(site: Site, element: PushElement, following: str) -> HeaderOut:
    """A header to be written in front of `following` ("": of nothing), its values taken."""
    header = site.header(element.node)
    listed = pushed_list(site, header, element)
    writes = (writable(site, element.node, following).writes or ()) if following else ()
    given = {name: captured(site, value(site, v)) for name, v in element.values}
    computed = frozenset(element.computed)
    return padded(site.writer, HeaderOut(element.node, header, given, writes, computed, listed))


def carried_over(site: Site, shape: Shape) -> Shape:
    """The shape as the next stage finds it: what its pushes took is put into the scratch record.
    What an earlier stage put there stays where it is."""
    if shape.appended:
        what = "a packet appended to in one stage, and sent in a later one"
        raise Unsupported(what, site.writer.span)
    room = Room(site.kept, shape.words)
    new = len(shape.pushed) - shape.carried
    pushed = (*(_kept(site, h, room) for h in shape.pushed[:new]), *shape.pushed[new:])
    return replace(shape, pushed=pushed, carried=len(pushed), words=room.taken)


def _kept(site: Site, header: HeaderOut, room: Room) -> HeaderOut:
    """A header to be written whose values are in the scratch record."""
    given = {n: _value_kept(site, v, room) for n, v in header.given.items()}
    padded = header.padded and kept_padding(header.padded, partial(_keep, site, room))
    return _list_kept(site, replace(header, given=given, padded=padded), room)


def _value_kept(site: Site, v: Value, room: Room) -> Value:
    if is_known(v) or reads(v.expr, site.words):  # there is no need to, or it is there already
        return v
    given = None if v.given is None else Cast(U8, _keep(site, room, v.given))
    if v.octets <= 8:
        return replace(v, expr=Cast(stored(v), _keep(site, room, v.expr)), given=given)
    low, high = (_keep(site, room, Cast(U64, as_bytes(v.expr) >> shift)) for shift in (0, 64))
    return replace(v, expr=Cast(stored(v), (Cast(U128, high) << 64) | low), given=given)


def _keep(site: Site, room: Room, kept: Expr) -> Expr:
    """The word that holds it from here on."""
    place = element(site.words, room.take(8))
    site.writer.set(place, as_bytes(kept))
    return place


def _list_kept(site: Site, header: HeaderOut, room: Room) -> HeaderOut:
    if header.listed is None:
        return header
    octets = next(g.width for g in header.header.groups if g.count is not None) // 8
    return replace(header, listed=carried_list(site, header.listed, octets, room))


def captured(site: Site, v: Value) -> Value:
    """The value in a local variable of its own."""
    captured = site.writer.capture(stored(v), "value", v.expr)
    given = None if v.given is None else site.writer.capture(U8, "given", v.given)
    return Value(captured, v.width, given)
