"""Syntax nodes of a `.hp` file, as written: nothing resolved, every node with its span.

The tree mirrors `Helio.g4` one to one. Names are `Name` nodes, so that a diagnostic can point at
the word itself.
"""

from __future__ import annotations

from typing import Literal

from .frozen import Frozen
from .source import Source, Span


class Node(Frozen):
    span: Span


class Name(Node):
    text: str


# ---- expressions ----------------------------------------------------------------------------


class Number(Node):
    """`17`, `0x8100`, `64k`; `text` is the spelling, kept for `fmt`."""

    value: int
    text: str


class Address(Node):
    """An IPv4, IPv6 or MAC literal: `10.0.0.1`, `2001:db8::1`, `02:00:00:00:00:01`."""

    kind: Literal["ip4", "ip6", "mac"]
    value: int
    text: str


class Path(Node):
    """A dotted name: `user`, `user.src`, `PDR.LBR`; with `index`, an element of an array:
    `srh.segments[0]`. The second node of a stack has the plain name `vlan[1]`."""

    parts: tuple[Name, ...]
    index: Expr | None = None

    @property
    def text(self) -> str:
        dotted = ".".join(p.text for p in self.parts)
        return dotted if self.index is None else f"{dotted}[{self.index.span.text}]"


class Call(Node):
    """`hash(a, b)`, `checksum(header)`, `length(header, payload)`."""

    function: Name
    arguments: tuple[Expr, ...]


class Unary(Node):
    operator: Literal["not"]
    operand: Expr


class Binary(Node):
    """Arithmetic `+ - * & << >>`, comparison `= != < <= > >=`, logic `and or`."""

    operator: str
    left: Expr
    right: Expr


class Is(Node):
    """`user.dst is local`, `port is wan`, `user is fragment`."""

    subject: Path
    what: Name


class Gives(Node):
    """`PDR gives FAR`."""

    rule: Name
    kind: Name


Expr = Number | Address | Path | Call | Unary | Binary | Is | Gives


# ---- headers --------------------------------------------------------------------------------


class Type(Node):
    """`u12`, `ip4`, `bytes[rest]`, `ip6[last_entry + 1] max 8`. `count` is None for a scalar;
    the name `rest` as a count means all that is left of the header."""

    name: Name
    count: Expr | None = None
    maximum: Number | None = None


class Field(Node):
    """`tos : u8 { dscp : u6  ecn : u2 }`; `name` is None where the bits are reserved."""

    name: Name | None
    type: Type
    default: Expr | None = None
    parts: tuple[Field, ...] = ()
    doc: str = ""


class Group(Node):
    """`when key_present { key : u32 }`: fields that are there if a one-bit field is set, or one of
    several: `when e or s { … }`."""

    flags: tuple[Name, ...]
    fields: tuple[Field, ...]


class Size(Node):
    """`size ihl * 4`: octets of the whole header."""

    value: Expr


class Extent(Node):
    """`extent total_length`: octets of header and payload; nothing beyond them is parsed."""

    value: Expr


class Accept(Node):
    """`accept version = 0`: otherwise the node is absent and parsing stops there."""

    condition: Expr


class Require(Node):
    """`require ihl >= 5`: otherwise the packet is malformed."""

    condition: Expr


class Payload(Node):
    """`payload when fragment_offset = 0`: edges leave the node only then."""

    condition: Expr


class Reach(Node):
    """`payload to length`: what stands behind the header ends so many octets from its start."""

    value: Expr


Member = Field | Group | Size | Extent | Accept | Require | Payload | Reach


class Header(Node):
    name: Name
    link: bool
    members: tuple[Member, ...]
    doc: str = ""


# ---- parse graph ----------------------------------------------------------------------------


class Range(Node):
    """`17`, `16..47`, `0x80 & 0xf0` (value under a mask): one alternative of a guard."""

    low: Expr
    high: Expr | None = None
    mask: Expr | None = None


class Test(Node):
    """`protocol = 17 | 6`: one conjunct of a guard; `field` belongs to the node the edge leaves. In
    `next u4 = 4`, `ahead` is the type, and `field` the word `next`."""

    field: Name
    alternatives: tuple[Range, ...]
    ahead: Name | None = None


class Edge(Node):
    """`ethernet -> ipv4 as user when type = 0x0800 write 0x0800 on lan`. `depth`: the target is a
    stack, as in `ethernet -> vlan[2]`."""

    source: Name
    target: Name
    alias: Name | None
    guard: tuple[Test, ...]
    write: tuple[Expr, ...]
    ports: tuple[Name, ...]
    depth: Number | None = None


# ---- information elements and rules ---------------------------------------------------------


class Symbol(Node):
    """`TCP = 6` in an enumeration."""

    name: Name
    value: Number


class InformationElement(Node):
    """`ie action = 5, u8 { REDIRECT = 1 }`, `ie interface = 6, OVERLAY | port`,
    `ie sids = 9, ip6[8]`.

    `types` holds one type name, or several rule kinds and `port` where the value is a reference.
    `most`: of up to so many values.
    """

    name: Name
    number: Number
    types: tuple[Name, ...]
    symbols: tuple[Symbol, ...]
    doc: str = ""
    most: Number | None = None


class Match(Node):
    """`src_ip lpm user.src`; `kind` is exact, lpm, optional, ternary or range."""

    element: Name
    kind: Name
    operand: Path


class GivesList(Node):
    """`gives action, interface` (elements, all of them) or `gives FAR | LBR` (one rule of these
    kinds)."""

    names: tuple[Name, ...]
    alternatives: bool


class Spread(Node):
    """`spread FAR[1..16] by weight over hash(…)`."""

    kind: Name
    least: Number
    most: Number
    weight: Name | None
    over: Call


