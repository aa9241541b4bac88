"""Names and expressions, as written."""

from __future__ import annotations

from typing import Literal

from ..text.frozen import Frozen
from ..text.source import Span


class Node(Frozen):
    span: Span


class Name(Node):
    text: str


class Number(Node):
    """`17`, `0x8100`, `64k`; `text` is the spelling, kept for `fmt`. `named`: it is the name of a
    constant, of which the value is not known yet."""

    value: int
    text: str
    named: bool = False


class Address(Node):
    """An IPv4, IPv6 or MAC literal: `10.0.0.1`, `2001:db8::1`, `02:00:00:00:00:01`."""

    kind: Literal["ip4", "ip6", "mac"]
    value: int
    text: str


class Path(Node):
    """A dotted name: `user`, `user.src`, `PDR.LBR`; with `index`, an element of an array:
    `srh.segments[0]`; of registers also with a `column`: `SKETCH[0][hash(user.src)]`. The second
    node of a stack has the plain name `vlan[1]`."""

    parts: tuple[Name, ...]
    index: Expr | None = None
    column: Expr | None = None

    @property
    def text(self) -> str:
        dotted = ".".join(p.text for p in self.parts)
        indexes = (each for each in (self.index, self.column) if each is not None)
        return dotted + "".join(f"[{each.span.text}]" for each in indexes)


class Call(Node):
    """`hash(a, b)`, `checksum(header)`, `length(header, payload)`."""

    function: Name
    arguments: tuple[Expr, ...]


class Unary(Node):
    operator: Literal["not", "~"]
    operand: Expr


class Binary(Node):
    """Arithmetic (operators.py), comparison `= != < <= > >=`, logic `and or`. Of an address and a
    number `/` is a prefix, in sets and patterns."""

    operator: str
    left: Expr
    right: Expr


class Range(Node):
    """`17`, `16..47`, in guards `0x80 & 0xf0` (value under a mask): one alternative of several."""

    low: Expr
    high: Expr | None = None
    mask: Expr | None = None


class In(Node):
    """`user.dst in 10.0.0.0/8`, `user.protocol in {6, 17, 40..50}`."""

    subject: Expr
    members: tuple[Range, ...]


class Is(Node):
    """`user.dst is local`, `port is wan`, `user is fragment`."""

    subject: Path
    what: Name


class Gives(Node):
    """`PDR gives FAR`."""

    rule: Name
    kind: Name


class Metered(Node):
    """`meter PDR is red`, `meter PDR is yellow | red`. `given`: what says the colour that the
    packet has already, as in `meter PDR from SLICE is red`."""

    rule: Name
    colours: tuple[Name, ...]
    given: Name | None = None


Expr = Number | Address | Path | Call | Unary | Binary | In | Is | Gives | Metered
