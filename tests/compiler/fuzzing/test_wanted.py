"""What has to change for a condition to come out the other way."""

from __future__ import annotations

import pytest
from helioc.compiler.fuzzing.wanted import Arriving, Leaf, Wanted, wanted
from helioc.compiler.interpret.evaluate import Compared, holds
from helioc.compiler.model import (
    And,
    Arithmetic,
    Attribute,
    Compare,
    Condition,
    Const,
    Expr,
    Not,
    Operator,
    Or,
    Packet,
    PortIs,
)
from helioc.lang.contract.world.environment import Environment

A, B = Packet("ipv4", "ttl", 8), Packet("ipv4", "id", 16)
GIVEN = Attribute("R", "R", "limit", 8, "uint", False)


def seen(condition: Condition, values: dict[Expr, int]) -> tuple[Wanted, ...]:
    compared: Compared = []
    holds(condition, lambda leaf: values[leaf], lambda _: False, compared)
    found = {id(c): (left, right) for c, left, right in compared}
    return wanted(condition, found, Environment(()))


@pytest.mark.parametrize("operator", ["=", "!=", "<", "<=", ">", ">="])
@pytest.mark.parametrize("value", [4, 5, 6])
def test_either_side_turns_a_comparison(operator: str, value: int) -> None:
    condition = Compare(operator, A, GIVEN)  # type: ignore[arg-type]
    before: dict[Expr, int] = {A: value, GIVEN: 5}

    def is_so(values: dict[Expr, int]) -> bool:
        return holds(condition, lambda leaf: values[leaf], lambda _: False)

    turned = seen(condition, before)
    assert {leaf.of for leaf in turned if isinstance(leaf, Leaf)} == {A, GIVEN}
    for leaf in turned:
        assert isinstance(leaf, Leaf)
        assert is_so({**before, leaf.of: leaf.value}) != is_so(before), leaf


@pytest.mark.parametrize(
    ("operator", "known", "value"),
    [
        ("+", 3, 7),
        ("-", 3, 13),
        ("*", 2, 5),
        ("<<", 1, 5),
        (">>", 2, 40),
        ("^", 6, 12),
        ("&", 15, 10),
    ],
)
def test_what_is_computed_is_undone(operator: Operator, known: int, value: int) -> None:
    condition = Compare("=", Arithmetic(operator, A, Const(known, 8)), Const(10, 8))
    assert seen(condition, {A: 0}) == (Leaf(A, value),)


def test_only_what_keeps_it_is_turned() -> None:
    one, other = Compare("=", A, Const(1, 8)), Compare("=", B, Const(2, 16))
    assert seen(And((one, other)), {A: 1, B: 0}) == (Leaf(B, 2),)
    assert seen(Or((one, other)), {A: 0, B: 2}) == (Leaf(B, 3),)
    assert seen(Not(And((one, other))), {A: 0, B: 0}) == (Leaf(A, 1), Leaf(B, 2))
    assert seen(PortIs("lan"), {}) == (Arriving("lan"),)
