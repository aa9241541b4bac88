"""A whole pipeline from a seed: headers, graph, elements, rule kinds, hooks, stages."""

from __future__ import annotations

from chance import Chance
from helioc.compiler.check import check
from helioc.compiler.model import Pipeline
from helioc.lang.parser import parse
from helioc.lang.source import Source
from random_graph import graph
from random_rules import Facts, RuleMaker, element_text
from random_stages import StageMaker

IMPORTS = "import std.ethernet, std.ip, std.gre\n\n"


def pipeline_text(seed: int | str) -> str:
    """A pipeline that must be accepted; the same for the same seed."""
    chance = Chance(f"pipeline {seed}")
    roles = chance.one((["lan"], ["lan", "wan"], ["lan", "wan"], ["lan", "wan", "core"]))
    grown = graph(chance, roles)
    edges = "\n".join(f"    {e}" for e in grown.edges)
    front = (
        IMPORTS
        + "\n".join(grown.headers)
        + (f"\npipeline random {{\n  ports {', '.join(roles)}\n  parser {{\n{edges}\n  }}\n")
    )
    bare = check(
        parse(Source("skeleton.hp", f"{front}  stage s {{ pass }}\n  run parser -> s\n}}\n"))
    )
    return front + _body(chance, bare)


def _body(chance: Chance, bare: Pipeline) -> str:
    facts = Facts(bare.graph, bare.roles)
    anchor = _anchor(chance, bare)
    rules = RuleMaker(chance, facts, anchor)
    kinds = rules.make()
    hooks = _hooks(chance, bare)
    stages, actions = StageMaker(chance, facts, kinds, hooks).make(anchor)
    lines = [element_text(i, e) for i, e in enumerate(rules.elements, start=1)]
    for kind in kinds.values():
        lines += [f"  {line}" for line in kind.text.split("\n")]
    lines.append(f"  default {chance.one(('pass', 'drop'))}")
    for body in actions:
        lines += [f"  {line}" for line in body]
    for name, body in stages:
        lines += [f"  stage {name} {{", *(f"    {line}" for line in body), "  }"]
    lines += [f"  on {event} {{ {verdict} }}" for event, verdict in hooks.items()]
    lines.append(f"  run parser -> {' -> '.join(name for name, _ in stages)}")
    return "\n".join([*lines, "}", ""])


def _anchor(chance: Chance, bare: Pipeline) -> str:
    """A node that the stages are about: an inner one, IPv4 if there is one."""
    names = [n.name for n in bare.graph.nodes if not n.header.link]
    inner = [n.name for n in bare.graph.nodes if n.header.protocol == "ipv4"]
    if "inner" in inner and chance.maybe(0.8):
        return "inner"
    if inner and chance.maybe(0.85):
        return chance.one((*inner, inner[-1]))
    return chance.one(names)


def _hooks(chance: Chance, bare: Pipeline) -> dict[str, str]:
    answered = any(n.header.protocol == "ipv4" for n in bare.graph.nodes)
    out = {}
    for event in ("malformed", "too_big", "ttl_expired", "no_headroom", "unresolved"):
        words = ["pass", "drop"]
        if event in ("too_big", "ttl_expired") and answered:
            words += ["reply icmp"] * 2
        if chance.maybe(0.6):
            out[event] = chance.one(words)
    return out
