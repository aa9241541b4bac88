"""Where the fields of a header lie, and the parts of a field."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, Diagnostics, error
from ...lang.text.frozen import Frozen
from ...lang.text.source import Span
from .. import model
from . import errors
from .header_fields import default, type_of
from .values import WIDEST


class CheckedHeader(Frozen):
    """`broken`: fields whose type is wrong, so that nothing more is said about them; `whole` is
    False if anything of the header is wrong."""

    header: model.Header
    broken: frozenset[str]
    whole: bool


@dataclass
class Layout:
    """What has been laid out so far of the fixed part or of a group."""

    group: str | None = None
    flags: tuple[str, ...] = ()
    at: int = 0
    fields: list[model.Field] = field(default_factory=list)
    array: tree.Field | None = None


class Fields:
    """The fields of a header by name. `broken`: those whose type is wrong; `rest`: what takes all
    that is left of the header."""

    def __init__(self, found: Diagnostics) -> None:
        self.found = found
        self.names: dict[str, Span] = {}
        self.broken: set[str] = set()
        self.rest: tree.Field | None = None

    def place(self, member: tree.Field, layout: Layout) -> None:
        """Lay out a field, and its parts beside it."""
        typed = type_of(self.found, member)
        if typed is None:
            if member.name:
                self.broken.add(member.name.text)
                self.declare(member.name)
            self.broken.update(p.name.text for p in member.parts if p.name)
            return
        kind, width = typed
        if kind == "bytes" and not width:
            self.rest = member
        whole = self.add(member, layout, kind, width, layout.at, None)
        if member.parts:
            self.parts(member, layout, whole)
        layout.at += width

    def parts(self, member: tree.Field, layout: Layout, whole: model.Field) -> None:
        at = layout.at
        if whole.kind != "uint":
            self.found.add(
                errors.unsupported(member.span, f"dividing a field of type {member.type.name.text}")
            )
            return
        for part in member.parts:
            typed = type_of(self.found, part)
            if typed is None:
                self.broken.update({part.name.text} if part.name else ())
                return
            if typed[0] != "uint" or part.parts:
                self.found.add(
                    errors.unsupported(
                        part.span, "dividing a part again, or into anything but numbers"
                    )
                )
                return
            if part.default is not None and member.default is not None:
                self.found.add(
                    errors.bad_default(
                        part.default.span,
                        "the whole and a part have a default",
                        "a second default",
                        "give the default to the whole or to all parts",
                    )
                )
            self.add(part, layout, *typed, at, whole.name)
            at += typed[1]
        if at - layout.at != whole.width:
            self.found.add(
                _parts_do_not_fill(
                    member.type.span,
                    whole.width,
                    at - layout.at,
                    member.parts[0].span.to(member.parts[-1].span),
                )
            )

    def add(
        self,
        member: tree.Field,
        layout: Layout,
        kind: model.Kind,
        width: int,
        at: int,
        whole: str | None,
    ) -> model.Field:
        if kind != "uint" and at % 8:
            self.found.add(_misaligned(member.span, member.type.name.text, at))
        elif kind == "uint" and at % 8 + width > WIDEST:
            self.found.add(errors.unsupported(member.span, "a number spread over nine bytes"))
        if member.name is None:
            name = f"_{layout.group}_{at}" if layout.group else f"_{at}"
        else:
            name = member.name.text
            self.declare(member.name)
        placed = model.Field(
            name,
            at,
            width,
            kind,
            default(self.found, member, kind, width),
            layout.group,
            whole,
            (member.name or member).span,
        )
        layout.fields.append(placed)
        return placed

    def declare(self, name: tree.Name) -> None:
        first = self.names.setdefault(name.text, name.span)
        if first is not name.span:
            self.found.add(errors.declared_twice("field", name, first))

    def whole_bytes(self, layout: Layout, span: Span, what: str) -> None:
        if layout.at % 8 and not self.broken:
            self.found.add(_not_bytes(span, what, layout.at))


# ---- errors ---------------------------------------------------------------------------------


def _parts_do_not_fill(span: Span, whole: int, parts: int, first: Span) -> Diagnostic:
    off = f"{abs(whole - parts)} bits {'are missing' if parts < whole else 'are too many'}"
    return error(
        "H0231",
        f"the parts are {parts} bits wide, the whole is {whole}",
        (first, off),
        (span, f"{whole} bits"),
        help="name reserved bits too: `: u2`",
    )


def _not_bytes(span: Span, what: str, bits: int) -> Diagnostic:
    return error(
        "H0232",
        f"{what} is not a whole number of bytes",
        (span, f"{bits} bits: {-bits % 8} bits short of {(bits + 7) // 8} bytes"),
        help=f"add reserved bits: `: u{-bits % 8}`",
    )


def _misaligned(span: Span, kind: str, offset: int) -> Diagnostic:
    return error(
        "H0233",
        f"this {kind} does not begin at a byte",
        (span, f"begins at bit {offset}"),
        help="check the widths of the fields in front of it",
    )
