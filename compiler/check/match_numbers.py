"""`match` on numbers and addresses: arms by value, range and prefix; the first that fits counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, error, listed
from ...lang.text.source import Span
from .. import model
from ..model import guards
from .changes import Changed
from .expressions import FEW, Expressions
from .flow import Scope, State
from .ranges import Facts, implied
from .stage_names import StageNames
from .stage_program import Program
from .values import Value, shown

#: Checks the block of an arm: what it becomes, and the packets that fall out of its end.
Body = Callable[[tree.Block, State, Scope], tuple[model.Block, State]]


def match_numbers(
    body: Body,
    program: Program,
    written: tree.MatchOn,
    subject: Value,
    state: State,
    scope: Scope,
) -> Changed | None:
    """A chain of branches, or of many arms a statement of its own. None where it has reported an
    error and nothing can be said of arms."""
    if subject.kind == "bytes" or subject.low == subject.high:
        why = "a run of bytes" if subject.kind == "bytes" else "always the same"
        program.report(_cannot_match(written.subject.span, why, subject.declared))
        return None
    expressions = StageNames(program, state, scope).expressions
    errors_before = len(program.found.errors)
    arms = list(_arms(program, written, subject, expressions))
    if len(program.found.errors) > errors_before:
        return None
    after: State = frozenset()
    made: list[tuple[_Arm, model.Block]] = []
    tested = Facts(scope.tested)
    for arm in arms:
        met = Facts(tested, implied(arm.condition, True))
        block, out = body(arm.written.body, state, replace(scope, tested=met))
        tested.learn((*implied(arm.condition, False), *_between(subject, arm.left)))
        made.append((arm, block))
        after |= out
    if len(made) <= FEW:
        return Changed(_chain(made), after)
    *first, (_, otherwise) = made
    by_range = tuple((arm.takes, block) for arm, block in first)
    return Changed(model.MatchNumber(subject.expr, by_range, otherwise, written.span), after)


class _Arm(NamedTuple):
    """An arm with what it asks (nothing if it is for all that is left), the numbers that it takes,
    and those that are left behind it."""

    written: tree.Arm
    condition: model.Condition | None
    takes: model.Ranges
    left: model.Ranges


def _between(subject: Value, left: model.Ranges) -> tuple[model.Compare, ...]:
    """That a number lies between the ends of what is left."""
    if subject.kind != "uint" or not left:
        return ()
    ends = min(low for low, _ in left), max(high for _, high in left)
    least, most = (model.Const(end, max(1, end.bit_length())) for end in ends)
    below = model.Compare("<=", subject.expr, most)
    return implied(model.And((model.Compare(">=", subject.expr, least), below)), True)


def _chain(arms: list[tuple[_Arm, model.Block]]) -> model.If | None:
    """`if` … `else if` …; the last arm takes what is left."""
    (_, otherwise), *before = reversed(arms)
    made = None
    for arm, then in before:
        assert arm.condition is not None
        made = model.If(arm.condition, then, otherwise, arm.written.span)
        otherwise = model.Block((made,), then.ends and otherwise.ends)
    return made


def _arms(
    program: Program, written: tree.MatchOn, subject: Value, expressions: Expressions
) -> Iterator[_Arm]:
    """Reports what is covered twice, missing, or no value."""
    left: model.Ranges = (subject.range,)
    taken: list[tuple[Value, Value, Span]] = []
    last = len(written.arms) - 1
    for i, arm in enumerate(written.arms):
        if arm.binding is not None:
            program.report(arm_binding(arm.binding, arm.patterns[0].span.text))
        if any(word(p).text == "_" for p in arm.patterns):
            if why := _misplaced(i, last, len(arm.patterns), bool(left)):
                program.report(_not_last(arm.patterns[0].span, why))
            left = ()
            yield _Arm(arm, None, (), left)
            continue
        takes: list[tuple[int, int]] = []
        for pattern in arm.values or arm.patterns:
            ends = expressions.ends(pattern)
            if ends is None:
                return
            low, high = ends
            if not (low.literal and high.literal):
                program.report(_no_pattern(pattern.span))
                return
            takes += guards.within(left, low.low, high.low)
            rest = guards.without(left, ((low.low, high.low),))
            every = (s for a, b, s in taken if a.low <= high.low and low.low <= b.low)
            if rest == left and (first := next(every, None)):
                program.report(duplicate_arm(pattern.span, first))
            left = rest
            taken.append((low, high, pattern.span))
        condition = expressions.among(subject, arm.values or arm.patterns)
        yield _Arm(arm, condition, guards.joined(takes), left)
    if left:
        said = [[shown(end, subject.kind) for end in each] for each in left[:3]]
        missing = [a if a == b else f"{a}..{b}" for a, b in said]
        where = subject.declared or written.subject.span
        program.report(not_exhaustive(written.subject.span, subject.span.text, missing, where))


def _misplaced(at: int, last: int, alternatives: int, left: bool) -> str:
    """Why `_` cannot stand there; empty if it can."""
    if alternatives > 1:
        return "not alone in its arm"
    if at < last:
        return "not the last arm"
    if not at:
        return "the only arm"
    return "" if left else "nothing is left for it"


def word(pattern: tree.Range) -> tree.Name:
    """The name that a pattern is, or what stands there in its place."""
    match pattern:
        case tree.Range(_, tree.Path(_, (name,), None), None):
            return name
    return tree.Name(pattern.span, pattern.span.text)


# ---- errors ---------------------------------------------------------------------------------


def not_exhaustive(span: Span, what: str, missing: Sequence[str], where: Span) -> Diagnostic:
    return error(
        "H0274",
        f"this match does not say what happens for {listed(missing)}",
        (span, f"{', '.join(missing)} missing"),
        (where, f"`{what}` is declared here"),
        help=f"add arms for {listed(missing)}, or `_ => …` for the rest",
    )


def duplicate_arm(again: Span, first: Span) -> Diagnostic:
    return error(
        "H0275",
        "this arm is never taken",
        (again, "covered already"),
        (first, "by this arm"),
        help="remove one of the two",
    )


def arm_binding(binding: tree.Name, pattern: str) -> Diagnostic:
    return error(
        "H0277",
        f"the arm `{pattern}` binds nothing",
        (binding.span, "it stands for no single rule or port"),
        help="only a reference is bound by its arm, as in `port p => …`: remove the name",
    )


def _cannot_match(span: Span, why: str, where: Span | None) -> Diagnostic:
    labels = [(span, why)]
    if where is not None:
        labels.append((where, "declared here"))
    return error(
        "H0276",
        f"`{span.text}` cannot be matched on",
        *labels,
        help="match a number, an address, or an element of a rule",
    )


def _not_last(span: Span, why: str) -> Diagnostic:
    return error(
        "H0275",
        "`_` stands for what no other arm takes",
        (span, why),
        help="write it as the last of several arms; leave it out where the others say everything",
    )


def _no_pattern(span: Span) -> Diagnostic:
    return error(
        "H0276",
        f"`{span.text}` is no pattern",
        (span, "known only when the packet is there"),
        help="an arm is a number, an address, a range, a prefix or a constant",
    )
