"""When the packets of a scenario come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hypothesis import strategies as st

from ...lang.contract.world.moment import SECOND
from ..lower.reads import moments
from ..model import Const, Pipeline, Random
from ..model.walk import walk
from .packets import Drawn

_WAITS = (0, 0, 0, 1, 1_000, 999_999_999, SECOND, 61 * SECOND)
_RANDOM_MOST = (1 << 32) - 1


def timed(pipeline: Pipeline) -> Callable[[Drawn], st.SearchStrategy[Drawn]]:
    """Gives packets a wait and a random number, where the pipeline knows either."""
    idle = [r for kind in pipeline.rules for r in kind.raises if r.what == "idle"]
    ages = [s.ages for s in pipeline.states if s.ages] + [r.amount for r in idle if r.amount]
    lasting = [s for s in pipeline.states if s.ages or s.lifetime]
    if not lasting and not idle and not moments(pipeline):
        return st.just
    ends = (age * SECOND + more for age in ages for more in (0, 1))
    waits = st.sampled_from((*_WAITS, *ends))
    bounds = [p.bound.value for p in walk(pipeline.stages)
              if isinstance(p, Random) and isinstance(p.bound, Const)]  # fmt: skip
    near = [st.integers(0, bound - 1) for bound in bounds]
    random = st.one_of(st.just(0), *near, st.integers(0, _RANDOM_MOST))

    def at(packet: Drawn) -> st.SearchStrategy[Drawn]:
        return st.builds(
            lambda wait, drawn: replace(packet, wait=wait, random=drawn), waits, random
        )

    return at
