"""A tree as canonical text: what `helioc fmt` writes.

Where a thing may stand on one line or on several, the source decides, but for lines that would be
too long; the rest (columns, indents, spaces) is fixed. Formatting a formatted file changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from .. import tree
from ..tree import Program
from . import print_expr
from .fold import WIDEST
from .layout import Layout, Line
from .printer_statements import Statements, emitted, width


def format_program(program: Program) -> str:
    """The canonical text of a parsed file, comments included."""
    printer = _Printer(program)
    printer.file(program)
    return printer.layout.text(program.comments)


T = TypeVar("T", bound=tree.Node)


class _Printer(Statements):
    def __init__(self, program: Program) -> None:
        super().__init__(Layout(program.source), [c.span.start for c in program.comments])

    # ---- file and headers --------------------------------------------------------------------

    def file(self, program: Program) -> None:
        for group in self._imports(program.imports):
            self.begin(0, group[0].span.start, self.layout.gap(group[0].span.start))
            self.write("import " + ", ".join(i.path.text for i in group), group[-1].span.end)
        items: list[tree.Constant | tree.Header | tree.Pipeline] = []
        items += [*program.constants, *program.headers, *program.pipelines]
        items.sort(key=lambda i: i.span.start)
        for run in self._runs(items):
            names = width(c.name.text for c in run if isinstance(c, tree.Constant))
            for item in run:
                self.item(item, 0, item.doc)
                if isinstance(item, tree.Header):
                    self.header(item)
                elif isinstance(item, tree.Pipeline):
                    self.pipeline(item)
                else:
                    self.constant(item, names)

    def constant(self, node: tree.Constant, names: int) -> None:
        text = f"const {node.name.text:<{names}} = {print_expr.set_(node.values)}"
        self.write(text, node.span.end)

    def _imports(self, imports: Sequence[tree.Import]) -> list[list[tree.Import]]:
        """Those of one `import` together."""
        groups: list[list[tree.Import]] = []
        for node in imports:
            if not groups or not self.text[: node.span.start].rstrip().endswith(","):
                groups.append([])
            groups[-1].append(node)
        return groups

    def header(self, node: tree.Header) -> None:
        self.write(f"{'link ' if node.link else ''}header {node.name.text} {{", node.name.span.end)
        if not node.members and not self.commented(node.span.start, node.span.end):
            self.write("}", node.span.end)
            return
        fields = [m for m in node.members if isinstance(m, tree.Field)]
        longest = width(f.name.text for f in fields if f.name)
        groups = [m for m in node.members if isinstance(m, tree.Group)]
        flags = width(_flags(g) for g in groups if self.inline_group(g))
        for member in node.members:
            if isinstance(member, tree.Field):
                self.field(member, 1, longest)
            elif isinstance(member, tree.Group):
                self.group(member, flags)
            else:
                self.line(member, 1, _clause(member))
        self.close(node, 0)

    def inline_group(self, node: tree.Group) -> bool:
        """As in the source, if it fits."""
        line = Line(1, 0, 0, False, _group(node))
        return line.fits("") and not self.broken(node.span.start, node.span.end)

    def group(self, node: tree.Group, flags: int) -> None:
        self.item(node, 1)
        if self.inline_group(node):
            text = _group(node, flags)
            self.write(text if self.layout.fits(text) else _group(node), node.span.end)
            return
        self.write(f"when {_flags(node)} {{", node.flags[-1].span.end)
        self.fields(node.fields, 2)
        self.close(node, 1)

    def fields(self, nodes: Sequence[tree.Field], depth: int) -> None:
        longest = width(f.name.text for f in nodes if f.name)
        for node in nodes:
            self.field(node, depth, longest)

    def field(self, node: tree.Field, depth: int, names: int) -> None:
        self.item(node, depth, node.doc)
        head_end = (node.default or node.type).span.end
        text = print_expr.field(node, names)
        if node.options is not None:
            self.options(node, node.options, depth, names)
        elif node.parts and not self.one_line(text, head_end, node.span.end):
            self.write(print_expr.field_head(node, names) + " {", head_end)
            self.fields(node.parts, depth + 1)
            self.close(node, depth)
        else:
            self.write(text, node.span.end)

    def options(self, field: tree.Field, node: tree.Options, depth: int, names: int) -> None:
        head = print_expr.field_head(field, names) + print_expr.options_head(node)
        if not node.members and not self.commented(node.most.span.end, node.span.end):
            self.write(head + " {}", node.span.end)
            return
        self.write(head + " {", node.most.span.end)
        longest = width(m.name.text for m in node.members)
        kinds = width(map(print_expr.option_test, node.members))
        for member in node.members:
            test = print_expr.option_test(member)
            text = f"{member.name.text:<{longest}} when {test:<{kinds}} {{"
            self.item(member, depth + 1, member.doc)
            inside = f" {print_expr.fields(member.fields)} }}" if member.fields else "}"
            if self.one_line(text + inside, member.span.start, member.span.end):
                self.write(text + inside, member.span.end)
                continue
            self.write(text, member.alternatives[-1].span.end)
            self.fields(member.fields, depth + 2)
            self.close(member, depth + 1)
        self.close(node, depth)

    # ---- pipelines ---------------------------------------------------------------------------

    def pipeline(self, node: tree.Pipeline) -> None:
        self.write(f"pipeline {node.name.text} {{", node.name.span.end)
        if not node.declarations and not self.commented(node.span.start, node.span.end):
            self.write("}", node.span.end)
            return
        for run in self._runs(node.declarations):
            names = width(d.name.text for d in run if isinstance(d, tree.InformationElement))
            types = width(_types(d) for d in run if _enumerates(d))
            events = width(d.event.text for d in run if isinstance(d, tree.Hook))
            constants = width(d.name.text for d in run if isinstance(d, tree.Constant))
            for declaration in run:
                self.item(declaration, 1, getattr(declaration, "doc", ""))
                if isinstance(declaration, tree.InformationElement):
                    self.element(declaration, names, types)
                elif isinstance(declaration, tree.Constant):
                    self.constant(declaration, constants)
                elif isinstance(declaration, tree.Hook):
                    verdict = declaration.verdict.verdict
                    text = f"on {declaration.event.text:<{events}} {{ {verdict} }}"
                    self.write(text, declaration.span.end)
                else:
                    self.declaration(declaration)
        self.close(node, 0)

    def _runs(self, nodes: Sequence[T]) -> list[list[T]]:
        """Declarations of one kind with no empty line between them, whose columns are aligned."""
        runs: list[list[T]] = []
        for node in nodes:
            gap = self.layout.gap(node.span.start, bool(getattr(node, "doc", "")))
            if not runs or gap or type(runs[-1][-1]) is not type(node):
                runs.append([])
            runs[-1].append(node)
        return runs

    def element(self, node: tree.InformationElement, names: int, types: int) -> None:
        head = f"ie {node.name.text:<{names}} = {_types(node)}"
        end = node.types[-1].span.end
        if not node.symbols:
            self.write(head, node.span.end)
            return
        head += " " * (types - len(_types(node))) + "  {"
        symbols = ", ".join(f"{s.name.text} = {_value(s)}" for s in node.symbols)
        inline = f"{head} {symbols} }}"
        if self.one_line(inline, end, node.span.end):
            self.write(inline, node.span.end)
            return
        self.write(head, end)
        longest = width(s.name.text for s in node.symbols)
        for symbol in node.symbols:
            comma = "" if symbol is node.symbols[-1] else ","
            self.item(symbol, 2, symbol.doc)
            text = f"{symbol.name.text:<{longest}} = {_value(symbol)}{comma}"
            self.write(text, symbol.span.end)
        self.close(node, 1)

    def declaration(self, node: tree.Declaration) -> None:
        end = node.span.end
        if isinstance(node, tree.Ports):
            self.write(f"ports {', '.join(map(role_text, node.roles))}", end)
        elif isinstance(node, tree.Parser):
            self.parser(node)
        elif isinstance(node, tree.Rule):
            self.rule(node)
        elif isinstance(node, tree.State):
            self.state(node)
        elif isinstance(node, tree.Registers):
            shape = "".join(f"[{length.text}]" for length in node.shape)
            self.write(f"registers {node.name.text}{shape} : {node.type.text}", end)
        elif isinstance(node, tree.Event):
            self.event(node)
        elif isinstance(node, tree.Default):
            self.write(f"default {node.verdict.verdict}", end)
        elif isinstance(node, tree.Action):
            head = f"action {node.name.text}({node.parameter.text}) "
            self.write(head, node.parameter.span.end)
            self.block(node.body, 1)
        elif isinstance(node, tree.Stage):
            self.write(f"stage {node.name.text} ", node.name.span.end)
            self.block(node.body, 1)
        elif isinstance(node, tree.Run):
            self.write(f"run {print_expr.names(node.stages, ' -> ')}", end)

    def parser(self, node: tree.Parser) -> None:
        self.write("parser {", node.span.start + len("parser"))
        written: list[tree.Edge | tree.Chain] = [*node.edges, *node.chains]
        written.sort(key=lambda each: each.span.start)
        if not written and not self.commented(node.span.start, node.span.end):
            self.write("}", node.span.end)
            return
        sources = width(print_expr.edge_ends(e)[0] for e in node.edges)
        targets = width(print_expr.edge_ends(e)[1] for e in node.edges)
        room = WIDEST - len(f"    {'':{sources}} -> {'':{targets}}    on ")
        room -= width(print_expr.names(e.ports) for e in node.edges)
        guards = width(map(print_expr.guard, node.edges), room)
        for edge in written:
            if isinstance(edge, tree.Chain):
                self.chain(edge)
                continue
            source, target = print_expr.edge_ends(edge)
            text = f"{source:<{sources}} -> {target:<{targets}}"
            if guards or print_expr.guard(edge):
                text += f"  {print_expr.guard(edge):<{guards}}"
            if edge.ports:
                text += f"  on {print_expr.names(edge.ports)}"
            self.line(edge, 2, text.rstrip())
        self.close(node, 1)

    def chain(self, node: tree.Chain) -> None:
        head = f"chain {node.name.text} by {node.by.text} max {node.most.text} {{"
        self.item(node, 2)
        self.write(head, node.most.span.end)
        members = [print_expr.chain_member(m) for m in node.members]
        headers = width(header for header, _ in members)
        for member, (header, when) in zip(node.members, members, strict=True):
            self.line(member, 3, f"{header:<{headers}} {when}")
        self.close(node, 2)

    def rule(self, node: tree.Rule) -> None:
        named = " named" if node.named else ""
        by = f" by {node.by.text}" if node.by else ""
        head = f"rule {node.name.text} [{node.capacity.text}]{named}{by} {{"
        self.write(head, (node.by or node.capacity).span.end)
        if not node.clauses and not self.commented(node.span.start, node.span.end):
            self.write("}", node.span.end)
            return
        matches = [c for c in node.clauses if isinstance(c, tree.Match)]
        elements = width(m.element.text for m in matches)
        kinds = width(m.kind.text for m in matches) + (len(matches) > 1)
        words = width(_word(c) for c in node.clauses)
        above: tree.RuleClause | None = None
        for clause in node.clauses:
            word = _word(clause)
            if isinstance(clause, tree.Match):
                word = "" if isinstance(above, tree.Match) else word
                element, kind = clause.element.text, clause.kind.text
                body = f"{element:<{elements}} {kind:<{kinds}} {clause.operand.text}"
                text = f"{word:<{words}} {body}"
            elif isinstance(clause, tree.Raise):
                self.raised(clause, words)
                above = clause
                continue
            else:
                text = f"{word:<{words}} {_body(clause)}"
            self.line(clause, 2, text, words + 1)
            above = clause
        self.close(node, 1)

    def raised(self, node: tree.Raise, words: int) -> None:
        """Its fields in a line, or each in its own, as in the source."""
        due = f"{node.word.text} {node.amount.text} {node.unit.text}"
        word, _, behind = emitted(node).partition(" ")
        inline = f"{word:<{words}} {behind} {due}"
        self.item(node, 2)
        if self.one_line(inline, node.event.span.end, node.word.span.start):
            self.write(inline, node.span.end)
            return
        self.write(f"{'emit':<{words}} {node.event.text} {{", node.event.span.end)
        self.assignments(node.fields, 3)
        self.begin(2, node.word.span.start)
        self.write(f"}} {due}", node.span.end)

    def state(self, node: tree.State) -> None:
        self.write(f"state {node.name.text} [{node.capacity.text}] {{", node.capacity.span.end)
        if not node.clauses and not self.commented(node.span.start, node.span.end):
            self.write("}", node.span.end)
            return
        words = width(_state_clause(clause)[0] for clause in node.clauses)
        for clause in node.clauses:
            word, text = _state_clause(clause)
            self.line(clause, 2, f"{word:<{words}} {text}", words + 1)
        self.close(node, 1)

    def event(self, node: tree.Event) -> None:
        """Its fields in a line, or each in its own, as in the source."""
        fields = [(f, f"{f.name.text} : {f.type.text}") for f in node.fields]
        closed = fields[-1][0].span.end if fields else node.name.span.end
        inside = f"{{ {', '.join(text for _, text in fields)} }}" if fields else "{}"
        inline = f"event {node.name.text} {inside}{_limit(node.limit)}"
        if not fields or self.one_line(inline, node.name.span.end, closed):
            self.write(inline, node.span.end)
            return
        self.write(f"event {node.name.text} {{", node.name.span.end)
        names = width(f.name.text for f in node.fields)
        for field, _ in fields:
            comma = "" if field is node.fields[-1] else ","
            self.line(field, 2, f"{field.name.text:<{names}} : {field.type.text}{comma}")
        self.begin(1, closed)
        self.write(f"}}{_limit(node.limit)}", node.span.end)


def role_text(node: tree.Role) -> str:
    """`uplink at tc.ingress link ip`."""
    at = f" at {node.at.text}" if node.at else ""
    return f"{node.name.text}{at}" + (f" link {node.link.text}" if node.link else "")


def _limit(node: tree.Limit | None) -> str:
    if node is None:
        return ""
    each = f", {node.each.text} by {print_expr.names(node.by)}" if node.each else ""
    return f" limit {node.most.text} per {node.per.text}{each}"


def _flags(node: tree.Group) -> str:
    return print_expr.names(node.flags, " or ")


def _group(node: tree.Group, flags: int = 0) -> str:
    inside = f"{{ {print_expr.fields(node.fields)} }}" if node.fields else "{}"
    return f"when {_flags(node):<{flags}} {inside}"


def _clause(node: tree.Member) -> str:
    if isinstance(node, tree.Size):
        return f"size {print_expr.expr(node.value)}"
    if isinstance(node, tree.Extent):
        return f"extent {print_expr.expr(node.value)}"
    if isinstance(node, tree.Accept):
        return f"accept {print_expr.expr(node.condition)}"
    if isinstance(node, tree.Require):
        return f"require {print_expr.expr(node.condition)}"
    if isinstance(node, tree.Reach):
        return f"payload to {print_expr.expr(node.value)}"
    assert isinstance(node, tree.Payload)
    return f"payload when {print_expr.expr(node.condition)}"


def _enumerates(node: tree.Declaration) -> bool:
    return isinstance(node, tree.InformationElement) and bool(node.symbols)


def _value(symbol: tree.Symbol) -> str:
    return symbol.value.text + (" reserved" if symbol.reserved else "")


def _types(node: tree.Declaration) -> str:
    assert isinstance(node, tree.InformationElement)
    most = f"[{node.most.text}]" if node.most else ""
    return f"{node.number.text}, {print_expr.names(node.types, ' | ')}{most}"


def _word(node: tree.RuleClause) -> str:
    if isinstance(node, tree.Priority):
        return node.kind
    words = {
        tree.Match: "match", tree.GivesList: "gives", tree.Spread: "spread", tree.Lists: "lists",
        tree.Meters: "meters",
        tree.Raise: "emit",
    }  # fmt: skip
    return words.get(type(node), "counts")


def _body(node: tree.RuleClause) -> str:
    if isinstance(node, tree.GivesList):
        return print_expr.gives(node)
    if isinstance(node, tree.Spread):
        return print_expr.spread(node)
    if isinstance(node, tree.Lists):
        return print_expr.members(node)
    if isinstance(node, tree.Priority):
        return node.element.text
    if isinstance(node, tree.Meters):
        return _meters(node)
    assert isinstance(node, tree.Counts)
    return print_expr.names(node.what)


def _meters(node: tree.Meters) -> str:
    return print_expr.names(node.elements) + (f" in {node.unit.text}" if node.unit else "")


def _state_clause(node: tree.StateClause) -> tuple[str, str]:
    """Its word, and what stands behind it."""
    match node:
        case tree.Ages():
            return "ages", f"{node.seconds.text}{' idle' if node.idle else ''}"
        case tree.Counts():
            return "counts", print_expr.names(node.what)
        case tree.Meters():
            return "meters", _meters(node)
    return node.word, ", ".join(f"{s.name.text} : {s.type.text}" for s in node.slots)
