"""Pops and pushes: noted in the `Shape` where they stand, carried out at the verdict."""

from __future__ import annotations

from dataclasses import replace

from ..model import Pop, Push
from .headers_out import HeaderOut
from .shape import Shape, Unsupported, writable
from .values import Site, Value, value
from .verdicts import drop

ECN_CE = 3


def pop(site: Site, statement: Pop) -> Shape:
    """Note the removal; join ECN now, while the outer header is at hand (RFC 6040 section 4.2)."""
    chain = _between(site, statement.node)
    outer = next((n for n in reversed(chain) if site.header(n).protocol == "ipv4"), None)
    if outer and site.header(statement.node).protocol == "ipv4":
        w, inner = site.writer, site.node(statement.node)
        with w.nest(f"if ((RAW8({site.node(outer)}, 1) & 3) == {ECN_CE}) {{"):
            with w.nest(f"if (!(RAW8({inner}, 1) & 3)) {{"):
                drop(site, "ecn")
            w.put(f"set_ecn_ce({inner});")
    return replace(site.shape, fronts=(statement.node,), popped=site.shape.popped + chain)


def _between(site: Site, node: str) -> tuple[str, ...]:
    """Nodes on the way from the link nodes to `node` on this role, outermost first."""
    graph, at = site.pipeline.graph, node
    chain: list[str] = []
    while True:
        sources = {e.source for e in graph.entering(at, site.role) if e.source in site.reachable}
        inner = [s for s in sources if not graph.node(s).header.link]
        if not inner:
            return tuple(reversed(chain))
        if len(sources) > 1:
            raise Unsupported(f"several ways lead to {node}")
        at = inner[0]
        chain.append(at)


def push(site: Site, statement: Push) -> Shape:
    """Take the values now (they may change later); the octets are written at the verdict."""
    graph = site.pipeline.graph
    following = [e.node for e in statement.elements[1:]] + [statement.before]
    out = []
    for element, after in zip(statement.elements, following, strict=True):
        header = graph.node(element.node).header
        edge = writable(site, element.node, after)
        given = {name: _captured(site, value(site, v)) for name, v in element.values}
        if header.protocol == "ipv4" and not {"tos", "dscp", "ecn"} & given.keys():
            front = site.node(statement.before)
            if site.header(statement.before).protocol == "ipv4":
                given["ecn"] = _captured(site, Value(f"(RAW8({front}, 1) & 3)", 2))
        out.append(
            HeaderOut(element.node, header, given, edge.writes or (), frozenset(element.computed))
        )
    return replace(site.shape, fronts=(statement.before,), pushed=(*out, *site.shape.pushed))


def _captured(site: Site, v: Value) -> Value:
    """The value in a local variable of its own."""
    name = site.writer.fresh("value")
    site.writer.put(f"u{v.octets * 8} {name} = {v.text};")
    given = ""
    if v.given:
        given = site.writer.fresh("given")
        site.writer.put(f"u8 {given} = {v.given};")
    return Value(name, v.width, v.raw, given)
