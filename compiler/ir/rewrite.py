"""Functions rewritten, expression by expression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from operator import is_
from typing import Any, TypeVar

from ...lang.text import frozen
from ...lang.text.frozen import Frozen
from .edits import Copy
from .expr import Expr, Part
from .nodes import Block, Body, If, Only, Repeat, Statement
from .walk import holding

Change = Callable[[Expr], Expr]
Node = TypeVar("Node", bound=Frozen)


def rebuilt(x: Expr, change: Change) -> Expr:
    """An expression, inner ones changed first."""
    return change(_with(x, lambda part: rebuilt(part, change)))


def with_expressions(s: Statement, change: Change) -> Statement:
    """A statement with its own expressions changed, each from the inside; not those of statements
    within it."""
    return _with(s, lambda part: rebuilt(part, change))


def _with(node: Node, change: Change) -> Node:
    """A node whose expressions are changed."""
    changed: dict[str, Any] = {}
    for name in holding(type(node)):
        part = getattr(node, name)
        made = _changed(part, change)
        if made is not part:
            changed[name] = made
    return frozen.changed(node, changed) if changed else node


def _changed(part: Any, change: Change) -> Any:
    if isinstance(part, Expr):
        return change(part)
    if isinstance(part, Part):
        return _with(part, change)
    if isinstance(part, tuple) and part and isinstance(part[0], Expr | Part):
        made = tuple(_changed(each, change) for each in part)
        return part if all(map(is_, made, part)) else made
    return part


def rewritten(body: Body, change: Change) -> Body:
    """All expressions of a body changed, inner ones first. What is as it was is the same object,
    with what is kept about it."""
    made = tuple(_statement(s, change) for s in body)
    return body if all(map(is_, made, body)) else made


def _statement(s: Statement, change: Change) -> Statement:
    s = with_expressions(s, change)
    match s:
        case If(_, then, otherwise):
            ways = rewritten(then, change), rewritten(otherwise, change)
            if ways[0] is not then or ways[1] is not otherwise:
                return replace(s, then=ways[0], otherwise=ways[1])
        case Block(body) | Only(_, body) | Copy(body) | Repeat(_, _, _, body):
            made = rewritten(body, change)
            if made is not body:
                return replace(s, body=made)
    return s
