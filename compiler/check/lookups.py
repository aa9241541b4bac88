"""`find` and `choose`: which rule is bound behind them, and to which packets."""

from __future__ import annotations

from collections.abc import Sequence

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, did_you_mean, error, listed
from ...lang.text.source import Span
from .. import model
from . import errors
from .changes import Changed
from .flow import Bound, Scope, State, bind, split
from .kept_rules import Fallback, find_kept
from .stage_names import StageNames
from .stage_program import Program
from .values import fits


def leads_to(program: Program, name: tree.Name, giver: Bound, given: tree.Name) -> bool:
    """Whether rules of the giver's kind may refer to one of kind `given`."""
    if given.text not in program.rules.known:
        program.report(errors.unknown_kind(given, program.rules.known))
        return False
    if giver.kind == "port":
        program.report(_does_not_give(name.span, name.text, given.text, giver.span, ()))
        return False
    kind = program.rules.known[giver.kind]
    if given.text not in kind.alternatives:
        program.report(
            _does_not_give(
                name.span.to(given.span), giver.kind, given.text, kind.span, kind.alternatives
            )
        )
        return False
    return True


def find(
    program: Program, written: tree.Find, otherwise: Fallback, state: State, scope: Scope
) -> Changed:
    kind = _looked_up(program, written.kind, scope)
    hit = bind(state, written.kind.text)
    body, missed = otherwise
    if kind is None:
        program.unsure = True
        return Changed(None, hit | missed)
    if written.origin is not None:
        return find_kept(program, written, written.origin, kind, otherwise, state, scope)
    if not kind.match and not program.rules.has_clause(kind.name, tree.Match):
        program.report(_nothing_to_find(written.kind.span, kind.name, kind.span))
    program.alone.setdefault(kind.name, written.kind.span)
    program.missed[kind.name] = written.kind.span
    given = _given(program, written.given, written.kind.span, kind, state, scope)
    said = frozenset(name for name, _ in given)
    _note_lookup(program, kind, state, written.kind.span, said)
    needed = _needed(kind, said)
    hit, _ = split(hit, lambda w: all(w.present & program.bit(n) for n in needed))
    if state and not hit and not program.unsure:
        never = _never_found(written.kind.span, kind.name, needed, kind.span)
        program.report(never)
    return Changed(model.Find(kind.name, given, body, written.span), hit | missed)


def _needed(kind: model.RuleKind, given: frozenset[str]) -> list[str]:
    """The nodes that a packet has for which a rule is found where the look-up itself says the
    values of `given`: those of what every rule matches."""
    exact = (m for m in kind.match if m.kind == "exact" and m.element.name not in given)
    return sorted({m.operand.node for m in exact if isinstance(m.operand, model.Packet)})


def _given(
    program: Program,
    written: Sequence[tree.Assign],
    span: Span,
    kind: model.RuleKind,
    state: State,
    scope: Scope,
) -> tuple[tuple[str, model.Expr], ...]:
    """The values of match elements that the look-up at `span` says itself."""
    said: dict[str, tree.Assign] = {}
    given: dict[str, model.Expr] = {}
    match = {m.element.name: m for m in kind.match}
    for each in written:
        value = StageNames(program, state, scope).expressions.value(each.value)
        name = each.target.parts[-1]
        if len(each.target.parts) > 1 or name.text not in match:
            program.report(_not_matched(each.target, kind.name, list(match), kind.span))
            continue
        if said.setdefault(name.text, each) is not each:
            first = said[name.text].target.span
            program.report(errors.declared_twice("the value of", name, first))
            continue
        element = match[name.text].element
        what = f"`{element.name}`"
        if value and fits(value, element.width, element.kind, what, element.span, program.found):
            given[name.text] = value.expr
    for matched in kind.match:
        if isinstance(matched.operand, model.Given) and matched.element.name not in said:
            program.report(_value_not_given(span, kind.name, matched.element.name, matched.span))
    return tuple((n, given[n]) for n in match if n in given)


