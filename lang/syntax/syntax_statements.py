"""Statements of ANTLR contexts."""

from __future__ import annotations

import sys
from itertools import pairwise
from typing import Any

from .. import tree
from ..text.diagnostics import Diagnostic, Label
from ..text.source import Source, Span
from .lexer import DEEPEST, Lexed, Token
from .syntax_expressions import Context, ExpressionBuilder, is_token

MOST_BRANCHES = 512
"""`if` and `else if`, of a chain and those that it stands in."""
_ASKED = ("find", "recall", "remember", "exchange")
_FRAMES = 10_000
"""Python's recursion limit for nested branches: each one is within the one before."""


class StatementBuilder(ExpressionBuilder):
    def __init__(self, source: Source, lexed: Lexed, as_before: bool = False) -> None:
        super().__init__(source, lexed, as_before)
        self.branches = 0  # of the chains that are being built

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
        if word in _ASKED:
            otherwise = context.children[1:]
            block = self.block(otherwise[0].children[1]) if otherwise else None
            return self.found(first, span, block)
        if len(context.children) == 1:
            return self.verdict(first)
        if is_token(context.children[1], "("):
            return tree.Apply(span, self.name(first), self.name(context.children[2]))
        *parts, becomes, value = context.children
        operator = becomes.start.text[:-1]
        assign = self.assign_to(parts, value, span)
        return tree.Update(span, assign.target, operator, assign.value) if operator else assign

    def assign_to(self, parts: list[Any], value: Context, span: Span) -> tree.Assign:
        first, *rest = (c for c in parts if type(c) is not Token)
        return tree.Assign(span, self.path_of(first, rest), self.expr(value))

    def if_else(self, context: Context) -> tree.If:
        children = context.children
        branches = [(context, children[1], children[2])]
        last: Context = None
        for branch in children[3:]:
            if last is not None:
                first = self.at(last.start)
                self.errors.append(_second_else(self.at(branch.start), first))
            elif len(branch.children) == 2:
                last = branch
            else:
                branches.append((branch, branch.children[2], branch.children[3]))
        left = max(0, MOST_BRANCHES - self.branches)
        if len(branches) > left:
            where = self.at(branches[left][0].start)
            self.errors.append(_too_many_branches(where, MOST_BRANCHES, "`else if`"))
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
            asked = self.asked(condition)
            result = tree.If(span, asked, self.block(then), otherwise)
            otherwise = tree.Block(span, (result,))
        self.branches -= len(branches)
        return result

    def asked(self, context: Context) -> tree.Expr | tree.Find | tree.Asked:
        """What stands behind `if`."""
        first = context.children[0]
        if any(is_token(first.children[0], word) for word in _ASKED):
            return self.found(first, self.span(context), None)
        return self.expr(first)

    def found(
        self, context: Context, span: Span, otherwise: tree.Block | None
    ) -> tree.Find | tree.Asked:
        """A look-up, and what is done where it finds nothing."""
        children = context.children
        if children[0].kind == "exchange":
            before, after = self.expr(children[3]), self.expr(children[5])
            return tree.Exchange(span, self.path(children[1]), before, after, otherwise)
        name = self.name(children[1])
        if len(children) > 2 and is_token(children[2], "from"):
            return tree.Find(span, name, (), otherwise, self.path(children[3]))
        given = self.given(children) if len(children) > 2 else ()
        if children[0].kind == "find":
            return tree.Find(span, name, given, otherwise)
        made = tree.Recall if children[0].kind == "recall" else tree.Remember
        return made(span, name, given, otherwise)

    def match_on(self, context: Context) -> tree.MatchOn:
        children = context.children
        arms = tuple(self.arm(c) for c in children[3:-1])
        if len(arms) > MOST_BRANCHES:
            where = arms[MOST_BRANCHES].patterns[0].span
            self.errors.append(_too_many_branches(where, MOST_BRANCHES, "arms"))
        if len(arms) > DEEPEST:  # each is within the `else` of the one before
            sys.setrecursionlimit(max(_FRAMES, sys.getrecursionlimit()))
        return tree.MatchOn(self.span(context), self.expr(children[1]), arms)

    def arm(self, context: Context) -> tree.Arm:
        children = context.children
        if type(children[-1]) is Token:  # a comma
            children = children[:-1]
        arrow = next(i for i, c in enumerate(children) if is_token(c, "=>"))
        bound = arrow > 1 and not is_token(children[arrow - 2], "|")
        binding = self.name(children[arrow - 1]) if bound else None
        patterns = tuple(self.pattern(c) for c in children[: arrow - bound : 2])
        body = children[-1]
        if body.start.kind == "{":
            block = self.block(body)
        else:
            block = tree.Block(self.span(body), (self.statement(body),))
        return tree.Arm(self.between(children[0], body), patterns, binding, block)

    def pattern(self, context: Context) -> tree.Range:
        """`DROP`, `17`, `16..47`, `10.0.0.0/8`."""
        first, *rest = context.children
        span = self.span(context)
        if is_token(first.children[0], "NUMBER") or is_token(first.children[0], "ADDRESS"):
            low: tree.Expr = self.literal(first)
        else:
            name = self.name(first)
            low = tree.Path(name.span, (name,))
        if not rest:
            return tree.Range(span, low)
        if rest[0].kind == "..":
            return tree.Range(span, low, self.known(rest[1]))
        return tree.Range(span, tree.Binary(span, "/", low, self._number(rest[1])))

    def otherwise(self, children: list[Any]) -> tree.Block | None:
        last = children[-1]
        if is_token(last, ")") or last.start.kind != "else":
            return None
        return self.block(last.children[1])

    def given(self, children: list[Any]) -> tuple[tree.Assign, ...]:
        """What stands in the brackets of a look-up."""
        end = next(i for i, c in enumerate(children) if is_token(c, ")"))
        return tuple(self.assign(c) for c in children[3:end:2])

    def stmt_forget(self, children: list[Any], span: Span) -> tree.Forget:
        return tree.Forget(span, self.name(children[1]), self.given(children))

    def stmt_choose(self, children: list[Any], span: Span) -> tree.Choose:
        kind, origin = self.name(children[1]), self.path(children[3])
        said = any(is_token(child, "(") for child in children)
        given = self.given(children[2:]) if said else ()
        over = next((self.call(c) for w, c in pairwise(children) if is_token(w, "over")), None)
        return tree.Choose(span, kind, origin, given, over, self.otherwise(children))

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

    def stmt_let(self, children: list[Any], span: Span) -> tree.Let:
        return tree.Let(span, self.name(children[1]), self.expr(children[3]))

    def stmt_clamp(self, children: list[Any], span: Span) -> tree.Clamp:
        return tree.Clamp(span, self.name(children[1]))

    def stmt_swap(self, children: list[Any], span: Span) -> tree.Swap:
        return tree.Swap(span, self.path(children[1]), self.path(children[3]))

    def stmt_bridge(self, children: list[Any], span: Span) -> tree.Bridge:
        return tree.Bridge(span, self.path(children[1]))

    def stmt_reply(self, children: list[Any], span: Span) -> tree.Reply:
        return tree.Reply(span, self.name(children[2]))

    def stmt_copy(self, children: list[Any], span: Span) -> tree.Copy:
        return tree.Copy(span, self.block(children[1]))

    def stmt_mirror(self, children: list[Any], span: Span) -> tree.Mirror:
        most = self.number(children[3]) if len(children) > 2 else None
        return tree.Mirror(span, self.path(children[1]), most)

    def stmt_each(self, children: list[Any], span: Span) -> tree.Each:
        kind, binding, source = (self.name(children[i]) for i in (1, 2, 4))
        return tree.Each(span, kind, binding, source, self.block(children[5]))

    def stmt_queue(self, children: list[Any], span: Span) -> tree.Queue:
        return tree.Queue(span, self.expr(children[1]))

    def stmt_count(self, children: list[Any], span: Span) -> tree.Count:
        return tree.Count(span, self.name(children[1]))

    def stmt_emit(self, children: list[Any], span: Span) -> tree.Emit:
        fields = tuple(self.assign(c) for c in children[3:-1:2])
        return tree.Emit(span, self.name(children[1]), fields)

    def stmt_forward(self, children: list[Any], span: Span) -> tree.Forward:
        return tree.Forward(span, self.path(children[1]), self.dotted(children[3]))

    def verdict(self, context: Context) -> tree.Verdict:
        words: Any = " ".join(token.text for token in context.children)
        return tree.Verdict(self.span(context), words)


# ---- errors ---------------------------------------------------------------------------------


def _too_many_branches(where: Span, limit: int, what: str) -> Diagnostic:
    labels = (Label(where, f"this is branch {limit + 1}"),)
    hint = f"at most {limit} are read: rules of a table may say which case it is"
    return Diagnostic("H0108", f"this has too many {what}", labels, hint)


def _second_else(where: Span, first: Span) -> Diagnostic:
    labels = (Label(where, "this can never run"), Label(first, "the last branch"))
    return Diagnostic("H0115", "nothing can follow a plain `else`", labels, "remove one of them")
