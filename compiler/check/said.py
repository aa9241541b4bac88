"""What a statement says of a slot of a state or a field of an event: a value, a port, or a rule."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Set
from typing import Any, Literal, NamedTuple, TypeGuard

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, listed
from ...lang.text.source import Span
from .. import model
from . import errors
from .stage_names import StageNames
from .values import KINDS, fits, is_port


class Misfit(NamedTuple):
    """What it is where something else is wanted. `kind` of rules; `name` in the stage."""

    what: Literal["no rule", "another rule", "a rule", "a port", "no port"]
    kind: str = ""
    name: str = ""


def said(
    written: tree.Expr, of: model.Slot | model.EventField, names: StageNames
) -> model.Said | Misfit | None:
    """None: what is wrong was reported."""
    rule = named_rule(written, names)
    if of.rule:
        if rule is None:
            return Misfit("no rule")
        bound = names.bound(rule)
        if bound is not None and bound.kind != of.rule:
            return Misfit("another rule", bound.kind)
        return None if bound is None else model.Identity(bound.name, bound.kind)
    if rule is not None:
        known = names.scope.names.get(rule.text)
        return Misfit("a rule", known.kind if known else rule.text, rule.text)
    port = named_port(written, names) if _names_port(written, of.port, names) else None
    if isinstance(port, str):
        return Misfit("no port")
    if port is not None:
        return port if of.port else Misfit("a port")
    value = names.expressions.value(written)
    if value is None:
        return None
    if of.port != is_port(value.expr):
        return Misfit("no port" if of.port else "a port")
    kept = of.name if isinstance(of, model.Slot) else ""
    good = fits(value, of.width, of.kind, f"`{of.name}`", of.span, names.program.found, kept)
    return value.expr if good else None


def named_rule(written: tree.Expr, names: StageNames) -> tree.Name | None:
    """The name of a rule that stands there alone."""
    if not isinstance(written, tree.Path) or len(written.parts) > 1 or written.index is not None:
        return None
    (name,) = written.parts
    known = names.scope.names.get(name.text)
    if known is not None:
        return name if known.kind != "port" else None
    return name if name.text in names.program.rules.known else None


def named_port(path: tree.Path, names: StageNames) -> model.PortOf | str | None:
    """The port that an arm bound, or that an element of a rule refers to. What else it is, in
    words; None where that was reported."""
    first = path.parts[0].text
    known = names.scope.names.get(first)
    if known is not None and known.kind == "port" and len(path.parts) == 1:
        return model.PortOf(known.name)
    rules = names.program.rules.known
    if (known is None and first not in rules) or len(path.parts) == 1:
        return "a rule" if first in rules or known else "no rule and no port"
    value = StageNames(names.program, names.state, names.scope, "port").attribute(path)
    if value is None:
        return None
    if not isinstance(value.expr, model.Attribute):
        return KINDS[value.kind]
    program = names.program
    element = program.elements.known[value.expr.element]
    if "port" in element.references:
        matched = program.rules.known[value.expr.rule].match
        return model.PortOf(value.expr, any(m.element.name == element.name for m in matched))
    return (
        f"a reference to {listed(element.references)}"
        if element.references
        else KINDS[element.kind]
    )


def _names_port(written: tree.Expr, wanted: bool, names: StageNames) -> TypeGuard[tree.Path]:
    """Whether it may name a port: one that an arm bound, or (where one is wanted) a rule's."""
    if not isinstance(written, tree.Path) or written.index is not None:
        return False
    first = written.parts[0].text
    known = names.scope.names.get(first)
    if len(written.parts) == 1:
        return known is not None and known.kind == "port"
    return wanted and (known is not None or first in names.program.rules.known)


class Given(NamedTuple):
    """What is given by name: each value that fits; all names that are declared; whether one is
    none, so that what seems missing is likely that one."""

    values: dict[str, model.Said]
    names: Set[str]
    unknown: bool

    def in_order(self, declared: Collection[str]) -> tuple[model.Said, ...] | None:
        """None if one is missing or wrong."""
        if len(self.values) < len(declared):
            return None
        return tuple(self.values[name] for name in declared)


def given_by_name(
    owner: str,
    written: Iterable[tree.Assign],
    declared: Mapping[str, model.Slot] | Mapping[str, model.EventField],
    names: StageNames,
    strange: Callable[[tree.Assign], Diagnostic],
    wrong: Callable[[Span, Any, Misfit], Diagnostic],
) -> Given:
    """`owner`: the state or the event. `strange` and `wrong`: what is reported of a name that is
    none, and of a value that does not fit what is declared."""
    report, unknown = names.program.report, False
    values, begun = dict[str, model.Said](), dict[str, tree.Assign]()
    for each in written:
        name = each.target.parts[-1]
        known = declared.get(name.text)
        if known is None or len(each.target.parts) > 1:
            if f"{owner}.{name.text}" not in names.program.broken:
                report(strange(each))
            unknown = True
        elif begun.setdefault(name.text, each) is not each:
            first = begun[name.text].target.span
            report(errors.declared_twice("the value of", name, first))
        elif isinstance(value := said(each.value, known, names), Misfit):
            report(wrong(each.value.span, known, value))
        elif value is not None:
            values[name.text] = value
    return Given(values, begun.keys(), unknown)