def _looked_up(
    program: Program, name: tree.Name, scope: Scope, group: model.RuleKind | None = None
) -> model.RuleKind | None:
    """The kind that a look-up binds under its own name. `group`: what it is chosen from."""
    if name.text in scope.names or any(f.binding == name.text for f in scope.facts):
        program.report(errors.bound_already(name.span, name.text))
        return None
    kind = program.rules.known.get(name.text)
    if kind is None and group is not None and group.spread is not None:
        help = f"`{group.name}` spreads over another kind: `choose {group.spread.kind} from …`"
        program.report(errors.unknown("rule kind", name, (), help))
    elif kind is None:
        program.report(errors.unknown_kind(name, program.rules.known, program.states))
    return kind


def _note_lookup(
    program: Program,
    kind: model.RuleKind,
    state: State,
    span: Span,
    given: frozenset[str] = frozenset(),
) -> None:
    program.lookups.setdefault(kind.name, []).append(state)
    program.given_by_find |= {(kind.name, name) for name in given}
    for match in kind.match:
        if isinstance(match.operand, model.Packet) and match.element.name not in given:
            bit = program.bit(match.operand.node)
            if any(w.pushed & bit for w in state):
                program.report(
                    errors.pushed_read(span, match.operand.node, program.pushes[match.operand.node])
                )


def choose(
    program: Program, written: tree.Choose, otherwise: Fallback, state: State, scope: Scope
) -> Changed:
    origin = _origin(program, written, state, scope)
    kind = None
    if origin is not None or written.kind.text in program.rules.known:
        kind = _looked_up(program, written.kind, scope, origin[1] if origin else None)
    hit = bind(state, written.kind.text)
    body, missed = otherwise
    program.missed[written.kind.text] = written.kind.span
    if written.otherwise is not None and not written.otherwise.statements:
        program.report(_empty_else(written.otherwise.span))
    if written.otherwise is None:
        missed = frozenset()
    if kind is None or origin is None:
        program.unsure = True
        return Changed(None, hit | missed)
    giver, group = origin
    assert group.spread is not None
    if group.spread.kind != kind.name:
        program.report(
            _does_not_give(
                written.kind.span, group.name, kind.name, group.span, (group.spread.kind,)
            )
        )
        return Changed(None, hit | missed)
    program.chosen.setdefault(group.name, written.origin.span)
    program.alone.setdefault(kind.name, written.kind.span)
    where = written.origin.span
    given = _given(program, written.given, where, group, state, scope)
    _note_lookup(program, group, state, where, frozenset(name for name, _ in given))
    over = _hash(program, written, group, state, scope)
    made = model.Choose(
        kind.name, group.name, giver.name, giver.kind, given, over, body, written.span
    )
    return Changed(made, hit | missed)


def _origin(
    program: Program, written: tree.Choose, state: State, scope: Scope
) -> tuple[Bound, model.RuleKind] | None:
    """`PDR.LBR`: the bound rule, and the kind of the group that it refers to."""
    parts = written.origin.parts
    if len(parts) != 2:
        program.report(
            errors.unsupported(
                written.origin.span,
                "choosing from anything but a rule's group",
                _picks(program),
            )
        )
        return None
    if parts[0].text not in {*program.rules.known, *scope.names}:
        known = [*program.rules.known, *scope.names]
        program.report(errors.unknown("rule", parts[0], known, _picks(program)))
        return None
    bound = StageNames(program, state, scope).bound(parts[0])
    if bound is None or not leads_to(program, parts[0], bound, parts[1]):
        return None
    group = program.rules.known[parts[1].text]
    if group.spread is not None and group.spread.hash is None:
        program.report(_no_choice(written.span, group))
        return None
    if group.spread is None:
        if not program.rules.has_clause(group.name, tree.Spread):
            program.report(
                _does_not_give(parts[1].span, group.name, written.kind.text, group.span, ())
            )
        return None
    return bound, group


