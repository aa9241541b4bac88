"""Canonical text without line ends, which `fold.py` puts: expressions, types, guards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .. import tree
from ..tree import Expr, Field, Name
from ..tree.operators import PRECEDENCE, PRECEDENCE_BEFORE

# How tightly things bind, as the grammar nests them.
_OR, _AND, _NOT, _COMPARISON, SUM = range(1, 6)
_LEVELS = {"or": _OR, "and": _AND} | {word: SUM - 1 + level for word, level in PRECEDENCE.items()}
_COMPLEMENT, _ATOM = 20, 21


def expr(node: Expr, least: int = 0) -> str:
    """`node`, in brackets if it binds more loosely than `least`."""
    level, text = _expr(node)
    return text if level >= least else f"({text})"


def value(node: Expr) -> str:
    """What may stand behind the `=` of a default or an assignment."""
    return expr(node, SUM)


def _expr(node: Expr) -> tuple[int, str]:
    if isinstance(node, tree.Binary):
        level = _LEVELS.get(node.operator, _COMPARISON)
        left = _operand(node, node.left, level + (level == _COMPARISON), 0)
        right = _operand(node, node.right, level + 1, 1)
        if node.operator == "/" and isinstance(node.left, tree.Address):
            return level, f"{left}/{right}"
        return level, f"{left} {node.operator} {right}"
    if isinstance(node, tree.Unary) and node.operator == "~":
        return _COMPLEMENT, f"~{expr(node.operand, _COMPLEMENT)}"
    if isinstance(node, tree.Unary):
        return _NOT, f"not {expr(node.operand, _NOT)}"
    if isinstance(node, tree.In):
        return _COMPARISON, f"{expr(node.subject, SUM)} in {set_(node.members)}"
    if isinstance(node, tree.Is):
        return _COMPARISON, f"{node.subject.text} is {node.what.text}"
    if isinstance(node, tree.Metered):
        given = f" from {node.given.text}" if node.given else ""
        return _COMPARISON, f"meter {node.rule.text}{given} is {names(node.colours, ' | ')}"
    if isinstance(node, tree.Gives):
        return _COMPARISON, f"{node.rule.text} gives {node.kind.text}"
    if isinstance(node, tree.Call):
        return _ATOM, call(node)
    if isinstance(node, tree.Path) and node.index is not None:
        column = "" if node.column is None else f"[{value(node.column)}]"
        return _ATOM, f"{names(node.parts, '.')}[{value(node.index)}]{column}"
    return _ATOM, node.text


def _operand(parent: tree.Binary, node: Expr, least: int, more: int) -> str:
    """An operand, in brackets also where it would have been another without (H0120)."""
    inner, outer = getattr(node, "operator", ""), parent.operator
    if (
        inner in PRECEDENCE_BEFORE
        and outer in PRECEDENCE_BEFORE
        and PRECEDENCE_BEFORE[inner] < PRECEDENCE_BEFORE[outer] + more
    ):
        least = _ATOM
    return expr(node, least)


def bracketed(node: Expr) -> str:
    """An expression with all its operators in brackets but for the outermost."""
    if not isinstance(node, tree.Binary):
        return expr(node, _COMPLEMENT)
    left, right = (
        f"({bracketed(each)})" if isinstance(each, tree.Binary) else bracketed(each)
        for each in (node.left, node.right)
    )
    return f"{left} {node.operator} {right}"


def set_(members: Sequence[tree.Range]) -> str:
    """A set, in braces where it has several members."""
    inside = ", ".join(map(range_, members))
    return inside if len(members) == 1 else f"{{ {inside} }}"


def call(node: tree.Call) -> str:
    return f"{node.function.text}({', '.join(map(expr, node.arguments))})"


def names(nodes: Iterable[Name], separator: str = ", ") -> str:
    return separator.join(n.text for n in nodes)


def type_(node: tree.Type) -> str:
    count = f"[{value(node.count)}]" if node.count is not None else ""
    maximum = f" max {node.maximum.text}" if node.maximum is not None else ""
    return node.name.text + count + maximum


def field_head(node: Field, width: int = 0) -> str:
    """A field up to its parts, its name padded to `width`."""
    name = node.name.text if node.name else ""
    default = f" = {value(node.default)}" if node.default is not None else ""
    return f"{name:<{width}}{' ' if name or width else ''}: {type_(node.type)}{default}"


def field(node: Field, width: int = 0) -> str:
    """A field on one line."""
    parts = f" {{ {fields(node.parts)} }}" if node.parts else ""
    return field_head(node, width) + parts


def options_head(node: tree.Options) -> str:
    """`(kind : u8, length : u8, bare 1, end 0) max 40`."""
    parts = [field(f) for f in node.heading]
    parts += (f"{s.word.text} {expr(s.value)}" for s in node.said)
    within = f" within {expr(node.within)}" if node.within is not None else ""
    return f"({', '.join(parts)}){within} max {node.most.text}"


def option_test(node: tree.Option) -> str:
    return f"{node.by.text} = {ranges(node.alternatives)}"


def fields(nodes: Iterable[Field]) -> str:
    return "  ".join(map(field, nodes))


def edge_ends(node: tree.Edge) -> tuple[str, str]:
    alias = f" as {node.alias.text}" if node.alias else ""
    depth = f"[{node.depth.text}]" if node.depth else ""
    return node.source.text, node.target.text + depth + alias


def chain_member(node: tree.ChainMember) -> tuple[str, str]:
    """The header, and what announces it."""
    alias = f" as {node.alias.text}" if node.alias else ""
    write = f" write {expr(node.write[0])}" if node.write else ""
    return node.target.text + alias, f"when {ranges(node.alternatives)}{write}"


def guard(node: tree.Edge) -> str:
    parts = []
    if node.guard:
        parts.append("when " + " and ".join(map(test, node.guard)))
    if node.write:
        parts.append("write " + ", ".join(map(expr, node.write)))
    if node.fits is not None:
        parts.append("if " + node.fits.text)
    return " ".join(parts)


def test(node: tree.Test) -> str:
    ahead = f" {node.ahead.text}" if node.ahead else ""
    return f"{node.field.text}{ahead} = {ranges(node.alternatives)}"


def ranges(nodes: Iterable[tree.Range]) -> str:
    return " | ".join(map(range_, nodes))


def range_(node: tree.Range) -> str:
    text = expr(node.low, SUM)
    if node.high is not None:
        text += f"..{expr(node.high, SUM)}"
    if node.mask is not None:
        text += f" & {expr(node.mask)}"
    return text


def spread(node: tree.Spread) -> str:
    by = f" by {node.weight.text}" if node.weight else ""
    return f"{members(node)}{by} over {call(node.over)}"


def members(node: tree.Spread | tree.Lists) -> str:
    return f"{node.kind.text}[{node.least.text}..{node.most.text}]"


def gives(node: tree.GivesList) -> str:
    return names(node.names, " | " if node.alternatives else ", ")


def assign(node: tree.Assign) -> str:
    return f"{value(node.target)} = {value(node.value)}"


def pushed(node: tree.PushElement) -> str:
    inside = f" {{ {', '.join(map(assign, node.fields))} }}" if node.fields else ""
    return node.node.text + inside
