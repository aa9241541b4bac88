"""`copy {…}` and `mirror P`: a copy of the packet leaves, and the packet goes on as it was."""

from __future__ import annotations

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, error
from ...lang.text.source import Span
from .. import model
from ..model.statements import straight
from . import ways_out
from .changes import Changed
from .flow import Scope, State
from .stage_program import Program


def copy(
    program: Program, written: tree.Copy, checked: tuple[model.Block, State], state: State
) -> Changed:
    """`checked`: its block, with the packets that fall out of its end."""
    body, behind = checked
    every = list(straight(body))
    for s in every:
        if not isinstance(s, model.Push | model.Forward | model.Bridge):
            program.report(_not_of_a_copy(s.span))
            return Changed(None, state)
    if (behind or not every) and not program.unsure:
        program.report(_has_no_way_out(written.span))
        return Changed(None, state)
    if not (every and isinstance(every[-1], model.Forward | model.Bridge)):
        return Changed(None, state)  # what is wrong with it was reported
    return Changed(model.Copy(body, written.span), state)


def mirror(program: Program, written: tree.Mirror, state: State, scope: Scope) -> Changed:
    bridged = ways_out.bridge(program, written, state, scope).statement
    if bridged is None:
        return Changed(None, state)
    return Changed(model.Copy(model.Block((bridged,), ends=True), written.span), state)


# ---- errors ---------------------------------------------------------------------------------


def _not_of_a_copy(span: Span) -> Diagnostic:
    return error(
        "H0531", "this does not stand in a `copy`",
        (span, "only `push`, then `forward` or `bridge`, and actions of these"),
        help="put it in front of the `copy`, which takes the packet as it is there",
    )  # fmt: skip


def _has_no_way_out(span: Span) -> Diagnostic:
    return error(
        "H0532", "nothing says where the copy goes", (span, "falls out of its end"),
        help="end it with `forward P via A` or `bridge P`",
    )  # fmt: skip
