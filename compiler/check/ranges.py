"""What tests further up say of fields, rules and entries: by how much one number is above
another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ...lang.text.frozen import Frozen
from .. import model
from ..model.walk import walk

_OPPOSITE: dict[model.Comparison, model.Comparison] = {
    "=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">",
}  # fmt: skip
#: By how much more than the other side at least one is that stands in front of it.
_AT_LEAST = {"=": 0, ">=": 0, ">": 1}
_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "!=": "!="}
_ABOVE_ALL = 1 << 128  # more than any field holds


class _Fact(NamedTuple):
    """That an expression stands in this relation to `right`. `names`: fields (`NODE.FIELD`) and
    bindings that are compared; `time`: of its block, when it was learnt."""

    operator: str
    right: model.Expr
    names: frozenset[str]
    time: int


class Facts:
    """Comparisons that hold at a place of a block, and those that hold around it. To be asked about
    an expression costs what is known of that one, not what is known."""

    def __init__(self, around: Facts | None = None, facts: Iterable[model.Compare] = ()) -> None:
        self._around = around
        self._by_left: dict[model.Expr, list[_Fact]] = {}
        self._time = 0
        self._changed: dict[str, int] = {}  # by name, since when its values are others
        self.learn(facts)

    def __bool__(self) -> bool:
        return bool(self._by_left or self._around)

    def learn(self, facts: Iterable[model.Compare]) -> None:
        for fact in facts:
            names, turned = _names(fact), _TURNED[fact.operator]
            for left, operator, right in (
                (fact.left, fact.operator, fact.right),
                (fact.right, turned, fact.left),
            ):
                known = self._by_left.setdefault(left, [])
                known.append(_Fact(operator, right, names, self._time))

    def pass_by(self, statement: model.Statement, nodes: Iterable[model.Node]) -> None:
        """Forget what does not hold behind a statement: of fields that something in it changes,
        rules that something in it finds, and entries that it binds or changes."""
        if not self:
            return
        parts = list(_going_on(statement))
        fields = {f for p in parts if isinstance(p, model.Assign) for f, _ in p.fields}
        changed = {name for node in nodes for f in fields for name in _written(node, f)}
        changed |= {p.rule for p in parts if isinstance(p, model.Find | model.Choose)}
        changed |= {p.given for p in parts if isinstance(p, model.IfGives)}
        bound = model.Recall | model.Remember | model.Forget
        changed |= {p.state for p in parts if isinstance(p, bound)}
        changed |= {p.slot.state for p in parts if isinstance(p, model.Update | model.Exchange)}
        self.forget(changed)
        if any(isinstance(p, model.Pop | model.PopLink) for p in parts):  # may set ECN, or a type
            self._by_left, self._around = {}, None

    def forget(self, names: Iterable[str]) -> None:
        """Fields or bindings have other values from here on."""
        names = set(names)
        self._time += bool(names)
        self._changed.update(dict.fromkeys(names, self._time))

    def about(self, left: model.Expr) -> Iterator[_Fact]:
        """What is known of that expression."""
        for fact in self._by_left.get(left, ()):
            if all(self._changed.get(name, 0) <= fact.time for name in fact.names):
                yield fact
        for fact in self._around.about(left) if self._around else ():
            if fact.names.isdisjoint(self._changed):
                yield fact


def implied(condition: model.Condition | None, holds: bool) -> tuple[model.Compare, ...]:
    """Comparisons of fields that hold where a condition does (or does not)."""
    match condition:
        case model.Not(operand):
            return implied(operand, not holds)
        case model.And(operands) if holds:
            return tuple(fact for o in operands for fact in implied(o, True))
        case model.Or(operands) if not holds:
            return tuple(fact for o in operands for fact in implied(o, False))
        case model.Or(operands) | model.And(operands):
            return tuple(_of_either([implied(o, holds) for o in operands]))
        case model.Among(subject, ranges) if _is_lasting(condition):
            return tuple(_of_ranges(subject, ranges, holds))
        case model.Compare(operator, left, right) if _is_lasting(condition):
            known = operator if holds else _OPPOSITE[operator]
            return (model.Compare(known, left, right),)
    return ()


def one_of(expr: model.Expr, values: Iterable[int]) -> tuple[model.Compare, ...]:
    """The same where an expression has one of these values."""
    return implied(model.Or(tuple(model.Compare("=", expr, _const(v)) for v in values)), True)


def _of_either(ways: list[tuple[model.Compare, ...]]) -> Iterator[model.Compare]:
    """Bounds that hold whichever of the ways it is: each the loosest of theirs."""
    every = [Facts(facts=way) for way in ways]
    for left in dict.fromkeys(fact.left for fact in ways[0]):
        bounds = [narrowed(facts, left, -1, _ABOVE_ALL) for facts in every]
        least, most = min(low for low, _ in bounds), max(high for _, high in bounds)
        if least >= 0:
            yield model.Compare(">=", left, _const(least))
        if most < _ABOVE_ALL:
            yield model.Compare("<=", left, _const(most))


def _const(value: int) -> model.Const:
    return model.Const(value, max(1, value.bit_length()))


def _of_ranges(subject: model.Expr, ranges: model.Ranges, holds: bool) -> Iterator[model.Compare]:
    """What follows from that a value is in one of these ranges, or in none."""
    if holds:
        yield model.Compare(">=", subject, _const(ranges[0][0]))
        yield model.Compare("<=", subject, _const(ranges[-1][1]))
        return
    for low, high in ranges:
        if low == high:
            yield model.Compare("!=", subject, _const(low))
        elif not low:
            yield model.Compare(">", subject, _const(high))


def _is_lasting(comparison: model.Compare | model.Among) -> bool:
    """Whether only an assignment, or another rule or entry, can change what is compared."""
    kinds = (
        model.Compare
        | model.Among
        | model.Packet
        | model.HasOption
        | model.Const
        | model.Arithmetic
    )
    rules = model.Attribute | model.RuleId | model.Count | model.Local | model.FrameLength
    moment = model.Recalled | model.Now | model.ClockError | model.Random
    return all(isinstance(part, kinds | rules | moment) for part in walk(comparison))


def _names(fact: model.Compare) -> frozenset[str]:
    """Fields and bindings that are compared."""
    parts = list(walk(fact))
    fields = frozenset(f"{p.node}.{p.field}" for p in parts if isinstance(p, model.Packet))
    rules = {p.binding for p in parts if isinstance(p, model.Attribute | model.RuleId)}
    return fields | rules | {p.state for p in parts if isinstance(p, model.Recalled)}


def _written(node: model.Node, field: model.Packet | model.Item) -> Iterator[str]:
    """Fields of the node that an assignment changes: that one, those it shares bits with (a part
    and what it is a part of), and checksums."""
    if field.node != node.name:
        return
    whole = node.header.field(field.field).part_of
    options = node.header.options.fields if node.header.options else ()
    for other in (*node.header.fields, *options):
        derived = other.default
        if (
            other.name in (field.field, whole)
            or other.part_of == field.field
            or (isinstance(derived, model.Derived) and derived.what == "checksum")
        ):
            yield f"{node.name}.{other.name}"


def _going_on(part: object) -> Iterator[Frozen]:
    """What packets may have met that come out of a statement: not what ends them. In no order."""
    left = [part]
    while left:
        part = left.pop()
        if isinstance(part, tuple):
            left += part
        elif isinstance(part, Frozen) and not (isinstance(part, model.Block) and part.ends):
            yield part
            left += (getattr(part, name) for name in part.__match_args__ if name != "span")


def surely_above(facts: Facts, left: model.Expr, right: model.Expr) -> int | None:
    """The least that `left - right` can be, by what was tested; None if nothing says so."""
    found = (_above(fact, right) for fact in facts.about(left))
    return max((n for n in found if n is not None), default=None)


def contradict(facts: Sequence[model.Compare]) -> bool:
    """Whether there is an expression of which not all of these can hold."""
    known = Facts(facts=facts)
    for expr in dict.fromkeys(fact for each in facts for fact in (each.left, each.right)):
        low, high = _bounds(known, expr, -1, _ABOVE_ALL)  # below all, too: of one alone H0243 tells
        if low > high or (low == high and low in excluded(known, expr)):
            return True
    return False


def narrowed(facts: Facts, expr: model.Expr, low: int, high: int) -> tuple[int, int]:
    """What an expression of this range may be, by what was tested."""
    low, high = _bounds(facts, expr, low, high)
    return low, max(low, high)


def _bounds(facts: Facts, expr: model.Expr, low: int, high: int) -> tuple[int, int]:
    """The same; the first is above the second where it may be nothing."""
    for fact in facts.about(expr):
        if not isinstance(fact.right, model.Const):
            continue
        if fact.operator in ("=", ">=", ">"):
            low = max(low, fact.right.value + (fact.operator == ">"))
        if fact.operator in ("=", "<=", "<"):
            high = min(high, fact.right.value - (fact.operator == "<"))
    return low, high


def excluded(facts: Facts, expr: model.Expr) -> frozenset[int]:
    """Numbers that an expression is not, by what was tested."""
    others = (fact.right for fact in facts.about(expr) if fact.operator == "!=")
    return frozenset(other.value for other in others if isinstance(other, model.Const))


def _above(fact: _Fact, right: model.Expr) -> int | None:
    """The same by one fact about `left`."""
    b, at_least = fact.right, _AT_LEAST.get(fact.operator)
    if b == right:
        return at_least
    if isinstance(b, model.Const) and isinstance(right, model.Const):
        if fact.operator == "!=" and b.value == 0:
            return 1 - right.value
        return None if at_least is None else b.value + at_least - right.value
    return None
