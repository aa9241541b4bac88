"""Values: what a statement computes with, and what it compares."""

from __future__ import annotations

from typing import Literal

from ...lang.text.frozen import Frozen

#: `name`: a domain name (RFC 1035), which a packet has as labels; `text`: one that it has as text.
Kind = Literal["uint", "mac", "ip4", "ip6", "bytes", "name", "text"]
NAME_KINDS = ("name", "text")


class Const(Frozen):
    value: int
    width: int


class Own(Frozen):
    """A field of the header whose clause this is (in `size`, `accept`, `require` …)."""

    field: str


class NameBytes(Frozen):
    """Bytes of the domain name at byte `at` of the header whose clause this is; more than names
    have where it is none (lang/contract/base/domain_names.py)."""

    at: int
    width: int = 16


class Packet(Frozen):
    """A field of a node of this packet; the node is always present where this is read, unless it is
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


class Announced(Frozen):
    """What stands behind a chain, as its last header says by the field `by`, or where a packet has
    none of it, the header in front: 0 where there is neither."""

    chain: str
    by: str
    width: int


class HasOption(Frozen):
    """1 where the header of a node, which is present, has the option; else 0."""

    node: str
    option: str
    width: int = 1


class Arrival(Frozen):
    """The number of the port that the packet came in by."""

    width: int = 32


class FrameLength(Frozen):
    """Bytes of the frame as it came, without its check sequence."""

    width: int = 32


Clock = Literal["boot", "utc", "ntp", "ptp"]


class Now(Frozen):
    """The packet's time: when a stage asked for it first. `boot`: ns since the host started, as
    CLOCK_MONOTONIC; `utc`: ns since 1970; `ntp`: 32 bits of seconds since 1900 and 32 of their
    fractions (RFC 5905 section 6); `ptp`: 32 bits of seconds of TAI since 1970 and 32 of
    nanoseconds (the truncated format of IEEE 1588, RFC 8186 section 2.1)."""

    clock: Clock
    width: int = 64


class ClockError(Frozen):
    """How wrong `utc`, `ntp` and `ptp` may be, in ns; all ones if nobody knows."""

    width: int = 32


class Random(Frozen):
    """A number below `bound`; 0 if that is 0. `place`: of all of a pipeline another; a packet gets
    one number at each place."""

    bound: Expr
    place: int
    width: int = 32


class Given(Frozen):
    """What a rule matches is no field of the packet: each `find` gives the value."""

    width: int


class Recalled(Frozen):
    """A part of what was recalled from a state table. `port`: it is a port's number. `rule`: it
    says which rule of this kind; only `Find.kept` reads it."""

    state: str
    slot: str
    width: int
    kind: Kind = "uint"
    port: bool = False
    rule: str = ""


class Register(Frozen):
    """One of an array of registers, on all CPUs, as it is where it is read: another number each
    time. `at`: an index for each of its lengths, modulo that."""

    registers: str
    at: tuple[Expr, ...]
    width: int


class Local(Frozen):
    """What a `let` named, as it was then. `name`: of all that are read at one place another."""

    name: str
    width: int
    kind: Kind = "uint"


class Attribute(Frozen):
    """An information element of a bound rule. `optional`: the rule may leave it out (reads 0)."""

    binding: str
    rule: str
    element: str
    width: int
    kind: Kind = "uint"
    optional: bool = False


class RuleId(Frozen):
    """The id of a bound rule: of a group, that of all its rules."""

    binding: str
    rule: str
    width: int = 32


class RuleCount(Frozen):
    """What a bound rule has counted so far, on all CPUs, with this packet where it was counted:
    another one each time that it is read."""

    binding: str
    rule: str
    what: Literal["packets", "bytes"]
    width: int = 64


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
    """The first of these that is there, a field of the packet or an element of a rule; 0 if none
    is. What a chain announces always is."""

    options: tuple[Packet | Attribute | Announced, ...]
    width: int
    kind: Kind = "uint"


class PortOf(Frozen):
    """A port: bound by a match arm (`port p`), an attribute that refers to one or (`matched`) that
    the rule matches, or recalled."""

    source: str | Attribute | Recalled
    matched: bool = False


Operator = Literal["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "min", "max", "+|", "-|"]


class Arithmetic(Frozen):
    """In unsigned numbers of 64 bits, or of `width` where that is more (IPv6 addresses, of which
    only bits are computed). `width`: bits of the outcome. `+|` (of 64 bits) and `-|` (0 where it
    would be less) stop at the end; a narrower `+|` is a `min`."""

    operator: Operator
    left: Expr
    right: Expr
    width: int = 64
    kind: Kind = "uint"


class Pick(Frozen):
    """`then` where the condition holds, else `otherwise`; only that one is read. `condition`: one
    of conditions.py, which are made of values."""

    condition: Frozen
    then: Expr
    otherwise: Expr
    width: int
    kind: Kind = "uint"


class Hash(Frozen):
    """jhash (Linux `jhash2`, initial value 0) over the arguments' network-order bytes, each
    argument in whole bytes, the whole padded with zeros to 32-bit words. 32 bits wide."""

    arguments: tuple[Expr, ...]
    width: int = 32


Expr = (
    Const | Own | NameBytes | Packet | Item | Layer4 | Announced | Arrival | FrameLength | Recalled
    | Local | HasOption | Attribute | RuleId | RuleCount | Listed | Count | Arithmetic | Hash
    | Register | First | Pick | Now | ClockError | Random
)  # fmt: skip
