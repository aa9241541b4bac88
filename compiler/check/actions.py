"""Actions: inlined where they are applied."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, error
from ...lang.text.source import Span
from .. import model
from . import errors
from .changes import Changed
from .flow import Bound, Scope, State
from .stage_names import StageNames
from .stage_program import Program

#: Statements that inlined actions may come to.
MOST_STEPS = 10_000
REPORTED = MOST_STEPS * 1_000

#: Checks a block.
Check = Callable[[Program, tree.Block | None, State, Scope], tuple[model.Block, State]]


def apply(
    block: Check, program: Program, written: tree.Apply, state: State, scope: Scope
) -> Changed:
    action = program.actions.get(written.action.text)
    if action is None:
        program.report(
            errors.unknown(
                "action", written.action, program.actions, "declare it: `action NAME(RULE) {…}`"
            )
        )
        return Changed(None, state)
    program.applied.add(action.name.text)
    if any(a is action for a in scope.applied):
        chain = [
            a.name.text for a in scope.applied[[a is action for a in scope.applied].index(True) :]
        ]
        program.report(_recursion(written.span, [*chain, action.name.text], action.name.span))
        return Changed(None, state)
    program.steps += len(action.body.statements)
    if program.steps > MOST_STEPS:
        return _too_long(program, action)
    argument = StageNames(program, state, scope).bound(written.argument)
    kind = action.parameter.text
    if argument is None or kind not in program.rules.known:
        return Changed(None, state)
    if argument.kind != kind:
        found = "a port" if argument.kind == "port" else f"a `{argument.kind}`"
        program.report(
            _wrong_argument(
                written.argument.span, found, action.name.text, action.parameter.span, kind
            )
        )
        return Changed(None, state)
    names = (
        {} if argument.name == kind else {kind: Bound(argument.name, kind, action.parameter.span)}
    )
    within = replace(scope, names=names, values={}, applied=(*scope.applied, action))
    body, after = block(program, action.body, state, within)
    return Changed(model.Inline(action.name.text, body, written.span), after)


def _too_long(program: Program, action: tree.Action) -> Changed:
    """Actions that apply actions double quickly: say it once, and go no further."""
    if program.steps < REPORTED:
        program.report(_too_long_error(action.name.span, MOST_STEPS))
        program.steps = REPORTED
    return Changed(None, frozenset())


# ---- errors ---------------------------------------------------------------------------------


def _too_long_error(action: Span, limit: int) -> Diagnostic:
    return error(
        "H0218",
        f"the actions, inlined, come to more than {limit} statements",
        (action, "applied too often"),
        help="an action stands in each place where it is applied: apply it once, behind the choice",
    )


def _recursion(call: Span, chain: Sequence[str], declared: Span) -> Diagnostic:
    return error(
        "H0282",
        f"the action `{chain[-1]}` applies itself",
        (call, " -> ".join(chain)),
        (declared, "this action"),
        help="an action is inlined: it cannot contain itself",
    )


def _wrong_argument(
    argument: Span, found: str, action: str, parameter: Span, kind: str
) -> Diagnostic:
    return error(
        "H0283",
        f"the action `{action}` takes a rule of kind `{kind}`",
        (argument, f"this is {found}"),
        (parameter, "declared here"),
        help=f"apply it to a `{kind}`",
    )
