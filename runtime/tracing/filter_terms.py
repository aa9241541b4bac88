"""Compiles a filter to what traced programs test: tests of fields, and conjunctions of these.

What they cannot test (fields behind optional ones, the verdict, more tests than there is space for)
is left out, so that they pass at least what the filter passes; `filters.passes` then decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from ...lang.contract.trace.filters import All, Any, Ends, Filter, Has, Not, Within
from ...lang.contract.trace.schema import TERMS, TESTS, Node
from .control import FieldTest, TraceFilter

_LOW = (1 << 64) - 1

#: Literals, each a test or its opposite, that must hold together.
_Term = frozenset[tuple[FieldTest, bool]]


def compile_filter(
    condition: Filter | None, nodes: Sequence[Node], port: int = 0, sample: int = 1
) -> TraceFilter:
    """The tests for each packet."""
    numbers = {node.name: i for i, node in enumerate(nodes)}
    terms = _terms(condition, numbers, True) if condition is not None else [frozenset()]
    tests = list(dict.fromkeys(test for term in terms for test, _ in sorted(term, key=repr)))
    if len(tests) > TESTS or len(terms) > TERMS or frozenset() in terms:
        return TraceFilter(port, sample)
    coded = []
    for term in terms:
        bits = {test: 1 << tests.index(test) for test, _ in term}
        coded.append((sum(bits.values()), sum(bits[test] for test, holds in term if holds)))
    return TraceFilter(port, sample, tuple(tests), tuple(coded))


def _terms(condition: Filter, numbers: dict[str, int], holds: bool) -> list[_Term]:
    """Its disjunctive form, or that of its opposite; literals that cannot be asked are left out.
    Never more terms than there is room for: then a single one without literals."""
    match condition:
        case Not(operand):
            return _terms(operand, numbers, not holds)
        case All(operands) | Any(operands):
            each = [_terms(operand, numbers, holds) for operand in operands]
            if isinstance(condition, Any) == holds:
                found = [term for terms in each for term in terms]
            else:
                if _product(each) > TERMS:
                    return [frozenset()]
                found = [
                    frozenset[tuple[FieldTest, bool]]().union(*terms) for terms in product(*each)
                ]
            found = [term for term in found if not any((t, not h) in term for t, h in term)]
            found = list(dict.fromkeys(found))
            return found if len(found) <= TERMS else [frozenset()]
        case Ends():
            return [frozenset()]
        case Has(node):
            return [frozenset({(FieldTest(numbers[node.name], 0, 1, 0, 0, 0), holds)})]
        case Within():
            test = _test(condition, numbers)
            return [frozenset({(test, holds)} if test is not None else ())]


def _product(each: list[list[_Term]]) -> int:
    total = 1
    for terms in each:
        total *= len(terms)
    return total


def _test(condition: Within, numbers: dict[str, int]) -> FieldTest | None:
    """None where programs have no test for it."""
    field = condition.field
    first, last = field.offset // 8, (field.offset + field.width - 1) // 8
    size = last + 1 - first
    if field.group or size > 16:
        return None
    shift = (last + 1) * 8 - field.offset - field.width
    mask, low, high = (n << shift for n in (condition.mask, condition.low, condition.high))
    if low >> 64 != high >> 64:  # a range that does not lie in the lower half alone
        return None
    return FieldTest(
        numbers[condition.node.name], first, size, mask & _LOW, low & _LOW, (high - low) & _LOW,
        mask >> 64, low >> 64, condition.otherwise,
    )  # fmt: skip
