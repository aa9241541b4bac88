"""A push behind a link header: what that said of what follows it, the last pushed header says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from itertools import product

from ...lang.text.diagnostics import Diagnostic, error
from ...lang.text.source import Span
from .. import model
from ..model import Node
from ..model.arithmetic import Interval
from .contents import Contents
from .flow import Scope
from .ranges import narrowed
from .read_as import in_hexadecimal, read_by, same_bits, shown
from .read_back import ReadBack
from .stage_program import Program
from .written import Written, came, contents_of


def taken_over(
    program: Program,
    w: Written,
    front: model.Node,
    next_fields: Mapping[str, model.Expr],
    following: Sequence[model.Node | None],
    scope: Scope,
) -> None:
    """Reports a field by which `front` says what follows it and to which the push gives something
    else, unless an edge reads what came by that. `next_fields`: these, as they came; `following`:
    what may stand behind `front` (None: what nobody has read)."""
    contents = contents_of(w, {}, scope.tested)
    reader = ReadBack(program, (w,), (), "", (), scope.tested)
    for name in _given(w, next_fields):
        field, (low, high) = w.header.field(name), contents.of(name)
        for node in following:
            least, most = _came_with(program, front, node, name, next_fields[name], scope)
            if least == low == high == most:
                continue
            edges = [e for e in _reading(program, w.element.node, node) if e.roles]
            rest = (contents, came(program, node, scope)) if node else (contents,)
            if edges and all(reader.reading(edges, rest)):
                continue
            failing = [(e, reader.first_failing(e.tests, contents, rest[1:])) for e in edges]
            where = front.header.field(name).span, f"`{front.name}` says by this what follows it"
            read = next(((e, found[0]) for e, found in failing if found), None)
            where = read_by(*read) if read else where
            never = most < low or high < least
            hexadecimal = (read is not None and in_hexadecimal(*read)) or (
                name in w.values and "0x" in w.values[name].span.text
            )
            says = reader.said_of(w, name, contents, partial(shown, field, hexadecimal))
            program.report(_not_taken_over(says, w.element.node, name, front, where, never))
            break
    given = set(_given(w, next_fields))
    same = {name: expr for name, expr in next_fields.items() if name not in given}
    for node in following:
        if same and node and not _read_as_it_came(program, reader, front, node, same):
            break


def _read_as_it_came(
    program: Program,
    reader: ReadBack,
    front: model.Node,
    node: model.Node,
    same: Mapping[str, model.Expr],
) -> bool:
    """Whether edges of the pushed header read `node` by what those of `front` read it by, in the
    fields `same`; reports where they do not. Of masks nothing is known."""
    (w,) = reader.written
    edges = [_asking(e, same.keys()) for e in _reading(program, w.element.node, node) if e.roles]
    before = [_asking(e, same.keys()) for e in _reading(program, front.name, node) if e.roles]
    tests = [t for e in (*edges, *before) for t in e.tests]
    if not edges or any(t.mask is not None for t in tests):
        return True
    for contents in (c for e in before for c in _with_what_came(reader, w, same, e)):
        if not all(reader.reading(edges, (contents,))):
            failing = [(e, *f) for e in edges if (f := reader.first_failing(e.tests, contents, ()))]
            edge, test, never = next((each for each in failing if not each[2]), failing[0])
            write = partial(shown, w.header.field(test.field), in_hexadecimal(edge, test))
            _, says = reader.said_of(w, test.field, contents, write)
            label = (w.span, f"{says}, taken over from `{front.name}`")
            program.report(_not_by_that(label, w, front, node, read_by(edge, test), never))
            return False
    return True


def _asking(edge: model.Edge, fields: Set[str]) -> model.Edge:
    return replace(edge, tests=tuple(t for t in edge.tests if not t.ahead and t.field in fields))


def _with_what_came(
    reader: ReadBack, w: Written, same: Mapping[str, model.Expr], edge: model.Edge
) -> Iterator[Contents]:
    """What the pushed header holds where the edge read what follows it."""
    for ranges in product(*(test.ranges for test in edge.tests)):
        contents = contents_of(w, {}, reader.tested)
        for test, (low, high) in zip(edge.tests, ranges, strict=True):
            least, most = narrowed(reader.tested, same[test.field], low, high)
            if least > most:
                break
            contents = contents.but_for(test.field, (least, most))
        else:
            yield contents


def _given(w: Written, next_fields: Mapping[str, model.Expr]) -> Iterator[str]:
    """The fields of which the push says something else."""
    for name, expr in next_fields.items():
        value = w.values.get(name)
        if w.spans.keys() & set(same_bits(w.header, name)) and not (value and value.expr == expr):
            yield name


def _reading(program: Program, source: str, node: model.Node | None) -> Iterator[model.Edge]:
    leaving = program.checked.graph.leaving(source)
    return (edge for edge in leaving if node is not None and edge.target == node.name)


def _came_with(
    program: Program,
    front: model.Node,
    node: model.Node | None,
    name: str,
    expr: model.Expr,
    scope: Scope,
) -> Interval:
    """What the field was when the packet came: as tested, and as the edges to `node` ask."""
    low, high = narrowed(scope.tested, expr, 0, (1 << front.header.field(name).width) - 1)
    edges = [e for e in _reading(program, front.name, node) if e.roles]
    tests = [[t for t in e.tests if t.field == name and t.mask is None] for e in edges]
    if not tests or not all(tests):
        return low, high
    ranges = [r for each in tests for t in each for r in t.ranges]
    return max(low, min(a for a, _ in ranges)), min(high, max(b for _, b in ranges))


# ---- errors ---------------------------------------------------------------------------------


def _not_taken_over(
    says: tuple[Span, str],
    node: str,
    field: str,
    front: Node,
    where: tuple[Span, str],
    never: bool,
) -> Diagnostic:
    return error(
        "H0332",
        f"the parser {'does' if never else 'may'} not read what came behind `{node}` as it did",
        says,
        where,
        help=f"leave `{field}` out: it is taken over from `{front.name}`",
    )


def _not_by_that(
    says: tuple[Span, str],
    w: Written,
    front: Node,
    node: Node,
    where: tuple[Span, str],
    never: bool,
) -> Diagnostic:
    pushed = w.element.node
    return error(
        "H0332",
        f"the parser {'does' if never else 'may'} not read `{node.name}` behind `{pushed}`",
        says,
        where,
        help=f"push it `before {node.name}`, or let `{pushed} -> {node.name}` read that by what "
        f"`{front.name} -> {node.name}` reads it by",
    )
