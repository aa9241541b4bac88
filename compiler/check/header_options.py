"""Options of a header, `tlv(kind : u8, length : u8, bare 1, end 0) max 40 {…}`: what each begins
with, how long it is, and the fields of those that are named."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, Diagnostics, did_you_mean, error
from ...lang.text.source import Span
from .. import model
from ..model import guards
from ..model.walk import walk
from . import errors
from .edge_guards import EdgeGuards
from .expressions import Expressions
from .header_clauses import HeaderClauses
from .header_fields import text_length
from .header_layout import Fields, Layout
from .values import Value, of_width

MOST_OPTIONS = 64
WIDEST = {"kind": 32, "length": 16}  # bits
#: What else the two are called.
_CALLED = {"kind": {"type", "code", "tag", "option", "class"}, "length": {"len", "size", "bytes"}}
_WORDS = ("bare", "end", "size")


@dataclass
class _Said:
    """What the words in the parentheses say."""

    size: model.Expr | None = None
    bare: tuple[int, ...] = ()
    end: tuple[int, ...] = ()


def takes_rest(written: tree.Options) -> bool:
    """`within rest`: they go on to the packet's end."""
    return isinstance(written.within, tree.Path) and written.within.text == "rest"


class OptionsChecker:
    """Checks what a header says of its options."""

    def __init__(self, field: tree.Field, own: set[str], found: Diagnostics) -> None:
        """`own`: names of the header's fields."""
        assert field.options is not None
        self.field, self.written, self.own, self.found = field, field.options, own, found
        self.guards = EdgeGuards(found)

    def check(self, clauses: HeaderClauses) -> model.Options | None:
        before = len(self.found.errors)
        written, found = self.written, self.found
        if not 1 <= written.most.value <= MOST_OPTIONS:
            title = "the number of options that are looked at is bounded"
            found.add(_wrong(written.most.span, title, f"from 1 to {MOST_OPTIONS}"))
        heading = self.heading()
        rest = takes_rest(written)
        asked = None if rest else written.within
        within = clauses.expressions.value(asked) if asked else None
        if within and within.kind != "uint":
            found.add(errors.wrong_kind(within.span, "an address", "a number of bytes"))
        if heading is None:
            return None
        said = self.said(heading)
        groups, fields = self.options(heading)
        self.check_kinds(groups, {*said.bare, *said.end})
        if len(found.errors) > before or self.field.name is None:
            return None
        return model.Options(
            field=self.field.name.text,
            heading=heading,
            size=said.size or model.Own("length"),
            bare=said.bare,
            end=said.end,
            within=within.expr if within else None,
            most=written.most.value,
            groups=groups,
            fields=fields,
            rest=rest,
        )

    # ---- what each begins with ------------------------------------------------------------------

    def heading(self) -> model.Header | None:
        """As a header of its own. None where it lacks a kind or a length."""
        fields, layout = Fields(self.found), Layout()
        for each in self.written.heading:
            if self.is_plain(each):
                fields.place(each, layout)
        fields.whole_bytes(layout, self.field.type.span, "what each option begins with")
        known = {f.name: f for f in layout.fields}
        for name, widest in WIDEST.items():
            field = known.get(name)
            if field is None and name not in fields.broken:
                title = f"each option begins with fields, of which one is `{name}`"
                self.found.add(_wrong(*self.instead(name, title)))
            elif field and (field.kind != "uint" or field.width > widest):
                title = f"the {name} of an option is a number"
                self.found.add(_wrong(field.span, title, f"of at most {widest} bits"))
        if not {*WIDEST} <= known.keys() or layout.at % 8:
            return None
        size = layout.at // 8
        name, placed = self.field.type.name.text, tuple(layout.fields)
        return model.Header(name, False, placed, (), layout.at, size, size, span=self.field.span)

    def instead(self, name: str, title: str) -> tuple[Span, str, str]:
        """Where what each option begins with says the kind, or the length, in another way."""
        for said in self.written.said:
            if said.word.text == name:
                return said.word.span, title, f"write `{name} : u8`"
        for field in self.written.heading:
            if field.name and field.name.text in _CALLED[name]:
                return field.name.span, title, f"call it `{name}`"
        return self.field.type.span, title, f"add `{name} : u8`"

    def is_plain(self, field: tree.Field) -> bool:
        """Whether it is a field of fixed size, as those of options are."""
        wrong = field.options or field.default or (field.type.maximum and field.type)
        if field.type.count is not None and not isinstance(field.type.count, tree.Number):
            wrong = field.type
        if field.type.name.text != "bytes" and field.type.count is not None:
            wrong = field.type
        if wrong:
            title = "an option has fields of fixed size, without defaults"
            self.found.add(_wrong(wrong.span, title, "not such a field"))
        return not wrong

    def said(self, heading: model.Header) -> _Said:
        made, spans = _Said(), dict[str, Span]()
        for said in self.written.said:
            word = said.word.text
            if word not in _WORDS:
                help = did_you_mean(word, _WORDS) or f"the words are {', '.join(_WORDS)}"
                title = f"`{word}` says nothing of options"
                self.found.add(_wrong(said.word.span, title, help))
            elif word in spans:
                self.found.add(errors.twice_in_pipeline(f"`{word}`", said.span, spans[word]))
            elif word == "size":
                value = self.size(said.value, heading)
                made.size = value.expr if value else None
            else:
                setattr(made, word, tuple(self.kinds(said, heading.field("kind"))))
            spans.setdefault(word, said.span)
        if both := {*made.bare} & {*made.end}:
            says = f"{min(both)} cannot be `bare` and `end`"
            self.found.add(_wrong(spans["end"], "one kind stands for two things", says))
        return made

    def size(self, expr: tree.Expr, heading: model.Header) -> Value | None:
        def own(path: tree.Path) -> Value | None:
            field = next((f for f in heading.fields if f.name == path.text), None)
            if field is None:
                names = [f.name for f in heading.fields if f.name[0] != "_"]
                help = f"an option begins with {', '.join(names)}"
                self.found.add(errors.unknown("field", path.parts[0], names, help))
                return None
            read = model.Own(field.name)
            return of_width(read, field.width, field.kind, path.span, f"`{field.name}`", field.span)

        def no_call(call: tree.Call) -> None:
            self.found.add(errors.no_such_function(call.function, []))

        return Expressions(own, no_call, self.found).value(expr)

    def kinds(self, said: tree.Said, kind: model.Field) -> Iterator[int]:
        """The alternatives of `bare 0 | 1`."""
        if kind.offset or kind.width != 8:
            title = f"no option is `{said.word.text}` by a kind that is not the first byte"
            self.found.add(_wrong(said.span, title, f"the kind has {kind.width} bits"))
            return
        left = [said.value]
        while left:
            match left.pop():
                case tree.Binary(operator="|", left=first, right=second):
                    left += second, first
                case value:
                    number = self.guards.constant(value, kind)
                    if number is not None:
                        yield number

    # ---- those that are named -------------------------------------------------------------------

    def options(
        self, heading: model.Header
    ) -> tuple[tuple[model.Group, ...], tuple[model.Field, ...]]:
        groups: list[model.Group] = []
        fields: list[model.Field] = []
        spans: dict[str, Span] = {}
        tests: list[tuple[tree.Option, model.Test]] = []
        for option in self.written.members:
            name = option.name
            if name.text in self.own:
                self.found.add(errors.name_taken(name, "a field of the header"))
            elif spans.setdefault(name.text, name.span) is not name.span:
                self.found.add(errors.declared_twice("option", name, spans[name.text]))
            test = self.test(option, heading.field("kind"))
            layout = self.laid_out(option, heading)
            if test is None:
                continue
            tests.append((option, test))
            kinds = test.ranges
            text = next((f for f in layout.fields if f.kind == "text"), None)
            length = text and self.text_length(option, heading, layout)
            says = f"{name.text}.{length.name}" if length else ""
            groups.append(
                model.Group(name.text, (), layout.at, kinds=kinds, mask=test.mask, text=says)
            )
            fields += (
                replace(
                    field,
                    name=f"{name.text}.{field.name}",
                    group=name.text,
                    part_of=field.part_of and f"{name.text}.{field.part_of}",
                )
                for field in (*heading.fields, *layout.fields)
                if not field.name.startswith("_")
            )
        for (first, one), (second, other) in combinations(tests, 2):
            if guards.overlap((one,), (other,)):
                self.found.add(_same_kind(first, second))
        return tuple(groups), tuple(fields)

    def check_kinds(self, groups: tuple[model.Group, ...], alone: set[int]) -> None:
        """`alone`: kinds of options that have nothing else."""
        written = {option.name.text: option for option in self.written.members}
        for group in groups:
            kinds = {low for low, high in group.kinds if low == high}
            if len(kinds) == len(group.kinds) and kinds <= alone:
                self.found.add(_kind_alone(written[group.name], min(kinds)))

    def test(self, option: tree.Option, kind: model.Field) -> model.Test | None:
        if option.by.text != "kind":
            help = "write `when kind = VALUE`"
            self.found.add(errors.unknown("field", option.by, ("kind",), help))
            return None
        first, last = option.alternatives[0].span, option.alternatives[-1].span
        return self.guards.test(tree.Test(first.to(last), option.by, option.alternatives), kind)

    def laid_out(self, option: tree.Option, heading: model.Header) -> Layout:
        fields = Fields(self.found)
        fields.names = {f.name: f.span for f in heading.fields if not f.name.startswith("_")}
        layout = Layout(at=heading.fixed)
        for field in option.fields:
            if field.type.name.text == "name":
                self.place_name(field, option, fields, layout)
            elif self.is_plain(field):
                fields.place(field, layout)
        fields.whole_bytes(layout, option.name.span, "this option")
        return layout

    def place_name(
        self, field: tree.Field, option: tree.Option, fields: Fields, layout: Layout
    ) -> None:
        """The text of a name, which an option ends with: it is none of what each has at least."""
        if field.type.count is None or field is not option.fields[-1]:
            self.found.add(_no_name(field.span))
            return
        before = layout.at
        fields.place(field, layout)
        layout.at = before

    def text_length(
        self, option: tree.Option, heading: model.Header, layout: Layout
    ) -> model.Field | None:
        above = [*heading.fields, *(f for f in layout.fields if f.kind != "text")]
        return text_length(self.found, option.fields[-1].type, above)


