"""Guards of edges, from what is written to tests, and what a push writes to meet them."""

from __future__ import annotations

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, Diagnostics, error, listed
from ...lang.text.source import Span
from .. import model
from ..model import guards
from . import errors
from .header_fields import scalar
from .header_layout import CheckedHeader
from .values import Value, fits, literal

FARTHEST = 32  # bits


class EdgeGuards:
    """Checks guards against the fields of the header that the edge leaves."""

    def __init__(self, found: Diagnostics) -> None:
        self.found = found

    def guard(self, edge: tree.Edge, header: CheckedHeader) -> tuple[model.Test, ...] | None:
        tests: list[model.Test] = []
        seen: dict[str, Span] = {}
        whole = True
        for test in edge.guard:
            field = self.tested_field(test, header)
            made = self.test(test, field) if field else None
            if made is None:
                whole = False
                continue
            field_name = "next" if made.ahead else made.field
            if field_name in seen:
                self.found.add(_tested_twice(test.field.span, seen[field_name], field_name))
                whole = False
            seen[field_name] = test.field.span
            tests.append(made)
        return tuple(tests) if whole else None

    def tested_field(self, test: tree.Test, header: CheckedHeader) -> model.Field | None:
        name = test.field
        if test.ahead is not None:
            return self.ahead(test.ahead)
        if name.text in header.broken:
            return None
        field = next((f for f in header.header.fields if f.name == name.text), None)
        if field is None:
            names = [f.name for f in header.header.fields if f.name[0] != "_"]
            self.found.add(
                errors.unknown(
                    f"field of `{header.header.name}`",
                    name,
                    names,
                    f"its fields are {', '.join(names[:8])}",
                )
            )
            return None
        if header.header.array(field):
            self.found.add(errors.whole_array(name.span, name.text, field.span))
            return None
        if field.kind == "bytes":
            self.found.add(
                errors.unsupported(name.span, "testing a run of bytes", "declare it as numbers")
            )
            return None
        return field

    def ahead(self, type_: tree.Name) -> model.Field | None:
        """The bits behind the header, as if they were a field."""
        typed = scalar(type_.text)
        if typed is None or typed[0] != "uint" or typed[1] > FARTHEST:
            self.found.add(_too_far_ahead(type_.span, FARTHEST))
            return None
        return model.Field(f"next {type_.text}", 0, typed[1], "uint", span=type_.span)

    def test(self, test: tree.Test, field: model.Field) -> model.Test | None:
        ranges: list[tuple[int, int]] = []
        masks: set[int | None] = set()
        for alternative in test.alternatives:
            made = self.alternative(alternative, field)
            if made is None:
                return None
            low, high, mask = made
            ranges.append((low, high))
            masks.add(mask)
        if len(masks) > 1:
            self.found.add(
                errors.unsupported(
                    test.span, "several masks in one test", "use the same mask, or an edge for each"
                )
            )
            return None
        mask, ahead = next(iter(masks)), field.width if test.ahead else 0
        if mask is None or mask == (1 << field.width) - 1:
            return model.Test(field.name, _joined(ranges), ahead=ahead)
        return model.Test(field.name, tuple(dict.fromkeys(ranges)), mask, ahead)

    def alternative(
        self, alternative: tree.Range, field: model.Field
    ) -> tuple[int, int, int | None] | None:
        low = self.constant(alternative.low, field)
        high = self.constant(alternative.high, field) if alternative.high else low
        mask = self.constant(alternative.mask, field, masking=True) if alternative.mask else None
        if low is None or high is None or (alternative.mask and mask is None):
            return None
        if mask is not None and low & ~mask:
            self.found.add(_outside_mask(alternative.span, low, mask))
            return None
        if low > high:
            self.found.add(_empty_range(alternative.span, low, high))
            return None
        return low, high, mask

    def constant(self, expr: tree.Expr, field: model.Field, masking: bool = False) -> int | None:
        if not isinstance(expr, tree.Number | tree.Address):
            self.found.add(
                errors.wrong_kind(
                    expr.span,
                    "an expression",
                    "a number or an address",
                    help="a guard compares with plain values",
                )
            )
            return None
        value = literal(expr)
        if masking and value.kind == "uint":
            value = Value(
                value.expr, value.width, field.kind, value.low, value.high, value.span, value.what
            )
        if not fits(value, field.width, field.kind, f"`{field.name}`", field.span, self.found):
            return None
        return value.low

    def writes(
        self, edge: tree.Edge, tests: tuple[model.Test, ...], header: CheckedHeader
    ) -> tuple[tuple[str, int], ...] | None:
        """What a push assigns to the source's fields, or None if the guard is too wide for that.
        What is looked for ahead is there or not: nobody writes it."""
        tests = tuple(t for t in tests if not t.ahead)
        tested = [t for t in edge.guard if t.ahead is None]
        if not edge.write:
            values = [(t.field, v) for t in tests if (v := guards.only_value(t)) is not None]
            return _with_flags(header.header, tuple(values)) if len(values) == len(tests) else None
        if len(edge.write) != len(tests):
            guard = edge.guard[0].span.to(edge.guard[-1].span) if edge.guard else edge.source.span
            self.found.add(
                _wrong_write(
                    edge.write[0].span.to(edge.write[-1].span),
                    "`write` gives a value for each test of the guard",
                    guard,
                    f"tests {len(tests)} fields",
                    f"write {len(tests)} values" if tests else "leave `write` out",
                )
            )
            return None
        written = []
        fields = {f.name: f for f in header.header.fields}
        for test, said, expr in zip(tests, tested, edge.write, strict=True):
            value = self.constant(expr, fields[test.field])
            if value is None:
                return None
            if not guards.matched(test, value):
                self.found.add(
                    _wrong_write(
                        expr.span,
                        "what this edge writes, it would not read",
                        said.span,
                        f"matches {guards.shown(test)}",
                        f"write a value out of {guards.shown(test)}",
                    )
                )
                return None
            written.append((test.field, value))
        return _with_flags(header.header, tuple(written))


