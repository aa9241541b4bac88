"""Whether what stands behind a changed header is read as it was."""

from __future__ import annotations

from ...lang.text.diagnostics import Diagnostic, error, listed
from ...lang.text.source import Span
from .. import model
from ..model import Field
from .contents import begin_with, holds, test_holds
from .flow import Scope
from .read_as import begin, own_fields, read_by
from .stage_program import Program
from .written import came, read_edges


def read_behind(program: Program, source: str, node: model.Node, span: Span, scope: Scope) -> None:
    """Reports where an edge of the link header that is to announce `node` looks ahead in vain."""
    contents = came(program, node, scope)
    failing: list[tuple[model.Edge, model.Test, bool]] = []
    edges = read_edges(program.checked.graph, source, node.name)
    for edge in edges:
        for test in (t for t in edge.tests if t.ahead):
            held = test_holds(test, contents, begin_with([contents], test.ahead))
            if not held:
                failing.append((edge, test, held is False))
                break
    if failing and len(failing) == len(edges):
        edge, test, never = failing[0]
        ahead = begin(node.header, test.ahead)
        program.report(not_followed(span, node.name, ahead, read_by(edge, test), never))


def goes_on(program: Program, node: model.Node, span: Span, scope: Scope) -> None:
    """Reports where parsing may stop behind a header that came and was the last one."""
    contents = came(program, node, scope)
    for condition in node.header.payload:
        if not holds(condition, contents):
            field = node.header.field(own_fields(condition)[0])
            program.report(_may_stop(span, node.name, field))


def _may_stop(span: Span, node: str, field: Field) -> Diagnostic:
    return error(
        "H0332",
        f"the parser may not read what is appended behind `{node}`",
        (span, "`payload when` may say that nothing is read behind it"),
        (field.span, "by this field"),
        help=f"test it further up: `if {node}.{field.name} = … {{…}}`",
    )


def not_followed(
    span: Span, node: str, fields: list[str], where: tuple[Span, str], never: bool
) -> Diagnostic:
    """`fields`: those that the node begins with; none where a push may not give them either."""
    help_ = f"`{node}` begins with no field that may be tested or given: read it by another edge"
    if fields:
        begin = listed(f"{node}.{field}" for field in fields)
        help_ = f"test further up how it begins, by {begin}: `if {node}.{fields[0]} = … {{…}}`"
    return error(
        "H0332",
        f"the parser {'does' if never else 'may'} not read `{node}` behind what then announces it",
        (span, f"`{node}` stands behind that as it came"),
        where,
        help=help_,
    )
