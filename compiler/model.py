"""The checked pipeline: every name resolved, every width known. What all later rooms read.

Made by `check.py` from a syntax tree; frozen. Widths are bits, sizes octets, offsets bits from the
start of their header. Nothing here knows of C or of eBPF.
"""

from __future__ import annotations

from typing import Literal

from ..lang.frozen import Frozen
from ..lang.source import NOWHERE, Span

Kind = Literal["uint", "mac", "ip4", "ip6", "bytes"]

# ---- expressions ----------------------------------------------------------------------------


class Const(Frozen):
    value: int
    width: int


class Own(Frozen):
    """A field of the header whose clause this is (in `size`, `accept`, `require` …)."""

    field: str


class Packet(Frozen):
    """A field of a node of this packet; the node is surely present where this is read, unless it is
    read in a `hash`, where it is 0 if the packet lacks the node (`maybe_absent`), or in a
    `first(…)`."""

    node: str
    field: str
    width: int
    kind: Kind = "uint"
    maybe_absent: bool = False


class Item(Frozen):
    """An element of an array of a node of this packet; 0 beyond the array's end."""

    node: str
    field: str
    index: Expr
    width: int
    kind: Kind = "uint"


class Layer4(Frozen):
    """The TCP or UDP port behind the packet's innermost IP header: 0 if it has neither, and 0 in
    every fragment."""

    which: Literal["src", "dst"]
    width: int = 16


class Arrival(Frozen):
    """The number of the port that the packet came in by."""

    width: int = 32


class Given(Frozen):
    """What a rule matches is no field of the packet: each `find` gives the value."""

    width: int


class Recalled(Frozen):
    """A part of what was recalled from a state table. `port`: it is a port's number."""

    state: str
    slot: str
    width: int
    kind: Kind = "uint"
    port: bool = False


class Attribute(Frozen):
    """An information element of a bound rule. `optional`: the rule may leave it out (reads 0)."""

    binding: str
    rule: str
    element: str
    width: int
    kind: Kind = "uint"
    optional: bool = False


class Listed(Frozen):
    """One of the values of an element that holds up to `most`; 0 beyond the last."""

    source: Attribute
    index: Expr
    most: int
    width: int
    kind: Kind = "uint"


class Count(Frozen):
    """How many values such an element holds."""

    source: Attribute
    most: int
    width: int = 8


class Items(Frozen):
    """All the values of an element that holds up to `most`, but for the first `skip`. `backwards`:
    the last one first."""

    source: Attribute
    most: int
    skip: int = 0
    backwards: bool = False


class First(Frozen):
    """The first of these fields that the packet has; 0 if it has none."""

    options: tuple[Packet, ...]
    width: int
    kind: Kind = "uint"


class PortOf(Frozen):
    """A port: bound by a match arm (`port p`), an attribute that refers to one, or recalled."""

    source: str | Attribute | Recalled


class Arithmetic(Frozen):
    operator: Literal["+", "-", "*", "&", "<<", ">>"]
    left: Expr
    right: Expr


class Hash(Frozen):
    """jhash (Linux `jhash2`, initial value 0) over the arguments' network-order octets, each
    argument in whole octets, the whole padded with zeros to 32-bit words. 32 bits wide."""

    arguments: tuple[Expr, ...]
    width: int = 32


Expr = (
    Const | Own | Packet | Item | Layer4 | Arrival | Recalled | Attribute | Listed | Count
    | Arithmetic | Hash | First
)  # fmt: skip

# ---- conditions -----------------------------------------------------------------------------


Comparison = Literal["=", "!=", "<", "<=", ">", ">="]


class Compare(Frozen):
    operator: Comparison
    left: Expr
    right: Expr


class Present(Frozen):
    node: str


class Found(Frozen):
    """A rule of this kind is bound: the last `find` or `choose` of it found one."""

    rule: str


class IsLocal(Frozen):
    """One of the host's addresses, or (IPv4) broadcast, or multicast."""

    address: Packet


class IsMulticast(Frozen):
    """A group address: of IEEE 802 (broadcast too), RFC 1112 or RFC 4291 section 2.7."""

    address: Packet


