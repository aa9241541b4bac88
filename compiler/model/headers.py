"""Headers: fields, optional groups and arrays, clauses."""

from __future__ import annotations

from typing import Literal

from ...lang.text.frozen import Frozen
from ...lang.text.source import NOWHERE, Span
from .conditions import Condition
from .values import Expr, Kind, NameBytes


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
    fields is set; always where there are none. `count`: an array with that number of elements (at
    most `most`) of `width` bits each. Groups follow each other in order, but the one called `TAIL`
    ends where the header ends. Of an option its name, and `width` from its heading on; `kinds`:
    the values of its kind, under `mask` if given. `text`: the field that says how many bytes the
    text of a name has that this array is, or that the option ends with."""

    name: str
    flags: tuple[str, ...]
    width: int
    count: Expr | None = None
    most: int = 1
    kinds: tuple[tuple[int, int], ...] = ()
    mask: int | None = None
    text: str = ""

    def is_kind(self, kind: int) -> bool:
        """Whether an option of this kind is it."""
        masked = kind if self.mask is None else kind & self.mask
        return any(low <= masked <= high for low, high in self.kinds)


TAIL = "tail of the header"


class Options(Frozen):
    """What `field`, of the header's last `bytes[rest]`, consists of: at most `most` options behind
    each other, within so many bytes (or all there are). Each begins as `heading` says, which has
    fields `kind` and `length`, and has `size` bytes; one whose kind, a byte, is `bare` has only
    that, and behind one of `end` there is none. `groups`: those that can be read, by name; their
    fields are called `OPTION.FIELD`, and counted from the option's start. `rest`: they are all that
    is left of the packet, and the header ends there."""

    field: str
    heading: Header
    size: Expr
    bare: tuple[int, ...]
    end: tuple[int, ...]
    within: Expr | None
    most: int
    groups: tuple[Group, ...]
    fields: tuple[Field, ...]
    rest: bool = False

    def named(self, kind: int) -> Group | None:
        """The option that has this kind."""
        return next((group for group in self.groups if group.is_kind(kind)), None)


class Header(Frozen):
    """`size` is None for a header of fixed size (plus groups). `protocol` names the well-known
    protocol (`ipv4`, `tcp` …) if the header is `std`'s own, else it is empty."""

    name: str
    link: bool
    fields: tuple[Field, ...]
    groups: tuple[Group, ...]
    fixed: int  # bits of the fixed part
    minimum: int  # bytes
    maximum: int  # bytes
    size: Expr | None = None
    extent: Expr | None = None
    accept: tuple[Condition, ...] = ()
    require: tuple[Condition, ...] = ()
    payload: tuple[Condition, ...] = ()
    options: Options | None = None
    reach: Expr | None = None  # bytes from the start up to which what stands behind reaches
    protocol: str = ""
    doc: str = ""
    span: Span = NOWHERE

    def field(self, name: str) -> Field:
        options = self.options.fields if self.options else ()
        return next(f for f in (*self.fields, *options) if f.name == name)

    def group(self, name: str) -> Group:
        options = self.options.groups if self.options else ()
        return next(g for g in (*self.groups, *options) if g.name == name)

    def option(self, name: str | None) -> Group | None:
        """The option of that name; None of what is a group or no part of its own."""
        options = self.options.groups if self.options else ()
        return next((group for group in options if group.name == name), None)

    def optional(self, field: Field) -> bool:
        """Whether a packet that has the header may lack the field."""
        if field.group is None:
            return False
        return bool(self.group(field.group).flags) or self.option(field.group) is not None

    @property
    def arrays(self) -> list[Group]:
        return [group for group in self.groups if group.count is not None]

    def array(self, field: Field) -> Group | None:
        """The group that the field fills, if it is an array."""
        group = self.group(field.group) if field.group is not None else None
        return group if group and group.count is not None else None

    def domain_name(self, group: str) -> NameBytes | None:
        """Where the domain name begins that the group is, if it is one."""
        count = self.group(group).count
        return count if isinstance(count, NameBytes) else None

    def opposite(self, field: Field) -> Field:
        """`dst` of `src` and the other way round, where there are both and alike; else the field
        itself."""
        name = {"src": "dst", "dst": "src"}.get(field.name, "")
        other = next((f for f in self.fields if f.name == name), field)
        alike = (other.kind, other.width, other.group) == (field.kind, field.width, field.group)
        return other if alike else field

    @property
    def takes_rest(self) -> bool:
        """Whether its options go on to the packet's end."""
        return self.options is not None and self.options.rest

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
