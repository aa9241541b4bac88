"""Headers: fields to offsets, clauses to conditions, sizes to bounds."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...lang import tree
from ...lang.text.diagnostics import Diagnostics, did_you_mean
from ...lang.text.frozen import Frozen
from ...lang.text.source import Span
from .. import model
from . import errors, headers_errors
from .header_clauses import HeaderClauses
from .header_fields import check_sums, default, type_of
from .resolve import Known
from .values import WIDEST

LARGEST = 32_767


@dataclass
class _Layout:
    """What has been laid out so far of the fixed part or of a group."""

    group: str | None = None
    flags: tuple[str, ...] = ()
    at: int = 0
    fields: list[model.Field] = field(default_factory=list)
    array: tree.Field | None = None


class CheckedHeader(Frozen):
    """`broken`: fields whose type is wrong, so that nothing more is said about them; `whole` is
    False if anything of the header is wrong."""

    header: model.Header
    broken: frozenset[str]
    whole: bool


def check_header(known: Known, found: Diagnostics) -> CheckedHeader:
    before = len(found.errors)
    checker = _HeaderChecker(known.header, found)
    header = checker.check(known.header.name.text if known.standard else "")
    return CheckedHeader(header, frozenset(checker.broken), len(found.errors) == before)


class _HeaderChecker:
    def __init__(self, header: tree.Header, found: Diagnostics) -> None:
        self.header = header
        self.found = found
        self.layouts = [_Layout()]
        self.groups: list[tree.Group] = []
        self.names: dict[str, Span] = {}
        self.broken: set[str] = set()
        self.rest: tree.Field | None = None

    def check(self, name: str) -> model.Header:
        members = self.header.members
        for member in members:
            match member:
                case tree.Field():
                    self.top_field(member)
                case tree.Group():
                    self.group(member)
        for layout in self.layouts:
            if not layout.flags and layout.array is None:
                self.whole_octets(layout, self.header.name.span, "the header")
        fields = [f for layout in self.layouts for f in layout.fields]
        clauses = HeaderClauses(self.header, fields, self.broken, self.found)
        groups = tuple(self.laid_out(layout, clauses) for layout in self.layouts[1:])
        size = clauses.single(tree.Size)
        extent = clauses.single(tree.Extent)
        reach = clauses.single(tree.Reach)
        if self.rest and not any(isinstance(m, tree.Size) for m in members):
            self.found.add(
                headers_errors.out_of_place(
                    self.rest.span,
                    "`bytes[rest]`",
                    "nothing says where it ends",
                    None,
                    "add a line `size …` that gives the header's octets",
                )
            )
        fixed = self.layouts[0].at
        self.lengths(fields, fixed // 8)
        check_sums(self.found, fields, groups)
        least = (fixed + sum(g.width for g in groups if not g.flags and g.count is None)) // 8
        most = (fixed + sum(g.width * g.most for g in groups)) // 8
        most = max(size.high, least) if size else most
        if most > LARGEST:
            self.found.add(
                headers_errors.too_big_header(
                    size.span if size else self.header.name.span, most, LARGEST
                )
            )
        return model.Header(
            name=self.header.name.text,
            link=self.header.link,
            fields=tuple(fields),
            groups=groups,
            fixed=fixed,
            minimum=least,
            maximum=most,
            size=size.expr if size else None,
            extent=extent.expr if extent else None,
            accept=(*clauses.conditions(tree.Accept), *clauses.bounds),
            require=clauses.conditions(tree.Require),
            payload=clauses.conditions(tree.Payload),
            reach=reach.expr if reach else None,
            protocol=name,
            doc=self.header.doc,
            span=self.header.name.span,
        )

    def lengths(self, fields: list[model.Field], fixed: int) -> None:
        """A length with a number taken off is that of enough octets."""
        for f in fields:
            if isinstance(f.default, model.Derived):
                least = f.default.plus + (fixed if "header" in f.default.over else 0)
                if least < 0:
                    self.found.add(
                        errors.overflow(
                            f.span,
                            f"`{f.name}` may become negative",
                            f"as low as {least}",
                            "take off no more than the header has",
                        )
                    )

    def laid_out(self, layout: _Layout, clauses: HeaderClauses) -> model.Group:
        assert layout.group is not None
        if layout.array is None:
            return model.Group(layout.group, layout.flags, layout.at)
        count, most = clauses.array(layout.array)
        return model.Group(layout.group, (), layout.at, count, most)

    # ---- fields ------------------------------------------------------------------------------

    def top_field(self, member: tree.Field) -> None:
        if member.type.name.text != "bytes" and member.type.count is not None:
            self.array(member)
            return
        if _is_rest(member.type) and self.rest is not None:
            self.found.add(
                headers_errors.out_of_place(
                    member.span,
                    "a second `bytes[rest]`",
                    "takes what is left",
                    self.rest.span,
                    "a header has one run of octets without a length of its own",
                )
            )
        if self.rest is not None and self.layouts[-1].group != model.TAIL:
            self.begin(_Layout(model.TAIL))
        last = self.layouts[-1]
        if (last.flags or last.array) and not _is_rest(member.type):
            last = self.begin(_Layout(f"behind {last.group}"))
        self.place(member, self.layouts[0] if _is_rest(member.type) else last)

    def begin(self, layout: _Layout) -> _Layout:
        """What comes from here on is a part of its own."""
        self.layouts.append(layout)
        return layout

    def array(self, member: tree.Field) -> None:
        name = member.name.text if member.name else f"_{len(self.layouts)}"
        if self.behind_rest(member.span, "an array"):
            return
        layout = self.begin(_Layout(f"array {name}", array=member))
        self.place(member, layout)
        self.whole_octets(layout, member.type.span, "an element of this array")

    def behind_rest(self, span: Span, what: str) -> bool:
        if self.rest is None:
            return False
        self.found.add(
            headers_errors.out_of_place(
                span,
                what,
                "behind `bytes[rest]`",
                self.rest.span,
                "only fields of fixed size can be counted from the header's end",
            )
        )
        return True

    def group(self, member: tree.Group) -> None:
        self.behind_rest(member.flags[0].span, "an optional group")
        flags = tuple(flag.text for flag in member.flags)
        for flag in member.flags:
            self.flag(flag)
        for other in self.groups:
            if {f.text for f in other.flags} == set(flags):
                self.found.add(
                    errors.declared_twice(
                        "the group of",
                        member.flags[0],
                        other.flags[0].span,
                        "put all its fields into one group",
                    )
                )
        layout = self.begin(_Layout(" or ".join(flags), flags))
        for each in member.fields:
            self.place(each, layout)
        self.groups.append(member)
        self.whole_octets(layout, member.flags[0].span, "this group")

    def flag(self, written: tree.Name) -> None:
        fixed = self.layouts[0].fields
        one_bit = [f.name for f in fixed if f.width == 1 and f.name[0] != "_"]
        flag = next((f for f in fixed if f.name == written.text), None)
        if flag is None:
            if written.text not in self.broken:
                help = did_you_mean(written.text, one_bit) or f"declare `{written.text} : u1` above"
                self.found.add(
                    headers_errors.bad_flag(
                        written.span, "no field above has this name", None, help
                    )
                )
        elif flag.width != 1:
            self.found.add(
                headers_errors.bad_flag(
                    written.span,
                    f"{flag.width} bits wide",
                    flag.span,
                    "a flag is a field of one bit, `u1`",
                )
            )

    def place(self, member: tree.Field, layout: _Layout) -> None:
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

    def parts(self, member: tree.Field, layout: _Layout, whole: model.Field) -> None:
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
                headers_errors.parts_do_not_fill(
                    member.type.span,
                    whole.width,
                    at - layout.at,
                    member.parts[0].span.to(member.parts[-1].span),
                )
            )

    def add(
        self,
        member: tree.Field,
        layout: _Layout,
        kind: model.Kind,
        width: int,
        at: int,
        whole: str | None,
    ) -> model.Field:
        if kind != "uint" and at % 8:
            self.found.add(headers_errors.misaligned(member.span, member.type.name.text, at))
        elif kind == "uint" and at % 8 + width > WIDEST:
            self.found.add(errors.unsupported(member.span, "a number spread over nine octets"))
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

    def whole_octets(self, layout: _Layout, span: Span, what: str) -> None:
        if layout.at % 8 and not self.broken:
            self.found.add(headers_errors.not_octets(span, what, layout.at))


def _is_rest(type_: tree.Type) -> bool:
    return isinstance(type_.count, tree.Path) and type_.count.text == "rest"