def with_options_asked(pipeline: model.Pipeline) -> model.Pipeline:
    """The pipeline whose nodes know which of their options it asks for."""
    asked: dict[str, set[str]] = {}
    for part in walk((pipeline.rules, pipeline.stages)):
        if isinstance(part, model.HasOption):
            asked.setdefault(part.node, set()).add(part.option)
        elif isinstance(part, model.Packet) and "." in part.field:
            asked.setdefault(part.node, set()).add(part.field.partition(".")[0])
    if not asked:
        return pipeline

    def known(node: model.Node) -> model.Node:
        options = node.header.options.groups if node.header.options else ()
        return replace(node, options=tuple(g.name for g in options if g.name in asked[node.name]))

    graph = pipeline.graph
    nodes = tuple(known(n) if n.name in asked else n for n in graph.nodes)
    return replace(pipeline, graph=replace(graph, nodes=nodes))


# ---- errors ---------------------------------------------------------------------------------


def no_options(type_: Span) -> Diagnostic:
    return error(
        "H0230",
        f"there is no type `{type_.text}(…)`",
        (type_, "only `tlv` has options"),
        help="write `tlv(kind : u8, length : u8) max 40 {…}`",
    )


def _wrong(where: Span, title: str, says: str) -> Diagnostic:
    return error(
        "H0396",
        title,
        (where, says),
        help="write `tlv(kind : u8, length : u8, bare 1, end 0) max 40 { NAME when kind = 2 {…} }`",
    )


def _no_name(where: Span) -> Diagnostic:
    return error(
        "H0409",
        "an option has a name as text, and ends with it",
        (where, "not such a name"),
        help="write it last, with the field that says how long it is: "
        "`length : u16  host : name[length]`",
    )


def _kind_alone(option: tree.Option, kind: int) -> Diagnostic:
    return error(
        "H0429",
        f"no packet has the option `{option.name.text}`",
        (option.alternatives[0].span, f"options of kind {kind} are their kind alone"),
        help="give it another kind, or take this one out of `bare` or `end`",
    )


def _same_kind(first: tree.Option, second: tree.Option) -> Diagnostic:
    return error(
        "H0397",
        f"`{second.name.text}` has a kind of `{first.name.text}`",
        (second.alternatives[0].span, "this kind"),
        (first.alternatives[0].span, "announced here, too"),
        help="one of the two would never be found: give each its own kinds",
    )
