"""Which parts of the language a checked pipeline uses, in the language's own words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from helioc.compiler.model import (
    Arithmetic,
    Attribute,
    Compare,
    Derived,
    Edge,
    Field,
    Forward,
    Header,
    Match,
    Pipeline,
    Push,
    RuleKind,
    Verdict,
)

#: Parts of the model that are counted by their own names: statements, conditions, expressions.
_PLAIN = {
    "If", "IfGives", "MatchValue", "MatchReference", "Find", "Choose", "Push", "Pop", "ClampMss",
    "Forward", "Inline", "Present", "IsLocal", "IsFragment", "IsMulticast", "PortIs", "Not", "And",
    "Or", "Hash", "Layer4", "Assign", "Swap", "Remember", "Recall", "Bridge", "Arrival",
}  # fmt: skip


def features(pipeline: Pipeline) -> frozenset[str]:
    """`statement Push`, `match lpm`, `edge with a mask` …"""
    found = set(_of_parts(pipeline))
    found |= {f"hook {verdict}" for verdict in pipeline.hooks.values()}
    for node in pipeline.graph.nodes:
        if len({e.source for e in pipeline.graph.entering(node.name)}) > 1:
            found.add("node reached several ways")
    if len(pipeline.stages) > 1:
        found.add("several stages")
    return frozenset(found)


def _of_parts(pipeline: Pipeline) -> Iterator[str]:
    for part in _walk(pipeline):
        name = type(part).__name__
        if name in _PLAIN:
            yield f"statement {name}"
        match part:
            case Match():
                yield f"match {part.kind}"
                if getattr(part.operand, "kind", "") in ("ip6", "mac"):
                    yield f"match of {part.operand.kind}"  # type: ignore[union-attr]
            case Edge():
                yield from _of_edge(part, pipeline.roles)
            case Header():
                yield from _of_header(part)
            case RuleKind():
                yield from _of_rule(part)
            case Verdict():
                yield f"verdict {part.verdict}"
            case Compare() | Arithmetic():
                yield f"operator {part.operator}"
            case Push():
                yield f"push of {min(len(part.elements), 2)}{'+' if len(part.elements) > 1 else ''}"
            case Forward():
                yield f"forward via {type(part.via).__name__}"
            case Attribute() if part.optional:
                yield "optional value"


def _of_edge(edge: Edge, roles: tuple[str, ...]) -> Iterator[str]:
    if not edge.tests:
        yield "edge without a guard"
    if len(edge.tests) > 1:
        yield "edge with two tests"
    if set(edge.roles) != set(roles):
        yield "edge on some roles"
    for test in edge.tests:
        if test.mask is not None:
            yield "edge with a mask"
        if len(test.ranges) > 1:
            yield "edge with several values"
        if test.mask is None and any(low < high for low, high in test.ranges):
            yield "edge with a range"


def _of_header(header: Header) -> Iterator[str]:
    if header.protocol:
        return
    for clause in ("size", "extent", "accept", "require", "payload", "groups", "link"):
        if getattr(header, clause):
            yield f"header with {clause}"
    for f in header.fields:
        yield from _of_field(f)


def _of_field(f: Field) -> Iterator[str]:
    if isinstance(f.default, Derived):
        yield f"field that is a {f.default.what}"
    if f.part_of:
        yield "field divided"
    if f.kind != "uint":
        yield f"field {f.kind}"
    elif f.offset % 8 or f.width % 8:
        yield "field off octets"


def _of_rule(rule: RuleKind) -> Iterator[str]:
    for clause in ("named", "spread", "counts", "alternatives", "gives"):
        if getattr(rule, clause):
            yield f"rule with {clause}"
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
