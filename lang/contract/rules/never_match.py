"""Warnings of rules that match no packet: they match elements that none has together, as an IPv4
and an IPv6 source, or a port whose packets the kind is not looked up for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from ..manifest.manifest import Manifest, RuleKind
from ..manifest.parse_graph import ParseGraph
from .ie_values import Fault
from .rules import Matcher

if TYPE_CHECKING:
    from .kind_fields import Pairs
    from .rulebook import RuleBook
    from .rulekinds import Kind


def never_together(manifest: Manifest, rule: RuleKind) -> list[tuple[int, int, str]]:
    """Pairs of places in `rule.match`, and why: the headers of which a packet has one. Only of
    elements that match no packet without their header, but for a 0 (see `asks`)."""
    anatomy = manifest.anatomy
    if anatomy is None:
        return []
    nodes = {
        reading.element: reading.fields[0][0]
        for reading in anatomy.readings
        if reading.rule == rule.name and len(reading.fields) == 1
    }
    behind = _behind(anatomy)
    named = [
        (place, node)
        for place, match in enumerate(rule.match)
        if match.presence is not None and (node := nodes.get(match.element)) in behind
    ]
    return [
        (i, j, f"`{one}` or `{two}`")
        for (i, one), (j, two) in combinations(named, 2)
        if one != two and two not in behind[one] and one not in behind[two]
    ]


def asks(matcher: Matcher) -> bool:
    """Whether it takes no 0, as which a `find` may read a header that is absent."""
    return matcher.value != 0


def no_such_packet(never: str, one: str, two: str, nodes: str) -> Fault:
    """A warning. `never`: what never matches."""
    title = f"{never}: no packet has both `{one}` and `{two}`"
    return Fault("H0465", title, "rule", f"a packet has {nodes}", "make a rule for each of the two")


def another_role(book: RuleBook, kind: Kind, pairs: Pairs) -> Fault | None:
    """A warning where a rule matches the port of arrival, and is looked up only for packets that
    come by ports of other roles. `pairs`: what it matches."""
    for place in kind.arriving:
        said = pairs[place]
        if not said or said[1].form != "value":
            continue
        role, roles = book.roles.get(said[1].value), kind.rule.match[place].roles
        if role and role not in roles:
            return wrong_port(book, kind.name, said[1].value, roles)
    return None


def wrong_port(book: RuleBook, kind: str, port: int, roles: Sequence[str]) -> Fault:
    what = f"`{book.port_names[port]}` is a port of role {book.roles[port]}"
    only = " or ".join(roles)
    title = f"no packet finds this {kind}: {what}, and {kind} is for packets of role {only}"
    names = sorted(name for name, number in book.ports.items() if book.roles.get(number) in roles)
    help_ = f"ports of role {only}: {', '.join(names)}" if names else ""
    return Fault("H0466", title, "rule", f"a port of role {book.roles[port]}", help_)


def _behind(anatomy: ParseGraph) -> dict[str, set[str]]:
    """The headers that a packet may have behind each, also where a push alone leads there."""
    behind: dict[str, set[str]] = {layer.name: set() for layer in anatomy.layers}
    for step in anatomy.steps:
        behind[step.source].add(step.target)
    for through in behind:  # Warshall
        for found in behind.values():
            if through in found:
                found |= behind[through]
    return behind
