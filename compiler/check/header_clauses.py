"""Clauses of headers: `size`, `extent`, `accept` … over the header's own fields."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, Diagnostics, error
from ...lang.text.source import Span
from .. import model
from . import errors
from .expressions import Expressions
from .values import Value, of_width

MOST_ELEMENTS = 255


class HeaderClauses:
    """Checks what a header says about itself. `broken`: fields of which nothing more is said."""

    def __init__(
        self,
        header: tree.Header,
        fields: Sequence[model.Field],
        broken: Set[str],
        found: Diagnostics,
    ) -> None:
        self.header = header
        self.fields = fields
        self.broken = broken
        self.found = found
        self.expressions = Expressions(self.accepted, self.no_call, found)
        self.tested = Expressions(self.own, self.no_call, found)
        self.bounds: list[model.Condition] = []

    def single(
        self, clause: type[tree.Size] | type[tree.Extent] | type[tree.Reach]
    ) -> Value | None:
        """The value of the only clause of its sort."""
        said = [m for m in self.header.members if isinstance(m, clause)]
        for again in said[1:]:
            word = {tree.Size: "size", tree.Extent: "extent"}.get(clause, "payload to")
            self.found.add(errors.twice_in_pipeline(f"`{word}`", again.span, said[0].span))
        value = self.expressions.value(said[0].value) if said else None
        if value and value.kind != "uint":
            self.found.add(errors.wrong_kind(value.span, "an address", "a number of bytes"))
            return None
        if value and clause is not tree.Size and value.low > errors.LONGEST_FRAME:
            self.found.add(errors.longer_than_frames(value.span, f"at least {value.low:,} bytes"))
            return None
        return value

    def array(self, field: tree.Field) -> tuple[model.Expr, int]:
        """How many elements the array has, and how many at most. A header that says more than that
        is not accepted, as `bounds` says."""
        assert field.type.count is not None
        count, maximum = self.expressions.value(field.type.count), field.type.maximum
        if maximum is None or not 1 <= maximum.value <= MOST_ELEMENTS:
            bytes_ = field.type.name.text == "u8" and isinstance(field.type.count, tree.Number)
            where, text = (maximum or field.type).span, field.type.count.span.text
            self.found.add(_no_bound(where, MOST_ELEMENTS, text if bytes_ else ""))
            return model.Const(0, 1), 1
        if count and count.kind != "uint":
            self.found.add(errors.wrong_kind(count.span, "an address", "a number of elements"))
        elif count:
            most = model.Const(maximum.value, max(1, maximum.value.bit_length()))
            if count.high > maximum.value:
                self.bounds.append(model.Compare("<=", count.expr, most))
            return count.expr, min(maximum.value, count.high)
        return model.Const(0, 1), 1

    def conditions(
        self, clause: type[tree.Accept] | type[tree.Require] | type[tree.Payload]
    ) -> tuple[model.Condition, ...]:
        made = (self.condition(m.condition) for m in self.header.members if isinstance(m, clause))
        return tuple(c for c in made if c is not None)

    def condition(self, expr: tree.Expr) -> model.Condition | None:
        match expr:
            case tree.Unary(operator="not", operand=operand):
                inner = self.condition(operand)
                return model.Not(inner) if inner else None
            case tree.Binary(operator="and" | "or" as operator):
                sides = (self.condition(expr.left), self.condition(expr.right))
                if sides[0] is None or sides[1] is None:
                    return None
                return (
                    model.And((sides[0], sides[1]))
                    if operator == "and"
                    else model.Or((sides[0], sides[1]))
                )
            case tree.Binary(operator="=" | "!=" | "<" | "<=" | ">" | ">="):
                return self.tested.compare(expr)
            case tree.In():
                return self.tested.contains(expr)
            case tree.Is() | tree.Gives() | tree.Metered():
                self.found.add(
                    _clause_reads(
                        expr.span,
                        "anything but its own fields",
                        "not a comparison",
                        "compare fields of this header",
                    )
                )
                return None
            case _:
                if self.tested.value(expr) is not None:
                    self.found.add(errors.no_condition(expr.span, f"write `{expr.span.text} = 1`"))
                return None

    def accepted(self, path: tree.Path) -> Value | None:
        """A field of a header that is ours: no more than `accept` says, which is asked first."""
        value = self.own(path)
        for each in self.header.members:
            match each:
                case tree.Accept(
                    condition=tree.Binary(operator="<=", left=tree.Path() as of, right=most)
                ) if value and of.text == path.text and isinstance(most, tree.Number):
                    value = replace(value, high=min(value.high, most.value))
        return value

    def own(self, path: tree.Path) -> Value | None:
        name = path.parts[0]
        if len(path.parts) > 1 or path.index is not None:
            self.found.add(
                _clause_reads(
                    path.span,
                    "other headers",
                    "a field of something else",
                    "only fields of this header, by their plain names",
                )
            )
            return None
        if name.text in self.broken:
            return None
        own = next((f for f in self.fields if f.name == name.text), None)
        if own is None:
            names = [f.name for f in self.fields if f.name[0] != "_"]
            self.found.add(
                errors.unknown(
                    "field", name, names, f"`{self.header.name.text}` has {', '.join(names[:8])}"
                )
            )
            return None
        groups = [m.flags for m in self.header.members if isinstance(m, tree.Group)]
        if own.group in [" or ".join(f.text for f in flags) for flags in groups]:
            self.found.add(
                errors.may_be_left_out(
                    path.span,
                    own.name,
                    self.header.name.text,
                    own.span,
                    "read only fields outside `when` groups",
                )
            )
            return None
        if own.group:
            self.found.add(
                _clause_reads(
                    path.span,
                    "what comes behind an array or `bytes[rest]`",
                    "not known where it is",
                    "read fields in front of these",
                )
            )
            return None
        if own.kind == "bytes":
            self.found.add(
                _clause_reads(
                    path.span, "a run of bytes", "no number", "compare numbers and addresses"
                )
            )
            return None
        return of_width(
            model.Own(own.name), own.width, own.kind, path.span, f"`{own.name}`", own.span
        )

    def no_call(self, call: tree.Call) -> Value | None:
        self.found.add(errors.no_such_function(call.function, []))
        return None


# ---- errors ---------------------------------------------------------------------------------


def _clause_reads(span: Span, what: str, why: str, help: str) -> Diagnostic:
    """A clause of a header reads what it cannot know."""
    return error("H0237", f"a clause of a header cannot read {what}", (span, why), help=help)


def _no_bound(span: Span, limit: int, count: str) -> Diagnostic:
    """`count`: how many bytes, where that is what it has."""
    says = "say how many there are at most, as in `ip6[last_entry + 1] max 8`"
    return error(
        "H0247",
        "an array has a bound",
        (span, f"from 1 to {limit} elements"),
        help=f"{says}; a run of bytes is `bytes[{count}]`" if count else says,
    )
