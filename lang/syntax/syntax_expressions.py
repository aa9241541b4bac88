"""Names and expressions of ANTLR contexts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, cast

from .. import tree
from ..text import literals
from ..text.diagnostics import Diagnostic, Label
from ..text.source import Source, Span
from ..tree.operators import COMPARISONS, PRECEDENCE, PRECEDENCE_BEFORE
from .lexer import DEEPEST, Lexed, Token
from .print_expr import bracketed

Context = Any  # of the generated parser
MOST_OPERATORS = 2 * DEEPEST
"""In one expression, however nested."""

_OPERATORS = {*COMPARISONS, *PRECEDENCE, "~", "and", "or", "not"}


def is_token(child: Any, kind: str) -> bool:
    return type(child) is Token and child.kind == kind


class ExpressionBuilder:
    """Builds names, numbers and expressions; collects errors that the grammar allows. `as_before`:
    operators bind by the precedence before that of P4-16."""

    def __init__(self, source: Source, lexed: Lexed, as_before: bool = False) -> None:
        self.source = source
        self.lexed = lexed
        self.as_before = as_before
        self.errors: list[Diagnostic] = []
        self.named = False
        self.registers = {
            name.text for word, name in pairwise(lexed.tokens) if word.kind == "registers"
        }

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
        """A `number` or a `place`."""
        token = context.children[0]
        if type(token) is Token:
            return self._number(token)
        self.named = True
        name = self.name(token)
        return tree.Number(name.span, 0, name.text, named=True)

    def _number(self, token: Token) -> tree.Number:
        return tree.Number(self.at(token), literals.number(token.text) or 0, token.text)

    def known(self, context: Context) -> tree.Number | tree.Address | tree.Path:
        """A literal, or the name of a constant."""
        inner = context.children[0]
        if is_token(inner.children[0], "NUMBER") or is_token(inner.children[0], "ADDRESS"):
            return self.literal(inner)
        self.named = True
        name = self.name(inner)
        return tree.Path(name.span, (name,))

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
            for before, token in pairwise(self.lexed.tokens[first:last]):
                prefix = token.kind == "/" and before.kind == "ADDRESS"
                operators += token.kind in _OPERATORS and not prefix
                if operators > MOST_OPERATORS:
                    where = self.at(token)
                    self.errors.append(_too_many_operators(where))
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
        if first.kind == "meter":
            _, rule, *rest = context.children
            given = self.name(rest[1]) if is_token(rest[0], "from") else None
            colours = rest[3:] if given else rest[1:]
            named = tuple(self.name(each) for each in colours[::2])
            return tree.Metered(self.span(context), self.name(rule), named, given)
        if first.kind == "not" or first.kind == "~":
            operand = self.inner(context.children[-1])
            end, operator = context.stop.stop, cast(Literal["not", "~"], first.kind)
            for token in reversed(context.children[:-1]):
                operand = tree.Unary(Span(self.source, token.start, end), operator, operand)
            return operand
        if first.kind == "NUMBER" or first.kind == "ADDRESS":
            return self.literal(context)
        name = tree.Name(self.at(first), first.text)
        return tree.Path(name.span, (name,))

    def operation(self, children: list[Any]) -> tree.Expr:
        """Operands and operators of one level, from the left."""
        if children[1].kind in PRECEDENCE:
            return self.arithmetic(children[::2], children[1::2])
        left = self.inner(children[0])
        for i in range(1, len(children), 2):
            token, right = children[i], children[i + 1]
            span = self.between(children[0], right)
            compares = token.kind in COMPARISONS or token.kind in ("in", "is", "gives")
            if compares and i > 1:
                self.errors.append(_chained(self.at(token), self.at(children[1])))
                break
            if token.kind == "in":
                left = tree.In(span, left, self.set(right))
            elif token.kind == "is":
                left = tree.Is(span, self.subject(left, "is"), self.name(right))
            elif token.kind == "gives":
                rule = self.subject(left, "gives")
                if len(rule.parts) > 1:
                    self.errors.append(_subject(rule.span, "gives"))
                left = tree.Gives(span, rule.parts[-1], self.name(right))
            else:
                left = tree.Binary(span, token.kind, left, self.inner(right))
        return left

    def arithmetic(self, operands: list[Context], operators: list[Token]) -> tree.Expr:
        """What is computed of these operands. A mix of operators whose value was another when they
        bound otherwise needs brackets."""
        values = [self.inner(operand) for operand in operands]
        kinds = [token.kind for token in operators]
        made = self._computed(operands, values, kinds, PRECEDENCE)
        if PRECEDENCE_BEFORE.keys() >= set(kinds):
            before = self._computed(operands, values, kinds, PRECEDENCE_BEFORE)
            if self.as_before:
                return before
            if (was := bracketed(before)) != (now := bracketed(made)):
                mixed = next(t for t in operators if t.kind != kinds[0])
                self.errors.append(_binds_anew(self.at(mixed), was, now))
        return made

    def _computed(
        self,
        contexts: list[Context],
        values: list[tree.Expr],
        kinds: list[str],
        binds: Mapping[str, int],
    ) -> tree.Expr:
        """The tightest operators first, of one level from the left, each on what is beside it by
        then."""
        runs = {i: (i, i, value) for i, value in enumerate(values)}  # by their first and last
        for at in sorted(range(len(kinds)), key=lambda i: -binds[kinds[i]]):
            first, _, left = runs[at]
            _, last, right = runs[at + 1]
            span = self.between(contexts[first], contexts[last])
            made = first, last, tree.Binary(span, kinds[at], left, right)
            runs[first] = runs[last] = made
        return runs[0][2]

    def set(self, context: Context) -> tuple[tree.Range, ...]:
        """The members of a `set`, which may stand without braces if it is one."""
        members = (c for c in context.children if type(c) is not Token)
        return tuple(self.set_member(member) for member in members)

    def set_member(self, context: Context) -> tree.Range:
        low, *rest = context.children
        high = self.expr(rest[1]) if rest else None
        return tree.Range(self.span(context), self.expr(low), high)

    def dotted(self, context: Context) -> tree.Path:
        """A path in an expression: an index makes its first name a node of a stack, its last one an
        element of an array."""
        first, *rest = (c for c in context.children if type(c) is not Token)
        return self.path_of(first, rest)

    def path_of(self, first: Context, rest: Sequence[Context]) -> tree.Path:
        """A name, and what stands behind it: indexes, then steps."""
        name, span = self.name(first), self.between(first, rest[-1] if rest else first)
        if rest and rest[0].start.kind == "[":
            index, *column = map(self.inner, rest[0].children[1::3])
            if name.text in self.registers and len(rest) == 1:
                return tree.Path(span, (name,), index, *column)
            if isinstance(index, tree.Number) and not column:
                name = self.indexed(rest[0], name, index)
            else:
                self.errors.append(_no_node_index(self.span(rest[0]), name.text, len(rest) > 1))
            rest = rest[1:]
        index_last = self.steps_index(rest)
        names = (name, *(self.name(step.children[0]) for step in rest))
        return tree.Path(span, names, index_last)

    def steps_index(self, steps: Sequence[Context]) -> tree.Expr | None:
        """The index behind the last name of a path, if there is one: it can stand nowhere else."""
        index = None
        for step in steps:
            if len(step.children) > 1 and step is not steps[-1]:
                self.errors.append(_misplaced_index(self.span(step.children[1])))
            elif len(step.children) > 1:
                index, *column = map(self.inner, step.children[1].children[1::3])
                if column:
                    self.errors.append(_misplaced_index(column[0].span))
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


def _binds_anew(where: Span, was: str, now: str) -> Diagnostic:
    labels = (Label(where, f"`{now}` as in P4-16; it was `{was}`"),)
    return Diagnostic(
        "H0120",
        "this mix of operators has another value than it had",
        labels,
        "put the brackets that you mean; `helioc fmt --migrate` puts those that keep the old value",
    )


def _chained(where: Span, first: Span) -> Diagnostic:
    labels = (Label(where, "a second one"), Label(first, "the first comparison"))
    return Diagnostic(
        "H0113",
        "comparisons cannot be chained",
        labels,
        "join two comparisons with `and`: `1 <= n and n <= 4`",
    )


def _too_many_operators(where: Span) -> Diagnostic:
    return Diagnostic(
        "H0108",
        f"this expression has more than {MOST_OPERATORS} operators",
        (Label(where, "one too many"),),
        "name parts of it by `let`; for one of several values write `a in { 6, 17 }`",
    )


def _subject(where: Span, verb: str) -> Diagnostic:
    expected = (
        "a rule, such as `PDR gives FAR`" if verb == "gives" else "such as `user.dst is local`"
    )
    labels = (Label(where, f"must be a name, {expected}"),)
    return Diagnostic("H0114", f"`{verb}` can only be said of a name", labels)


def _no_node_index(where: Span, name: str, member: bool) -> Diagnostic:
    """`member`: a name follows."""
    labels = (Label(where, "no number of a node of a stack, as in `vlan[1]`"),)
    help = (
        "a node has a number, `vlan[1].id`; an entry of a state is found by its key: `recall S(…)`"
        if member
        else f"an array is declared, `registers {name}[4096] : u32`; an entry of a state is found "
        "by its key, `recall S(…) else {…}`, and then changed: `S.n += 1`"
    )
    return Diagnostic("H0116", "an index cannot stand here", labels, help)


def _misplaced_index(where: Span) -> Diagnostic:
    labels = (Label(where, "neither a node of a stack nor an element of an array"),)
    return Diagnostic(
        "H0116",
        "an index cannot stand here",
        labels,
        "write a number behind a node, as in `vlan[1].id`, or the index last: `srh.segments[0]`",
    )
