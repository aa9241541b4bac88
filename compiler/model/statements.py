"""What a stage does to a packet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from ...lang.text.frozen import Frozen
from ...lang.text.source import Span
from .conditions import Condition, Ranges
from .values import (
    Attribute,
    Expr,
    Hash,
    Item,
    Items,
    Listed,
    Local,
    Packet,
    PortOf,
    Recalled,
    Register,
)


class Block(Frozen):
    """`ends`: no path through the block falls out of its end (each gives a verdict)."""

    statements: tuple[Statement, ...]
    ends: bool = False


class If(Frozen):
    condition: Condition
    then: Block
    otherwise: Block
    span: Span


class IfGives(Frozen):
    """`if PDR gives FAR {…}`: in `then` the given rule is bound under its kind's name."""

    binding: str  # the rule that gives
    rule: str  # its kind
    given: str  # kind and binding of the given rule
    then: Block
    otherwise: Block
    span: Span


class MatchValue(Frozen):
    """Arms by the value of an enumerated element; exhaustive (or with `_`, expanded here)."""

    subject: Attribute
    arms: tuple[tuple[tuple[int, ...], Block], ...]
    span: Span


class MatchNumber(Frozen):
    """Arms by ranges of a number, which is computed once; no two ranges overlap. `otherwise`: all
    other numbers. Of a few arms it is a chain of branches."""

    subject: Expr
    arms: tuple[tuple[Ranges, Block], ...]
    otherwise: Block
    span: Span


class ReferenceArm(Frozen):
    kind: str  # a rule kind, or "port"
    binding: str
    body: Block


class MatchReference(Frozen):
    """Arms by what an element refers to; exhaustive. An absent reference (excluded by a
    requirement) drops the packet, counted."""

    subject: Attribute
    arms: tuple[ReferenceArm, ...]
    span: Span


class Find(Frozen):
    """Look the rule kind up; bound under its own name afterwards. On a miss, `otherwise`, then the
    next statement (with the rule unbound) unless `otherwise` ends. `given` are the values of match
    elements by name, in place of the kind's own operands. `kept`: the rule that this slot says, if
    it is there still; nothing is matched."""

    rule: str
    given: tuple[tuple[str, Expr], ...]
    otherwise: Block
    span: Span
    kept: Recalled | None = None


class Choose(Frozen):
    """`choose FAR from PDR.LBR`: the spread of the best-matching rule of kind `group` with the id
    that `binding` refers to picks a member by hash. On no such rule or no member, `otherwise`.
    `given` as of `Find`; `over` is hashed in place of what the kind's spread says."""

    rule: str  # FAR: bound under this name
    group: str  # LBR
    binding: str  # PDR
    binding_rule: str
    given: tuple[tuple[str, Expr], ...]
    over: Hash | None
    otherwise: Block
    span: Span


class Identity(Frozen):
    """Which rule is bound: its id, and the number that no other rule ever has."""

    binding: str
    rule: str


Said = Expr | Identity | PortOf
"""What is said of a slot of a state, or of a field of an event."""


class Remember(Frozen):
    """Put an entry into a state table, or what it holds into the entry of that key: all slots in
    the order declared, those of the key first. `if_absent`: only where there is none; where there
    is one, it is bound, and `otherwise` runs."""

    state: str
    values: tuple[Said, ...]
    span: Span
    if_absent: bool = False
    otherwise: Block = Block(())


class Recall(Frozen):
    """Look an entry up by its key; bound in this stage under the state's name. On a miss,
    `otherwise`, as with `Find`."""

    state: str
    key: tuple[Expr, ...]
    otherwise: Block
    span: Span


class Forget(Frozen):
    """Remove the entry of a key, if there is one."""

    state: str
    key: tuple[Expr, ...]
    span: Span


Change = Literal["=", "+", "-", "+%", "-%", "|", "&", "^"]


class Update(Frozen):
    """Change a slot of the entry that was recalled or remembered, in one step: by what it holds
    then, whatever other packets did. `+` and `-` stop at the ends of its range. Nothing, counted,
    where the entry is gone."""

    slot: Recalled
    operator: Change
    value: Expr
    span: Span


class Exchange(Frozen):
    """Where a slot of that entry holds `before`, make it `after`, in one step; else, or where the
    entry is gone, `otherwise`."""

    slot: Recalled
    before: Expr
    after: Expr
    otherwise: Block
    span: Span


RegisterChange = Literal["=", "+", "-"]


class SetRegister(Frozen):
    """Change a register in one step, by what it holds then. `+` and `-` stop at the ends of its
    range."""

    register: Register
    operator: RegisterChange
    value: Expr
    span: Span


class PushElement(Frozen):
    """One header of a push, outermost first. `values` sets fields in this order of precedence:
    what the user wrote, then the edge to the next header, then the field's default. A field whose
    value is an optional attribute that a rule leaves out leaves its group out. `computed`: sums
    that the push asks for (and so their groups); one that is neither given nor optional is computed
    anyway. `lists`: what arrays hold."""

    node: str
    values: tuple[tuple[str, Expr], ...]
    computed: tuple[str, ...] = ()
    lists: tuple[tuple[str, Items], ...] = ()


