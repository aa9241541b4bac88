"""Headers: fields to offsets, clauses to conditions, sizes to bounds."""

from __future__ import annotations

from dataclasses import replace

from ...lang import tree
from ...lang.contract.base.domain_names import LONGEST
from ...lang.text.diagnostics import Diagnostic, Diagnostics, did_you_mean, error
from ...lang.text.source import Span
from .. import model
from . import errors
from .header_clauses import HeaderClauses
from .header_fields import check_sums, text_length
from .header_layout import CheckedHeader, Fields, Layout
from .header_options import OptionsChecker, no_options
from .resolve import Known
from .rest_headers import MOST_REST, check_rest
from .values import Value

LARGEST = 32_767


def check_header(known: Known, found: Diagnostics) -> CheckedHeader:
    before = len(found.errors)
    checker = _HeaderChecker(known.header, found)
    header = checker.check(known.header.name.text if known.standard else "")
    return CheckedHeader(header, frozenset(checker.broken), len(found.errors) == before)


class _HeaderChecker(Fields):
    def __init__(self, header: tree.Header, found: Diagnostics) -> None:
        super().__init__(found)
        self.header = header
        self.layouts = [Layout()]
        self.groups: list[tree.Group] = []
        self.tlv: tree.Field | None = None
        self.name: tree.Field | None = None

    def check(self, name: str) -> model.Header:
        members = self.header.members
        for member in members:
            match member:
                case tree.Field(options=tree.Options()) if member.type.span.text != "tlv":
                    self.found.add(no_options(member.type.span))
                case tree.Field(options=tree.Options()):
                    self.tlv = self.tlv or member
                    self.top_field(replace(member, type=_rest(member.type), options=None))
                case tree.Field():
                    self.top_field(member)
                case tree.Group():
                    self.group(member)
        for layout in self.layouts:
            if not layout.flags and layout.array is None:
                self.whole_bytes(layout, self.header.name.span, "the header")
        fields = [f for layout in self.layouts for f in layout.fields]
        clauses = HeaderClauses(self.header, fields, self.broken, self.found)
        groups = tuple(self.laid_out(layout, clauses) for layout in self.layouts[1:])
        options = self.options(clauses)
        size = clauses.single(tree.Size)
        extent = clauses.single(tree.Extent)
        reach = clauses.single(tree.Reach)
        if options and options.rest:
            check_rest(self.header, self.tlv, self.layouts[-1].group == model.TAIL, self.found)
        elif size is None and options and options.within and len(self.layouts) == 1:
            size = self.size_of(clauses)
        elif self.rest and not self.is_sized():
            self.found.add(
                _out_of_place(
                    self.rest.span,
                    f"`{self.rest.type.span.text}`",
                    "nothing says where it ends",
                    None,
                    _ENDS if self.tlv else "add a line `size …` that gives the header's bytes",
                )
            )
        fixed = self.layouts[0].at
        self.lengths(fields, fixed // 8)
        check_sums(self.found, fields, groups)
        least, most = self.bounds(groups, size, options is not None)
        if options and options.rest:
            most = MOST_REST
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
            options=options,
            reach=reach.expr if reach else None,
            protocol=name,
            doc=self.header.doc,
            span=self.header.name.span,
        )

    def options(self, clauses: HeaderClauses) -> model.Options | None:
        if self.tlv is None:
            return None
        options = OptionsChecker(self.tlv, {*self.names}, self.found).check(clauses)
        if options is None:
            self.lose_options(self.tlv)
        return options

    def bounds(
        self, groups: tuple[model.Group, ...], size: Value | None, options: bool
    ) -> tuple[int, int]:
        """The bytes that the header has at least, and at most."""
        fixed = self.layouts[0].at
        least = (fixed + sum(g.width for g in groups if not g.flags and g.count is None)) // 8
        if self.name is not None and self.name.type.count is None:
            least += 1  # the root's name, without labels
        most = (fixed + sum(g.width * g.most for g in groups)) // 8
        most = max(size.high, least) if size else most
        within = options or self.layouts[-1].group == model.TAIL
        largest = LARGEST // 2 if within else LARGEST
        if most > largest:
            where = size.span if size else self.header.name.span
            self.found.add(_too_big_header(where, most, largest))
        return least, most

    def is_sized(self) -> bool:
        """Whether it says where it ends, be it wrong."""
        within = self.tlv and self.tlv.options and self.tlv.options.within
        lost = within and self.tlv and self.tlv.name and self.tlv.name.text in self.broken
        return bool(lost) or any(isinstance(m, tree.Size) for m in self.header.members)

    def lose_options(self, field: tree.Field) -> None:
        """Something is wrong with the options: of none more is said."""
        assert field.options is not None
        names = [field.name, *(option.name for option in field.options.members)]
        self.broken.update(name.text for name in names if name)

    def size_of(self, clauses: HeaderClauses) -> Value | None:
        """Of a header that ends where its options do."""
        assert self.tlv and self.tlv.options and self.tlv.options.within
        within, fixed = self.tlv.options.within, self.layouts[0].at // 8
        own = tree.Binary(within.span, "+", within, tree.Number(within.span, fixed, str(fixed)))
        return clauses.expressions.value(own)

    def lengths(self, fields: list[model.Field], fixed: int) -> None:
        """A length with a number taken off is that of enough bytes."""
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

    def laid_out(self, layout: Layout, clauses: HeaderClauses) -> model.Group:
        assert layout.group is not None
        if layout.array is None:
            return model.Group(layout.group, layout.flags, layout.at)
        if layout.array is self.name and layout.array.type.count is not None:
            return self.text(layout, clauses)
        if layout.array is self.name:
            name = model.NameBytes(self.layouts[0].at // 8)
            clauses.bounds.append(model.Compare("<=", name, model.Const(LONGEST, 8)))
            return model.Group(layout.group, (), 8, name, LONGEST)
        count, most = clauses.array(layout.array)
        return model.Group(layout.group, (), layout.at, count, most)

    def text(self, layout: Layout, clauses: HeaderClauses) -> model.Group:
        """The text of a name: as many bytes as a field in front of it says."""
        assert layout.array is not None and layout.group is not None
        length = text_length(self.found, layout.array.type, self.layouts[0].fields)
        if length is None:
            return model.Group(layout.group, (), 8, model.Const(0, 1), 1)
        count = model.Own(length.name)
        if 1 << length.width > LONGEST + 1:
            clauses.bounds.append(model.Compare("<=", count, model.Const(LONGEST, 8)))
        return model.Group(layout.group, (), 8, count, LONGEST, text=length.name)

    # ---- fields ------------------------------------------------------------------------------

    def top_field(self, member: tree.Field) -> None:
        if self.name is not None:
            self.behind_name(member.span)
            return
        if member.type.name.text == "name":
            self.domain_name(member)
            return
        if member.type.name.text != "bytes" and member.type.count is not None:
            self.array(member)
            return
        if _is_rest(member.type) and self.rest is not None:
            self.found.add(
                _out_of_place(
                    member.span,
                    f"a second `{member.type.span.text}`",
                    "takes what is left",
                    self.rest.span,
                    "a header has one run of bytes without a length of its own",
                )
            )
        if self.rest is not None and self.layouts[-1].group != model.TAIL:
            self.begin(Layout(model.TAIL))
        last = self.layouts[-1]
        if (last.flags or last.array) and not _is_rest(member.type):
            last = self.begin(Layout(f"behind {last.group}"))
        self.place(member, self.layouts[0] if _is_rest(member.type) else last)

    def begin(self, layout: Layout) -> Layout:
        """What comes from here on is a part of its own."""
        self.layouts.append(layout)
        return layout

    def array(self, member: tree.Field) -> None:
        name = member.name.text if member.name else f"_{len(self.layouts)}"
        if self.behind_rest(member.span, "an array"):
            return
        layout = self.begin(Layout(f"array {name}", array=member))
        self.place(member, layout)
        self.whole_bytes(layout, member.type.span, "an element of this array")

    def domain_name(self, member: tree.Field) -> None:
        """An array of bytes, of which the last is 0."""
        before = self.layouts[-1]
        if self.behind_rest(member.span, "a name"):
            return
        if len(self.layouts) > 1:
            where = before.array.span if before.array else self.groups[-1].flags[0].span
            self.found.add(
                _out_of_place(
                    member.span,
                    "a name",
                    "it is not known where it begins",
                    where,
                    "make it a header of its own, which an edge leads to",
                )
            )
            return
        self.whole_bytes(before, member.span, "what stands in front of a name")
        self.name = member
        self.place(
            member,
            self.begin(Layout(f"name {member.name.text if member.name else ''}", array=member)),
        )

    def behind_name(self, span: Span) -> None:
        assert self.name is not None
        self.found.add(
            _out_of_place(
                span,
                "what stands behind a name",
                "behind a name",
                self.name.span,
                "make it a header of its own, which an edge leads to",
            )
        )

    def behind_rest(self, span: Span, what: str) -> bool:
        if self.rest is None:
            return False
        self.found.add(
            _out_of_place(
                span,
                what,
                "behind `bytes[rest]`",
                self.rest.span,
                "only fields of fixed size can be counted from the header's end",
            )
        )
        return True

    def group(self, member: tree.Group) -> None:
        if self.name is not None:
            self.behind_name(member.flags[0].span)
            return
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
        layout = self.begin(Layout(" or ".join(flags), flags))
        for each in member.fields:
            self.place(each, layout)
        self.groups.append(member)
        self.whole_bytes(layout, member.flags[0].span, "this group")

    def flag(self, written: tree.Name) -> None:
        fixed = self.layouts[0].fields
        one_bit = [f.name for f in fixed if f.width == 1 and f.name[0] != "_"]
        flag = next((f for f in fixed if f.name == written.text), None)
        if flag is None:
            if written.text not in self.broken:
                help = did_you_mean(written.text, one_bit) or f"declare `{written.text} : u1` above"
                self.found.add(_bad_flag(written.span, "no field above has this name", None, help))
        elif flag.width != 1:
            self.found.add(
                _bad_flag(
                    written.span,
                    f"{flag.width} bits wide",
                    flag.span,
                    "a flag is a field of one bit, `u1`",
                )
            )


def _rest(type_: tree.Type) -> tree.Type:
    """`bytes[rest]`, where another type stands."""
    rest = tree.Path(type_.span, (tree.Name(type_.span, "rest"),))
    return tree.Type(type_.span, tree.Name(type_.span, "bytes"), rest)


def _is_rest(type_: tree.Type) -> bool:
    return isinstance(type_.count, tree.Path) and type_.count.text == "rest"


_ENDS = (
    "add a line `size …` that gives the header's bytes, or write `tlv(…) within rest` where they "
    "go on to the packet's end"
)


# ---- errors ---------------------------------------------------------------------------------


def _bad_flag(flag: Span, why: str, where: Span | None, help: str) -> Diagnostic:
    labels = [(flag, why)]
    if where is not None:
        labels.append((where, "this field"))
    return error(
        "H0234", f"`{flag.text}` cannot say whether these fields are there", *labels, help=help
    )


def _out_of_place(span: Span, what: str, why: str, before: Span | None, help: str) -> Diagnostic:
    """A field behind what must come last, `bytes[rest]` without `size` …"""
    labels = [(span, why)]
    if before is not None:
        labels.append((before, "this comes first"))
    return error("H0235", f"{what} cannot stand here", *labels, help=help)


def _too_big_header(span: Span, size: int, limit: int) -> Diagnostic:
    """Parts that are counted from the end, and options, are found by a second number."""
    return error(
        "H0244",
        f"this header may be {size} bytes long",
        (span, f"at most {limit}: a frame is seen no further in"),
        help="narrow the field that gives the size, or what is taken: `accept length <= 4096`",
    )