def _with_flags(
    header: model.Header, written: tuple[tuple[str, int], ...]
) -> tuple[tuple[str, int], ...] | None:
    """What is written in an optional group is there if its flag is set: so that is written, too.
    None where the group has several, and the edge does not say which."""
    said = {name for name, _ in written}
    for name in [name for name, _ in written]:
        field = header.field(name)
        flags = header.group(field.group).flags if field.group is not None else ()
        if not flags or said.intersection(flags):
            continue
        if len(flags) > 1:
            return None
        written = (*written, (flags[0], 1))
    return written


def _joined(ranges: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The ranges in order, overlapping and adjacent ones joined."""
    out: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if out and low <= out[-1][1] + 1:
            out[-1] = (out[-1][0], max(high, out[-1][1]))
        else:
            out.append((low, high))
    return tuple(out)


def shown_guard(edge: model.Edge) -> str:
    if not edge.tests:
        return "every packet"
    if len(edge.tests) == 1:
        return guards.shown(edge.tests[0])
    return " and ".join(f"{t.field} = {guards.shown(t)}" for t in edge.tests)


def shown_common(first: model.Edge, second: model.Edge) -> str:
    """What both match, where that is easily said; else what the second matches."""
    if len(first.tests) == len(second.tests) == 1 and first.tests[0].field == second.tests[0].field:
        one, other = first.tests[0], second.tests[0]
        if one.mask is None and other.mask is None:
            alone = guards.without(other.ranges, one.ranges)
            return guards.shown_ranges(guards.without(other.ranges, alone))
    return shown_guard(second)


def suggestion(first: model.Edge, second: model.Edge) -> str:
    """How one of two overlapping edges could give way."""
    if not (first.tests and second.tests):
        return "give both edges a guard, or read them on different ports: `on …`"
    if len(first.tests) == len(second.tests) == 1 and first.tests[0].field == second.tests[0].field:
        one, other = first.tests[0], second.tests[0]
        if one.mask is None and other.mask is None:
            if left := guards.without(other.ranges, one.ranges):
                return f"narrow the range to {guards.shown_ranges(left)}"
            if left := guards.without(one.ranges, other.ranges):
                return f"narrow the first edge to {guards.shown_ranges(left)}"
            return "both match the same: remove one, or read them on different ports: `on …`"
    fields = {t.field for t in first.tests} ^ {t.field for t in second.tests}
    if fields:
        return f"test {listed(sorted(fields))} in both, with different values"
    return "choose values that no packet has both of"


# ---- errors ---------------------------------------------------------------------------------


def _wrong_write(span: Span, title: str, guard: Span, says: str, help: str) -> Diagnostic:
    return error("H0219", title, (span, "cannot be written"), (guard, says), help=help)


def _empty_range(span: Span, low: int, high: int) -> Diagnostic:
    return error(
        "H0221",
        "this range is empty",
        (span, f"{low} is above {high}"),
        help=f"write {high}..{low}",
    )


def _outside_mask(span: Span, value: int, mask: int) -> Diagnostic:
    return error(
        "H0222",
        "this guard never holds",
        (span, f"{value:#x} has bits that the mask {mask:#x} hides"),
        help=f"write {value & mask:#x} & {mask:#x}",
    )


def _tested_twice(again: Span, first: Span, field: str) -> Diagnostic:
    return error(
        "H0223",
        f"`{field}` is tested twice by one guard",
        (again, "tested again"),
        (first, "first tested here"),
        help="join the two tests: `6 | 17` for a set, `6..17` for a range",
    )


def _too_far_ahead(span: Span, limit: int) -> Diagnostic:
    return error(
        "H0229",
        "a guard looks at most 32 bits ahead",
        (span, "not a number of so many bits"),
        help=f"write `next u1` to `next u{limit}`",
    )
