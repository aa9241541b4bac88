"""ANTLR contexts to the nodes of `tree/`: one method for each rule of `Helio.g4`.

A context is read by its children, in order; `parser.py` puts plain tokens among them. This is what
a cold start can afford: the generated accessors search all children for each question.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import tree
from ..text.diagnostics import Diagnostic, Label
from ..text.source import Source, Span
from .lexer import Lexed, Token, plain
from .syntax_expressions import Context, is_token
from .syntax_statements import StatementBuilder


def build(
    source: Source, lexed: Lexed, file: Context, as_before: bool
) -> tuple[tree.Program, list[Diagnostic]]:
    """The whole tree, and what is wrong although the grammar allows it. `as_before`: see
    `ExpressionBuilder`."""
    builder = _Builder(source, lexed, as_before)
    program = builder.file(file)
    return program, builder.errors


class _Builder(StatementBuilder):
    # ---- file --------------------------------------------------------------------------------

    def file(self, context: Context) -> tree.Program:
        imports: list[tree.Import] = []
        headers: list[tree.Header] = []
        constants: list[tree.Constant] = []
        pipelines: list[tree.Pipeline] = []
        for child in context.children[:-1]:
            first = child.start.kind
            if first == "import":
                modules = [c for c in child.children if type(c) is not Token]
                for c in modules:
                    path = tree.Path(self.span(c), self.names(c.children))
                    imports.append(tree.Import(path.span, path))
            elif first == "pipeline":
                pipelines.append(self.pipeline(child))
            elif first == "const":
                constants.append(self.decl_const(child, child.children, self.span(child)))
            else:
                headers.append(self.header(child))
        comments = [*self.lexed.comments]
        for left in self.lexed.docs.values():  # nothing took them
            comments.extend(tree.Comment(c.span, plain(c.text), c.own_line) for c in left)
        comments.sort(key=lambda c: c.span.start)
        span = Span(self.source, 0, len(self.source.text))
        return tree.Program(
            span,
            self.source,
            tuple(imports),
            tuple(headers),
            tuple(constants),
            tuple(pipelines),
            tuple(comments),
            self.named,
        )

    def decl_const(self, context: Context, children: list[Any], span: Span) -> tree.Constant:
        doc = self.doc(context)
        return tree.Constant(span, self.name(children[1]), self.set(children[3]), doc)

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
        if type(first) is not Token or first.kind == ":" or is_token(children[1], ":"):
            return self.field(context)
        if first.kind == "when":
            i = next(i for i, c in enumerate(children) if is_token(c, "{"))
            fields = tuple(self.field(c) for c in children[i + 1 : -1])
            return tree.Group(span, self.names(children[1:i]), fields)
        value = self.expr(children[-1])
        if is_token(children[1], "to"):
            return tree.Reach(span, value)
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
        default, parts, options = None, [], None
        for i, child in enumerate(rest):
            if type(child) is not Token and is_token(child.children[0], "("):
                options = self.options(child)
            if is_token(child, "="):
                default = self.expr(rest[i + 1])
            elif is_token(child, "{"):
                parts = [self.field(c) for c in rest[i + 1 : -1]]
        kind = self.type(rest[0])
        return tree.Field(self.span(context), name, kind, default, tuple(parts), doc, options)

    def options(self, context: Context) -> tree.Options:
        children = context.children
        close = next(i for i, c in enumerate(children) if is_token(c, ")"))
        brace = next(i for i, c in enumerate(children) if is_token(c, "{"))
        heading: list[tree.Field] = []
        said: list[tree.Said] = []
        for part in children[1:close:2]:
            first, *rest = part.children
            if is_token(first, ":"):
                heading.append(tree.Field(self.span(part), None, self.type(rest[0])))
            elif is_token(rest[0], ":"):
                heading.append(tree.Field(self.span(part), self.name(first), self.type(rest[1])))
            else:
                said.append(tree.Said(self.span(part), self.name(first), self.expr(rest[0])))
        within = self.expr(children[close + 2]) if is_token(children[close + 1], "within") else None
        members = tuple(self.option(c) for c in children[brace + 1 : -1])
        return tree.Options(
            self.span(context),
            tuple(heading),
            tuple(said),
            within,
            self.number(children[brace - 1]),
            members,
        )

    def option(self, context: Context) -> tree.Option:
        doc, children = self.doc(context), context.children
        brace = next(i for i, c in enumerate(children) if is_token(c, "{"))
        return tree.Option(
            self.span(context),
            self.name(children[0]),
            self.name(children[2]),
            tuple(self.range(c) for c in children[4:brace:2]),
            tuple(self.field(c) for c in children[brace + 1 : -1]),
            doc,
        )

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
        return tree.Ports(span, tuple(self.role(c) for c in children[1::2]))

    def role(self, context: Context) -> tree.Role:
        children, link = context.children, None
        if len(children) > 2 and is_token(children[-2], "link"):
            children, link = children[:-2], self.name(children[-1])
        name, *rest = (c for c in children if type(c) is not Token)
        at = tree.Path(self.between(rest[0], rest[-1]), self.names(rest)) if rest else None
        return tree.Role(self.span(context), self.name(name), at, link)

    def decl_parser(self, context: Context, children: list[Any], span: Span) -> tree.Parser:
        parts = [(c, c.children[0]) for c in children[2:-1]]
        edges = tuple(self.edge(c) for c, first in parts if not is_token(first, "chain"))
        chains = tuple(self.chain(c) for c, first in parts if is_token(first, "chain"))
        return tree.Parser(span, edges, chains)

    def chain(self, context: Context) -> tree.Chain:
        children = context.children
        name, by, most = (children[i] for i in (1, 3, 5))
        members = tuple(self.chain_member(c) for c in children[7:-1])
        return tree.Chain(
            self.span(context), self.name(name), self.name(by), self.number(most), members
        )

    def chain_member(self, context: Context) -> tree.ChainMember:
        children = context.children
        alias = self.name(children[2]) if is_token(children[1], "as") else None
        start = next(i for i, c in enumerate(children) if is_token(c, "when")) + 1
        written = next((i for i, c in enumerate(children) if is_token(c, "write")), len(children))
        return tree.ChainMember(
            self.span(context),
            self.name(children[0]),
            alias,
            tuple(self.range(c) for c in children[start:written:2]),
            tuple(self.known(c) for c in children[written + 1 :]),
        )

    def edge(self, context: Context) -> tree.Edge:
        children = context.children
        alias: tree.Name | None = None
        guard: list[tree.Test] = []
        write: list[tree.Expr] = []
        ports: tuple[tree.Name, ...] = ()
        clause, fits = "", list[tree.Name]()
        for child in children[3:]:
            if type(child) is Token and clause == "on":  # `on push`
                ports = (tree.Name(self.at(child), child.text),)
            elif type(child) is Token:
                clause = clause if child.kind in (",", "and") else child.kind
            elif clause == "as":
                alias = self.name(child)
            elif clause == "if":
                fits.append(self.name(child))
            elif clause == "when":
                guard.append(self.test(child))
            elif clause == "write":
                write.append(self.known(child))
            else:
                ports = self.names(child.children)
        source, ends = self.name(children[0]), children[2].children
        target, depth = self.name(ends[0]), self.number(ends[2]) if len(ends) > 1 else None
        return tree.Edge(
            self.span(context),
            source,
            target,
            alias,
            tuple(guard),
            tuple(write),
            ports,
            depth,
            self.fits(fits),
        )

    def fits(self, words: list[tree.Name]) -> tree.Name | None:
        """Behind `if`."""
        if not words:
            return None
        said = tree.Name(words[0].span.to(words[-1].span), " ".join(w.text for w in words))
        if said.text != "it fits":
            self.errors.append(_not_it_fits(said.span))
        return said

    def test(self, context: Context) -> tree.Test:
        children = context.children
        field, ahead = self.name(children[0]), None
        if not is_token(children[1], "="):
            ahead = self.name(children[1])
            children = children[1:]
            if field.text != "next":
                self.errors.append(_not_next(field.span))
        alternatives = tuple(self.range(c) for c in children[2::2])
        return tree.Test(self.span(context), field, alternatives, ahead)

    def range(self, context: Context) -> tree.Range:
        children = context.children
        low = self.known(children[0])
        second = self.known(children[2]) if len(children) > 1 else None
        masked = second is not None and children[1].kind == "&"
        high, mask = (None, second) if masked else (second, None)
        return tree.Range(self.span(context), low, high, mask)

    def decl_ie(self, context: Context, children: list[Any], span: Span) -> tree.InformationElement:
        doc = self.doc(context)
        brace = next((i for i, c in enumerate(children) if is_token(c, "{")), None)
        bracket = next((i for i, c in enumerate(children) if is_token(c, "[")), None)
        types = self.names(children[5 : bracket or brace])
        symbols = children[brace + 1 : -1 : 2] if brace is not None else []
        return tree.InformationElement(
            span,
            self.name(children[1]),
            self.number(children[3]),
            types,
            tuple(self.symbol(c) for c in symbols),
            doc,
            self.number(children[bracket + 1]) if bracket is not None else None,
        )

    def symbol(self, context: Context) -> tree.Symbol:
        doc = self.doc(context)
        name, _, number, *reserved = context.children
        return tree.Symbol(
            self.span(context), self.name(name), self.number(number), bool(reserved), doc
        )

    def decl_rule(self, context: Context, children: list[Any], span: Span) -> tree.Rule:
        doc = self.doc(context)
        named = is_token(children[5], "named")
        by = self.name(children[6 + named]) if is_token(children[5 + named], "by") else None
        clauses: list[tree.RuleClause] = []
        for child in children[6 + named + 2 * (by is not None) : -1]:
            clauses.extend(self.clause(child))
        capacity = self.number(children[3])
        return tree.Rule(span, self.name(children[1]), capacity, named, tuple(clauses), doc, by)

    def clause(self, context: Context) -> list[tree.RuleClause]:
        children, span = context.children, self.span(context)
        word = children[0].kind
        if word == "match":
            return [self.match(c) for c in children[1:]]
        if word == "gives":
            alternatives = len(children) > 2 and children[2].kind == "|"
            return [tree.GivesList(span, self.names(children[1:]), alternatives)]
        if word == "counts":
            return [self.counts(children, span)]
        if word == "meters":
            return [self.meters(children, span)]
        if word == "emit":
            return [self.raised(children, span)]
        if word == "lists":
            least, most = self.number(children[3]), self.number(children[5])
            return [tree.Lists(span, self.name(children[1]), least, most)]
        if word == "spread":
            weight = self.name(children[8]) if children[7].kind == "by" else None
            least, most = self.number(children[3]), self.number(children[5])
            over = self.call(children[-1])
            return [tree.Spread(span, self.name(children[1]), least, most, weight, over)]
        return [tree.Priority(span, word, self.name(children[1]))]

    def raised(self, children: list[Any], span: Span) -> tree.Raise:
        *emitted, word, amount, unit = children
        fields = tuple(self.assign(c) for c in emitted[3:-1:2])
        of = self.name(word), self.number(amount), self.name(unit)
        return tree.Raise(span, self.name(emitted[1]), fields, *of)

    def match(self, context: Context) -> tree.Match:
        element, kind, operand = context.children
        return tree.Match(
            self.span(context), self.name(element), self.name(kind), self.path(operand)
        )

    def decl_state(self, context: Context, children: list[Any], span: Span) -> tree.State:
        doc = self.doc(context)
        clauses = tuple(self.state_clause(c) for c in children[6:-1])
        return tree.State(span, self.name(children[1]), self.number(children[3]), clauses, doc)

    def counts(self, children: list[Any], span: Span) -> tree.Counts:
        return tree.Counts(span, self.names(children[1].children))

    def meters(self, children: list[Any], span: Span) -> tree.Meters:
        unit = self.name(children[3]) if len(children) > 2 else None
        return tree.Meters(span, self.names(children[1].children), unit)

    def state_clause(self, context: Context) -> tree.StateClause:
        children, span = context.children, self.span(context)
        word = children[0].kind
        if word == "counts":
            return self.counts(children, span)
        if word == "meters":
            return self.meters(children, span)
        if word == "ages":
            return tree.Ages(span, self.number(children[1]), len(children) > 2)
        return tree.Slots(span, word, tuple(self.slot(c) for c in children[1::2]))

    def slot(self, context: Context) -> tree.Slot:
        name, _, type_ = context.children
        return tree.Slot(self.span(context), self.name(name), self.name(type_))

    def decl_registers(self, context: Context, children: list[Any], span: Span) -> tree.Registers:
        doc = self.doc(context)
        shape = tuple(self.number(c) for c in children[3:-2:3])
        return tree.Registers(span, self.name(children[1]), shape, self.name(children[-1]), doc)

    def decl_event(self, context: Context, children: list[Any], span: Span) -> tree.Event:
        doc = self.doc(context)
        end = next(i for i, c in enumerate(children) if is_token(c, "}"))
        fields = tuple(self.slot(c) for c in children[3:end:2])
        limit = self.limit(children[end + 2 :]) if children[end + 1 :] else None
        return tree.Event(span, self.name(children[1]), fields, limit, doc)

    def limit(self, children: list[Any]) -> tree.Limit:
        """What stands behind the word."""
        most, _, per, *of_each = children
        each = self.number(of_each[1]) if of_each else None
        by = self.names(of_each[3].children) if of_each else ()
        last = of_each[3] if of_each else per
        return tree.Limit(self.between(most, last), self.number(most), self.name(per), each, by)

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
        said = children[3]
        if type(said) is Token:
            words: Any = " ".join(token.text for token in children[3:-1])
            where = Span(self.source, said.start, children[-2].stop)
            return tree.Hook(span, self.name(children[1]), tree.Verdict(where, words))
        return tree.Hook(span, self.name(children[1]), self.verdict(said))

    def decl_run(self, context: Context, children: list[Any], span: Span) -> tree.Run:
        return tree.Run(span, self.names(children[1:]))


_CLAUSES: dict[str, Callable[[Span, tree.Expr], tree.Member]] = {
    "size": tree.Size,
    "extent": tree.Extent,
    "accept": tree.Accept,
    "require": tree.Require,
    "payload": tree.Payload,
}


# ---- errors ---------------------------------------------------------------------------------


def _not_it_fits(where: Span) -> Diagnostic:
    return Diagnostic(
        "H0334",
        f"an edge cannot ask `if {where.text}`",
        (Label(where, "expected `it fits`"),),
        "write `if it fits`, or a test of a field: `when FIELD = VALUE`",
    )


def _not_next(where: Span) -> Diagnostic:
    labels = (Label(where, "expected `next`, or nothing between the field and its `=`"),)
    return Diagnostic(
        "H0117",
        f"`{where.text}` cannot be followed by a type",
        labels,
        "write `FIELD = VALUE`, or `next u4 = VALUE` for the bits behind the header",
    )
