"""Names and expressions of ANTLR contexts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import tree
from ..text import literals
from ..text.diagnostics import Diagnostic, Label
from ..text.source import Source, Span
from .lexer import DEEPEST, Lexed, Token, too_deep

Context = Any  # of the generated parser
MOST_OPERATORS = 2 * DEEPEST
"""In one expression, however nested."""

_COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
_OPERATORS = {*_COMPARISONS, "+", "-", "*", "&", "<<", ">>", "and", "or", "not"}


def is_token(child: Any, kind: str) -> bool:
    return type(child) is Token and child.kind == kind


class ExpressionBuilder:
    """Builds names, numbers and expressions; collects errors that the grammar allows."""

    def __init__(self, source: Source, lexed: Lexed) -> None:
        self.source = source
        self.lexed = lexed
        self.errors: list[Diagnostic] = []

    # ---- helpers -----------------------------------------------------------------------------

    def span(self, context: Context) -> Span:
        return Span(self.source, context.start.start, context.stop.stop)

    def at(self, token: Token) -> Span:
        return Span(self.source, token.start, token.stop)

    def between(self, first: Context, last: Context) -> Span:
        return Span(self.source, first.start.start, last.stop.stop)

    def doc(self, context: Context) -> str:
        """The doc comment above `context`, without markers."""
        comments = self.lexed.docs.pop(context.start.tokenIndex, ())
        return "\n".join(c.text[3:].removeprefix(" ") for c in comments)

    def name(self, context: Context) -> tree.Name:
        token = context.children[0]
        return tree.Name(self.at(token), token.text)

    def names(self, contexts: Sequence[Context]) -> tuple[tree.Name, ...]:
        return tuple(self.name(c) for c in contexts if type(c) is not Token)

    def path(self, context: Context) -> tree.Path:
        first, *rest = context.children
        return tree.Path(self.span(context), (self.node_name(first), *self.names(rest)))

    def node_name(self, context: Context) -> tree.Name:
        """`vlan` or `vlan[1]`; the first of a stack is the plain name."""
        children = context.children
        name = self.name(children[0])
        return name if len(children) == 1 else self.indexed(context, name, self.number(children[2]))

    def indexed(self, end: Context, name: tree.Name, index: tree.Number) -> tree.Name:
        """`name` with an index that ends where `end` does."""
        text = f"{name.text}[{index.value}]" if index.value else name.text
        return tree.Name(name.span.to(self.span(end)), text)

    def number(self, context: Context) -> tree.Number:
        return self._number(context.children[0])

    def _number(self, token: Token) -> tree.Number:
        return tree.Number(self.at(token), literals.number(token.text) or 0, token.text)

    def literal(self, context: Context) -> tree.Number | tree.Address:
        token = context.children[0]
        if token.kind == "NUMBER":
            return self._number(token)
        kind, value = literals.address(token.text) or ("ip4", 0)
        return tree.Address(self.at(token), kind, value, token.text)

    # ---- expressions -------------------------------------------------------------------------

    def expr(self, context: Context) -> tree.Expr:
        """An outermost `expr` or `sum`: one that is not part of another."""
        first, last = context.start.tokenIndex, context.stop.tokenIndex
        operators = 0
        if last - first > MOST_OPERATORS:
            for token in self.lexed.tokens[first:last]:
                operators += token.kind in _OPERATORS
                if operators > MOST_OPERATORS:
                    where = self.at(token)
                    self.errors.append(too_deep(where, MOST_OPERATORS))
                    return tree.Number(where, 0, "0")
        return self.inner(context)

    def inner(self, context: Context) -> tree.Expr:
        children = context.children
        while len(children) == 1 and type(children[0]) is not Token:
            context = children[0]
            children = context.children
        first = children[0]
        if type(first) is Token:
            return self.leaf(context, first)
        second = children[1]
        if is_token(second, "("):
            return self.call(context)
        path = type(second) is not Token or second.kind == "."
        return self.dotted(context) if path else self.operation(children)

    def leaf(self, context: Context, first: Token) -> tree.Expr:
        if first.kind == "(":
            return self.inner(context.children[1])
        if first.kind == "not":
            operand = self.inner(context.children[-1])
            end = context.stop.stop
            for token in reversed(context.children[:-1]):
                operand = tree.Unary(Span(self.source, token.start, end), "not", operand)
            return operand
        if first.kind == "NUMBER" or first.kind == "ADDRESS":
            return self.literal(context)
        name = tree.Name(self.at(first), first.text)
        return tree.Path(name.span, (name,))

    def operation(self, children: list[Any]) -> tree.Expr:
        """Operands and operators of one level, from the left."""
        left = self.inner(children[0])
        for i in range(1, len(children), 2):
            token, right = children[i], children[i + 1]
            span = self.between(children[0], right)
            compares = token.kind in _COMPARISONS or token.kind in ("is", "gives")
            if compares and i > 1:
                self.errors.append(_chained(self.at(token), self.at(children[1])))
                break
            if token.kind == "is":
                left = tree.Is(span, self.subject(left, "is"), self.name(right))
            elif token.kind == "gives":
                rule = self.subject(left, "gives")
                if len(rule.parts) > 1:
                    self.errors.append(_subject(rule.span, "gives"))
                left = tree.Gives(span, rule.parts[-1], self.name(right))
            else:
                left = tree.Binary(span, token.kind, left, self.inner(right))
        return left

    def dotted(self, context: Context) -> tree.Path:
        """A path in an expression: an index makes its first name a node of a stack, its last one an
        element of an array."""
        first, *rest = (c for c in context.children if type(c) is not Token)
        name = self.name(first)
        if rest and rest[0].start.kind == "[":
            number = self.inner(rest[0].children[1])
            if isinstance(number, tree.Number):
                name = self.indexed(rest[0], name, number)
            else:
                self.errors.append(_misplaced_index(self.span(rest[0])))
            rest = rest[1:]
        index = self.steps_index(rest)
        names = (name, *(self.name(step.children[0]) for step in rest))
        return tree.Path(self.span(context), names, index)

    def steps_index(self, steps: Sequence[Context]) -> tree.Expr | None:
        """The index behind the last name of a path, if there is one: it can stand nowhere else."""
        index = None
        for step in steps:
            if len(step.children) > 1 and step is not steps[-1]:
                self.errors.append(_misplaced_index(self.span(step.children[1])))
            elif len(step.children) > 1:
                index = self.inner(step.children[1].children[1])
        return index

    def subject(self, left: tree.Expr, verb: str) -> tree.Path:
        if isinstance(left, tree.Path) and left.index is None:
            return left
        self.errors.append(_subject(left.span, verb))
        return tree.Path(left.span, (tree.Name(left.span, left.span.text),))

    def call(self, context: Context) -> tree.Call:
        children = context.children
        arguments: tuple[tree.Expr, ...] = ()
        if len(children) == 4:
            arguments = tuple(self.inner(c) for c in children[2].children[::2])
        return tree.Call(self.span(context), self.name(children[0]), arguments)


# ---- errors ---------------------------------------------------------------------------------


def _chained(where: Span, first: Span) -> Diagnostic:
    labels = (Label(where, "a second one"), Label(first, "the first comparison"))
    return Diagnostic(
        "H0113",
        "comparisons cannot be chained",
        labels,
        "join two comparisons with `and`: `1 <= n and n <= 4`",
    )


def _subject(where: Span, verb: str) -> Diagnostic:
    expected = (
        "a rule, such as `PDR gives FAR`" if verb == "gives" else "such as `user.dst is local`"
    )
    labels = (Label(where, f"must be a name, {expected}"),)
    return Diagnostic("H0114", f"`{verb}` can only be said of a name", labels)


def _misplaced_index(where: Span) -> Diagnostic:
    labels = (Label(where, "neither a node of a stack nor an element of an array"),)
    return Diagnostic(
        "H0116",
        "an index cannot stand here",
        labels,
        "write a number behind a node, as in `vlan[1].id`, or the index last: `srh.segments[0]`",
    )