class Counts(Node):
    """`counts packets, bytes`."""

    what: tuple[Name, ...]


class Priority(Node):
    """`priority pref` (higher wins) or `precedence prec` (lower wins)."""

    kind: Literal["priority", "precedence"]
    element: Name


RuleClause = Match | GivesList | Spread | Counts | Priority


class Rule(Node):
    """`rule PDR [64k] named { … }`. `by`: the word behind `by`, which says how rules are found."""

    name: Name
    capacity: Number
    named: bool
    clauses: tuple[RuleClause, ...]
    doc: str = ""
    by: Name | None = None


# ---- state that packets leave ---------------------------------------------------------------


class Slot(Node):
    """`mac : mac`: a part of a state's key, or of what it holds."""

    name: Name
    type: Name


class Slots(Node):
    """`match vni : u24, mac : mac` or `gives remote : ip4`."""

    word: Literal["match", "gives"]
    slots: tuple[Slot, ...]


class Ages(Node):
    """`ages 300`: seconds without use after which an entry is forgotten."""

    seconds: Number


class State(Node):
    """`state FDB [64k] { match … gives … ages … }`: a table that packets write."""

    name: Name
    capacity: Number
    clauses: tuple[Slots | Ages, ...]
    doc: str = ""


# ---- statements -----------------------------------------------------------------------------


class Block(Node):
    statements: tuple[Statement, ...]


class If(Node):
    condition: Expr
    then: Block
    otherwise: Block | None


class Arm(Node):
    """`DROP => drop`, `OVERLAY o => { … }`, `_ => pass`."""

    pattern: Name
    binding: Name | None
    body: Block


class MatchOn(Node):
    """`match FAR.action { … }`."""

    subject: Path
    arms: tuple[Arm, ...]


class Find(Node):
    """`find PDR else { default }`, `find REMOTE(vni = SEGMENT.vni) else { drop }`."""

    kind: Name
    given: tuple[Assign, ...]
    otherwise: Block | None


class Choose(Node):
    """`choose FAR from PDR.LBR else { default }`."""

    kind: Name
    origin: Path
    otherwise: Block | None


class Recall(Node):
    """`recall FDB(vni = vxlan.vni, mac = inner.dst) else { drop }`."""

    state: Name
    given: tuple[Assign, ...]
    otherwise: Block | None


class Remember(Node):
    """`remember FDB(vni = vxlan.vni, mac = inner.src, remote = outer.src)`."""

    state: Name
    given: tuple[Assign, ...]


class Assign(Node):
    """`user.tos = 0`; inside a push, `dst = o.remote_ip`."""

    target: Path
    value: Expr


class PushElement(Node):
    """`outer { src = o.local_ip }`."""

    node: Name
    fields: tuple[Assign, ...]


class Push(Node):
    """`push outer {…} / gre {…} before user`."""

    path: tuple[PushElement, ...]
    before: Name | None


class Append(Node):
    """`append recovery {…} behind gtpu`."""

    path: tuple[PushElement, ...]
    behind: Name


class Pop(Node):
    """`pop to user`."""

    node: Name


class Clamp(Node):
    """`clamp mss`."""

    what: Name


class Swap(Node):
    """`swap user.src, user.dst`."""

    left: Path
    right: Path


class Bridge(Node):
    """`bridge o.interface`."""

    port: Path


class Queue(Node):
    """`queue SERVICE.queue`."""

    number: Expr


class Count(Node):
    """`count unknown_extension`."""

    reason: Name


class Forward(Node):
    """`forward o.interface via o.remote_ip`."""

    port: Path
    via: Path


class Verdict(Node):
    """`pass`, `drop`, `default`, `send back`, and in hooks `reply icmp`."""

    verdict: Literal["pass", "drop", "default", "send back", "reply icmp"]


class Apply(Node):
    """`apply(FAR)`: an action, inlined, on a rule of that kind."""

    action: Name
    argument: Name


Statement = (
    If
    | MatchOn
    | Find
    | Choose
    | Recall
    | Remember
    | Assign
    | Push
    | Append
    | Pop
    | Clamp
    | Swap
    | Forward
    | Bridge
    | Queue
    | Count
    | Verdict
    | Apply
)


# ---- pipeline and file ----------------------------------------------------------------------


class Ports(Node):
    """`ports lan, wan`: the roles."""

    roles: tuple[Name, ...]


class Parser(Node):
    edges: tuple[Edge, ...]


class Default(Node):
    """`default pass`: what a miss means, unless the edge's YAML says otherwise."""

    verdict: Verdict


class Action(Node):
    """`action apply(FAR) { … }`."""

    name: Name
    parameter: Name
    body: Block
    doc: str = ""


class Stage(Node):
    name: Name
    body: Block
    doc: str = ""


class Hook(Node):
    """`on too_big { reply icmp }`."""

    event: Name
    verdict: Verdict


class Run(Node):
    """`run parser -> classifier -> forwarder`."""

    stages: tuple[Name, ...]


Declaration = (
    Ports | Parser | InformationElement | Rule | State | Default | Action | Stage | Hook | Run
)


class Pipeline(Node):
    name: Name
    declarations: tuple[Declaration, ...]
    doc: str = ""


class Import(Node):
    """`std.gre`: one imported file."""

    path: Path


class Comment(Frozen):
    """A `//` comment (doc comments excepted): `fmt` puts it back. `own_line` if nothing stands
    before it on its line."""

    span: Span
    text: str
    own_line: bool


class Program(Node):
    """A whole file."""

    source: Source
    imports: tuple[Import, ...]
    headers: tuple[Header, ...]
    pipelines: tuple[Pipeline, ...]
    comments: tuple[Comment, ...] = ()
