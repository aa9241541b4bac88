"""What is done to a packet, and how it leaves: statements that stay as they are written until a
target's pass (`edit_packets`) carries them out, since a card, XDP and tc do that differently.

Field values were computed in front of the statement: what they name may change behind it.
"""

from __future__ import annotations

from typing import Literal

from ...lang.text.source import Span
from .expr import Expr, Part
from .nodes import Body, Statement
from .types import BYTES, U32, Type
from .values import Value


class NodePointer(Expr):
    """The pointer to a node's header; null where the packet lacks the node. `sure`: the checker saw
    that it does not."""

    node: str
    sure: bool = False

    @property
    def type(self) -> Type:
        return BYTES


class NodeOffset(Expr):
    """The byte of the frame at which a node starts."""

    node: str

    @property
    def type(self) -> Type:
        return U32


class FieldValue(Part):
    """What a field of a header gets."""

    field: str
    value: Value


class ArrayValues(Part):
    """What an array of a header gets: `count` values, `most` at most, the first of them behind the
    pointer `first`, or the last if `backwards`."""

    count: Expr
    first: Expr
    most: int
    backwards: bool


class NewHeader(Part):
    """A header that is pushed or appended. Fields that are not given follow from the next header,
    from the packet or by default. `computed`: checksums that are asked for, so that their group is
    there."""

    node: str
    given: tuple[FieldValue, ...]
    computed: frozenset[str] = frozenset()
    array: ArrayValues | None = None


class PacketEdit(Statement):
    """All statements of this file."""


class Push(PacketEdit):
    """Headers, outermost first, in front of the node `before`, or behind the link node `behind`
    whatever follows it."""

    headers: tuple[NewHeader, ...]
    before: str
    behind: str = ""
    span: Span | None = None


class Append(PacketEdit):
    """Headers in place of all that stands behind the header of `behind`."""

    headers: tuple[NewHeader, ...]
    behind: str
    span: Span | None = None


class Pop(PacketEdit):
    """What stands between the leading link nodes and a node is removed, or all in front of it if it
    is a link node; ECN is joined (RFC 6040 section 4.2)."""

    node: str
    span: Span | None = None


class PopLink(PacketEdit):
    """A leading link node is removed where it stands."""

    node: str
    span: Span | None = None


class SetField(PacketEdit):
    """A field of a header that the packet has becomes the value; `index`: of that element of an
    array. All checksums that cover it follow (RFC 1624)."""

    node: str
    field: str
    value: Value
    index: Expr | None = None
    span: Span | None = None


class HoldSums(PacketEdit):
    """From here to `FollowSums` in the same body, checksums wait for what assignments change."""

    span: Span | None = None


class FollowSums(PacketEdit):
    """Checksums that waited follow all assignments since `HoldSums`."""

    span: Span | None = None


class ClampMss(PacketEdit):
    """`forward` is to lower the MSS of TCP to what fits."""

    span: Span | None = None


class PacketEnd(PacketEdit):
    """The packet leaves, edited: nothing comes behind it."""


class Forward(PacketEnd):
    """By a next hop of that address out of the port of that number. `resolved`: a next hop that a
    record holds. `fronts`: nodes of which one comes first behind the link header and the pushes."""

    port: Expr
    via: Expr
    family: Literal["ipv4", "ipv6"]
    resolved: Expr | None
    fronts: tuple[str, ...]
    span: Span | None = None


class Bridge(PacketEnd):
    """Out of the port of that number, with the packet's own link header."""

    port: Expr
    span: Span | None = None


class Reply(PacketEnd):
    """The sender gets an ICMP error, by name (`Version.errors`). `fronts`: as of `Forward`."""

    error: str
    fronts: tuple[str, ...]
    span: Span | None = None


class Copy(PacketEdit):
    """A copy of the packet is made. `body`: its pushes, and at its end the way out of this copy;
    behind that the packet goes on as it was. `most`: bytes of it that leave, or 0: all."""

    body: Body
    most: int = 0
    span: Span | None = None


class Finish(PacketEnd):
    """`pass`, `drop`, `default` or `send back`."""

    verdict: str
    span: Span | None = None