class IsFragment(Frozen):
    """More fragments or a non-zero fragment offset (RFC 791)."""

    node: str


class PortIs(Frozen):
    """The packet came in by a port of this role."""

    role: str


class Not(Frozen):
    operand: Condition


class And(Frozen):
    operands: tuple[Condition, ...]


class Or(Frozen):
    operands: tuple[Condition, ...]


Condition = (
    Compare | Present | Found | IsLocal | IsMulticast | IsFragment | PortIs | Not | And | Or
)  # fmt: skip

# ---- headers --------------------------------------------------------------------------------


class Derived(Frozen):
    """A field the compiler keeps right: `length` or `checksum` over these parts; to a length `plus`
    is added, which may be negative."""

    what: Literal["length", "checksum"]
    over: frozenset[str]  # of "header", "payload", "pseudo"
    plus: int = 0


class Field(Frozen):
    """`offset` counts from the start of the header, or of its group where it is in one. The one
    field of an array has an element's width. Parts of a divided field (`dscp` of `tos`) are fields
    of their own beside it. `width` is 0 for `bytes[rest]`. Reserved bits have the name
    ``_<offset>`` and are written as 0."""

    name: str
    offset: int
    width: int
    kind: Kind
    default: int | Derived | None = None
    group: str | None = None  # its name
    part_of: str | None = None
    span: Span = NOWHERE


class Group(Frozen):
    """Fields that stand together behind the fixed part. `flags`: present if one of these one-bit
    fields is set; always where there are none. `count`: an array, of so many elements (at most
    `most`) of `width` bits each. Groups follow each other in order, but the one called `TAIL`
    ends where the header ends."""

    name: str
    flags: tuple[str, ...]
    width: int
    count: Expr | None = None
    most: int = 1


TAIL = "tail of the header"


class Header(Frozen):
    """`size` is None for a header of fixed size (plus groups). `protocol` names the well-known
    protocol (`ipv4`, `tcp` …) if the header is `std`'s own, else it is empty."""

    name: str
    link: bool
    fields: tuple[Field, ...]
    groups: tuple[Group, ...]
    fixed: int  # bits of the fixed part
    minimum: int  # octets
    maximum: int  # octets
    size: Expr | None = None
    extent: Expr | None = None
    accept: tuple[Condition, ...] = ()
    require: tuple[Condition, ...] = ()
    payload: tuple[Condition, ...] = ()
    reach: Expr | None = None  # octets from the start up to which what stands behind reaches
    protocol: str = ""
    doc: str = ""
    span: Span = NOWHERE

    def field(self, name: str) -> Field:
        return next(f for f in self.fields if f.name == name)

    def group(self, name: str) -> Group:
        return next(g for g in self.groups if g.name == name)

    def optional(self, field: Field) -> bool:
        """Whether a packet that has the header may lack the field."""
        return field.group is not None and bool(self.group(field.group).flags)

    def array(self, field: Field) -> Group | None:
        """The group that the field fills, if it is an array."""
        group = self.group(field.group) if field.group is not None else None
        return group if group and group.count is not None else None

    def opposite(self, field: Field) -> Field:
        """`dst` of `src` and the other way round, where there are both and alike; else the field
        itself."""
        name = {"src": "dst", "dst": "src"}.get(field.name, "")
        other = next((f for f in self.fields if f.name == name), field)
        alike = (other.kind, other.width, other.group) == (field.kind, field.width, field.group)
        return other if alike else field

    @property
    def flags(self) -> frozenset[str]:
        return frozenset(flag for group in self.groups for flag in group.flags)

    @property
    def tail(self) -> int:
        """Bits of the fields that are counted from the header's end."""
        return sum(g.width for g in self.groups if g.name == TAIL)

    def group_of_flag(self, flag: str) -> str | None:
        """The group that this flag alone is for: giving it a field sets the flag."""
        return next((g.name for g in self.groups if g.flags == (flag,)), None)


# ---- parse graph ----------------------------------------------------------------------------


class Test(Frozen):
    """The field of the edge's source node, under `mask` if given, lies in one of the ranges. With
    `ahead`: so many bits behind that header do (and `field` only says so)."""

    field: str
    ranges: tuple[tuple[int, int], ...]
    mask: int | None = None
    ahead: int = 0


