"""`if find R {…}`, `if recall S(…) {…}`: statements that may fail, and a branch by that."""

from __future__ import annotations

from ...lang import tree
from .. import model
from .actions import Check
from .changes import Changed
from .flow import Scope, State, World, unbind, without
from .lookups import find
from .stage_program import Program
from .state_statements import exchange, recall, remember


def if_found(
    block: Check, program: Program, written: tree.If, asked: tree.Find, state: State, scope: Scope
) -> Changed:
    """A look-up, and a branch by what it came to."""
    name = asked.kind.text
    looked = find(program, asked, (model.Block(()), frozenset()), state, scope)
    scope = without(scope, name)
    before = () if looked.statement is None else (looked.statement,)
    return _branch(
        block,
        program,
        written,
        before,
        model.Found(name),
        (looked.state, unbind(state, name)),
        scope,
    )


#: Whether it was done: set and asked at once. No `let` can be called so.
_DONE = model.Local("0", 1)


def if_done(
    block: Check,
    program: Program,
    written: tree.If,
    asked: tree.Asked,
    state: State,
    scope: Scope,
) -> Changed:
    """A statement about a state that may fail, and a branch by whether it did."""
    done, failed = (model.Let(_DONE, model.Const(n, 1), written.span) for n in (1, 0))
    otherwise = model.Block((failed,)), frozenset[World]()
    no = state
    if isinstance(asked, tree.Recall):
        made = recall(program, asked, otherwise, state, scope)
        no = unbind(state, asked.state.text)
    elif isinstance(asked, tree.Remember):
        made = remember(program, asked, otherwise, state, scope)
        no = made.state
    else:
        made = exchange(program, asked, otherwise, state, scope)
    test = model.Compare("=", _DONE, model.Const(1, 1))
    before = () if made.statement is None else (done, made.statement)
    path = asked.slot.parts[0] if isinstance(asked, tree.Exchange) else asked.state
    scope = without(scope, path.text)
    return _branch(block, program, written, before, test, (made.state, no), scope)


def _branch(
    block: Check,
    program: Program,
    written: tree.If,
    before: tuple[model.Statement, ...],
    test: model.Condition,
    states: tuple[State, State],
    scope: Scope,
) -> Changed:
    """The packets of `states` where the test holds, and where not. `before` is empty: it is
    wrong."""
    then, after_then = block(program, written.then, states[0], scope)
    otherwise, after_otherwise = block(program, written.otherwise, states[1], scope)
    after = after_then | after_otherwise
    if not before:
        return Changed(None, after)
    branch = model.If(test, then, otherwise, written.span)
    body = model.Block((*before, branch), then.ends and otherwise.ends)
    return Changed(model.Inline("", body, written.span), after)
