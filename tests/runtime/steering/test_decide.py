"""Which members of a spread take flows, by what is measured; with a clock of the test's own."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping

from helioc.runtime.edge.path_quality import Measured
from helioc.runtime.edge.steering_policy import Policy
from helioc.runtime.steering.decide import Path, State, step
from hypothesis import given
from hypothesis import strategies as st

HOLD = 5.0
BOUND = Policy({"delay": 0.05})
Delays = Mapping[int, float | None]


def start(*members: int) -> State:
    return State(frozenset(members), frozenset(members))


def paths(delays: Delays, dead: tuple[int, ...] = ()) -> dict[int, Path]:
    return {member: Path(member not in dead, Measured(delay, 0.001, 0.0) if delay else None)
            for member, delay in delays.items()}  # fmt: skip


def run(state: State, policy: Policy, *looks: Delays, begin: float = 0.0) -> list[set[int]]:
    """A look a second. Returns who takes flows after each."""
    found = list[set[int]]()
    for at, delays in enumerate(looks):
        state = step(state, paths(delays), policy, HOLD, begin + at)
        found.append({*state.chosen})
    return found


def test_out_of_a_bound_at_once_and_back_when_it_has_held() -> None:
    bad, good = {1: 0.02, 2: 0.06}, {1: 0.02, 2: 0.03}
    assert run(start(1, 2), BOUND, good, bad, bad, *[good] * 7) == [
        {1, 2},
        *[{1}] * 7,
        *[{1, 2}] * 2,
    ]
    # One bad look in between begins it anew, and from 80 % of the bound on none counts as good.
    assert run(start(1, 2), BOUND, bad, *[good] * 4, bad, *[good] * 5)[-1] == {1}
    assert run(start(1, 2), BOUND, bad, *[{1: 0.02, 2: 0.041}] * 20)[-1] == {1}


def test_where_none_is_within_the_nearest_take_flows() -> None:
    all_bad = {1: 0.06, 2: 0.065, 3: 0.2}
    assert run(start(1, 2, 3), BOUND, all_bad)[-1] == {1, 2}
    # At once also where another was alone so far: nobody waits while a path is worse than all.
    assert run(start(1, 2, 3), BOUND, {1: 0.02, 2: 0.06, 3: 0.06}, {1: 0.9, 2: 0.06, 3: 0.06}) == [
        {1}, {2, 3}]  # fmt: skip


def test_a_bound_of_nothing() -> None:
    none = Policy({"loss": 0.0})
    lossy = {1: Path(True, Measured(loss=0.01)), 2: Path(True, Measured(loss=0.0))}
    assert step(start(1, 2), lossy, none, HOLD, 0).chosen == {2}
    both = {each: Path(True, Measured(loss=0.01)) for each in (1, 2)}
    assert step(start(1, 2), both, none, HOLD, 0).chosen == {1, 2}
    # Where none loses nothing, those that lose the least take flows.
    worse = both | {3: Path(True, Measured(loss=0.6))}
    assert step(start(1, 2, 3), worse, none, HOLD, 0).chosen == {1, 2}
    assert step(start(3), worse, none, HOLD, 0).chosen == {1, 2}


def test_what_is_not_measured_stays_as_it_is() -> None:
    assert run(start(1, 2), BOUND, {1: None, 2: None}) == [{1, 2}]
    assert run(start(1, 2), BOUND, {1: None, 2: 0.06}, *[{1: None, 2: None}] * 9)[-1] == {1}
    least = Policy({}, "delay")
    assert run(start(1, 2, 3), least, {1: None, 2: 0.01, 3: 0.09})[-1] == {1, 2}


def test_the_dead_are_never_chosen_unless_all_are() -> None:
    seen = paths({1: 0.02, 2: 0.9}, dead=(1,))
    assert step(start(1, 2), seen, BOUND, HOLD, 0).chosen == {2}
    assert step(start(1, 2), paths({1: 0.02, 2: 0.02}, dead=(1, 2)), BOUND, HOLD, 0) == start(1, 2)


def test_the_lowest_delay_and_what_is_about_as_low() -> None:
    least = Policy({}, "delay")
    far = {1: 0.01, 2: 0.012, 3: 0.03}
    assert run(start(1, 2, 3), least, far) == [{1, 2}]
    # What becomes better takes over once it has been so for long enough, and not before.
    better = {1: 0.03, 2: 0.03, 3: 0.01}
    assert run(start(1, 2, 3), least, far, *[better] * 7) == [*[{1, 2}] * 6, *[{3}] * 2]
    # Within bounds alone.
    both = Policy({"delay": 0.05, "loss": 0.01}, "delay")
    seen = {1: Path(True, Measured(0.01, 0, 0.05)), 2: Path(True, Measured(0.02, 0, 0.0))}
    assert step(start(1, 2), seen, both, HOLD, 0).chosen == {2}


policies = st.sampled_from(
    [
        BOUND,
        Policy({}, "delay"),
        Policy({"delay": 0.05}, "delay"),
        Policy({"delay": 0.05}, "jitter"),
    ]
)
#: About the bound, anywhere, and not far from each other.
levels = st.lists(
    st.floats(0.035, 0.08) | st.floats(0.0005, 0.5), min_size=1, max_size=5
) | st.builds(
    lambda least, times: [least, *(least * each for each in times)],
    st.floats(0.02, 0.2), st.lists(st.floats(1, 2), min_size=1, max_size=3),
)  # fmt: skip


@given(levels, policies, st.integers(0, 1 << 32), st.floats(0.1, 1.0))
def test_no_member_flaps_by_noise(
    levels: list[float], policy: Policy, seed: int, interval: float
) -> None:
    """Whatever the levels are, values within 10 % of them: each leaves once and returns once."""
    chance, leaves = random.Random(seed), Counter[int]()
    members = range(len(levels))
    state = start(*members)
    for at in range(400):
        noisy = [(level * chance.uniform(0.9, 1.1), level * chance.uniform(0.9, 1.1))
                 for level in levels]  # fmt: skip
        seen = {each: Path(True, Measured(*noisy[each], 0.0)) for each in members}
        now = step(state, seen, policy, HOLD, at * interval)
        leaves.update(state.chosen - now.chosen)
        assert now.chosen
        state = now
    assert max(leaves.values(), default=0) <= 1


looks = st.lists(st.dictionaries(st.integers(1, 4), st.floats(0, 1) | st.none()), max_size=30)


@given(looks, st.lists(st.sets(st.integers(1, 4)), min_size=30, max_size=30), policies)
def test_whatever_is_measured_somebody_alive_takes_flows(
    looks: list[dict[int, float | None]], dead: list[set[int]], policy: Policy
) -> None:
    state = start(1, 2, 3, 4)
    for at, (delays, gone) in enumerate(zip(looks, dead, strict=False)):
        delays = {each: delays.get(each) for each in (1, 2, 3, 4)}
        state = step(state, paths(delays, tuple(gone)), policy, HOLD, at)
        assert state.chosen <= {1, 2, 3, 4}
        if len(gone) < 4:
            assert state.chosen - gone and not state.chosen & gone


@given(st.floats(0, 0.05), st.floats(0.0501, 1), st.floats(0, 0.05))
def test_a_worse_path_is_never_chosen_for_a_better_one(
    good: float, bad: float, more: float
) -> None:
    """Of two that began alike the one that is worse takes flows only if the other does."""
    for delays in ({1: good, 2: bad}, {1: good, 2: good + more}, {1: bad, 2: bad + more}):
        for policy in (BOUND, Policy({}, "delay")):
            chosen = run(start(1, 2), policy, *[delays] * 9)[-1]
            assert 1 in chosen