class Edge(Frozen):
    """`writes` are the source node's fields as a push assigns them; None if the edge cannot be
    written. `roles` are the port roles on which it is read."""

    source: str
    target: str
    tests: tuple[Test, ...]
    writes: tuple[tuple[str, int], ...] | None
    roles: frozenset[str]
    span: Span = NOWHERE


class Node(Frozen):
    name: str
    header: Header
    span: Span = NOWHERE


class Graph(Frozen):
    """`nodes` in topological order. `entries`: (port role, node) where packets start that came in
    by a port of that role; the first node where a role is not named."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    entries: tuple[tuple[str, str], ...] = ()

    def entry(self, role: str) -> Node:
        name = dict(self.entries).get(role)
        return self.nodes[0] if name is None else self.node(name)

    def node(self, name: str) -> Node:
        return next(n for n in self.nodes if n.name == name)

    def leaving(self, node: str, role: str | None = None) -> tuple[Edge, ...]:
        """Edges that leave the node, read on that role (all of them if None), in file order."""
        return tuple(
            e for e in self.edges if e.source == node and (role is None or role in e.roles)
        )

    def entering(self, node: str, role: str | None = None) -> tuple[Edge, ...]:
        return tuple(
            e for e in self.edges if e.target == node and (role is None or role in e.roles)
        )


# ---- information elements and rules ---------------------------------------------------------


class Element(Frozen):
    """An information element. `references` holds rule kinds and "port" where the value refers to
    one of them; then `width` is 32. `most`: it holds one to so many values of `width` bits; 0: it
    holds one."""

    name: str
    number: int
    type: str  # as written: u8, ip4, mac …
    width: int
    kind: Kind
    symbols: tuple[tuple[str, int], ...] = ()
    references: tuple[str, ...] = ()
    doc: str = ""
    span: Span = NOWHERE
    most: int = 0


class Match(Frozen):
    element: Element
    kind: Literal["exact", "lpm", "optional", "ternary", "range"]
    operand: Packet | Layer4 | Arrival | Given
    maybe_absent: bool  # the node may be absent where the rule is looked up
    span: Span = NOWHERE


class Spread(Frozen):
    """256 slots over `least`..`most` members of rule kind `kind`; slot = hash >> 24."""

    kind: str
    least: int
    most: int
    weight: str | None  # the element that weighs a member; 1 where absent
    hash: Hash


class Requirement(Frozen):
    """A rule must give `element` whenever each element of `when` has one of the values; where
    `references` is not empty, the reference must be to one of those kinds. Derived from what the
    stages read, so that a rule which could not be carried out is refused when it is made."""

    element: str
    when: tuple[tuple[str, tuple[int, ...]], ...] = ()
    references: tuple[str, ...] = ()


class RuleKind(Frozen):
    """`gives` are elements; `alternatives` the rule kinds of which a rule refers to exactly one.
    `grouped`: rules share an id and are told apart by their match (reached by `choose … from`).
    `hashed`: a target that finds rules by a hash of its own takes the jhash of what they match."""

    name: str
    capacity: int
    named: bool = False
    match: tuple[Match, ...] = ()
    gives: tuple[Element, ...] = ()
    alternatives: tuple[str, ...] = ()
    spread: Spread | None = None
    counts: tuple[str, ...] = ()
    priority: tuple[Literal["priority", "precedence"], Element] | None = None
    grouped: bool = False
    requires: tuple[Requirement, ...] = ()
    doc: str = ""
    span: Span = NOWHERE
    hashed: bool = False


# ---- state that packets leave ---------------------------------------------------------------


class Slot(Frozen):
    """A part of a state's key or of what it holds. `port`: a port's number."""

    name: str
    width: int
    kind: Kind
    port: bool = False


class State(Frozen):
    """A table that packets write: the least recently used entry gives way to a new one. `ages`:
    seconds without being remembered after which an entry is not recalled (0: never)."""

    name: str
    capacity: int
    match: tuple[Slot, ...]
    gives: tuple[Slot, ...]
    ages: int = 0
    doc: str = ""
    span: Span = NOWHERE


# ---- statements -----------------------------------------------------------------------------


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
    elements by name, in place of the kind's own operands."""

    rule: str
    given: tuple[tuple[str, Expr], ...]
    otherwise: Block
    span: Span


