"""Statements: what stages, actions and hooks are made of."""

from __future__ import annotations

from typing import Literal

from .expressions import Call, Expr, Name, Node, Number, Path, Range


class Block(Node):
    statements: tuple[Statement, ...]


class If(Node):
    """`if user.ttl = 0 {…} else {…}`, `if find PDR {…}`: what is looked up is bound in `then`."""

    condition: Expr | Find | Asked
    then: Block
    otherwise: Block | None


class Arm(Node):
    """`DROP => drop`, `6 | 17 => pass`, `OVERLAY o => { … }`, `_ => pass`. `values`: the patterns
    with constants in place of their names, once these are known."""

    patterns: tuple[Range, ...]
    binding: Name | None
    body: Block
    values: tuple[Range, ...] = ()


class MatchOn(Node):
    """`match FAR.action { … }`, `match user.ttl & 3 { … }`."""

    subject: Expr
    arms: tuple[Arm, ...]


class Find(Node):
    """`find PDR else { default }`, `find REMOTE(vni = SEGMENT.vni) else { drop }`; `origin`:
    `find BACKEND from FLOW.backend else {…}`, the rule that this slot holds."""

    kind: Name
    given: tuple[Assign, ...]
    otherwise: Block | None
    origin: Path | None = None


class Choose(Node):
    """`choose FAR from PDR.LBR(tos = user.tos) over hash(user.src) else { default }`."""

    kind: Name
    origin: Path
    given: tuple[Assign, ...]
    over: Call | None
    otherwise: Block | None


class Recall(Node):
    """`recall FDB(vni = vxlan.vni, mac = inner.dst) else { drop }`."""

    state: Name
    given: tuple[Assign, ...]
    otherwise: Block | None


class Remember(Node):
    """`remember FDB(vni = vxlan.vni, mac = inner.src, remote = outer.src)`; with `else {…}` only
    where there is no entry."""

    state: Name
    given: tuple[Assign, ...]
    otherwise: Block | None


class Forget(Node):
    """`forget FLOW(src = user.src)`."""

    state: Name
    given: tuple[Assign, ...]


class Exchange(Node):
    """`exchange FLOW.phase from 1 to 2 else {…}`: where the slot holds `before`, it becomes
    `after`."""

    slot: Path
    before: Expr
    after: Expr
    otherwise: Block | None


Asked = Recall | Remember | Exchange
"""Statements about states that `if` may ask, too."""


class Update(Node):
    """`FLOW.packets += 1`: a slot changed in place. `operator`: `+`, `-`, `+%`, `-%`, `|`, `&`,
    `^`, as in front of the `=`."""

    slot: Path
    operator: str
    value: Expr


class Assign(Node):
    """`user.tos = 0`; inside a push, `dst = o.remote_ip`."""

    target: Path
    value: Expr


class PushElement(Node):
    """`outer { src = o.local_ip }`."""

    node: Name
    fields: tuple[Assign, ...]


class Push(Node):
    """`push outer {…} / gre {…} before user`, `push vlan {…} behind ethernet`."""

    path: tuple[PushElement, ...]
    before: Name | None
    behind: Name | None = None


class Append(Node):
    """`append recovery {…} behind gtpu`."""

    path: tuple[PushElement, ...]
    behind: Name


class Pop(Node):
    """`pop to user`."""

    node: Name


class PopLink(Node):
    """`pop vlan`."""

    node: Name


class Let(Node):
    """`let tenant = first(vlan.id)`: a name for a value of this packet."""

    name: Name
    value: Expr


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


class Copy(Node):
    """`copy { push outer {…} / vxlan {…}  forward PEER.interface via PEER.address }`."""

    body: Block


class Mirror(Node):
    """`mirror TAP.port`: short for `copy { bridge TAP.port }`; with `max 128` of so many bytes."""

    port: Path
    most: Number | None = None


class Each(Node):
    """`each PEER p in NETWORK { copy { … } }`: for each rule that a bound one lists."""

    kind: Name
    binding: Name
    source: Name
    body: Block


class Queue(Node):
    """`queue SERVICE.queue`."""

    number: Expr


class Count(Node):
    """`count unknown_extension`."""

    reason: Name


class Emit(Node):
    """`emit SCAN { src = user.src, port = tcp.dst }`."""

    event: Name
    fields: tuple[Assign, ...]


class Forward(Node):
    """`forward o.interface via o.remote_ip`."""

    port: Path
    via: Path


class Verdict(Node):
    """`pass`, `drop`, `default`, `send back`, and in hooks `reply icmp` and `continue`."""

    verdict: Literal["pass", "drop", "default", "send back", "reply icmp", "continue"]


class Reply(Node):
    """`reply icmp port_unreachable`."""

    error: Name


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
    | Forget
    | Exchange
    | Update
    | Assign
    | Push
    | Append
    | Pop
    | PopLink
    | Clamp
    | Let
    | Swap
    | Forward
    | Bridge
    | Reply
    | Copy
    | Mirror
    | Each
    | Queue
    | Count
    | Emit
    | Verdict
    | Apply
)
