"""Blocks and statements of stages, with what is known of the packets at each."""

from __future__ import annotations

from dataclasses import replace

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, error
from ...lang.text.source import Span
from .. import model
from . import appends, assigns, changes, copies, errors, link_pops, pushes, registers, ways_out
from .actions import apply
from .asked import if_done, if_found
from .changes import Changed
from .conditions import narrow
from .events import emit
from .flow import Change, Scope, State, bind, perhaps_bound, size, unbind, without
from .lets import known_behind, let
from .lookups import choose, find, leads_to
from .matches import match
from .mentions import forget_unasked, mentioned_behind
from .ranges import Facts, contradict, implied, one_of
from .stage_names import StageNames
from .stage_program import Program
from .state_statements import exchange, forget_entry, recall, remember, update

#: Packet classes that are told apart at one place (which nodes), and the size of what says which
#: rules were found together.
MOST_CLASSES = 20_000


def block(
    program: Program, written: tree.Block | None, state: State, scope: Scope
) -> tuple[model.Block, State]:
    """The block, and the packets that fall out of its end."""
    made: list[model.Statement] = []
    ending: Span | None = None
    scope = replace(scope, tested=Facts(scope.tested))
    asked = mentioned_behind(program, written) if written else []
    behind, around = scope.asked, program.within
    for i, each in enumerate(written.statements if written else ()):
        if ending is not None:
            program.report(_unreachable(each.span, ending))
            break
        scope = replace(scope, asked=asked[i] | behind)
        program.within = (*around, each.span)
        changed = statement(program, each, state, scope)
        state = forget_unasked(program, changed.state, scope.asked)
        scope = known_behind(program, each, scope)
        if size(state) > MOST_CLASSES:
            program.report(_too_many_classes(each.span, MOST_CLASSES))
            state = frozenset()
        if changed.statement is None:
            continue
        _check_join(program, each, state)
        made.append(changed.statement)
        if written and each is not written.statements[-1]:  # behind the last nothing is asked
            scope.tested.learn(_passed(changed.statement))
            scope.tested.pass_by(changed.statement, program.checked.graph.nodes)
        if ends(changed.statement):
            ending = each.span
    program.within = around
    return model.Block(tuple(made), ending is not None), state


def _passed(statement: model.Statement) -> tuple[model.Compare, ...]:
    """What holds of the packets that come out of a branch because the others do not."""
    if isinstance(statement, model.MatchValue):
        left = [value for values, body in statement.arms if not body.ends for value in values]
        return one_of(statement.subject, left) if left else ()
    if not isinstance(statement, model.If) or statement.then.ends == statement.otherwise.ends:
        return ()
    return implied(statement.condition, not statement.then.ends)


def _check_join(program: Program, written: tree.Statement, state: State) -> None:
    """Behind a branch all packets of a port role must have been changed alike."""
    joins = tree.If | tree.MatchOn | tree.Find | tree.Choose | tree.Asked
    if not isinstance(written, joins) or program.unsure:
        return
    by_role: dict[str, set[tuple[Change, ...]]] = {}
    for world in state:
        by_role.setdefault(world.role, set()).add(world.changes)
    for role, several in sorted(by_role.items()):
        if len(several) > 1:
            program.report(
                errors.changed_unlike(
                    written.span,
                    role,
                    sorted(", ".join(map(str, c)) or "unchanged" for c in several),
                )
            )
            program.unsure = True


def ends(statement: model.Statement) -> bool:
    """Whether no path falls out of the statement, judged by its shape alone."""
    match statement:
        case model.Verdict() | model.Forward() | model.Bridge() | model.Reply():
            return True
        case model.If() | model.IfGives():
            return statement.then.ends and statement.otherwise.ends
        case model.MatchValue():
            return all(body.ends for _, body in statement.arms)
        case model.MatchNumber():
            return statement.otherwise.ends and all(body.ends for _, body in statement.arms)
        case model.MatchReference():
            return all(arm.body.ends for arm in statement.arms)
        case model.Inline():
            return statement.body.ends
    return False