class Choose(Frozen):
    """`choose FAR from PDR.LBR`: the spread of the best-matching rule of kind `group` with the id
    that `binding` refers to picks a member by hash. On no such rule or no member, `otherwise`."""

    rule: str  # FAR: bound under this name
    group: str  # LBR
    binding: str  # PDR
    binding_rule: str
    otherwise: Block
    span: Span


class Remember(Frozen):
    """Put an entry into a state table, or what it holds into the entry of that key: all slots in
    the order declared, those of the key first."""

    state: str
    values: tuple[Expr, ...]
    span: Span


class Recall(Frozen):
    """Look an entry up by its key; bound in this stage under the state's name. On a miss,
    `otherwise`, as with `Find`."""

    state: str
    key: tuple[Expr, ...]
    otherwise: Block
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
    frame, or the first behind the leading link nodes."""

    elements: tuple[PushElement, ...]
    before: str
    span: Span


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


class Assign(Frozen):
    """Change fields in place, at once: all values are taken before the first is written. Checksums
    that cover them are kept incrementally (RFC 1624)."""

    fields: tuple[tuple[Packet, Expr], ...]
    span: Span


class ClampMss(Frozen):
    """Lower the TCP MSS option of a SYN to what fits the tunnel (RFC 879, RFC 6691)."""

    span: Span


class Forward(Frozen):
    """Out by `port` towards `via` (an IP address): TTL - 1, new link header, redirect. `fronts`: on
    which role which IP node may come first in the packet as it came (and was popped), in the
    graph's order."""

    port: PortOf
    via: Packet | Item | Attribute | Recalled | Listed
    span: Span
    fronts: tuple[tuple[str, str], ...] = ()


class Bridge(Frozen):
    """Out by `port` as it is, with its own link header."""

    port: PortOf
    span: Span


class Queue(Frozen):
    """From here on, if the packet passes, it goes to this receive queue (0..255)."""

    number: Expr
    span: Span


class Counted(Frozen):
    """That a packet came here is counted, by this reason."""

    reason: str
    span: Span


class Verdict(Frozen):
    verdict: Literal["pass", "drop", "default", "send back", "reply icmp"]
    span: Span


class Tell(Frozen):
    """Leave where these nodes are, and their fields, to a decoder. Nothing in the language says
    this: see `decoding/program.py`."""

    nodes: tuple[str, ...]
    span: Span


class Inline(Frozen):
    """An action's body, where it was applied."""

    action: str
    body: Block
    span: Span


Statement = (
    If
    | IfGives
    | MatchValue
    | MatchReference
    | Find
    | Choose
    | Remember
    | Recall
    | Push
    | Append
    | Pop
    | Assign
    | ClampMss
    | Forward
    | Bridge
    | Queue
    | Counted
    | Verdict
    | Inline
    | Tell
)


class Stage(Frozen):
    name: str
    body: Block
    doc: str = ""
    span: Span = NOWHERE


Event = Literal["malformed", "too_big", "ttl_expired", "no_headroom", "unresolved"]


class Pipeline(Frozen):
    """A whole checked pipeline. `stages` in running order (the parser not among them)."""

    name: str
    roles: tuple[str, ...]
    graph: Graph
    elements: tuple[Element, ...]
    rules: tuple[RuleKind, ...]
    states: tuple[State, ...]
    stages: tuple[Stage, ...]
    default: Literal["pass", "drop"]
    hooks: dict[Event, Literal["pass", "drop", "reply icmp"]]
    doc: str = ""
    span: Span = NOWHERE

    @property
    def replies(self) -> bool:
        """Whether a hook answers with ICMP errors."""
        return "reply icmp" in self.hooks.values()

    def rule(self, name: str) -> RuleKind:
        return next(r for r in self.rules if r.name == name)

    def element(self, name: str) -> Element:
        return next(e for e in self.elements if e.name == name)

    def state(self, name: str) -> State:
        return next(s for s in self.states if s.name == name)
