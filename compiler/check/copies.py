"""`copy {…}` and `mirror P`: a copy of the packet leaves, and the packet goes on as it was.
`each M m in R {…}`: copies for all that a rule lists."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, error
from ...lang.text.source import Span
from .. import model
from ..model.statements import straight
from . import errors, ways_out
from .actions import Check
from .changes import Changed
from .flow import Bound, Scope, State, bind
from .matches import check_free
from .stage_names import StageNames
from .stage_program import Program

#: Bytes that a mirror may be cut to: the kernel cuts no packet off within the headers it knows of.
LEAST_SHOWN, MOST_SHOWN = 128, 9_216


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
    most = written.most.value if written.most else 0
    if written.most and not LEAST_SHOWN <= most <= MOST_SHOWN:
        what = "the bytes of a copy"
        limits = LEAST_SHOWN, MOST_SHOWN
        program.report(errors.number_out_of_range(written.most.span, what, *limits))
        return Changed(None, state)
    if bridged is None:
        return Changed(None, state)
    return Changed(model.Copy(model.Block((bridged,), ends=True), written.span, most), state)


def each(block: Check, program: Program, written: tree.Each, state: State, scope: Scope) -> Changed:
    """What is made within are copies: the packet behind it is as it was."""
    lister = StageNames(program, state, scope).bound(written.source)
    good = lister is not None and _lists(program, written, lister)
    good &= check_free(program, written.binding, scope)
    kind, word = written.kind.text, written.binding.text
    name = scope.fresh(word)
    bound = Bound(name, kind, written.binding.span)
    within = replace(scope, names={**scope.names, word: bound}, taken=scope.taken | {name})
    if not good:
        program.unsure = True
    body, _ = block(program, written.body, bind(state, name), within)
    for s in _not_made_of_copies(body):
        program.report(_not_of_each(s.span))
        good = False
    if not good or lister is None:
        return Changed(None, state)
    program.alone.setdefault(kind, written.kind.span)
    return Changed(model.Each(name, kind, lister.name, lister.kind, body, written.span), state)


def _lists(program: Program, written: tree.Each, lister: Bound) -> bool:
    """Whether rules of the lister's kind list rules of the kind that is named."""
    member = program.rules.known.get(written.kind.text)
    if member is None:
        program.report(errors.unknown_kind(written.kind, program.rules.known, program.states))
        return False
    kind = program.rules.known.get(lister.kind)
    spread = None if kind is None else kind.spread
    if spread is None or spread.hash is not None or spread.kind != member.name:
        where = lister.span if kind is None else kind.span
        program.report(_lists_none(written, lister.kind, member.name, where))
        return False
    return True


def _not_made_of_copies(body: model.Block, within: Span | None = None) -> Iterator[model.Statement]:
    """The statements of a block, and of those within, that `each` has no place for."""
    for s in body.statements:
        match s:
            case model.If() | model.IfGives():
                yield from _not_made_of_copies(s.then, s.span)
                yield from _not_made_of_copies(s.otherwise, s.span)
            case model.MatchValue():
                for _, arm in s.arms:
                    yield from _not_made_of_copies(arm)
            case model.MatchReference():
                for reference in s.arms:
                    yield from _not_made_of_copies(reference.body)
            case model.Inline():
                yield from _not_made_of_copies(s.body)
            case model.Copy() | model.Counted():
                pass
            case model.Verdict("drop") if s.span == within:  # of a test that no packet comes to
                pass
            case _:
                yield s


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


def _not_of_each(span: Span) -> Diagnostic:
    return error(
        "H0533", "this does not stand in an `each`",
        (span, "only `copy`, `mirror` and `count`, conditions and `match`, and actions of these"),
        help="put it in front of the `each`, or behind it: the packet there is as it was",
    )  # fmt: skip


def _lists_none(written: tree.Each, lister: str, member: str, where: Span) -> Diagnostic:
    return error(
        "H0534", f"`{lister}` lists no `{member}`",
        (written.source.span, "asked for what it lists"), (where, "declared here"),
        help=f"add `lists {member}[1..16]` to `rule {lister}`",
    )  # fmt: skip
