"""The diagram of what is bound, held against the sets that it stands for."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from helioc.compiler.check.bindings import Bindings, Table, nodes_of
from helioc.compiler.check.sifting import sift
from hypothesis import given, settings
from hypothesis import strategies as st

Sets = frozenset[frozenset[str]]
NAMES = "abcdef"


def meant(at: Bindings) -> Sets:
    """The combinations that a diagram stands for."""
    if at.without is at:
        return frozenset() if at is at.table.none else frozenset({frozenset()})
    return meant(at.without) | {each | {at.name} for each in meant(at.having)}


PLAIN: dict[str, Callable[[Sets, str], Sets]] = {
    "bind": lambda sets, name: frozenset(each | {name} for each in sets),
    "unbind": lambda sets, name: frozenset(each - {name} for each in sets),
    "perhaps": lambda sets, name: sets | {each | {name} for each in sets},
    "only": lambda sets, name: frozenset(each for each in sets if name in each),
    "others": lambda sets, name: frozenset(each for each in sets if name not in each),
}
DIAGRAM: dict[str, Callable[[Bindings, str], Bindings]] = {
    "bind": lambda at, name: at.bind(name),
    "unbind": lambda at, name: at.unbind(name),
    "perhaps": lambda at, name: at.join(at.bind(name)),
    "only": lambda at, name: at.split(name)[0],
    "others": lambda at, name: at.split(name)[1],
}
steps = st.lists(st.tuples(st.sampled_from(sorted(PLAIN)), st.sampled_from(NAMES)), max_size=25)


@settings(max_examples=150, deadline=None)
@given(steps, steps, st.frozensets(st.sampled_from(NAMES)), st.booleans())
def test_a_diagram_is_its_sets(
    one: list[tuple[str, str]], other: list[tuple[str, str]], names: frozenset[str], sifted: bool
) -> None:
    table = Table()
    made: list[tuple[Bindings, Sets]] = []
    for several in (one, other):
        at, sets = table.bare, frozenset({frozenset[str]()})
        for step, name in several:
            at, sets = DIAGRAM[step](at, name), PLAIN[step](sets, name)
            assert meant(at) == sets
            assert at.surely(name) == all(name in each for each in sets)
            assert at.perhaps(name) == any(name in each for each in sets)
        made.append((at, sets))
        if sifted:
            assert sift(table) == nodes_of([each for each, _ in made])
            assert [meant(each) for each, _ in made] == [its for _, its in made]
    (first, these), (second, those) = made
    assert meant(first.join(second)) == these | those
    assert (first is second) == (these == those)
    assert meant(first.forget(names, {})) == {each - names for each in these}


def test_names_that_do_not_depend_on_each_other_take_a_node_each() -> None:
    at = Table().bare
    for number in range(1_000):
        at = at.join(at.bind(f"R{number}"))
    assert nodes_of([at]) == 1_000
    assert nodes_of([at.split("R500")[0]]) == 1_000
    assert at.forget(frozenset(f"R{number}" for number in range(1_000)), {}) is at.table.bare


def test_pairs_that_are_met_together_take_few_nodes() -> None:
    """Each second name only where the first is."""
    table = Table()
    at = table.bare
    for number in range(40):
        found, missed = at.join(at.bind(f"A{number}")).split(f"A{number}")
        at = missed.join(found.bind(f"B{number}"))
    assert nodes_of([at]) <= 120
    assert all(at.split(f"A{n}")[0].surely(f"B{n}") for n in range(40))


def test_an_order_is_found_in_which_what_depends_on_each_other_is_near() -> None:
    """The same pairs, but all of the first names are met in front of all of the second ones."""
    table = Table()
    at = table.bare
    for number in range(10):
        at = at.join(at.bind(f"A{number}"))
    for number in range(10):
        found, missed = at.split(f"A{number}")
        at = missed.join(found.bind(f"B{number}"))
    del found, missed
    assert nodes_of([at]) > 1_000
    assert sift(table) == nodes_of([at]) <= 30
    assert all(at.split(f"A{n}")[0].surely(f"B{n}") for n in range(10))
    assert all(at.split(f"A{n}")[1].split(f"B{n}")[0] is table.none for n in range(10))


def test_equal_diagrams_are_one_object() -> None:
    table = Table()
    ways = [
        table.bare.bind(a).join(table.bare.bind(b)).bind(c)
        for a, b, c in product(NAMES[:2], NAMES[:2], NAMES[2:3])
        if a != b
    ]
    assert ways[0] is ways[1]
