"""Guards against a plain enumeration of all values."""

from __future__ import annotations

from helioc.compiler import model
from helioc.compiler.check.requirements import merged
from helioc.compiler.model import Requirement, guards
from hypothesis import given
from hypothesis import strategies as st

BYTE = range(256)
bounds = st.tuples(st.integers(0, 255), st.integers(0, 255)).map(lambda p: (min(p), max(p)))
plain = st.lists(bounds, min_size=1, max_size=3).map(lambda r: model.Test("f", tuple(r)))
masked = st.tuples(st.integers(0, 254), st.lists(st.integers(0, 255), min_size=1, max_size=3)).map(
    lambda m: model.Test("f", tuple((v & m[0], v & m[0]) for v in m[1]), m[0])
)
tests = plain | masked


@given(tests, tests)
def test_overlap(one: model.Test, other: model.Test) -> None:
    both = any(guards.matched(one, v) and guards.matched(other, v) for v in BYTE)
    assert guards.overlap([one], [other]) == both


@given(plain, plain)
def test_without(one: model.Test, other: model.Test) -> None:
    left = model.Test("f", guards.without(one.ranges, other.ranges))
    for v in BYTE:
        assert guards.matched(left, v) == (guards.matched(one, v) and not guards.matched(other, v))


def test_tests_of_different_fields_can_hold_together() -> None:
    assert guards.overlap([model.Test("a", ((1, 1),))], [model.Test("b", ((2, 2),))])


def test_requirements_are_merged() -> None:
    always, when = Requirement("x"), Requirement("x", (("a", (1,)),))
    assert merged([when, always]) == (always,)
    assert merged([when, Requirement("x", (("a", (2,)),))]) == (Requirement("x", (("a", (1, 2)),)),)
    to_port = Requirement("x", references=("port",))
    assert merged([to_port, always]) == (to_port,)
    assert merged([always, Requirement("x", (("a", (1,)),), ("port",))]) == (
        always,
        Requirement("x", (("a", (1,)),), ("port",)),
    )
