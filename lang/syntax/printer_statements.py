"""Blocks and statements as canonical text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .. import tree
from . import print_expr
from .layout import Layout, Line

_ALIGNED = 64
"""Columns of a part that others are aligned with."""


def width(texts: Iterable[str], most: int = _ALIGNED) -> int:
    """Of the longest that has no more than `most` columns, 0 if there is none."""
    return max((len(text) for text in texts if len(text) <= most), default=0)


_LOOK_UPS = tree.Find | tree.Choose | tree.Asked


class Statements:
    """Writes blocks and statements into a layout."""

    def __init__(self, layout: Layout, comment_starts: list[int]) -> None:
        self.layout = layout
        self.text = layout.source.text
        self.begin = self.layout.begin
        self.write = self.layout.write
        self.comment_starts = comment_starts

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

    def line(self, node: tree.Node, depth: int, text: str, hang: int = 0) -> None:
        self.item(node, depth)
        self.write(text, node.span.end)
        self.layout.lines[-1].hang = hang

    def assignments(self, fields: Sequence[tree.Assign], depth: int) -> None:
        """Each in a line of its own."""
        for field in fields:
            comma = "" if field is fields[-1] else ","
            self.line(field, depth, print_expr.assign(field) + comma)

    def close(self, node: tree.Node, depth: int) -> None:
        self.begin(depth, node.span.end - 1)
        self.write("}", node.span.end)

    def broken(self, start: int, end: int) -> bool:
        """Whether the source has a line end in [start, end)."""
        return self.text.find("\n", start, end) >= 0

    def one_line(self, text: str, start: int, end: int) -> bool:
        """Whether `text`, of [start, end), stays on one line: as in the source, if it fits."""
        return self.layout.fits(text) and not self.broken(start, end)

    def commented(self, start: int, end: int) -> bool:
        return any(start <= c < end for c in self.comment_starts)

    # ---- statements --------------------------------------------------------------------------

    def block(self, node: tree.Block, depth: int, split: bool = False) -> None:
        """A block in braces, in the line that was begun; over several if it is to be split."""
        inline = self.inline_block(node)
        if inline is not None and (inline == "{}" or (not split and self.layout.fits(inline))):
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
            text = None if then is None else f"if {_asked(node)} {then}"
            return self._inline_else(text, node.otherwise)
        if isinstance(node, _LOOK_UPS):
            return self._inline_else(_lookup(node), node.otherwise)
        if isinstance(node, tree.Emit) and self.broken(node.event.span.end, node.span.end):
            return None
        if isinstance(node, tree.Copy | tree.Each):
            body = self.inline_block(node.body)
            return None if body is None else f"{_head(node)} {body}"
        if isinstance(node, tree.MatchOn):
            return None if node.arms else f"match {print_expr.value(node.subject)} {{}}"
        if isinstance(node, tree.Push | tree.Append):
            if any(map(self.split_fields, node.path)):
                return None
            verb, place = _verb_and_place(node)
            return f"{verb}{' / '.join(map(print_expr.pushed, node.path))}{place}"
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

    def statement(self, node: tree.Statement, depth: int, split: bool = False) -> None:
        """A statement, in the line that was begun. Where it has blocks and is too long for a line,
        none of them is in one."""
        inline = self.inline(node)
        if inline is not None and not split and self.layout.fits(inline):
            self.write(inline, node.span.end)
            return
        split = split or inline is not None
        if isinstance(node, tree.If):
            self.write(f"if {_asked(node)} ", node.condition.span.end)
            self.block(node.then, depth, split)
            self.otherwise(node.otherwise, depth, split)
        elif isinstance(node, _LOOK_UPS):
            self.write(_lookup(node), node.span.start if node.otherwise else node.span.end)
            self.otherwise(node.otherwise, depth, split)
        elif isinstance(node, tree.MatchOn):
            self.match_on(node, depth)
        elif isinstance(node, tree.Push | tree.Append):
            self.push(node, depth)
        elif isinstance(node, tree.Emit):
            self.emit(node, depth)
        elif isinstance(node, tree.Copy | tree.Each):
            self.write(f"{_head(node)} ", node.body.span.start)
            self.block(node.body, depth, split)
        else:
            self.write(_simple(node), node.span.end)

    def otherwise(self, node: tree.Block | None, depth: int, split: bool) -> None:
        if node is None:
            return
        self.write(" else ", node.span.start)
        if self.braced(node):
            self.block(node, depth, split)
        else:
            self.statement(node.statements[0], depth, split)

    def match_on(self, node: tree.MatchOn, depth: int) -> None:
        self.write(f"match {print_expr.value(node.subject)} {{", node.subject.span.end)
        longest = width(map(_pattern, node.arms))
        for arm in node.arms:
            self.item(arm, depth + 1)
            self.write(f"{_pattern(arm):<{longest}} => ", arm.patterns[0].span.end)
            if self.braced(arm.body):
                self.block(arm.body, depth + 1)
            else:
                self.statement(arm.body.statements[0], depth + 1)
        self.close(node, depth)

    def push(self, node: tree.Push | tree.Append, depth: int) -> None:
        """The fields of a header in a line, or each in its own, as in the source; where those of
        one have to be, also others that do not fit between them."""
        verb, place = _verb_and_place(node)
        texts = [*map(print_expr.pushed, node.path)]
        next_line = Line(depth + 1, 0, 0, False, "/ ")
        fit = self.layout.fits(verb + texts[0]) and all(map(next_line.fits, texts[1:]))
        whole = fit and not any(map(self.split_fields, node.path))
        behind = [f" / {element.node.text} {{" for element in node.path[1:]] + [place]
        for i, element in enumerate(node.path):
            self.write(" / " if i else verb, element.span.start)
            inline = not self.split_fields(element) and self.layout.fits(texts[i] + behind[i])
            if whole or inline or not element.fields:
                self.write(texts[i], element.span.end)
                continue
            self.write(f"{element.node.text} {{", element.node.span.end)
            self.assignments(element.fields, depth + 1)
            self.close(element, depth)
        if place:
            self.write(place, node.span.end)

    def split_fields(self, node: tree.PushElement) -> bool:
        return bool(node.fields) and self.broken(node.node.span.end, node.span.end)

    def emit(self, node: tree.Emit, depth: int) -> None:
        """Each field in a line of its own."""
        self.write(f"emit {node.event.text} {{", node.event.span.end)
        self.assignments(node.fields, depth + 1)
        self.close(node, depth)


def emitted(node: tree.Emit | tree.Raise) -> str:
    inside = f"{{ {', '.join(map(print_expr.assign, node.fields))} }}" if node.fields else "{}"
    return f"emit {node.event.text} {inside}"


def _verb_and_place(node: tree.Push | tree.Append) -> tuple[str, str]:
    if isinstance(node, tree.Append):
        return "append ", f" behind {node.behind.text}"
    if node.behind:
        return "push ", f" behind {node.behind.text}"
    return "push ", f" before {node.before.text}" if node.before else ""


def _head(node: tree.Copy | tree.Each) -> str:
    if isinstance(node, tree.Copy):
        return "copy"
    return f"each {node.kind.text} {node.binding.text} in {node.source.text}"


def _pattern(node: tree.Arm) -> str:
    alternatives = " | ".join(map(print_expr.range_, node.patterns))
    return alternatives + (f" {node.binding.text}" if node.binding else "")


def _asked(node: tree.If) -> str:
    asked = node.condition
    return _lookup(asked) if isinstance(asked, _LOOK_UPS) else print_expr.expr(asked)


def _lookup(node: tree.Find | tree.Choose | tree.Asked) -> str:
    if isinstance(node, tree.Find):
        origin = f" from {node.origin.text}" if node.origin else ""
        return f"find {node.kind.text}{origin}{_given(node.given) if node.given else ''}"
    if isinstance(node, tree.Recall):
        return f"recall {node.state.text}{_given(node.given)}"
    if isinstance(node, tree.Remember):
        return f"remember {node.state.text}{_given(node.given)}"
    if isinstance(node, tree.Exchange):
        before, after = map(print_expr.value, (node.before, node.after))
        return f"exchange {node.slot.text} from {before} to {after}"
    given = _given(node.given) if node.given else ""
    over = f" over {print_expr.value(node.over)}" if node.over else ""
    return f"choose {node.kind.text} from {node.origin.text}{given}{over}"


def _given(fields: tuple[tree.Assign, ...]) -> str:
    return f"({', '.join(map(print_expr.assign, fields))})"


def _simple(node: tree.Statement) -> str:
    if isinstance(node, tree.Assign):
        return print_expr.assign(node)
    if isinstance(node, tree.Forget):
        return f"forget {node.state.text}{_given(node.given)}"
    if isinstance(node, tree.Update):
        return f"{print_expr.value(node.slot)} {node.operator}= {print_expr.value(node.value)}"
    if isinstance(node, tree.Pop):
        return f"pop to {node.node.text}"
    if isinstance(node, tree.PopLink):
        return f"pop {node.node.text}"
    if isinstance(node, tree.Clamp):
        return f"clamp {node.what.text}"
    if isinstance(node, tree.Let):
        return f"let {node.name.text} = {print_expr.value(node.value)}"
    if isinstance(node, tree.Swap):
        return f"swap {node.left.text}, {node.right.text}"
    if isinstance(node, tree.Reply):
        return f"reply icmp {node.error.text}"
    if isinstance(node, tree.Bridge):
        return f"bridge {node.port.text}"
    if isinstance(node, tree.Mirror):
        return f"mirror {node.port.text}" + (f" max {node.most.text}" if node.most else "")
    if isinstance(node, tree.Queue):
        return f"queue {print_expr.expr(node.number)}"
    if isinstance(node, tree.Count):
        return f"count {node.reason.text}"
    if isinstance(node, tree.Emit):
        return emitted(node)
    if isinstance(node, tree.Forward):
        return f"forward {node.port.text} via {print_expr.value(node.via)}"
    if isinstance(node, tree.Apply):
        return f"{node.action.text}({node.argument.text})"
    assert isinstance(node, tree.Verdict)
    return node.verdict
