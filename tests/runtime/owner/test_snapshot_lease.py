"""Rules that somebody else reads while the turn is had for longer than anybody waits for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from agent_world import World
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.owner import pipeline
from helioc.runtime.owner.owner import Owner
from helioc.runtime.rules.pools import Halves, Pool
from helioc.runtime.rules.transaction import Writer
from large_world import inside, load, opened

pytestmark = pytest.mark.usefixtures("kernel")


def slots(owner: Owner) -> Halves | Pool:
    writer = owner.loaded.writer
    assert isinstance(writer, Writer)
    return writer.tables["FAR"].free_slots


@contextmanager
def stalled(owner: Owner) -> Iterator[None]:
    """Somebody has the turn, and nobody waits for it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "PATIENCE", 0.0)
        owner.lock.take()
        try:
            yield
        finally:
            owner.lock.give()


def listed_beside_a_stall(owner: Owner) -> None:
    with ExitStack() as stall, owner.hold() as held:
        stall.enter_context(stalled(owner))
        with pytest.raises(Refused, match="H0766"):
            held.let_go()


def test_rules_are_let_go_of_by_the_next_turn(here: World) -> None:
    def work() -> None:
        with opened(here) as agent:
            owner = load(here, agent)
            listed_beside_a_stall(owner)
            with owner.still():
                assert not slots(owner).holds

    inside(here, work)


def test_a_list_beside_a_stall_breaks_no_later_one(here: World) -> None:
    """Also where rules came and went until no slot was left that had none before."""

    def work() -> None:
        with opened(here) as agent:
            owner = load(here, agent)
            listed_beside_a_stall(owner)
            with owner.still():
                pool = slots(owner)
                pool.give_many(pool.take_many(len(pool)).tolist())
                pool.give(pool.take())
            for _ in range(3):
                with owner.hold() as held:
                    assert held.let_go()

    inside(here, work)
