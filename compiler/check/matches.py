"""`match` on elements: arms by symbol or by reference, each covered once and none forgotten."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from ...lang import tree
from ...lang.text.source import Span
from .. import model
from . import errors
from .changes import Changed
from .flow import Bound, Fact, Scope, State, bind, unbind
from .match_numbers import Body, arm_binding, duplicate_arm, match_numbers, not_exhaustive, word
from .names import RESERVED
from .ranges import Facts, one_of
from .stage_names import StageNames
from .stage_program import Program


def match(
    body: Body, program: Program, written: tree.MatchOn, state: State, scope: Scope
) -> Changed:
    names = StageNames(program, state, scope, "match")
    if not isinstance(written.subject, tree.Path):
        return _match_computed(body, program, written, state, scope)
    first = written.subject.parts[0].text
    of_rule = (first in scope.names or first in program.rules.known) and not written.subject.index
    value = names.attribute(written.subject) if of_rule else names.name(written.subject)
    if value is None:
        return Changed(None, _arms_apart(program, written, state))
    subject = value.expr
    if isinstance(
        subject, model.RuleCount | model.Register
    ):  # which may be another number at the next arm
        return _match_computed(body, program, written, state, scope)
    if isinstance(subject, model.Attribute):
        element = program.elements.known[subject.element]
        if element.references:
            return _match_reference(body, program, written, subject, element, state, scope)
        if element.symbols:
            return _match_value(body, program, written, subject, element, state, scope)
    matched = match_numbers(body, program, written, value, state, scope)
    if matched is None:
        return Changed(None, _arms_apart(program, written, state))
    return matched


def _match_computed(
    body: Body, program: Program, written: tree.MatchOn, state: State, scope: Scope
) -> Changed:
    """`match user.ttl & 3 { … }`: what is matched on is computed once."""
    value = StageNames(program, state, scope).expressions.value(written.subject)
    matched = None
    if value is not None:
        local = model.Local(f"0{value.kind}{value.width}", value.width, value.kind)
        kept = replace(value, expr=local)
        matched = match_numbers(body, program, written, kept, state, scope)
    if value is None or matched is None or matched.statement is None:
        return Changed(None, _arms_apart(program, written, state))
    made = matched.statement
    match made:
        case model.If(_, then, otherwise):
            bodies = [then, otherwise]
        case model.MatchNumber(_, arms, otherwise):
            bodies = [otherwise, *(body for _, body in arms)]
        case _:
            raise AssertionError(made)
    ends = all(body.ends for body in bodies)
    block = model.Block((model.Let(local, value.expr, written.span), made), ends)
    return Changed(model.Inline("", block, written.span), matched.state)


def _arms_apart(program: Program, written: tree.MatchOn, state: State) -> State:
    """The subject is wrong: what the arms say cannot be judged."""
    program.unsure = True
    return state if any(not _ends_as_written(arm.body) for arm in written.arms) else frozenset()


def _ends_as_written(written: tree.Block) -> bool:
    last = written.statements[-1] if written.statements else None
    return isinstance(last, tree.Verdict | tree.Forward | tree.Reply)


def _covered(
    program: Program,
    written: tree.MatchOn,
    known: list[str],
    what: str,
    declared: Span,
    reserved: Collection[str] = (),
) -> Iterator[tuple[tree.Arm, list[str]]]:
    """Each good arm and what it covers; reports what is unknown, covered twice or missing."""
    taken: dict[str, Span] = {}
    misspelt = False
    for arm in written.arms:
        covers: list[str] = []
        for name in map(word, arm.patterns):
            if name.text == "_":
                rest = [k for k in known if k not in taken]
                if not rest and written.arms:
                    program.report(duplicate_arm(name.span, written.arms[0].patterns[0].span))
            elif name.text not in known:
                near, help = known, f"its arms are {', '.join(known)}"
                if name.text in reserved:
                    near, help = [], f"the element declares it reserved; {help}"
                program.report(errors.unknown(f"arm of `{what}`", name, near, help))
                misspelt = True
                continue
            elif name.text in taken:
                program.report(duplicate_arm(name.span, taken[name.text]))
                continue
            else:
                rest = [name.text]
            taken.update(dict.fromkeys(rest, name.span))
            covers += rest
        if covers:
            yield arm, covers
    missing = [k for k in known if k not in taken]
    if misspelt:
        program.unsure = True
    elif missing:
        program.report(not_exhaustive(written.subject.span, what, missing, declared))
        program.unsure = True


def _match_value(
    body: Body,
    program: Program,
    written: tree.MatchOn,
    subject: model.Attribute,
    element: model.Element,
    state: State,
    scope: Scope,
) -> Changed:
    values = dict(element.symbols)
    arms: list[tuple[tuple[int, ...], model.Block]] = []
    after: State = frozenset()
    reserved = [each.name for each in element.reserved]
    known, what = list(values), written.subject.span.text
    for arm, covers in _covered(program, written, known, what, element.span, reserved):
        if arm.binding is not None:
            program.report(arm_binding(arm.binding, arm.patterns[0].span.text))
        chosen = tuple(values[c] for c in covers)
        fact = Fact(subject.binding, element.name, chosen)
        tested = Facts(scope.tested, one_of(subject, chosen))
        within = replace(scope, facts=(*scope.facts, fact), tested=tested)
        made, left = body(arm.body, state, within)
        arms.append((chosen, made))
        after |= left
    return Changed(model.MatchValue(subject, tuple(arms), written.span), after)


def _match_reference(
    body: Body,
    program: Program,
    written: tree.MatchOn,
    subject: model.Attribute,
    element: model.Element,
    state: State,
    scope: Scope,
) -> Changed:
    arms: list[model.ReferenceArm] = []
    after: State = frozenset()
    known = list(element.references)
    for arm, covers in _covered(program, written, known, written.subject.span.text, element.span):
        several = len(arm.patterns) > 1 or word(arm.patterns[0]).text == "_"
        if arm.binding is not None and several:
            program.report(arm_binding(arm.binding, arm.patterns[-1].span.text))
        for kind in covers:
            made, left = _reference_arm(body, program, arm, kind, state, scope)
            arms.append(made)
            after |= left
    return Changed(model.MatchReference(subject, tuple(arms), written.span), after)


def _reference_arm(
    body: Body, program: Program, arm: tree.Arm, kind: str, state: State, scope: Scope
) -> tuple[model.ReferenceArm, State]:
    word = arm.binding.text if arm.binding else kind.lower()
    if arm.binding:
        check_free(program, arm.binding, scope)
    name = scope.fresh(word)
    if kind != "port":
        program.alone.setdefault(kind, arm.patterns[0].span)
    within = replace(scope, taken=scope.taken | {name})
    if arm.binding:
        within = replace(within, names={**scope.names, word: Bound(name, kind, arm.binding.span)})
    made, left = body(arm.body, bind(state, name), within)
    return model.ReferenceArm(kind, name, made), unbind(left, name)


def check_free(program: Program, name: tree.Name, scope: Scope) -> bool:
    """Whether a name means nothing here; says what it means."""
    if name.text in scope.values:
        value = scope.values[name.text]
        declared = value.declared if value else None
        program.report(errors.name_taken(name, "a value of the packet", declared))
    elif name.text in scope.names:
        program.report(errors.name_taken(name, "a rule or port", scope.names[name.text].span))
    elif name.text in RESERVED:
        program.report(errors.name_taken(name, RESERVED[name.text]))
    elif name.text in program.rules.known:
        program.report(errors.name_taken(name, "a rule kind", program.rules.known[name.text].span))
    elif name.text in program.states:
        program.report(errors.name_taken(name, "a state", program.states[name.text].span))
    elif node := next((n for n in program.checked.graph.nodes if n.name == name.text), None):
        program.report(errors.name_taken(name, "a node of the parse graph", node.span))
    else:
        return True
    return False
