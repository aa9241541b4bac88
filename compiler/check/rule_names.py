"""Names of rules inside a stage: elements of those that are surely bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from ...lang import tree
from ...lang.syntax.planned import planned
from ...lang.text.diagnostics import Diagnostic, did_you_mean, error, listed
from ...lang.text.frozen import Frozen
from ...lang.text.source import Span
from .. import model
from . import errors
from .flow import Bound, Scope, State, surely_bound
from .stage_lists import Held, no_list
from .stage_program import Program
from .values import KINDS, Value, of_width

#: How a name is read: as a value, as one that may be left out, to match on, as a port, to hash, as
#: all the values that an element holds, as what the packet or a rule may lack.
Use = Literal["value", "group", "match", "port", "hash", "list", "option", "target"]

_COUNTS: dict[str, Literal["packets", "bytes"]] = {"packets": "packets", "bytes": "bytes"}


class RuleNames(Frozen):
    """Names of rules at one place of a stage."""

    program: Program
    state: State
    scope: Scope
    use: Use = "value"

    def bound(self, name: tree.Name) -> Bound | None:
        """The rule that a name stands for, surely bound here; reports if not."""
        program, known = self.program, self.scope.names.get(name.text)
        if known is None:
            if name.text not in program.rules.known:
                self.unknown_rule(name)
                return None
            known = Bound(name.text, name.text, program.rules.known[name.text].span)
        elif known.kind == "port":
            return known
        if not surely_bound(self.state, known.name) and not program.unsure:
            program.report(errors.not_bound(name.span, name.text, program.missed.get(known.name)))
            return None
        return known

    def unknown_rule(self, name: tree.Name) -> None:
        self.program.report(
            errors.unknown(
                "rule",
                name,
                [*self.program.rules.known, *self.scope.names],
                "declare the kind: `rule NAME [CAPACITY] {…}`",
            )
        )

    def attribute(self, path: tree.Path) -> Value | None:
        """An element of a bound rule."""
        bound = self.bound(path.parts[0])
        if bound is None:
            return None
        if bound.kind == "port" or len(path.parts) != 2:
            what = (
                "a port"
                if bound.kind == "port"
                else "a rule"
                if len(path.parts) == 1
                else "a longer path"
            )
            self.program.report(
                errors.wrong_kind(
                    path.span, what, "a value", help="name an element of a rule, as in `FAR.action`"
                )
            )
            return None
        kind, name = self.program.rules.known[bound.kind], path.parts[1]
        for match in kind.match:
            if match.element.name == name.text:
                return self.matched(path, bound, match)
        element = next((e for e in kind.gives if e.name == name.text), None)
        if element is None:
            return self.own(path, bound, kind)
        if element.references and self.use in ("value", "group", "option"):
            self.program.report(_reference_read(path.span, element))
            return None
        if element.most and self.use != "list":
            self.program.report(errors.whole_array(path.span, path.text, element.span))
            return None
        optional = self.use in ("group", "option")
        if not optional:
            self.require(bound, element)
        return self.made(path, bound, element, optional)

    def own(self, path: tree.Path, bound: Bound, kind: model.RuleKind) -> Value | None:
        """What a rule has of itself: `PDR.id`, `PDR.packets`, `PDR.bytes`."""
        name = path.parts[1]
        expr: model.RuleId | model.RuleCount
        if name.text == "id":
            expr = model.RuleId(bound.name, kind.name)
        elif (what := _COUNTS.get(name.text)) is not None:
            if what not in kind.counts:
                self.program.report(_not_counted(name, kind))
                return None
            expr = model.RuleCount(bound.name, kind.name, what)
        elif name.text == "sizes":
            self.program.report(_by_size(name, bound.name))
            return None
        else:
            self.no_element(name, kind)
            return None
        if self.use == "list":
            self.program.report(no_list(path.span, "holds one value", kind.span))
            return None
        return of_width(expr, expr.width, "uint", path.span, f"`{path.text}`", kind.span)

    def no_element(self, name: tree.Name, kind: model.RuleKind) -> None:
        if name.text in self.program.elements.broken:
            return
        if kind.priority is not None and kind.priority[1].name == name.text:
            self.program.report(_decides_only(name, kind, kind.priority[0]))
            return
        names = [e.name for e in kind.gives] + [m.element.name for m in kind.match]
        names += ["id", *(what for what in kind.counts if what != "sizes")]
        declared = name.text in self.program.elements.known
        self.program.report(_not_given(name, kind.name, kind.span, names, declared))

    def matched(self, path: tree.Path, bound: Bound, match: model.Match) -> Value | None:
        if match.kind not in ("exact", "optional") or (
            match.kind == "optional" and self.use in ("match", "port")
        ):
            self.program.report(_no_single_value(path.span, path.text, match.kind, match.span))
            return None
        return self.made(path, bound, match.element, match.kind == "optional")

    def made(
        self, path: tree.Path, bound: Bound, element: model.Element, optional: bool
    ) -> Value | None:
        if element.kind in ("bytes", "name"):
            self.program.report(_only_matched(path, element))
            return None
        expr = model.Attribute(
            bound.name, bound.kind, element.name, element.width, element.kind, optional
        )
        return of_width(
            expr, element.width, element.kind, path.span, f"`{path.text}`", element.span
        )

    def all_of(self, path: tree.Path) -> Held | None:
        """An element that holds several values, how many at most, and where it is declared."""
        if path.parts[0].text not in {*self.scope.names, *self.program.rules.known}:
            self.program.report(no_list(path.span, "no element of a rule"))
            return None
        value = replace(self, use="list").attribute(replace(path, index=None))
        if value is None:
            return None
        assert isinstance(value.expr, model.Attribute)
        element = self.program.elements.known[value.expr.element]
        if not element.most:
            self.program.report(no_list(path.span, "holds one value", element.span))
            return None
        return value.expr, element.most, element.span

    def require(self, bound: Bound, element: model.Element) -> None:
        """What is read here every rule must give, where it has the values of the arms around."""
        when = tuple((f.element, f.values) for f in self.scope.facts if f.binding == bound.name)
        references = ("port",) if self.use == "port" else ()
        required = model.Requirement(element.name, when, references)
        known = self.program.required.setdefault(bound.kind, [])
        if required not in known:
            known.append(required)


# ---- errors ---------------------------------------------------------------------------------


def _reference_read(span: Span, element: model.Element) -> Diagnostic:
    return errors.wrong_kind(
        span,
        "a reference",
        "a value",
        element.span,
        "`match` on it: each arm binds what it refers to",
    )


def _not_given(
    name: tree.Name, kind: str, where: Span, elements: Sequence[str], declared: bool
) -> Diagnostic:
    near = "" if declared else did_you_mean(name.text, elements)
    if not (declared or near) and (later := planned(name.span)):
        return later
    hint = f"add `{name.text}` to the `gives` of `{kind}`"
    return error(
        "H0272",
        f"a rule of kind `{kind}` has no `{name.text}`",
        (name.span, "not an element of the rule"),
        (where, f"has {', '.join(elements)}"),
        help=near or hint,
    )


def _decides_only(name: tree.Name, kind: model.RuleKind, word: str) -> Diagnostic:
    return error(
        "H0272",
        f"the {word} of a rule is not read",
        (name.span, "says which of several rules is found, and no more"),
        (kind.span, f"has it as its {word}"),
        help="declare another element for a value that stages read, and give that: `gives …`",
    )


def _not_counted(name: tree.Name, kind: model.RuleKind) -> Diagnostic:
    counts = f"counts {listed(kind.counts)}" if kind.counts else "declared without `counts`"
    wanted = ", ".join(w for w in ("packets", "bytes", "sizes") if w in (*kind.counts, name.text))
    return error(
        "H0378",
        f"rules of kind `{kind.name}` do not count {name.text}",
        (name.span, "read here"),
        (kind.span, counts),
        help=f"let the kind count them: `counts {wanted}`",
    )


def _by_size(name: tree.Name, rule: str) -> Diagnostic:
    return error(
        "H0378",
        "a stage does not read packets by size",
        (name.span, "counted for `helioctl stats`"),
        help=f"`{rule}.packets` is their sum; what a stage counts itself is in a state",
    )


def _no_single_value(span: Span, what: str, kind: str, where: Span) -> Diagnostic:
    return error(
        "H0273",
        f"`{what}` has no single value",
        (span, "read as a value"),
        (where, f"matched by `{kind}`"),
        help="match it `exact`, or give the rule another element for the value",
    )


def _only_matched(path: tree.Path, element: model.Element) -> Diagnostic:
    return error(
        "H0474",
        f"`{path.text}` is {KINDS[element.kind]}, which no stage reads",
        (path.span, "read here"),
        (element.span, f"declared as {element.type}"),
        help="match it in the rule, and give a number that stands for it",
    )
