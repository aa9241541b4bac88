"""A tree as canonical text: what `helioc fmt` writes.

Where a thing may stand on one line or on several, the source decides; the rest (columns, indents,
spaces) is fixed. Formatting a formatted file changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from . import spelling, tree
from .layout import INDENT, Layout
from .tree import Program


def format_program(program: Program) -> str:
    """The canonical text of a parsed file, comments included."""
    printer = _Printer(program)
    printer.file(program)
    return printer.layout.text(program.comments)


class _Printer:
    def __init__(self, program: Program) -> None:
        self.text = program.source.text
        self.layout = Layout(program.source)
        self.begin = self.layout.begin
        self.write = self.layout.write
        self.comment_starts = [c.span.start for c in program.comments]

    # ---- helpers -----------------------------------------------------------------------------

    def item(self, node: tree.Node, depth: int, doc: str = "") -> None:
        """Begin the line of `node`, its doc comment above it."""
        start = node.span.start
        blank = self.layout.gap(start, bool(doc))
        for line in doc.split("\n") if doc else ():
            self.begin(depth, start, blank)
            self.write(f"/// {line}".rstrip(), start)
            blank = False
        self.begin(depth, start, blank)

    def line(self, node: tree.Node, depth: int, text: str) -> None:
        self.item(node, depth)
        self.write(text, node.span.end)

    def close(self, node: tree.Node, depth: int) -> None:
        self.begin(depth, node.span.end - 1)
        self.write("}", node.span.end)

    def broken(self, start: int, end: int) -> bool:
        """Whether the source has a line end in [start, end)."""
        return self.text.find("\n", start, end) >= 0

    def commented(self, start: int, end: int) -> bool:
        return any(start <= c < end for c in self.comment_starts)

    # ---- file and headers --------------------------------------------------------------------

    def file(self, program: Program) -> None:
        for group in self._imports(program.imports):
            self.begin(0, group[0].span.start, self.layout.gap(group[0].span.start))
            self.write("import " + ", ".join(i.path.text for i in group), group[-1].span.end)
        items: list[tree.Header | tree.Pipeline] = [*program.headers, *program.pipelines]
        for item in sorted(items, key=lambda i: i.span.start):
            self.item(item, 0, item.doc)
            if isinstance(item, tree.Header):
                self.header(item)
            else:
                self.pipeline(item)

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
        width = _width(f.name.text for f in fields if f.name)
        flags = _width(m.flag.text for m in node.members if self.inline_group(m))
        for member in node.members:
            if isinstance(member, tree.Field):
                self.field(member, 1, width)
            elif isinstance(member, tree.Group):
                self.group(member, flags)
            else:
                self.line(member, 1, _clause(member))
        self.close(node, 0)

    def inline_group(self, node: tree.Member) -> bool:
        return isinstance(node, tree.Group) and not self.broken(node.span.start, node.span.end)

    def group(self, node: tree.Group, width: int) -> None:
        self.item(node, 1)
        if self.inline_group(node):
            inside = f"{{ {spelling.fields(node.fields)} }}" if node.fields else "{}"
            self.write(f"when {node.flag.text:<{width}} {inside}", node.span.end)
            return
        self.write(f"when {node.flag.text} {{", node.flag.span.end)
        self.fields(node.fields, 2)
        self.close(node, 1)

    def fields(self, nodes: Sequence[tree.Field], depth: int) -> None:
        width = _width(f.name.text for f in nodes if f.name)
        for node in nodes:
            self.field(node, depth, width)

    def field(self, node: tree.Field, depth: int, width: int) -> None:
        self.item(node, depth, node.doc)
        head_end = (node.default or node.type).span.end
        if node.parts and self.broken(head_end, node.span.end):
            self.write(spelling.field_head(node, width) + " {", head_end)
            self.fields(node.parts, depth + 1)
            self.close(node, depth)
        else:
            self.write(spelling.field(node, width), node.span.end)

    # ---- pipelines ---------------------------------------------------------------------------

    def pipeline(self, node: tree.Pipeline) -> None:
        self.write(f"pipeline {node.name.text} {{", node.name.span.end)
        if not node.declarations and not self.commented(node.span.start, node.span.end):
            self.write("}", node.span.end)
            return
        for run in self._runs(node.declarations):
            names = _width(d.name.text for d in run if isinstance(d, tree.InformationElement))
            types = _width(_types(d) for d in run if isinstance(d, tree.InformationElement) and d.symbols)
            events = _width(d.event.text for d in run if isinstance(d, tree.Hook))
            for declaration in run:
                self.item(declaration, 1, getattr(declaration, "doc", ""))
                if isinstance(declaration, tree.InformationElement):
                    self.element(declaration, names, types)
                elif isinstance(declaration, tree.Hook):
                    verdict = declaration.verdict.verdict
                    text = f"on {declaration.event.text:<{events}} {{ {verdict} }}"
                    self.write(text, declaration.span.end)
                else:
                    self.declaration(declaration)
        self.close(node, 0)

    def _runs(self, nodes: Sequence[tree.Declaration]) -> list[list[tree.Declaration]]:
        """Declarations of one kind with no empty line between them, whose columns are aligned."""
        runs: list[list[tree.Declaration]] = []
        for node in nodes:
            gap = self.layout.gap(node.span.start, bool(getattr(node, "doc", "")))
            if not runs or gap or type(runs[-1][-1]) is not type(node):
                runs.append([])
            runs[-1].append(node)
        return runs

    def element(self, node: tree.InformationElement, width: int, types: int) -> None:
        head = f"ie {node.name.text:<{width}} = {_types(node)}"
        end = node.types[-1].span.end
        if not node.symbols:
            self.write(head, node.span.end)
            return
        head += " " * (types - len(_types(node))) + "  {"
        if not self.broken(end, node.span.end):
            symbols = ", ".join(f"{s.name.text} = {s.value.text}" for s in node.symbols)
            self.write(f"{head} {symbols} }}", node.span.end)
            return
        self.write(head, end)
        longest = _width(s.name.text for s in node.symbols)
        for symbol in node.symbols:
            comma = "" if symbol is node.symbols[-1] else ","
            self.line(symbol, 2, f"{symbol.name.text:<{longest}} = {symbol.value.text}{comma}")
        self.close(node, 1)

    def declaration(self, node: tree.Declaration) -> None:
        end = node.span.end
        if isinstance(node, tree.Ports):
            self.write(f"ports {spelling.names(node.roles)}", end)
        elif isinstance(node, tree.Parser):
            self.parser(node)
        elif isinstance(node, tree.Rule):
            self.rule(node)
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
            self.write(f"run {spelling.names(node.stages, ' -> ')}", end)

    def parser(self, node: tree.Parser) -> None:
        self.write("parser {", node.span.start + len("parser"))
        if not node.edges and not self.commented(node.span.start, node.span.end):
            self.write("}", node.span.end)
            return
        sources, targets = zip(*map(spelling.edge_ends, node.edges), strict=True) if node.edges else ((), ())
        widths = _width(sources), _width(targets), _width(map(spelling.guard, node.edges))
        for edge in node.edges:
            source, target = spelling.edge_ends(edge)
            text = f"{source:<{widths[0]}} -> {target:<{widths[1]}}"
            if widths[2]:
                text += f"  {spelling.guard(edge):<{widths[2]}}"
            if edge.ports:
                text += f"  on {spelling.names(edge.ports)}"
            self.line(edge, 2, text.rstrip())
        self.close(node, 1)

    def rule(self, node: tree.Rule) -> None:
        named = " named" if node.named else ""
        self.write(f"rule {node.name.text} [{node.capacity.text}]{named} {{", node.capacity.span.end)
        if not node.clauses and not self.commented(node.span.start, node.span.end):
            self.write("}", node.span.end)
            return
        matches = [c for c in node.clauses if isinstance(c, tree.Match)]
        elements = _width(m.element.text for m in matches)
        kinds = _width(m.kind.text for m in matches) + (len(matches) > 1)
        words = _width(_word(c) for c in node.clauses)
        above: tree.RuleClause | None = None
        for clause in node.clauses:
            word = _word(clause)
            if isinstance(clause, tree.Match):
                word = "" if isinstance(above, tree.Match) else word
                element, kind = clause.element.text, clause.kind.text
                body = f"{element:<{elements}} {kind:<{kinds}} {clause.operand.text}"
                text = f"{word:<{words}} {body}"
            else:
                text = f"{word:<{words}} {_body(clause)}"
            self.line(clause, 2, text)
            above = clause
        self.close(node, 1)

    # ---- statements --------------------------------------------------------------------------

    def block(self, node: tree.Block, depth: int) -> None:
        """A block in braces, in the line that was begun."""
        inline = self.inline_block(node)
        if inline is not None:
            self.write(inline, node.span.end)
            return
        self.write("{", node.span.start + 1)
        for statement in node.statements:
            self.item(statement, depth + 1)
            self.statement(statement, depth + 1)
        self.close(node, depth)

    def inline_block(self, node: tree.Block) -> str | None:
        """The block on one line, if it is so in the source and holds one statement at most."""
        if not node.statements and not self.commented(node.span.start, node.span.end):
            return "{}"
        if len(node.statements) != 1 or self.broken(node.span.start, node.span.end):
            return None
        inside = self.inline(node.statements[0])
        return None if inside is None else f"{{ {inside} }}"

    def inline(self, node: tree.Statement) -> str | None:
        """A statement on one line, or None if it needs several."""
        if isinstance(node, tree.If):
            then = self.inline_block(node.then)
            text = None if then is None else f"if {spelling.expr(node.condition)} {then}"
            return self._inline_else(text, node.otherwise)
        if isinstance(node, tree.Find | tree.Choose):
            return self._inline_else(_lookup(node), node.otherwise)
        if isinstance(node, tree.MatchOn):
            return None if node.arms else f"match {node.subject.text} {{}}"
        if isinstance(node, tree.Push):
            if any(self.broken(e.node.span.end, e.span.end) for e in node.path if e.fields):
                return None
            before = f" before {node.before.text}" if node.before else ""
            return f"push {' / '.join(map(spelling.pushed, node.path))}{before}"
        return _simple(node)

    def _inline_else(self, text: str | None, otherwise: tree.Block | None) -> str | None:
        if text is None or otherwise is None:
            return text
        inside = (
            self.inline_block(otherwise)
            if self.braced(otherwise)
            else self.inline(otherwise.statements[0])
        )
        return None if inside is None else f"{text} else {inside}"

    def braced(self, node: tree.Block) -> bool:
        """Whether a block is one in the source, not the single statement of a case or `else if`."""
        return self.text[node.span.start] == "{"

    def statement(self, node: tree.Statement, depth: int) -> None:
        """A statement, in the line that was begun."""
        inline = self.inline(node)
        if inline is not None:
            self.write(inline, node.span.end)
        elif isinstance(node, tree.If):
            self.write(f"if {spelling.expr(node.condition)} ", node.condition.span.end)
            self.block(node.then, depth)
            self.otherwise(node.otherwise, depth)
        elif isinstance(node, tree.Find | tree.Choose):
            self.write(_lookup(node), node.span.start)
            self.otherwise(node.otherwise, depth)
        elif isinstance(node, tree.MatchOn):
            self.match_on(node, depth)
        elif isinstance(node, tree.Push):
            self.push(node, depth)

    def otherwise(self, node: tree.Block | None, depth: int) -> None:
        if node is None:
            return
        self.write(" else ", node.span.start)
        if self.braced(node):
            self.block(node, depth)
        else:
            self.statement(node.statements[0], depth)

    def match_on(self, node: tree.MatchOn, depth: int) -> None:
        self.write(f"match {node.subject.text} {{", node.subject.span.end)
        width = _width(map(_pattern, node.arms))
        for arm in node.arms:
            self.item(arm, depth + 1)
            self.write(f"{_pattern(arm):<{width}} => ", arm.pattern.span.end)
            if self.braced(arm.body):
                self.block(arm.body, depth + 1)
            else:
                self.statement(arm.body.statements[0], depth + 1)
        self.close(node, depth)

    def push(self, node: tree.Push, depth: int) -> None:
        for i, element in enumerate(node.path):
            self.write(" / " if i else "push ", element.span.start)
            if not element.fields or not self.broken(element.node.span.end, element.span.end):
                self.write(spelling.pushed(element), element.span.end)
                continue
            self.write(f"{element.node.text} {{", element.node.span.end)
            for field in element.fields:
                comma = "" if field is element.fields[-1] else ","
                self.line(field, depth + 1, spelling.assign(field) + comma)
            self.close(element, depth)
        if node.before:
            self.write(f" before {node.before.text}", node.span.end)


def _width(texts: object) -> int:
    return max(map(len, texts), default=0)  # type: ignore[call-overload]


def _clause(node: tree.Member) -> str:
    if isinstance(node, tree.Size):
        return f"size {spelling.expr(node.value)}"
    if isinstance(node, tree.Extent):
        return f"extent {spelling.expr(node.value)}"
    if isinstance(node, tree.Accept):
        return f"accept {spelling.expr(node.condition)}"
    if isinstance(node, tree.Require):
        return f"require {spelling.expr(node.condition)}"
    assert isinstance(node, tree.Payload)
    return f"payload when {spelling.expr(node.condition)}"


def _types(node: tree.InformationElement) -> str:
    return f"{node.number.text}, {spelling.names(node.types, ' | ')}"


def _word(node: tree.RuleClause) -> str:
    if isinstance(node, tree.Priority):
        return node.kind
    words = {tree.Match: "match", tree.GivesList: "gives", tree.Spread: "spread"}
    return words.get(type(node), "counts")


def _body(node: tree.RuleClause) -> str:
    if isinstance(node, tree.GivesList):
        return spelling.gives(node)
    if isinstance(node, tree.Spread):
        return spelling.spread(node)
    if isinstance(node, tree.Priority):
        return node.element.text
    assert isinstance(node, tree.Counts)
    return spelling.names(node.what)


def _pattern(node: tree.Arm) -> str:
    return node.pattern.text + (f" {node.binding.text}" if node.binding else "")


def _lookup(node: tree.Find | tree.Choose) -> str:
    if isinstance(node, tree.Find):
        return f"find {node.kind.text}"
    return f"choose {node.kind.text} from {node.origin.text}"


def _simple(node: tree.Statement) -> str:
    if isinstance(node, tree.Assign):
        return spelling.assign(node)
    if isinstance(node, tree.Pop):
        return f"pop to {node.node.text}"
    if isinstance(node, tree.Clamp):
        return f"clamp {node.what.text}"
    if isinstance(node, tree.Forward):
        return f"forward {node.port.text} via {node.via.text}"
    if isinstance(node, tree.Apply):
        return f"{node.action.text}({node.argument.text})"
    assert isinstance(node, tree.Verdict)
    return node.verdict
