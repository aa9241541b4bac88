"""What the stages taught about rule kinds: what rules must give, what a packet may lack."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

from ...lang.text.diagnostics import Diagnostic, error
from ...lang.text.source import Span
from .. import model
from ..model import Requirement
from .stage_program import Program


def finish_rules(program: Program) -> tuple[model.RuleKind, ...]:
    """The rule kinds with requirements, `grouped` and `maybe_absent` filled in."""
    for kind, span in program.chosen.items():
        if kind in program.alone:
            program.report(_grouped_found(program.alone[kind], kind, span))
    return tuple(
        replace(
            kind,
            match=tuple(
                replace(
                    m,
                    maybe_absent=_maybe_absent(program, kind, m),
                    roles=_roles(program, kind, m),
                )
                for m in kind.match
            ),
            spread=_spread(program, kind),
            grouped=kind.name in program.chosen,
            requires=merged(program.required.get(kind.name, [])),
        )
        for kind in program.rules.known.values()
    )


def _spread(program: Program, kind: model.RuleKind) -> model.Spread | None:
    """The spread, with what some packet may lack where the kind is chosen from."""

    def marked(expr: model.Expr) -> model.Expr:
        match expr:
            case model.Packet(node):
                return replace(expr, maybe_absent=_may_lack(program, kind, node))
            case model.Arithmetic():
                return replace(expr, left=marked(expr.left), right=marked(expr.right))
        return expr

    if kind.spread is None or kind.spread.hash is None:
        return kind.spread
    arguments = tuple(map(marked, kind.spread.hash.arguments))
    return replace(kind.spread, hash=replace(kind.spread.hash, arguments=arguments))


def _maybe_absent(program: Program, kind: model.RuleKind, match: model.Match) -> bool:
    """Whether some packet lacks the field at some look-up of the kind."""
    operand = match.operand
    if not isinstance(operand, model.Packet):
        return False
    header = program.checked.graph.node(operand.node).header
    if header.optional(header.field(operand.field)):
        return True
    return _may_lack(program, kind, operand.node)


def _roles(program: Program, kind: model.RuleKind, match: model.Match) -> tuple[str, ...]:
    """The roles of the ports by which packets came that the kind is looked up for."""
    if not isinstance(match.operand, model.Arrival):
        return ()
    if (kind.name, match.element.name) in program.given_by_find:
        return ()
    found = {world.role for state in program.lookups.get(kind.name, []) for world in state}
    return tuple(r for r in program.roles if r in found) if found < {*program.roles} else ()


def _may_lack(program: Program, kind: model.RuleKind, node: str) -> bool:
    bit = program.bit(node)
    states = program.lookups.get(kind.name, [])
    return not states or any(not w.present & bit for state in states for w in state)


def merged(requirements: list[Requirement]) -> tuple[Requirement, ...]:
    """The fewest requirements that say the same, in a stable order."""
    kept: list[Requirement] = []
    for one in _joined(requirements):
        if not any(_implies(other, one) for other in kept):
            kept = [k for k in kept if not _implies(one, k)] + [one]
    return tuple(sorted(kept, key=_key))


def _key(one: Requirement) -> tuple[str, tuple[tuple[str, tuple[int, ...]], ...], tuple[str, ...]]:
    return one.element, one.when, one.references


def _joined(requirements: list[Requirement]) -> list[Requirement]:
    """Those that differ only in the values of one condition become one."""
    out: list[Requirement] = []
    alike = sorted(requirements, key=lambda r: (r.element, r.references, [w[0] for w in r.when]))
    for _, group in groupby(alike, lambda r: (r.element, r.references, [w[0] for w in r.when])):
        several = list(group)
        if len(several[0].when) == 1:
            name = several[0].when[0][0]
            values = tuple(sorted({v for r in several for v in r.when[0][1]}))
            out.append(replace(several[0], when=((name, values),)))
        else:
            out += several
    return out


def _implies(one: Requirement, other: Requirement) -> bool:
    """Whether every rule that meets `one` meets `other`."""
    if one.element != other.element or (other.references and one.references != other.references):
        return False
    conditions = dict(other.when)
    return all(
        name in conditions and set(conditions[name]) <= set(values) for name, values in one.when
    )


# ---- errors ---------------------------------------------------------------------------------


def _grouped_found(span: Span, kind: str, chosen: Span) -> Diagnostic:
    return error(
        "H0263",
        f"rules of kind `{kind}` are reached by `choose`, not on their own",
        (span, "reached on its own here"),
        (chosen, "its rules share an id here, and are told apart by their match"),
        help=f"write `choose … from X.{kind}` here too, or declare another rule kind",
    )
