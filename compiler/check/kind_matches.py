"""What rules of a kind match: fields and elements of one type, and ways to match that fit it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Literal, get_args

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, Diagnostics, did_you_mean, error
from ...lang.text.source import Span
from .. import model
from . import errors
from .edges import CheckedGraph
from .elements import Elements
from .packets import PacketNames
from .values import WIDEST

Kind = Literal["exact", "lpm", "optional", "ternary", "range"]
MATCH_KINDS: tuple[Kind, ...] = get_args(Kind)


class Matches:
    def __init__(self, elements: Elements, checked: CheckedGraph, found: Diagnostics) -> None:
        self.elements, self.checked, self.found = elements, checked, found

    def of(
        self, rule: tree.Rule, use: Callable[[tree.Name], model.Element | None]
    ) -> tuple[model.Match, ...]:
        """`use`: the element that a clause names, if the rule may have it."""
        clauses = (c for c in rule.clauses if isinstance(c, tree.Match))
        made = (self.match(c, use(c.element)) for c in clauses)
        return tuple(m for m in made if m is not None)

    def match(self, clause: tree.Match, element: model.Element | None) -> model.Match | None:
        kind = next((k for k in MATCH_KINDS if k == clause.kind.text), None)
        if kind is None:
            self.found.add(_no_such_match(clause.kind, MATCH_KINDS))
        expr = self.operand(clause, element)
        if element is None or expr is None or kind is None:
            return None
        where = self.type_span(element)
        allowed = _allowed(element)
        if kind not in allowed:
            self.found.add(_match_kind_of(clause.kind, element.type, where, allowed))
            return None
        return model.Match(element, kind, expr, True, clause.span)

    def operand(
        self, clause: tree.Match, element: model.Element | None
    ) -> model.Packet | model.Layer4 | model.Arrival | model.Given | None:
        """What of a packet is matched; of the element's type."""
        word = clause.operand.text
        if element is not None and element.most:
            self.differs(clause, element, "a value", "a single value")
            return None
        if word in ("port", "given"):
            if element is None:
                return None
            if element.kind in ("bytes", "name"):
                self.differs(clause, element, "a value", "a number or an address")
                return None
            by_port = element.references == ("port",)
            if by_port if word == "port" else by_port or not element.references:
                return model.Arrival() if word == "port" else model.Given(element.width)
            self.differs(clause, element, "a port" if word == "port" else "a value", "port")
            return None
        value = PacketNames(self.checked, self.found).matched(clause.operand)
        if value is None or element is None:
            return None
        if element.references:
            self.differs(clause, element, "a value", "a value")
            return None
        expr = value.expr
        if isinstance(expr, model.Announced):
            self.found.add(_no_operand(clause.operand.span, clause, expr))
            return None
        assert isinstance(expr, model.Packet | model.Layer4)
        field_kind = expr.kind if isinstance(expr, model.Packet) else "uint"
        if field_kind in model.NAME_KINDS and element.kind == "name":
            assert isinstance(expr, model.Packet)
            return replace(expr, width=element.width)
        if (element.kind, element.width) != (field_kind, expr.width):
            type_ = _type_of(field_kind, expr.width)
            self.differs(clause, element, type_, type_)
            return None
        return expr

    def differs(self, clause: tree.Match, element: model.Element, is_: str, expected: str) -> None:
        self.found.add(
            _match_differs(
                clause.element,
                "a reference" if element.references else element.type,
                self.type_span(element),
                clause.operand.span,
                is_,
                f"declare `{element.name}` as {expected}",
            )
        )

    def type_span(self, element: model.Element) -> Span:
        written = self.elements.written[element.name]
        return written.types[0].span.to(written.types[-1].span)


def _type_of(kind: model.Kind, width: int) -> str:
    """A type as it is declared."""
    match kind:
        case "uint":
            return f"u{width}"
        case "bytes":
            return f"bytes[{width // 8}]"
        case "name" | "text":
            return "name[64]"
    return kind


def _allowed(element: model.Element) -> tuple[Kind, ...]:
    """The match kinds that go with the element's type."""
    if element.references:
        return ("exact", "optional")
    if element.kind == "name":
        return ("exact", "optional", "ternary")
    if element.kind == "bytes":
        return ("exact", "optional", "lpm", "ternary")
    if element.kind == "mac":
        return ("exact", "optional", "ternary")
    if element.width > WIDEST:
        return ("exact", "optional", "lpm", "ternary")
    return MATCH_KINDS


# ---- errors ---------------------------------------------------------------------------------


def _match_differs(
    element: tree.Name, is_: str, where: Span, operand: Span, field: str, help: str
) -> Diagnostic:
    return error(
        "H0255",
        f"`{element.text}` cannot match `{operand.text}`",
        (operand, f"this is {field}"),
        (where, f"`{element.text}` is {is_}"),
        help=help,
    )


#: By the words of others.
_MEANT = {
    "longest": "a prefix is matched by `lpm`",
    "mask": "a value under a mask is matched by `ternary`",
    "prefix": "a prefix is matched by `lpm`",
    "selector": "one of several by a hash is a kind of its own: `spread R[1..16] over hash(…)`",
    "wildcard": "a value under a mask is matched by `ternary`, one or nothing by `optional`",
}


def _no_such_match(kind: tree.Name, kinds: Iterable[str]) -> Diagnostic:
    known = list(kinds)
    return error(
        "H0256",
        f"there is no match kind `{kind.text}`",
        (kind.span, f"kinds are {', '.join(known)}"),
        help=_MEANT.get(kind.text.lower())
        or did_you_mean(kind.text, known)
        or f"use one of {', '.join(known)}",
    )


def _match_kind_of(kind: tree.Name, type_: str, where: Span, allowed: Sequence[str]) -> Diagnostic:
    return error(
        "H0257",
        f"`{kind.text}` does not go with the type `{type_}`",
        (kind.span, "cannot match this way"),
        (where, f"declared as {type_}"),
        help=f"use {' or '.join(allowed)}",
    )


def _no_operand(span: Span, clause: tree.Match, said: model.Announced) -> Diagnostic:
    value = f"{said.chain}.{said.by}"
    return errors.wrong_kind(
        span,
        "what stands behind a chain",
        "a field of a header",
        help=f"write `given`, and say it where the rule is looked up: "
        f"`find KIND({clause.element.text} = {value})`",
    )
