"""A whole pipeline from a seed: headers, graph, elements, rule kinds, states, hooks, stages."""

from __future__ import annotations

from itertools import count

import random_names
from chance import Chance
from helioc.compiler.check.program import check
from helioc.compiler.model import Pipeline
from helioc.compiler.model.checksums import NETWORK
from helioc.lang.syntax.parser import parse
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from places import Ground
from random_attach import attached
from random_facts import Facts
from random_graph import graph
from random_raises import raised
from random_rules import RuleMaker
from random_stages import StageMaker
from random_states import State, state

#: Pushes that would be read as something else, and what would divide a chain.
_SOMETIMES = {"H0332", "H0388", "H0389"}


def pipeline_text(seed: int | str) -> str:
    """A pipeline that must be accepted; the same for the same seed. Where a push would be read as
    something else, or a chain would be divided, which is refused, another is made."""
    text = _text(f"{seed}")
    for attempt in count(1):
        try:
            check(parse(Source("random.hp", text)))
        except Refused as refused:
            codes = {d.code for d in refused.diagnostics if d.severity == "error"}
            if codes & _SOMETIMES and codes <= _SOMETIMES | {"H0284", "H0286", "H0289"}:
                text = _text(f"{seed}.{attempt}")
                continue
        return text
    raise AssertionError


def _text(seed: str) -> str:
    chance = Chance(f"pipeline {seed}")
    roles = chance.one((["lan"], ["lan", "wan"], ["lan", "wan"], ["lan", "wan", "core"]))
    grown = graph(chance, roles)
    edges = "\n".join(f"    {e}" for e in grown.edges)
    front = (
        f"import {', '.join(grown.imports)}\n\n"
        + "\n".join(grown.headers)
        + (f"\npipeline random {{\n  ports {', '.join(roles)}\n  parser {{\n{edges}\n  }}\n")
    )
    bare = check(
        parse(Source("skeleton.hp", f"{front}  stage s {{ pass }}\n  run parser -> s\n}}\n"))
    )
    return attached(front + _body(chance, bare, seed), roles, seed)


def _body(chance: Chance, bare: Pipeline, seed: str) -> str:
    facts = Facts(bare.graph, bare.roles)
    anchor = _anchor(chance, facts)
    rules = RuleMaker(chance, facts, anchor)
    kinds = rules.make()
    states = {s.name: s for s in _states(chance, facts)}
    hooks = _hooks(chance, facts)
    maker = StageMaker(Ground(chance, facts, kinds, states, hooks), seed)
    stages, actions = maker.make(anchor)
    events = raised(rules, seed)
    lines = [element.text(i) for i, element in enumerate(rules.elements, start=1)]
    for text in [k.text for k in kinds.values()] + [s.text for s in states.values()]:
        lines += [f"  {line}" for line in text.split("\n")]
    own = maker.registers.declared + maker.kept.declared + maker.events.declared + events
    own += maker.copies.declared
    lines += [f"  {line}" for line in own]
    lines.append(f"  default {chance.one(('pass', 'drop'))}")
    for body in actions:
        lines += [f"  {line}" for line in body]
    for name, body in stages:
        lines += [f"  stage {name} {{", *(f"    {line}" for line in body), "  }"]
    lines += [f"  on {event} {{ {verdict} }}" for event, verdict in hooks.items()]
    lines.append(f"  run parser -> {' -> '.join(name for name, _ in stages)}")
    return "\n".join([*lines, "}", ""])


def _anchor(chance: Chance, facts: Facts) -> str:
    """A node that the stages are about: an inner one, IP if there is one."""
    if "carried" in facts.names and chance.maybe(0.7):
        return "carried"
    known = [n for n in facts.names if n != random_names.NODE]
    variable = [n for n in known if facts.header(n).groups]
    variable += [n for n in variable if facts.arrays(n)]
    if variable and chance.maybe(0.4):
        return chance.one(variable)
    names = [n for n in known if not facts.link(n)] or known
    inner = [n for n in names if facts.protocol(n) in NETWORK]
    if "inner" in inner and chance.maybe(0.8):
        return "inner"
    if inner and chance.maybe(0.85):
        return chance.one((*inner, inner[-1]))
    return chance.one(names)


def _states(chance: Chance, facts: Facts) -> list[State]:
    count = chance.one((0, 1, 1, 2, 2))
    families = sorted("ip4" if f == "ipv4" else "ip6" for f in facts.families) or ["ip4"]
    return [state(chance, f"ST{i}", chance.one(families)) for i in range(count)]


def _hooks(chance: Chance, facts: Facts) -> dict[str, str]:
    out = {}
    for event in ("malformed", "too_big", "ttl_expired", "no_headroom", "unresolved"):
        words = ["pass", "drop"]
        if event in ("too_big", "ttl_expired") and facts.families:
            words += ["reply icmp"] * 2
        if chance.maybe(0.6):
            out[event] = chance.one(words)
    if out.get("malformed") == "pass":
        out["tiny_fragment"] = "continue"
        if out.get("unresolved") == "pass":  # no draw of its own: a seed's pipeline stays the same
            out["malformed"] = "continue"
    return out