def _picks(program: Program) -> str:
    """How a member is chosen, by the kinds that this pipeline has."""
    for giver in program.rules.known.values():
        for name in giver.alternatives:
            group = program.rules.known.get(name)
            if group is not None and group.spread is not None:
                return f"write `choose {group.spread.kind} from {giver.name}.{name}`"
    return (
        "a rule that was found leads to the group: `rule POOL [16] { spread M[1..16] over "
        "hash(ipv4.src) }`, `rule K [1k] { … gives POOL }`, then `choose M from K.POOL`"
    )


def _hash(
    program: Program, written: tree.Choose, group: model.RuleKind, state: State, scope: Scope
) -> model.Hash | None:
    """What is hashed in place of what the spread says, where the `choose` says it. Headers that the
    spread hashes, and that were popped or pushed by now, are reported."""
    if written.over is None:
        clauses = program.rules.kinds[group.name].clauses
        spread = next(c for c in clauses if isinstance(c, tree.Spread))
        StageNames(program, state, Scope()).expressions.value(spread.over)
        return None
    if written.over.function.text != "hash":
        program.report(errors.no_such_function(written.over.function, ["hash"]))
        return None
    value = StageNames(program, state, scope).expressions.value(written.over)
    if value is None:
        return None
    assert isinstance(value.expr, model.Hash)
    return value.expr


# ---- errors ---------------------------------------------------------------------------------


def _nothing_to_find(span: Span, kind: str, where: Span) -> Diagnostic:
    return error(
        "H0264",
        f"`{kind}` matches nothing, so it cannot be found",
        (span, "looked up by its match"),
        (where, "has no `match`"),
        help=f"add a `match` to `{kind}`, or reach it from another rule: `if X gives {kind}`",
    )


def _never_found(span: Span, kind: str, nodes: list[str], where: Span) -> Diagnostic:
    return error(
        "H0225",
        f"no rule of kind `{kind}` can be found here",
        (span, f"no packet has {' and '.join(f'`{n}`' for n in nodes)} here"),
        (where, "what each of its rules matches"),
        help="look it up where packets have that, or match it as `optional`",
    )


def _not_matched(target: tree.Path, kind: str, names: Sequence[str], where: Span) -> Diagnostic:
    return error(
        "H0266",
        f"`{kind}` matches no `{target.text}`",
        (target.span, "no element that it matches"),
        (where, f"it matches {listed(names)}" if names else "it matches nothing"),
        help=did_you_mean(target.text, names) or "give elements of the kind's `match`",
    )


def _value_not_given(span: Span, kind: str, element: str, where: Span) -> Diagnostic:
    return error(
        "H0267",
        f"`{element}` of `{kind}` is given here by nobody",
        (span, "looked up without it"),
        (where, "matches a value that each `find` gives"),
        help=f"give it in brackets behind the kind: `{kind}({element} = …)`",
    )


def _does_not_give(
    span: Span, giver: str, given: str, where: Span, kinds: Sequence[str]
) -> Diagnostic:
    return error(
        "H0278",
        f"`{giver}` does not lead to `{given}`",
        (span, "never holds"),
        (where, f"`{giver}` leads to {listed(kinds) if kinds else 'no other rule'}"),
        help=f"add it to the rule: `gives … | {given}`" if given not in kinds else "",
    )


def _no_choice(span: Span, group: model.RuleKind) -> Diagnostic:
    assert group.spread is not None
    member, name = group.spread.kind, group.name
    return error(
        "H0535", f"`{name}` lists rules, and none of them is chosen", (span, "asks for one"),
        (group.span, f"lists each `{member}`"),
        help=f"bind each of them: `each {member} m in {name} {{ … }}`; for one of them by a hash "
        f"declare `spread {member}[1..16] over hash(…)`",
    )  # fmt: skip


def _empty_else(span: Span) -> Diagnostic:
    return error(
        "H0299",
        "this `else` does nothing",
        (span, "goes on without a rule"),
        help="say what becomes of the packet, or leave the `else` out: that drops and counts it",
    )
