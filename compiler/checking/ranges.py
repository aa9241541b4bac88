"""What tests further up say of fields: by how much one number is surely above another."""

from __future__ import annotations

from collections.abc import Iterator

from ...lang.frozen import Frozen
from .. import model
from ..lowering.reads import walk

Facts = tuple[model.Compare, ...]

_OPPOSITE: dict[model.Comparison, model.Comparison] = {
    "=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">",
}  # fmt: skip
_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "!=": "!="}


def told(condition: model.Condition | None, holds: bool) -> Facts:
    """Comparisons of fields that hold where a condition does (or does not)."""
    match condition:
        case model.Not(operand):
            return told(operand, not holds)
        case model.And(operands) if holds:
            return tuple(fact for o in operands for fact in told(o, True))
        case model.Or(operands) if not holds:
            return tuple(fact for o in operands for fact in told(o, False))
        case model.Compare(operator, left, right) if _is_lasting(condition):
            known = operator if holds else _OPPOSITE[operator]
            return (model.Compare(known, left, right),)
    return ()


def _is_lasting(comparison: model.Compare) -> bool:
    """Whether only an assignment can change what is compared."""
    kinds = model.Compare | model.Packet | model.Const | model.Arithmetic
    return all(isinstance(part, kinds) for part in walk(comparison))


def kept(facts: Facts, statement: model.Statement) -> Facts:
    """Those that hold behind a statement as well: of nodes that nothing in it changes."""
    if not facts:
        return facts
    parts = list(_going_on(statement))
    if any(isinstance(p, model.Pop | model.PopLink) for p in parts):  # may set ECN, or a type
        return ()
    changed = {f.node for p in parts if isinstance(p, model.Assign) for f, _ in p.fields}
    return tuple(
        f for f in facts if not {p.node for p in walk(f) if isinstance(p, model.Packet)} & changed
    )


def _going_on(part: object) -> Iterator[Frozen]:
    """What packets may have met that come out of a statement: not what ends them."""
    if isinstance(part, tuple):
        for item in part:
            yield from _going_on(item)
    elif isinstance(part, Frozen) and not (isinstance(part, model.Block) and part.ends):
        yield part
        for name in part.__match_args__:
            if name != "span":
                yield from _going_on(getattr(part, name))


def surely_above(facts: Facts, left: model.Expr, right: model.Expr) -> int | None:
    """The least that `left - right` can be, by what was tested; None if nothing says so."""
    found = [_above(fact.operator, fact.left, fact.right, left, right) for fact in facts]
    found += [_above(_TURNED[fact.operator], fact.right, fact.left, left, right) for fact in facts]
    return max((n for n in found if n is not None), default=None)


def _above(
    operator: str, a: model.Expr, b: model.Expr, left: model.Expr, right: model.Expr
) -> int | None:
    """The same by one fact, `a operator b`."""
    if a != left:
        return None
    at_least = {"=": 0, ">=": 0, ">": 1}.get(operator)
    if b == right:
        return at_least
    if isinstance(b, model.Const) and isinstance(right, model.Const):
        if operator == "!=" and b.value == 0:
            return 1 - right.value
        return None if at_least is None else b.value + at_least - right.value
    return None
