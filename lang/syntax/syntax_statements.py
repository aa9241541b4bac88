"""Statements and expressions of ANTLR contexts, and the small things that all rules need."""

from __future__ import annotations

import sys
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
MOST_BRANCHES = 512
"""`if` and `else if`, of a chain and those that it stands in."""
_FRAMES = 10_000
"""Of Python, for each branch is within the one before: all that goes through a tree takes some."""

_COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
_OPERATORS = {*_COMPARISONS, "+", "-", "*", "&", "<<", ">>", "and", "or", "not"}


def is_token(child: Any, kind: str) -> bool:
    return type(child) is Token and child.kind == kind


class StatementBuilder:
    def __init__(self, source: Source, lexed: Lexed) -> None:
        self.source = source
        self.lexed = lexed
        self.faults: list[Diagnostic] = []
        self.branches = 0  # of the chains that are being built

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

    # ---- statements --------------------------------------------------------------------------

    def block(self, context: Context) -> tree.Block:
        statements = tuple(self.statement(c) for c in context.children[1:-1])
        return tree.Block(self.span(context), statements)

    def statement(self, context: Context) -> tree.Statement:
        first, span = context.children[0], self.span(context)
        if type(first) is Token:
            build = getattr(self, "stmt_" + first.kind)
            result: tree.Statement = build(context.children, span)
            return result
        word = first.start.kind
        if word == "if":
            return self.if_else(first)
        if word == "match":
            return self.match_on(first)
        if len(context.children) == 1:
            return self.verdict(first)
        if context.children[1].kind == "(":
            return tree.Apply(span, self.name(first), self.name(context.children[2]))
        return self.assign_to(context.children[:-2], context.children[-1], span)

    def assign_to(self, parts: list[Any], value: Context, span: Span) -> tree.Assign:
        name, rest = self.name(parts[0]), parts[1:]
        if rest and is_token(rest[0], "["):
            name, rest = self.indexed(rest[1], name, self.number(rest[1])), rest[3:]
        steps = [c for c in rest if type(c) is not Token]
        index = self.steps_index(steps)
        names = (name, *(self.name(step.children[0]) for step in steps))
        end = self.span(steps[-1]) if steps else name.span
        return tree.Assign(span, tree.Path(name.span.to(end), names, index), self.expr(value))

    def if_else(self, context: Context) -> tree.If:
        children = context.children
        branches = [(context, children[1], children[2])]
        last: Context = None
        for branch in children[3:]:
            if last is not None:
                first = self.at(last.start)
                self.faults.append(_second_else(self.at(branch.start), first))
            elif len(branch.children) == 2:
                last = branch
            else:
                branches.append((branch, branch.children[2], branch.children[3]))
        left = max(0, MOST_BRANCHES - self.branches)
        if len(branches) > left:
            where = self.at(branches[left][0].start)
            self.faults.append(_too_many_branches(where, MOST_BRANCHES))
            branches = branches[: max(1, left)]
        self.branches += len(branches)
        if self.branches > DEEPEST:
            sys.setrecursionlimit(max(_FRAMES, sys.getrecursionlimit()))
        otherwise = self.block(last.children[1]) if last is not None else None
        end = self.span(context).end
        for branch, condition, then in reversed(branches):
            # The `if` of an `else if` begins behind its `else`.
            opening = branch.children[1] if branch is not context else branch.children[0]
            span = Span(self.source, opening.start, end)
            result = tree.If(span, self.expr(condition), self.block(then), otherwise)
            otherwise = tree.Block(span, (result,))
        self.branches -= len(branches)
        return result

    def match_on(self, context: Context) -> tree.MatchOn:
        children = context.children
        arms = tuple(self.arm(c) for c in children[3:-1])
        return tree.MatchOn(self.span(context), self.path(children[1]), arms)

    def arm(self, context: Context) -> tree.Arm:
        children = context.children
        if type(children[-1]) is Token:  # a comma
            children = children[:-1]
        binding = self.name(children[1]) if len(children) == 4 else None
        body = children[-1]
        if body.start.kind == "{":
            block = self.block(body)
        else:
            block = tree.Block(self.span(body), (self.statement(body),))
        return tree.Arm(self.between(children[0], body), self.name(children[0]), binding, block)

    def otherwise(self, children: list[Any]) -> tree.Block | None:
        last = children[-1]
        if is_token(last, ")") or last.start.kind != "else":
            return None
        return self.block(last.children[1])

    def stmt_find(self, children: list[Any], span: Span) -> tree.Find:
        given = self.given(children) if len(children) > 2 and is_token(children[2], "(") else ()
        return tree.Find(span, self.name(children[1]), given, self.otherwise(children))

    def given(self, children: list[Any]) -> tuple[tree.Assign, ...]:
        """What stands in the brackets of a look-up."""
        end = next(i for i, c in enumerate(children) if is_token(c, ")"))
        return tuple(self.assign(c) for c in children[3:end:2])

    def stmt_recall(self, children: list[Any], span: Span) -> tree.Recall:
        name, given = self.name(children[1]), self.given(children)
        return tree.Recall(span, name, given, self.otherwise(children))

    def stmt_remember(self, children: list[Any], span: Span) -> tree.Remember:
        return tree.Remember(span, self.name(children[1]), self.given(children))

    def stmt_choose(self, children: list[Any], span: Span) -> tree.Choose:
        kind, origin = self.name(children[1]), self.path(children[3])
        return tree.Choose(span, kind, origin, self.otherwise(children))

    def stmt_push(self, children: list[Any], span: Span) -> tree.Push:
        place: dict[str, tree.Name] = {}
        for word in ("before", "behind"):
            if is_token(children[-2], word):
                place[word] = self.node_name(children[-1])
                children = children[:-2]
                break
        path = tuple(self.pushed(c) for c in children[1::2])
        return tree.Push(span, path, place.get("before"), place.get("behind"))

    def stmt_append(self, children: list[Any], span: Span) -> tree.Append:
        path = tuple(self.pushed(c) for c in children[1:-2:2])
        return tree.Append(span, path, self.node_name(children[-1]))

    def pushed(self, context: Context) -> tree.PushElement:
        children = context.children
        fields = tuple(self.assign(child) for child in children[2:-1:2])
        return tree.PushElement(self.span(context), self.node_name(children[0]), fields)

    def assign(self, context: Context) -> tree.Assign:
        path, _, value = context.children
        return tree.Assign(self.span(context), self.path(path), self.expr(value))

    def stmt_pop(self, children: list[Any], span: Span) -> tree.Pop | tree.PopLink:
        if is_token(children[1], "to"):
            return tree.Pop(span, self.node_name(children[2]))
        return tree.PopLink(span, self.node_name(children[1]))

    def stmt_clamp(self, children: list[Any], span: Span) -> tree.Clamp:
        return tree.Clamp(span, self.name(children[1]))

    def stmt_swap(self, children: list[Any], span: Span) -> tree.Swap:
        return tree.Swap(span, self.path(children[1]), self.path(children[3]))

    def stmt_bridge(self, children: list[Any], span: Span) -> tree.Bridge:
        return tree.Bridge(span, self.path(children[1]))

    def stmt_queue(self, children: list[Any], span: Span) -> tree.Queue:
        return tree.Queue(span, self.expr(children[1]))

    def stmt_count(self, children: list[Any], span: Span) -> tree.Count:
        return tree.Count(span, self.name(children[1]))

    def stmt_forward(self, children: list[Any], span: Span) -> tree.Forward:
        return tree.Forward(span, self.path(children[1]), self.dotted(children[3]))

    def verdict(self, context: Context) -> tree.Verdict:
        words: Any = " ".join(token.text for token in context.children)
        return tree.Verdict(self.span(context), words)

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
                    self.faults.append(too_deep(where, MOST_OPERATORS))
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
                self.faults.append(_chained(self.at(token), self.at(children[1])))
                break
            if token.kind == "is":
                left = tree.Is(span, self.subject(left, "is"), self.name(right))
            elif token.kind == "gives":
                rule = self.subject(left, "gives")
                if len(rule.parts) > 1:
                    self.faults.append(_subject(rule.span, "gives"))
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
                self.faults.append(_misplaced_index(self.span(rest[0])))
            rest = rest[1:]
        index = self.steps_index(rest)
        names = (name, *(self.name(step.children[0]) for step in rest))
        return tree.Path(self.span(context), names, index)

    def steps_index(self, steps: Sequence[Context]) -> tree.Expr | None:
        """The index behind the last name of a path, if there is one: it can stand nowhere else."""
        index = None
        for step in steps:
            if len(step.children) > 1 and step is not steps[-1]:
                self.faults.append(_misplaced_index(self.span(step.children[1])))
            elif len(step.children) > 1:
                index = self.inner(step.children[1].children[1])
        return index

    def subject(self, left: tree.Expr, verb: str) -> tree.Path:
        if isinstance(left, tree.Path) and left.index is None:
            return left
        self.faults.append(_subject(left.span, verb))
        return tree.Path(left.span, (tree.Name(left.span, left.span.text),))

    def call(self, context: Context) -> tree.Call:
        children = context.children
        arguments: tuple[tree.Expr, ...] = ()
        if len(children) == 4:
            arguments = tuple(self.inner(c) for c in children[2].children[::2])
        return tree.Call(self.span(context), self.name(children[0]), arguments)


