"""Whether a push says all that there is to say of a header."""

from __future__ import annotations

from collections.abc import Sequence

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, error, listed
from ...lang.text.source import Span
from .. import model
from ..model.header_sizes import worked_out
from . import errors
from .stage_program import Program


def groups_written(
    header: model.Header, values: dict[str, model.Expr], given: set[str], writes: dict[str, int]
) -> set[str]:
    """Groups that the pushed header may have: those of flags that may be set."""
    given_groups = {f.group for f in header.fields if f.name in given}

    def is_set(flag: str) -> bool:
        if flag in given and header.group_of_flag(flag) is None:
            return values.get(flag) != model.Const(0, 1)
        by_default = writes.get(flag, header.field(flag).default)
        return header.group_of_flag(flag) in given_groups - {None} or bool(by_default)

    return {g.name for g in header.groups if not g.flags or any(map(is_set, g.flags))}


def check_complete(
    program: Program,
    element: tree.PushElement,
    node: model.Node,
    given: set[str],
    groups: set[str],
) -> None:
    """Every field that is written (groups: those of `groups`) has a value: given, written by the
    edge, derived, or by default; and no value is given in vain."""
    fields = node.header.fields
    for assign in element.fields:
        field = next((f for f in fields if f.name == assign.target.text), None)
        if field is not None and field.group and field.group not in groups:
            needed = node.header.group(field.group).flags
            program.report(_not_there(assign.target.span, node.name, field.name, needed))
    flags = node.header.flags
    parts: dict[str, list[str]] = {}
    for field in fields:
        if field.part_of:
            parts.setdefault(field.part_of, []).append(field.name)
    valued = given | flags | {f.name for f in fields if f.default is not None or f.name[0] == "_"}
    valued |= worked_out(node.header)
    missing = [
        f
        for f in fields
        if f.name not in valued
        and not f.part_of
        and f.width
        and (f.group is None or f.group in groups)
        and not (f.name in parts and all(p in valued for p in parts[f.name]))
    ]
    for whole, pieces in parts.items():
        both = [p for p in pieces if p in given]
        if whole in given and both:
            name = next(a.target.parts[0] for a in element.fields if a.target.text == both[0])
            other = next(a.target.span for a in element.fields if a.target.text == whole)
            program.report(
                errors.declared_twice(
                    "the value of",
                    name,
                    other,
                    f"`{both[0]}` is a part of `{whole}`: give one of them",
                )
            )
    names = [name for f in missing for name in _to_say(f, parts.get(f.name, []), valued, flags)]
    if missing and not program.checked.headers[node.name].broken and not _misspelt(element, fields):
        program.report(
            _value_missing(
                element.node.span,
                node.name,
                names,
                missing[0].span,
            )
        )


def _to_say(
    field: model.Field, parts: list[str], valued: set[str] | frozenset[str], flags: frozenset[str]
) -> list[str]:
    """What a push must name for a field without a value: of one that has flags in it, its parts."""
    return [p for p in parts if p not in valued] if flags.intersection(parts) else [field.name]


def _misspelt(element: tree.PushElement, fields: tuple[model.Field, ...]) -> bool:
    """A field was named wrongly: what seems missing is likely it."""
    names = {f.name for f in fields}
    return any(a.target.text not in names for a in element.fields)


# ---- errors ---------------------------------------------------------------------------------


def _not_there(span: Span, node: str, field: str, flags: Sequence[str]) -> Diagnostic:
    """A push gives a field of a group that it does not write."""
    return error(
        "H0245",
        f"this push does not write `{node}.{field}`",
        (span, f"only there if {listed(flags, 'or')} is set"),
        help=f"set one of its flags: `{flags[0]} = 1`",
    )


def _value_missing(span: Span, node: str, fields: Sequence[str], where: Span) -> Diagnostic:
    return error(
        "H0290",
        f"this push does not say {listed(fields)} of `{node}`",
        (span, f"{', '.join(fields)} missing"),
        (where, "has no default"),
        help=f"write `{node} {{ {fields[0]} = … }}`",
    )