class Push(Frozen):
    """Insert the path in front of `before`: the first header, which the path then carries with its
    frame, another of the leading link nodes, or the first behind them. With `behind`: behind that
    leading link node, whatever follows it (`before` is empty then)."""

    elements: tuple[PushElement, ...]
    before: str
    span: Span
    behind: str = ""


class Append(Frozen):
    """Put the path in place of all that stands behind the header of `behind`, as the last of the
    packet. Nothing is announced by the last header."""

    elements: tuple[PushElement, ...]
    behind: str
    span: Span


class Pop(Frozen):
    """Remove what lies between the leading link nodes and `node`, or all in front of it if it is a
    link node. ECN as RFC 6040 section 4.2."""

    node: str
    span: Span


class PopLink(Frozen):
    """Remove this leading link node, which is not the first: what it says of what follows it, the
    one in front of it says from then on (`parse_graph.selector_fields`)."""

    node: str
    span: Span


class Assign(Frozen):
    """Change fields in place, at once: all values are taken before the first is written. Checksums
    that cover them are kept incrementally (RFC 1624). What the packet lacks stays lacking: a field
    of a group, an element of an array."""

    fields: tuple[tuple[Packet | Item, Expr], ...]
    span: Span


class ClampMss(Frozen):
    """Lower the TCP MSS option of a SYN to what fits the tunnel (RFC 879, RFC 6691)."""

    span: Span


class Forward(Frozen):
    """Out by `port` towards `via` (an IP address): TTL - 1, new link header, redirect. `fronts`: on
    which role which IP node may come first in the packet as it came (and was popped), in the
    graph's order."""

    port: PortOf
    via: Packet | Item | Attribute | Recalled | Listed | Local
    span: Span
    fronts: tuple[tuple[str, str], ...] = ()


class Bridge(Frozen):
    """Out by `port` as it is, with its own link header."""

    port: PortOf
    span: Span


#: ICMP errors that a stage answers with, by the names of nftables' `reject with icmpx`.
Unreachable = Literal["no_route", "host_unreachable", "port_unreachable", "admin_prohibited"]


class Reply(Frozen):
    """The sender gets an ICMP error (RFC 792, RFC 4443), and the packet is gone. `fronts`: as of
    `Forward`."""

    error: Unreachable
    span: Span
    fronts: tuple[tuple[str, str], ...] = ()


class Copy(Frozen):
    """A copy of the packet, as it is here, gets headers of its own and leaves; the packet goes on.
    `body`: pushes, then the way out. `most`: bytes of it, or 0: all."""

    body: Block
    span: Span
    most: int = 0

    @property
    def way(self) -> Forward | Bridge:
        *_, way = straight(self.body)
        assert isinstance(way, Forward | Bridge), "H0531"
        return way


class Each(Frozen):
    """For each rule that a bound one (`source`, of kind `lister`) lists, in the order of their ids:
    it is bound, and `body` makes copies of the packet, which stays as it is."""

    binding: str
    rule: str
    source: str
    lister: str
    body: Block
    span: Span


def straight(body: Block) -> Iterator[Statement]:
    """The statements of a block, and of actions that it applies."""
    for s in body.statements:
        if isinstance(s, Inline):
            yield from straight(s.body)
        else:
            yield s


class Let(Frozen):
    """A value of the packet, kept under a name until it leaves."""

    local: Local
    value: Expr
    span: Span


class Queue(Frozen):
    """From here on, if the packet passes, it goes to this receive queue (0..255)."""

    number: Expr
    span: Span


class Counted(Frozen):
    """That a packet came here is counted, by this reason."""

    reason: str
    span: Span


class Emit(Frozen):
    """A record of the event, with a value for each of its fields, goes into the ring, if its
    limits allow it and there is room."""

    event: str
    values: tuple[Said, ...]
    span: Span


class Verdict(Frozen):
    verdict: Literal["pass", "drop", "default", "send back", "reply icmp", "continue"]
    span: Span


class DecodeProbe(Frozen):
    """Write where these nodes are, and their fields, for a decoder. No statement of the language
    becomes this: see `decoding/program.py`."""

    nodes: tuple[str, ...]
    span: Span


class Inline(Frozen):
    """An action's body, where it was applied; or (`action` is empty) what a statement is made
    of."""

    action: str
    body: Block
    span: Span


Statement = (
    If
    | IfGives
    | MatchValue
    | MatchNumber
    | MatchReference
    | Find
    | Choose
    | Remember
    | Recall
    | Forget
    | Update
    | Exchange
    | SetRegister
    | Push
    | Append
    | Pop
    | PopLink
    | Assign
    | ClampMss
    | Forward
    | Bridge
    | Reply
    | Copy
    | Each
    | Let
    | Queue
    | Counted
    | Emit
    | Verdict
    | Inline
    | DecodeProbe
)
