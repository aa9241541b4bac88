"""Walks a parsed file and notes what each name stands for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...lang import tree
from ...lang.syntax.printer import role_text
from ..check.constants import fields
from .symbols import (
    Index,
    Scope,
    Symbol,
    Use,
    base,
    built_in,
    declaration,
    header_symbol,
    of_every_rule,
)


def index(
    program: tree.Program, imported: Iterable[tree.Header], constants: Iterable[tree.Constant]
) -> Index:
    """`imported`: headers of the files that it imports, and their `constants`."""
    return _Walk(program, imported, constants).index


class _Walk:
    def __init__(
        self,
        program: tree.Program,
        imported: Iterable[tree.Header],
        constants: Iterable[tree.Constant],
    ) -> None:
        self.index = Index(known=built_in())
        self.headers: Scope = {h.name.text: header_symbol(h) for h in imported}
        self.roles: Scope = {}
        self.elements: Scope = {}
        self.events: Scope = {}
        self.stages: Scope = {}
        for each in constants:
            self.index.known[each.name.text] = _constant(each)
        self.constants(program.constants)
        for header in program.headers:
            self.headers[header.name.text] = header_symbol(header)
            self.header(header)
        for pipeline in program.pipelines:
            self.pipeline(pipeline)
        self.numbers((program.headers, program.pipelines))

    # ---- notes -------------------------------------------------------------------------------

    def use(self, name: tree.Name, scope: Mapping[str, Symbol]) -> Symbol | None:
        plain = base(name)
        symbol = scope.get(plain.text)
        if symbol is not None:
            self.index.uses.append(Use(plain.span, symbol))
        return symbol

    def declare(self, symbol: Symbol, scope: Scope) -> Symbol:
        known = scope.setdefault(symbol.name, symbol)
        self.index.uses.append(Use(symbol.declared, known))
        return known

    def constants(self, declared: Iterable[tree.Constant]) -> None:
        for each in declared:
            self.declare(_constant(each), self.index.known)
            self.ranges(each.values, self.index.known)

    def numbers(self, part: object) -> None:
        """Constants where numbers stand: capacities, numbers of elements, bounds."""
        if isinstance(part, tree.Number):
            if part.named:
                self.use(tree.Name(part.span, part.text), self.index.known)
        elif isinstance(part, tuple):
            for each in part:
                self.numbers(each)
        elif isinstance(part, tree.Node):
            names: tuple[str, ...] = part.__match_args__[1:]
            for name in names:
                self.numbers(getattr(part, name))

    # ---- headers -----------------------------------------------------------------------------

    def header(self, header: tree.Header) -> None:
        made = self.headers[header.name.text]
        self.index.uses.append(Use(header.name.span, made))
        inside = self.index.known | made.members
        for each in fields(header.members):
            if each.name is not None:
                self.use(each.name, made.members)
            self.expression(each.default, inside)
            self.expression(each.type.count, inside)
            if each.options is not None:
                self.options(each.options, made, inside)
        for member in header.members:
            match member:
                case tree.Group(_, flags):
                    for flag in flags:
                        self.use(flag, made.members)
                case tree.Size() | tree.Extent() | tree.Reach():
                    self.expression(member.value, inside)
                case tree.Accept() | tree.Require() | tree.Payload():
                    self.expression(member.condition, inside)

    def options(self, options: tree.Options, header: Symbol, inside: Mapping[str, Symbol]) -> None:
        """What each begins with is one symbol, whichever option it is read of."""
        heading: Scope = {}
        for each in options.heading:
            if each.name is not None:
                name = each.name
                made = Symbol("field", name.text, name.span, declaration(each))
                self.declare(made, heading)
        self.expression(options.within, inside)
        for said in options.said:
            self.expression(said.value, self.index.known | heading)
        for option in options.members:
            found = self.use(option.name, header.members)
            self.use(option.by, heading)
            self.ranges(option.alternatives, self.index.known)
            if found is not None:
                found.members.update(heading)
                for each in fields(option.fields):
                    if each.name is not None:
                        self.use(each.name, found.members)
                    self.expression(each.type.count, found.members)

    # ---- pipelines ---------------------------------------------------------------------------

    def pipeline(self, pipeline: tree.Pipeline) -> None:
        known, declared = self.index.known, pipeline.declarations
        self.constants(d for d in declared if isinstance(d, tree.Constant))
        for each in declared:
            match each:
                case tree.Ports():
                    for role in each.roles:
                        name, shown = role.name, f"ports {role_text(role)}"
                        self.declare(Symbol("role", name.text, name.span, shown), self.roles)
                case tree.InformationElement():
                    self.element(each)
        for each in declared:
            match each:
                case tree.Rule() | tree.State() | tree.Registers() | tree.Action():
                    self.named(each, known)
                case tree.Stage():
                    self.named(each, self.stages)
                case tree.Event():
                    self.event(each)
                case tree.Parser():
                    self.nodes(each)
        for each in declared:
            if isinstance(each, tree.Rule):
                self.members(each)
        for each in declared:
            self.declaration(each)

    def named(
        self,
        each: tree.Rule | tree.State | tree.Registers | tree.Action | tree.Stage,
        scope: Scope,
    ) -> None:
        sorts = {
            tree.Rule: "rule", tree.State: "state", tree.Registers: "state", tree.Action: "action"
        }  # fmt: skip
        kind = sorts.get(type(each), "stage")
        name = each.name
        made = Symbol(kind, name.text, name.span, declaration(each), each.doc)  # type: ignore[arg-type]
        self.declare(made, scope)
        if isinstance(each, tree.State):
            for slots in (c for c in each.clauses if isinstance(c, tree.Slots)):
                self.slots(slots.slots, made)
            for name in (n for c in each.clauses if isinstance(c, tree.Counts) for n in c.what):
                shown = "what the entry counts"
                self.declare(Symbol("slot", name.text, name.span, shown), made.members)

    def slots(self, slots: Iterable[tree.Slot], of: Symbol) -> None:
        """Of a state, or the fields of an event."""
        for slot in slots:
            symbol = Symbol("slot", slot.name.text, slot.name.span, declaration(slot))
            self.declare(symbol, of.members)

    def event(self, each: tree.Event) -> None:
        name = each.name
        made = Symbol("event", name.text, name.span, declaration(each), each.doc)
        self.declare(made, self.events)
        self.slots(each.fields, made)
        for field in each.limit.by if each.limit else ():
            self.use(field, made.members)

    def members(self, rule: tree.Rule) -> None:
        """What stands behind a rule's name: elements, and kinds of rules that it gives."""
        made, every = self.index.known[rule.name.text], self.elements | self.index.known
        named = [c.element for c in rule.clauses if isinstance(c, tree.Match | tree.Priority)]
        named += [n for c in rule.clauses if isinstance(c, tree.GivesList) for n in c.names]
        named += [n for c in rule.clauses if isinstance(c, tree.Meters) for n in c.elements]
        counted = {n.text for c in rule.clauses if isinstance(c, tree.Counts) for n in c.what}
        made.members.update({n.text: every[n.text] for n in named if n.text in every})
        for name, symbol in of_every_rule().items():
            if name in counted | {"id"}:
                made.members.setdefault(name, symbol)

    def element(self, each: tree.InformationElement) -> None:
        name = each.name
        made = Symbol("element", name.text, name.span, declaration(each), each.doc)
        self.declare(made, self.elements)
        for s in each.symbols:
            symbol = Symbol("symbol", s.name.text, s.name.span, declaration(s), s.doc)
            self.declare(symbol, made.members)

    def nodes(self, parser: tree.Parser) -> None:
        """A node is declared where an edge names it, else where the first leads to it, or starts at
        it."""
        for chain in parser.chains:
            self.chain(chain)
        for edge in parser.edges:
            if edge.alias:
                self.node(edge.alias, self.use(edge.target, self.headers), edge)
        for edge in parser.edges:
            if edge.target.text in self.index.known and not edge.alias:
                self.use(edge.target, self.index.known)
            elif not edge.alias:
                self.node(edge.target, self.headers.get(base(edge.target).text), edge)
        for edge in parser.edges:
            if edge.source.text not in self.index.known:
                self.node(edge.source, self.headers.get(edge.source.text), edge)
            else:
                self.use(edge.source, self.index.known)

    def chain(self, chain: tree.Chain) -> None:
        """Its headers are nodes; behind its name stands the field that it goes by."""
        fields: Scope = {}
        for member in chain.members:
            if member.alias:
                header = self.use(member.target, self.headers)
                self.node(member.alias, header, member)
            else:
                self.node(member.target, self.headers.get(member.target.text), member)
            header = self.headers.get(member.target.text)
            fields = fields or (header.members if header else {})
        by = {chain.by.text: fields[chain.by.text]} if chain.by.text in fields else {}
        self.use(chain.by, by)
        made = Symbol("node", chain.name.text, chain.name.span, declaration(chain), "", by)
        self.declare(made, self.index.known)

    def node(
        self, name: tree.Name, header: Symbol | None, edge: tree.Edge | tree.ChainMember
    ) -> None:
        known = self.index.known
        if name.text in known:
            self.use(name, known)
            return
        doc = header.doc if header else ""
        shown = declaration(edge) + (f"\n{header.shown}" if header else "")
        members = header.members if header else {}
        self.declare(Symbol("node", name.text, name.span, shown, doc, members), known)

    def declaration(self, each: tree.Declaration) -> None:
        known = self.index.known
        match each:
            case tree.Parser():
                for edge in each.edges:
                    self.edge(edge)
                for chain in each.chains:
                    for member in chain.members:
                        self.ranges(member.alternatives, known)
                        for value in member.write:
                            self.expression(value, known)
            case tree.InformationElement():
                for name in each.types:
                    self.use(name, known)
            case tree.Rule():
                self.rule(each)
            case tree.Event():
                self.types(each.fields)
            case tree.State():
                for clause in each.clauses:
                    self.types(clause.slots if isinstance(clause, tree.Slots) else ())
            case tree.Action():
                self.use(each.parameter, known)
                self.block(each.body, known)
            case tree.Stage():
                known |= self.block(each.body, known)
            case tree.Run():
                for name in each.stages:
                    self.use(name, self.stages)

    def types(self, slots: Iterable[tree.Slot]) -> None:
        """One may be a rule kind."""
        for slot in slots:
            self.use(slot.type, self.index.known)

    def edge(self, edge: tree.Edge) -> None:
        known = self.index.known
        source = known.get(base(edge.source).text)
        for test in edge.guard:
            self.use(test.field, source.members if source else {})
            self.ranges(test.alternatives, known)
        for value in edge.write:
            self.expression(value, known)
        for role in edge.ports:
            self.use(role, self.roles)

    def rule(self, rule: tree.Rule) -> None:
        known = self.index.known
        for clause in rule.clauses:
            match clause:
                case tree.Match():
                    self.use(clause.element, self.elements)
                    self.expression(clause.operand, known)
                case tree.GivesList():
                    for name in clause.names:
                        self.use(name, self.elements | known)
                case tree.Meters():
                    for name in clause.elements:
                        self.use(name, self.elements)
                case tree.Spread():
                    self.use(clause.kind, known)
                    if clause.weight:
                        self.use(clause.weight, self.elements)
                    self.expression(clause.over, known)
                case tree.Lists():
                    self.use(clause.kind, known)
                case tree.Priority():
                    self.use(clause.element, self.elements)
                case tree.Raise():
                    self.assigns(clause.fields, self.use(clause.event, self.events), known)
                    if clause.amount.named and clause.amount.text not in known:  # no constant
                        amount = tree.Name(clause.amount.span, clause.amount.text)
                        self.use(amount, self.elements)

    # ---- statements --------------------------------------------------------------------------

    def block(self, block: tree.Block | None, around: Scope) -> Scope:
        """What its `let`s name: known behind them."""
        named: Scope = {}
        for statement in block.statements if block else ():
            self.statement(statement, around | named, named)
        return named

    def statement(self, s: tree.Statement, scope: Scope, named: Scope) -> None:
        match s:
            case tree.If():
                if isinstance(s.condition, tree.Find | tree.Asked):
                    self.statement(s.condition, scope, named)
                else:
                    self.expression(s.condition, scope)
                self.block(s.then, scope)
                self.block(s.otherwise, scope)
            case tree.MatchOn():
                self.match_on(s, scope)
            case tree.Let():
                self.expression(s.value, scope)
                name = s.name
                self.declare(Symbol("value", name.text, name.span, declaration(s)), named)
            case tree.Find() | tree.Recall() | tree.Remember():
                self.look_up(s, scope)
                if isinstance(s, tree.Find):
                    self.expression(s.origin, scope)
                self.block(s.otherwise, scope)
            case tree.Forget():
                self.look_up(s, scope)
            case tree.Copy():
                self.block(s.body, scope)
            case tree.Each():
                self.use(s.source, scope)
                kind = self.use(s.kind, scope)
                members = kind.members if kind else {}
                shown = declaration(s)
                made = Symbol("value", s.binding.text, s.binding.span, shown, "", members)
                self.block(s.body, scope | {s.binding.text: self.declare(made, {})})
            case tree.Exchange():
                self.expression(s.slot, scope)
                self.expression(s.before, scope)
                self.expression(s.after, scope)
                self.block(s.otherwise, scope)
            case tree.Choose():
                self.use(s.kind, scope)
                self.assigns(s.given, self.expression(s.origin, scope), scope)
                self.expression(s.over, scope)
                self.block(s.otherwise, scope)
            case tree.Push() | tree.Append():
                self.push(s, scope)
            case tree.Pop() | tree.PopLink():
                self.use(s.node, scope)
            case tree.Emit():
                self.assigns(s.fields, self.use(s.event, self.events), scope)
            case tree.Assign():
                self.expression(s.target, scope)
                self.expression(s.value, scope)
            case tree.Apply():
                self.use(s.action, scope)
                self.use(s.argument, scope)
            case _:
                for part in s.__match_args__[1:]:
                    self.expression(getattr(s, part), scope)

    def match_on(self, s: tree.MatchOn, scope: Scope) -> None:
        subject = self.expression(s.subject, scope)
        symbols = subject.members if subject else {}
        for arm in s.arms:
            self.ranges(arm.patterns, scope | symbols)
            inside = scope
            if arm.binding:
                name = arm.binding
                of = arm.patterns[0].low
                kind = scope.get(of.text) if isinstance(of, tree.Path) else None
                shown, members = declaration(arm), kind.members if kind else {}
                made = Symbol("value", name.text, name.span, shown, "", members)
                inside = scope | {name.text: self.declare(made, {})}
            self.block(arm.body, inside)

    def look_up(
        self, s: tree.Find | tree.Recall | tree.Remember | tree.Forget, scope: Scope
    ) -> None:
        table = self.use(s.kind if isinstance(s, tree.Find) else s.state, scope)
        self.assigns(s.given, table, scope)

    def push(self, s: tree.Push | tree.Append, scope: Scope) -> None:
        for each in s.path:
            self.assigns(each.fields, self.use(each.node, scope), scope)
        places = (s.before, s.behind) if isinstance(s, tree.Push) else (s.behind,)
        for name in places:
            if name is not None:
                self.use(name, scope)

    def assigns(self, said: Iterable[tree.Assign], of: Symbol | None, scope: Scope) -> None:
        for each in said:
            self.use(each.target.parts[0], of.members if of else {})
            self.expression(each.value, scope)

    # ---- expressions -------------------------------------------------------------------------

    def ranges(self, ranges: Iterable[tree.Range], scope: Mapping[str, Symbol]) -> None:
        for each in ranges:
            for end in (each.low, each.high, each.mask):
                self.expression(end, scope)

    def expression(self, x: object, scope: Mapping[str, Symbol]) -> Symbol | None:
        """Of a path what it leads to."""
        match x:
            case tree.Path(_, (first, *rest), at, column):
                found = self.use(first, scope)
                for part in rest:
                    found = self.use(part, found.members) if found else None
                self.expression(at, scope)
                self.expression(column, scope)
                return found
            case tree.Is(_, subject, what):
                self.expression(subject, scope)
                self.use(what, self.roles)
            case tree.Gives(_, rule, kind):
                self.use(rule, scope)
                self.use(kind, scope)
            case tree.Metered(_, rule, _, given):
                self.use(rule, scope)
                if given is not None and given.text in scope:
                    self.use(given, scope)
            case tree.In(_, subject, members):
                self.expression(subject, scope)
                self.ranges(members, scope)
            case tree.Binary(_, _, left, right):
                self.expression(left, scope)
                self.expression(right, scope)
            case tree.Unary(_, _, operand):
                self.expression(operand, scope)
            case tree.Call(_, _, arguments):
                for each in arguments:
                    self.expression(each, scope)
        return None


def _constant(each: tree.Constant) -> Symbol:
    return Symbol("constant", each.name.text, each.name.span, declaration(each), each.doc)
