"""Which parts of the language a checked pipeline uses, in the language's own words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, get_args

from helioc.compiler.model import (
    TAIL,
    Arithmetic,
    Arrival,
    Assign,
    Attribute,
    Choose,
    Compare,
    Condition,
    DecodeProbe,
    Derived,
    Edge,
    Element,
    Emit,
    EventKind,
    Expr,
    Field,
    Find,
    Forward,
    Given,
    Header,
    Identity,
    Inline,
    Item,
    Items,
    Match,
    Metered,
    Packet,
    Pipeline,
    Pop,
    PortOf,
    Push,
    PushElement,
    Recalled,
    Remember,
    RuleKind,
    SetRegister,
    State,
    Statement,
    Update,
    Verdict,
)
from helioc.lang.contract.manifest.manifest import Raise

#: Parts of the model that are counted by their own names; no text becomes a `DecodeProbe`.
PARTS = {
    part: f"{sort} {part.__name__}"
    for sort, union in (("statement", Statement), ("condition", Condition), ("value", Expr))
    for part in get_args(union)
    if part is not DecodeProbe
}


def features(pipeline: Pipeline) -> frozenset[str]:
    """`statement Push`, `match lpm`, `edge with a mask` …"""
    graph, found = pipeline.graph, set(_of_parts(pipeline))
    found |= {f"hook {verdict}" for verdict in pipeline.hooks.values()}
    found |= {f"{n.header.protocol} node" for n in graph.nodes if n.header.protocol}
    for node in graph.nodes:
        if len({e.source for e in graph.entering(node.name)}) > 1:
            found.add("node reached several ways")
        if node.name.endswith("]"):
            found.add("stack of headers")
    found |= {"chain of headers"} if graph.chains else set()
    walked = [n.header.protocol for n in graph.nodes if n.options]
    found |= {"options walked" if p else "options of an own header walked" for p in walked}
    found |= {"node that may not fit"} if any(n.fits for n in graph.nodes) else set()
    if len({name for _, name in graph.entries}) > 1:
        found.add("start by role")
    if len(pipeline.stages) > 1:
        found.add("several stages")
    found |= {f"role at {at}" for at in pipeline.at}
    found |= {"roles at XDP and at tc"} if "xdp" in pipeline.at else set()
    found |= {"role without a link header"} if pipeline.bare else set()
    ranked = {rule.name for rule in pipeline.rules if rule.priority}
    if any(isinstance(p, Find) and p.kept and p.rule in ranked for p in _walk(pipeline)):
        found.add("rule with a priority kept in a state")
    links = {n.name for n in graph.nodes if n.header.link}
    pushed = {
        part.node for part in _walk(tuple(s.body for s in pipeline.stages))
        if isinstance(part, PushElement)
    }  # fmt: skip
    for part in _walk(tuple(s.body for s in pipeline.stages)):
        if isinstance(part, Assign):
            fields = [f for f, _ in part.fields if isinstance(f, Packet)]
            headers = ((graph.node(f.node).header, f.field) for f in fields)
            groups = {(h, h.field(name).group) for h, name in headers}
            options = {h.option(group) is not None for h, group in groups if group}
            found |= {f"field of {'an option' if o else 'a group'} changed" for o in options}
            found |= {"element of an array changed"} if len(fields) < len(part.fields) else set()
        if isinstance(part, Push) and part.before in links:
            found.add("push in front of a frame")
        if isinstance(part, Push) and part.behind:
            found.add("push behind a link header")
        if isinstance(part, Push) and links & {e.node for e in part.elements}:
            found.add("link header pushed")
        if isinstance(part, Push) and part.before in pushed:
            found.add("push in front of a push")
        if isinstance(part, Pop) and part.node in links:
            found.add("pop to a frame")
    return frozenset(found)


def _of_parts(pipeline: Pipeline) -> Iterator[str]:
    for part in _walk(pipeline):
        if type(part) in PARTS:
            yield PARTS[type(part)]
        match part:
            case Edge():
                yield from _of_edge(part, pipeline.roles)
            case Header():
                yield from _of_header(part)
            case EventKind() if part.each:
                yield "event with a limit of sources"
            case Raise():
                yield f"event of a rule by {part.what}"
                yield "event of a rule again and again" if part.again else "event of a rule once"
                yield "amount of the rule's own" if part.element else "amount of the kind"
            case RuleKind() | Match() | Element() | State():
                yield from _of_declaration(part)
            case Packet(maybe_absent=True):
                yield "hash of what may be absent"
            case Packet(kind="ip6"):
                yield "value of 128 bits"
            case Compare() | Arithmetic():
                yield f"operator {part.operator}"
            case _:
                yield from _of_statement(part)


def _of_statement(part: Any) -> Iterator[str]:
    match part:
        case Inline(action=""):
            yield "look-up asked by an if"
        case Verdict():
            yield f"verdict {part.verdict}"
        case Assign(fields=(_, _)):
            yield "fields swapped"
        case Items():
            yield "list pushed"
        case Find() if part.kept is not None:
            yield "rule kept in a state"
        case Find() if part.given:
            yield "find with a value"
        case Choose() if part.over:
            yield "choose by a hash of its own"
        case Push():
            yield f"push of {min(len(part.elements), 2)}{'+' if len(part.elements) > 1 else ''}"
        case PushElement() if part.computed:
            yield "checksum computed"
        case Forward():
            packet = isinstance(part.via, Item | Packet)
            yield f"forward via {'Packet' if packet else type(part.via).__name__}"
            yield f"forward via {part.via.kind}"
        case Metered() if part.colours:  # but the one in front
            yield "meter of an entry" if part.state else "meter of a rule"
            if part.given:
                front = isinstance(part.given, Metered)
                yield "colour of a meter in front" if front else "colour given"
        case PortOf(Recalled()):
            yield "port recalled"
        case Remember():
            if part.if_absent:
                yield "remembered if absent"
            if any(isinstance(value, PortOf) for value in part.values):
                yield "port of a rule kept"
            if any(isinstance(value, Identity) for value in part.values):
                yield "rule remembered"
        case Emit() if any(isinstance(value, Identity) for value in part.values):
            yield "rule in an event"
        case SetRegister():
            yield f"register {part.operator}"
        case Update():
            yield "slot set in place" if part.operator == "=" else "slot computed in place"
        case Attribute() if part.optional:
            yield "optional value"


def _of_declaration(part: RuleKind | Match | Element | State) -> Iterator[str]:
    match part:
        case RuleKind():
            yield from _of_rule(part)
        case Match():
            yield f"match {part.kind}"
            if isinstance(part.operand, Packet) and part.operand.kind in ("ip6", "mac"):
                yield f"match of {part.operand.kind}"
            if isinstance(part.operand, Arrival | Given):
                yield "match of the port" if isinstance(part.operand, Arrival) else "match given"
        case Element():
            if part.most:
                yield "element that is a list"
            if part.kind in ("bytes", "name"):
                yield f"element {part.kind}"
            if part.kind == "ip6":
                yield "element of 128 bits"
        case State():
            yield "state that ages" if part.ages else "state for ever"
            if part.lifetime or part.idle:
                yield "state with lifetimes" if part.lifetime else "state that is idle"
            if part.counts:
                yield "state that counts"
            if part.meters:
                yield "state with meters"
            if part.in_place:
                yield "state changed in place"


def _of_edge(edge: Edge, roles: tuple[str, ...]) -> Iterator[str]:
    if not edge.tests:
        yield "edge without a guard"
    if len(edge.tests) > 1:
        yield "edge with two tests"
    if not edge.roles:
        yield "edge that is only written"
    elif set(edge.roles) != set(roles):
        yield "edge on some roles"
    for test in edge.tests:
        if test.ahead:
            yield "edge that looks ahead"
        if test.mask is not None:
            yield "edge with a mask"
        if len(test.ranges) > 1:
            yield "edge with several values"
        if test.mask is None and any(low < high for low, high in test.ranges):
            yield "edge with a range"


def _of_header(header: Header) -> Iterator[str]:
    if any(g.count is not None for g in header.groups):
        yield "header with an array"
    if any(len(g.flags) > 1 for g in header.groups):
        yield "group of several flags"
    if any(g.name == TAIL for g in header.groups):
        yield "fields at a header's end"
    if header.protocol:
        return
    for clause in ("size", "extent", "accept", "require", "payload", "reach", "groups", "link"):
        if getattr(header, clause):
            yield f"header with {clause}"
    if header.options and any(group.text for group in header.options.groups):
        yield "field text"
    for f in header.fields:
        yield from _of_field(f)


def _of_field(f: Field) -> Iterator[str]:
    if isinstance(f.default, Derived):
        yield f"field that is a {f.default.what}"
        if f.default.plus:
            yield "length less a number"
    if f.part_of:
        yield "field divided"
    if f.kind != "uint":
        yield f"field {f.kind}"
    elif f.offset % 8 or f.width % 8:
        yield "field off bytes"


def _of_rule(rule: RuleKind) -> Iterator[str]:
    for clause in ("named", "spread", "counts", "alternatives", "gives"):
        if getattr(rule, clause):
            yield f"rule with {clause}"
    if rule.meters:
        yield "meter in packets" if rule.packet_meter else "meter in bits"
    if rule.priority:
        yield f"rule with {rule.priority[0]}"
    if sum(m.kind == "lpm" for m in rule.match) > 1:
        yield "rule with several prefixes"


def _walk(part: Any) -> Iterator[Any]:
    if isinstance(part, tuple | frozenset):
        for item in part:
            yield from _walk(item)
    elif isinstance(part, dict):
        yield from _walk(tuple(part.values()))
    elif is_dataclass(part) and not isinstance(part, type):
        yield part
        for f in fields(part):
            if f.name not in ("span", "source"):
                yield from _walk(getattr(part, f.name))