def statement(program: Program, written: tree.Statement, state: State, scope: Scope) -> Changed:
    match written:
        case tree.If(condition=tree.Find() as asked):
            return if_found(block, program, written, asked, state, scope)
        case tree.If(condition=tree.Recall() | tree.Remember() | tree.Exchange() as asked):
            return if_done(block, program, written, asked, state, scope)
        case tree.If(condition=tree.Gives() as gives):
            return _if_gives(program, written, gives, state, scope)
        case tree.If():
            return _if(program, written, state, scope)
        case tree.MatchOn():
            return match(lambda b, w, s: block(program, b, w, s), program, written, state, scope)
        case tree.Find():
            return find(program, written, _otherwise(program, written, state, scope), state, scope)
        case tree.Choose():
            return choose(
                program, written, _otherwise(program, written, state, scope), state, scope
            )
        case tree.Remember(otherwise=None):
            return remember(program, written, None, state, scope)
        case tree.Remember():
            name = written.state.text
            known = block(program, written.otherwise, bind(state, name), without(scope, name))
            return remember(program, written, known, state, scope)
        case tree.Recall():
            missed = block(program, written.otherwise, unbind(state, written.state.text), scope)
            return recall(program, written, missed, state, scope)
        case tree.Forget():
            return forget_entry(program, written, state, scope)
        case tree.Exchange():
            changed = without(scope, written.slot.parts[0].text)
            failed = block(program, written.otherwise, state, changed)
            return exchange(program, written, failed, state, scope)
        case tree.Update() if registers.is_register(program, written.slot):
            return registers.change(program, written, state, scope)
        case tree.Assign() if registers.is_register(program, written.target):
            return registers.change(program, written, state, scope)
        case tree.Update():
            return update(program, written, state, scope)
        case tree.Push():
            return pushes.push(program, written, state, scope)
        case tree.Append():
            return appends.append(program, written, state, scope)
        case tree.Pop():
            return changes.pop(program, written, state, scope)
        case tree.PopLink():
            return link_pops.pop_link(program, written, state, scope)
        case tree.Forward():
            return ways_out.forward(program, written, state, scope)
        case tree.Bridge():
            return ways_out.bridge(program, written, state, scope)
        case tree.Copy():
            return copies.copy(program, written, block(program, written.body, state, scope), state)
        case tree.Mirror():
            return copies.mirror(program, written, state, scope)
        case tree.Each():
            return copies.each(block, program, written, state, scope)
        case tree.Queue():
            return ways_out.queue(program, written, state, scope)
        case tree.Let():
            return let(program, written, state, scope)
        case tree.Count():
            return Changed(model.Counted(written.reason.text, written.span), state)
        case tree.Emit():
            return emit(program, written, state, scope)
        case tree.Reply():
            return ways_out.reply(program, written, state)
        case tree.Verdict():
            return ways_out.verdict(program, written, state)
        case tree.Apply():
            return apply(block, program, written, state, scope)
        case tree.Clamp():
            if written.what.text != "mss":
                program.report(
                    errors.unknown("thing to clamp", written.what, ("mss",), "write `clamp mss`")
                )
                return Changed(None, state)
            return Changed(model.ClampMss(written.span), state)
        case tree.Swap():
            return assigns.swap(program, written, state, scope)
        case tree.Assign() if written.target.parts[0].text in program.states:
            return update(program, written, state, scope)
        case tree.Assign():
            return assigns.assign(program, written, state, scope)


# ---- if ---------------------------------------------------------------------------------------


def _if(program: Program, written: tree.If, state: State, scope: Scope) -> Changed:
    assert not isinstance(written.condition, tree.Find | tree.Asked)
    condition, yes, no = narrow(program, written.condition, state, scope)
    facts = [implied(condition, holds) for holds in (True, False)]
    possible = [bool(s) and not contradict(f) for s, f in zip((yes, no), facts, strict=True)]
    if state and not scope.applied and not program.unsure and condition and not all(possible):
        program.report(_never_holds(written.condition.span, possible[0]))
    met, unmet = (Facts(scope.tested, each) for each in facts)
    then, after_then = block(program, written.then, yes, replace(scope, tested=met))
    otherwise, after_otherwise = block(program, written.otherwise, no, replace(scope, tested=unmet))
    if condition is None:
        return Changed(None, after_then | after_otherwise)
    if state and not program.unsure:  # what no packet comes to is no burden to the verifier either
        never = model.Block((model.Verdict("drop", written.span),), ends=True)
        then, otherwise = then if yes else never, otherwise if no else never
    made = model.If(condition, then, otherwise, written.span)
    return Changed(made, after_then | after_otherwise)


def _if_gives(
    program: Program, written: tree.If, gives: tree.Gives, state: State, scope: Scope
) -> Changed:
    bound = StageNames(program, state, scope).bound(gives.rule)
    given = gives.kind
    good = bound is not None and leads_to(program, gives.rule, bound, given)
    if good and perhaps_bound(state, given.text):
        program.report(errors.bound_already(given.span, given.text))
    if good:
        program.alone.setdefault(given.text, given.span)
    within = replace(
        scope,
        names={n: b for n, b in scope.names.items() if n != given.text},
        taken=scope.taken | {given.text},
        tested=Facts(scope.tested),
    )
    within.tested.forget({given.text})
    then, after_then = block(program, written.then, bind(state, given.text), within)
    otherwise, after_otherwise = block(program, written.otherwise, state, scope)
    after = unbind(after_then, given.text) | after_otherwise
    if not good or bound is None:
        return Changed(None, after)
    return Changed(
        model.IfGives(bound.name, bound.kind, given.text, then, otherwise, written.span), after
    )


def _otherwise(
    program: Program, written: tree.Find | tree.Choose, state: State, scope: Scope
) -> tuple[model.Block, State]:
    return block(program, written.otherwise, unbind(state, written.kind.text), scope)


# ---- errors ---------------------------------------------------------------------------------


def _too_many_classes(span: Span, limit: int) -> Diagnostic:
    return error(
        "H0218",
        f"behind this there are more than {limit:,} packet classes",
        (span, "told apart by the nodes that they have and the rules that were found"),
        help="use a rule right behind its look-up: one that nothing behind asks for tells no "
        "classes apart",
    )


def _unreachable(span: Span, ending: Span) -> Diagnostic:
    return error(
        "H0280",
        "this is never reached",
        (span, "the packet is gone by now"),
        (ending, "every way through this gives a verdict"),
        help="remove it, or move it in front",
    )


def _never_holds(span: Span, holds: bool) -> Diagnostic:
    return error(
        "H0298",
        f"this condition {'always' if holds else 'never'} holds here",
        (span, "known beforehand"),
        help="take the condition out"
        if holds
        else "take the `if` out, or check the ways that lead here",
        severity="warning",
    )
