"""Headers: their fields, groups and clauses."""

from __future__ import annotations

from .expressions import Expr, Name, Node, Number, Range


class Type(Node):
    """`u12`, `ip4`, `bytes[rest]`, `ip6[last_entry + 1] max 8`. `count` is None for a scalar;
    the name `rest` as a count means all that is left of the header."""

    name: Name
    count: Expr | None = None
    maximum: Number | None = None


class Option(Node):
    """`mss when kind = 2 { value : u16 }`: an option's values of the field `by`, and its fields
    behind kind and length."""

    name: Name
    by: Name
    alternatives: tuple[Range, ...]
    fields: tuple[Field, ...]
    doc: str = ""


class Said(Node):
    """`bare 0 | 1`, `end 0`, `size length + 2`, within the parentheses of a `tlv`."""

    word: Name
    value: Expr


class Options(Node):
    """`tlv(kind : u8, length : u8, bare 1, end 0) within (data_offset - 5) * 4 max 40 {…}`: options
    that stand behind each other. `heading`: the fields that each begins with."""

    heading: tuple[Field, ...]
    said: tuple[Said, ...]
    within: Expr | None
    most: Number
    members: tuple[Option, ...]


class Field(Node):
    """`tos : u8 { dscp : u6  ecn : u2 }`; `name` is None where the bits are reserved. `options`: of
    one of the type `tlv`."""

    name: Name | None
    type: Type
    default: Expr | None = None
    parts: tuple[Field, ...] = ()
    doc: str = ""
    options: Options | None = None


class Group(Node):
    """`when key_present { key : u32 }`: fields that are there if a one-bit field is set, or one of
    several: `when e or s { … }`."""

    flags: tuple[Name, ...]
    fields: tuple[Field, ...]


class Size(Node):
    """`size ihl * 4`: bytes of the whole header."""

    value: Expr


class Extent(Node):
    """`extent total_length`: bytes of header and payload; nothing beyond them is parsed."""

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
    """`payload to length`: what stands behind the header ends `value` bytes from its start."""

    value: Expr


Member = Field | Group | Size | Extent | Accept | Require | Payload | Reach


class Header(Node):
    name: Name
    link: bool
    members: tuple[Member, ...]
    doc: str = ""
