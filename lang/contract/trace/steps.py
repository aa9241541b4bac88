"""What a packet met on its way, step by step: the same of the interpreter and of a traced program.

docs/trace.md says what each step means.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Literal, NamedTuple

from ..base.colours import COLOUR_BITS
from ..base.domain_names import compared_text

What = Literal[
    "stage",  # a stage begins
    "look",  # a rule kind is looked up: what of the packet its rules are compared with
    "rule",  # a rule is bound, under a name
    "slot",  # a group's slot that the packet's hash picked
    "remember",  # an entry of a state table is written
    "recall",  # one is looked for
    "recalled",  # and found
    "meter",  # a meter is asked which colour the packet has
    "forget",  # one is removed, if there is one
    "update",  # a slot of one is changed where it is
    "pop",  # headers are removed
    "push",  # headers are put in front
    "append",  # headers are put in place of what stands behind
    "queue",  # the receive queue is chosen
    "set",  # a field is changed in place
    "leave",  # the packet gets the link header of a port
    "event",  # something is counted
]


class TracedValue(NamedTuple):
    """A value by name. None: the packet, or the rule, has none. Kinds as in `model.Field`, and
    "port": a port's number, "colour": of `meters.COLOUR_BITS`."""

    name: str
    value: int | None
    kind: str = "uint"


class Bound(NamedTuple):
    """A rule as its packet met it. `priority` is None where its kind has none."""

    kind: str
    id: int
    name: str = ""
    priority: int | None = None


@dataclass(frozen=True)
class Step:
    """`name` says of what: a stage, a rule kind, a binding, a state, a field `node.field`, a port's
    role, a group of events. `nodes`: of a push the headers, outermost first, of a pop those that
    are removed; then `name` is the node that they stood, or stand, in front of (behind, of an
    append; empty of link headers whatever follows them). `reason`: of an
    event."""

    what: What
    name: str
    values: tuple[TracedValue, ...] = ()
    rule: Bound | None = None
    nodes: tuple[str, ...] = ()
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """As `helioctl trace --json` has it: `what`, and the rest by name."""
        out: dict[str, Any] = {"what": self.what, "name": self.name}
        if self.rule is not None:
            out |= {"kind": self.rule.kind, "id": self.rule.id}
            out |= {"rule": self.rule.name} if self.rule.name else {}
            out |= {"priority": self.rule.priority} if self.rule.priority is not None else {}
        if self.nodes:
            out["nodes"] = list(self.nodes)
        if self.values:
            out["values"] = {t.name: plain(t) for t in self.values}
        if self.reason:
            out["reason"] = self.reason
        return out


@dataclass(frozen=True)
class Trace:
    """A packet's whole way. `port` is the number of the port of arrival, `egress` of the one that
    it left by (None: it did not); `length` in bytes, on arrival; `path` the nodes that the parser
    found, each with its offset. `cut`: there were more steps than a traced program has room for."""

    port: int
    length: int
    path: tuple[tuple[str, int], ...]
    steps: tuple[Step, ...]
    verdict: str
    egress: int | None = None
    cut: bool = False


def plain(traced: TracedValue) -> int | str | None:
    """A value as JSON has it: addresses as text."""
    if traced.value is None:
        return None
    match traced.kind:
        case "ip4":
            return str(IPv4Address(traced.value))
        case "ip6":
            return str(IPv6Address(traced.value))
        case "mac":
            return traced.value.to_bytes(6, "big").hex(":")
        case "bytes":
            return f"{traced.value:#x}"
        case "name":
            return compared_text(traced.value)
        case "colour":
            named = {bits: colour for colour, bits in COLOUR_BITS.items()}
            return named.get(traced.value, traced.value)
    return traced.value
