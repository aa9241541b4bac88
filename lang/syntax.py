"""ANTLR contexts to the nodes of `tree.py`: one method for each rule of `Helio.g4`.

A context is read by its children, in order; `parser.py` puts plain tokens among them. This is what
a cold start can afford: the generated accessors search all children for each question.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import faults, literals, tree
from .diagnostics import Diagnostic
from .lexer import DEEPEST, Lexed, Token, plain
from .source import Source, Span

Context = Any  # of the generated parser
MOST_OPERATORS = 2 * DEEPEST

_COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
_OPERATORS = {*_COMPARISONS, "+", "-", "*", "&", "<<", ">>", "and", "or", "not"}


def build(source: Source, lexed: Lexed, file: Context) -> tuple[tree.Program, list[Diagnostic]]:
    """The whole tree, and what is wrong although the grammar allows it."""
    builder = _Builder(source, lexed)
    program = builder.file(file)
    return program, builder.faults


def _is(child: Any, kind: str) -> bool:
    return type(child) is Token and child.kind == kind


class _Builder:
    def __init__(self, source: Source, lexed: Lexed) -> None:
        self.source = source
        self.lexed = lexed
        self.faults: list[Diagnostic] = []

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
        return tree.Path(self.span(context), self.names(context.children))

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

    # ---- file --------------------------------------------------------------------------------

    def file(self, context: Context) -> tree.Program:
        imports: list[tree.Import] = []
        headers: list[tree.Header] = []
        pipelines: list[tree.Pipeline] = []
        for child in context.children[:-1]:
            first = child.start.kind
            if first == "import":
                paths = [c for c in child.children if type(c) is not Token]
                imports.extend(tree.Import(self.span(c), self.path(c)) for c in paths)
            elif first == "pipeline":
                pipelines.append(self.pipeline(child))
            else:
                headers.append(self.header(child))
        comments = [*self.lexed.comments]
        for left in self.lexed.docs.values():  # nothing took them
            comments.extend(tree.Comment(c.span, plain(c.text), c.own_line) for c in left)
        comments.sort(key=lambda c: c.span.start)
        span = Span(self.source, 0, len(self.source.text))
        return tree.Program(
            span, self.source, tuple(imports), tuple(headers), tuple(pipelines), tuple(comments)
        )

    # ---- headers -----------------------------------------------------------------------------

    def header(self, context: Context) -> tree.Header:
        doc = self.doc(context)
        children = context.children
        link = children[0].kind == "link"
        name = self.name(children[1 + link])
        members = tuple(self.member(c) for c in children[3 + link : -1])
        return tree.Header(self.span(context), name, link, members, doc)

    def member(self, context: Context) -> tree.Member:
        children, span = context.children, self.span(context)
        first = children[0]
        if type(first) is not Token or first.kind == ":" or _is(children[1], ":"):
            return self.field(context)
        if first.kind == "when":
            fields = tuple(self.field(c) for c in children[3:-1])
            return tree.Group(span, self.name(children[1]), fields)
        value = self.expr(children[-1])
        return _CLAUSES[first.kind](span, value)

    def field(self, context: Context) -> tree.Field:
        """A `field`, or a `member` that is one."""
        doc = self.doc(context)
        first, rest = context.children[0], context.children[-1].children
        name = None
        if type(first) is not Token:
            name = self.name(first)
        elif first.kind != ":":
            name = tree.Name(self.at(first), first.text)
        default, parts = None, []
        for i, child in enumerate(rest):
            if _is(child, "="):
                default = self.expr(rest[i + 1])
            elif _is(child, "{"):
                parts = [self.field(c) for c in rest[i + 1 : -1]]
        kind = self.type(rest[0])
        return tree.Field(self.span(context), name, kind, default, tuple(parts), doc)

    def type(self, context: Context) -> tree.Type:
        children = context.children
        count = self.expr(children[2]) if len(children) > 1 else None
        maximum = self.number(children[5]) if len(children) > 4 else None
        return tree.Type(self.span(context), self.name(children[0]), count, maximum)

    # ---- pipelines ---------------------------------------------------------------------------

    def pipeline(self, context: Context) -> tree.Pipeline:
        doc = self.doc(context)
        children = context.children
        declarations = tuple(self.declaration(c.children[0]) for c in children[3:-1])
        return tree.Pipeline(self.span(context), self.name(children[1]), declarations, doc)

    def declaration(self, context: Context) -> tree.Declaration:
        build = getattr(self, "decl_" + context.children[0].kind)
        result: tree.Declaration = build(context, context.children, self.span(context))
        return result

    def decl_ports(self, context: Context, children: list[Any], span: Span) -> tree.Ports:
        return tree.Ports(span, self.names(children[1].children))

    def decl_parser(self, context: Context, children: list[Any], span: Span) -> tree.Parser:
        return tree.Parser(span, tuple(self.edge(c) for c in children[2:-1]))

    def edge(self, context: Context) -> tree.Edge:
        children = context.children
        alias: tree.Name | None = None
        guard: list[tree.Test] = []
        write: list[tree.Expr] = []
        ports: tuple[tree.Name, ...] = ()
        clause = ""
        for child in children[3:]:
            if type(child) is Token:
                clause = clause if child.kind in (",", "and") else child.kind
            elif clause == "as":
                alias = self.name(child)
            elif clause == "when":
                guard.append(self.test(child))
            elif clause == "write":
                write.append(self.literal(child))
            else:
                ports = self.names(child.children)
        source, target = self.name(children[0]), self.name(children[2])
        return tree.Edge(
            self.span(context), source, target, alias, tuple(guard), tuple(write), ports
        )

    def test(self, context: Context) -> tree.Test:
        children = context.children
        alternatives = tuple(self.range(c) for c in children[2::2])
        return tree.Test(self.span(context), self.name(children[0]), alternatives)

    def range(self, context: Context) -> tree.Range:
        children = context.children
        low = self.literal(children[0])
        second = self.literal(children[2]) if len(children) > 1 else None
        masked = second is not None and children[1].kind == "&"
        high, mask = (None, second) if masked else (second, None)
        return tree.Range(self.span(context), low, high, mask)

    def decl_ie(
        self, context: Context, children: list[Any], span: Span
    ) -> tree.InformationElement:
        doc = self.doc(context)
        brace = next((i for i, c in enumerate(children) if _is(c, "{")), None)
        types = self.names(children[5:brace])
        symbols = children[brace + 1 : -1 : 2] if brace is not None else []
        return tree.InformationElement(
            span,
            self.name(children[1]),
            self.number(children[3]),
            types,
            tuple(self.symbol(c) for c in symbols),
            doc,
        )

    def symbol(self, context: Context) -> tree.Symbol:
        name, _, number = context.children
        return tree.Symbol(self.span(context), self.name(name), self.number(number))

    def decl_rule(self, context: Context, children: list[Any], span: Span) -> tree.Rule:
        doc = self.doc(context)
        named = children[5].kind == "named"
        clauses: list[tree.RuleClause] = []
        for child in children[6 + named : -1]:
            clauses.extend(self.clause(child))
        capacity = self.number(children[3])
        return tree.Rule(span, self.name(children[1]), capacity, named, tuple(clauses), doc)

    def clause(self, context: Context) -> list[tree.RuleClause]:
        children, span = context.children, self.span(context)
        word = children[0].kind
        if word == "match":
            return [self.match(c) for c in children[1:]]
        if word == "gives":
            alternatives = len(children) > 2 and children[2].kind == "|"
            return [tree.GivesList(span, self.names(children[1:]), alternatives)]
        if word == "counts":
            return [tree.Counts(span, self.names(children[1].children))]
        if word == "spread":
            weight = self.name(children[8]) if children[7].kind == "by" else None
            least, most = self.number(children[3]), self.number(children[5])
            over = self.call(children[-1])
            return [tree.Spread(span, self.name(children[1]), least, most, weight, over)]
        return [tree.Priority(span, word, self.name(children[1]))]

    def match(self, context: Context) -> tree.Match:
        element, kind, operand = context.children
        return tree.Match(
            self.span(context), self.name(element), self.name(kind), self.path(operand)
        )

    def decl_default(self, context: Context, children: list[Any], span: Span) -> tree.Default:
        return tree.Default(span, self.verdict(children[1]))

    def decl_action(self, context: Context, children: list[Any], span: Span) -> tree.Action:
        doc = self.doc(context)
        name, parameter = self.name(children[1]), self.name(children[3])
        return tree.Action(span, name, parameter, self.block(children[5]), doc)

    def decl_stage(self, context: Context, children: list[Any], span: Span) -> tree.Stage:
        doc = self.doc(context)
        return tree.Stage(span, self.name(children[1]), self.block(children[2]), doc)

    def decl_on(self, context: Context, children: list[Any], span: Span) -> tree.Hook:
        return tree.Hook(span, self.name(children[1]), self.verdict(children[3]))

    def decl_run(self, context: Context, children: list[Any], span: Span) -> tree.Run:
        return tree.Run(span, self.names(children[1:]))

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
        target = tree.Path(self.between(parts[0], parts[-1]), self.names(parts))
        return tree.Assign(span, target, self.expr(value))

    def if_else(self, context: Context) -> tree.If:
        children = context.children
        branches = [(context, children[1], children[2])]
        last: Context = None
        for branch in children[3:]:
            if last is not None:
                first = self.at(last.start)
                self.faults.append(faults.second_else(self.at(branch.start), first))
            elif len(branch.children) == 2:
                last = branch
            else:
                branches.append((branch, branch.children[2], branch.children[3]))
        if len(branches) > DEEPEST:
            self.faults.append(faults.too_deep(self.at(branches[DEEPEST][0].start), DEEPEST))
            branches = branches[:DEEPEST]
        otherwise = self.block(last.children[1]) if last is not None else None
        end = self.span(context).end
        for branch, condition, then in reversed(branches):
            # The `if` of an `else if` begins behind its `else`.
            opening = branch.children[1] if branch is not context else branch.children[0]
            span = Span(self.source, opening.start, end)
            result = tree.If(span, self.expr(condition), self.block(then), otherwise)
            otherwise = tree.Block(span, (result,))
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
        return self.block(last.children[1]) if last.start.kind == "else" else None

    def stmt_find(self, children: list[Any], span: Span) -> tree.Find:
        return tree.Find(span, self.name(children[1]), self.otherwise(children))

    def stmt_choose(self, children: list[Any], span: Span) -> tree.Choose:
        kind, origin = self.name(children[1]), self.path(children[3])
        return tree.Choose(span, kind, origin, self.otherwise(children))

    def stmt_push(self, children: list[Any], span: Span) -> tree.Push:
        before = None
        if _is(children[-2], "before"):
            before = self.name(children[-1])
            children = children[:-2]
        return tree.Push(span, tuple(self.pushed(c) for c in children[1::2]), before)

    def pushed(self, context: Context) -> tree.PushElement:
        children = context.children
        fields = []
        for child in children[2:-1:2]:
            path, _, value = child.children
            fields.append(tree.Assign(self.span(child), self.path(path), self.expr(value)))
        return tree.PushElement(self.span(context), self.name(children[0]), tuple(fields))

    def stmt_pop(self, children: list[Any], span: Span) -> tree.Pop:
        return tree.Pop(span, self.name(children[2]))

    def stmt_clamp(self, children: list[Any], span: Span) -> tree.Clamp:
        return tree.Clamp(span, self.name(children[1]))

    def stmt_forward(self, children: list[Any], span: Span) -> tree.Forward:
        return tree.Forward(span, self.path(children[1]), self.path(children[3]))

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
                    self.faults.append(faults.too_deep(where, MOST_OPERATORS))
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
        second = children[1].kind
        if second == "(":
            return self.call(context)
        return self.path(context) if second == "." else self.operation(children)

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
                self.faults.append(faults.chained(self.at(token), self.at(children[1])))
                break
            if token.kind == "is":
                left = tree.Is(span, self.subject(left, "is"), self.name(right))
            elif token.kind == "gives":
                rule = self.subject(left, "gives")
                if len(rule.parts) > 1:
                    self.faults.append(faults.subject(rule.span, "gives"))
                left = tree.Gives(span, rule.parts[-1], self.name(right))
            else:
                left = tree.Binary(span, token.kind, left, self.inner(right))
        return left

    def subject(self, left: tree.Expr, verb: str) -> tree.Path:
        if isinstance(left, tree.Path):
            return left
        self.faults.append(faults.subject(left.span, verb))
        return tree.Path(left.span, (tree.Name(left.span, left.span.text),))

    def call(self, context: Context) -> tree.Call:
        children = context.children
        arguments: tuple[tree.Expr, ...] = ()
        if len(children) == 4:
            arguments = tuple(self.inner(c) for c in children[2].children[::2])
        return tree.Call(self.span(context), self.name(children[0]), arguments)


_CLAUSES: dict[str, Callable[[Span, tree.Expr], tree.Member]] = {
    "size": tree.Size,
    "extent": tree.Extent,
    "accept": tree.Accept,
    "require": tree.Require,
    "payload": tree.Payload,
}