# ---- errors ---------------------------------------------------------------------------------


def _too_many_branches(where: Span, limit: int) -> Diagnostic:
    labels = (Label(where, f"this is branch {limit + 1}"),)
    hint = f"at most {limit} are read: rules of a table may say which case it is"
    return Diagnostic("H0108", "this has too many `else if`", labels, hint)


def _chained(where: Span, first: Span) -> Diagnostic:
    labels = (Label(where, "a second one"), Label(first, "the first comparison"))
    return Diagnostic(
        "H0113",
        "comparisons cannot be chained",
        labels,
        "join two comparisons with `and`: `1 <= n and n <= 4`",
    )


def _subject(where: Span, verb: str) -> Diagnostic:
    wanted = "a rule, such as `PDR gives FAR`" if verb == "gives" else "such as `user.dst is local`"
    labels = (Label(where, f"must be a name, {wanted}"),)
    return Diagnostic("H0114", f"`{verb}` can only be said of a name", labels)


def _second_else(where: Span, first: Span) -> Diagnostic:
    labels = (Label(where, "this can never run"), Label(first, "the last branch"))
    return Diagnostic("H0115", "nothing can follow a plain `else`", labels, "remove one of them")


def _misplaced_index(where: Span) -> Diagnostic:
    labels = (Label(where, "neither a node of a stack nor an element of an array"),)
    return Diagnostic(
        "H0116",
        "an index cannot stand here",
        labels,
        "write a number behind a node, as in `vlan[1].id`, or the index last: `srh.segments[0]`",
    )
