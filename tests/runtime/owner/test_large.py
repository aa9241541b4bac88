"""A large request beside others: they are made in between, and it is whole or not at all."""

from __future__ import annotations

from itertools import count

import pytest
from agent_world import World
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.base.outcome import Outcome
from helioc.runtime.loading.releases import remove_pinned
from helioc.runtime.owner import large as large_requests
from helioc.runtime.owner.fair_lock import Slices
from helioc.runtime.owner.large import FEWEST, TRIES
from helioc.runtime.owner.owner import Owner
from large_world import (
    PLANNED,
    STAGED,
    Beside,
    asked,
    inside,
    killed_at_pause,
    load,
    opened,
    rules,
    wish,
)

pytestmark = pytest.mark.usefixtures("kernel")

COUNT = 400
FARS = "; ".join(f"create FAR {i} [(action, u8, DROP)]" for i in range(1000, 1000 + COUNT))
CREATES = "; ".join(["create FAR [(action, u8, DROP)]"] * COUNT)
UPDATES = "; ".join(f"update FAR {i} [(action, u8, PASS)]" for i in range(1000, 1000 + COUNT))
DELETES = "; ".join(f"delete FAR {i}" for i in range(1000, 1000 + COUNT))


@pytest.mark.parametrize("staged", [PLANNED, STAGED])
def test_who_comes_while_it_is_made_need_not_wait(
    here: World, staged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work() -> None:
        monkeypatch.setattr(Owner, "settle_journal", lambda _: None)  # it is to be made again
        with opened(here) as agent:
            owner = load(here, agent)
            assert len(wish(owner, CREATES).content) >= FEWEST
            beside = Beside(owner, staged, ["create FAR [(action, u8, PASS)]"])
            large = beside.run(CREATES)
            one, last = beside.order
            assert isinstance(one, Outcome) and isinstance(large, Outcome) and last is large
            assert one.revision + 1 == large.revision == owner.revision
            assert not {*one.created} & {*large.created} and len(large.created) == COUNT
            before = rules(owner)
            assert before[f"FAR {one.created[0].id}"] != before[f"FAR {large.created[0].id}"]
        remove_pinned(here.name)  # as a reboot does: the journal makes the same of it
        with opened(here) as agent:
            assert rules(agent.owner()) == before
            assert agent.owner().revision >= large.revision

    inside(here, work)


@pytest.mark.parametrize("staged", [PLANNED, STAGED])
def test_what_it_rests_on_may_change_meanwhile(here: World, staged: bool) -> None:
    """Then it is planned again: against what there is now."""

    def work() -> None:
        with opened(here) as agent:
            owner = load(here, agent)
            asked(owner, FARS)
            large = Beside(owner, staged, ["update FAR 1007 [(action, u8, DROP)]"]).run(UPDATES)
            assert isinstance(large, Outcome) and large.changed_count == COUNT
            assert len({text for name, text in rules(owner).items() if name[:5] == "FAR 1"}) == 1
            beside = Beside(owner, staged, ["delete FAR 1007"])
            revision, before = owner.revision, rules(owner)
            ended = beside.run(DELETES)
            assert isinstance(ended, Refused) and ended.diagnostics[0].code == "H0450"
            del before["FAR 1007"]
            assert rules(owner) == before and owner.revision == revision + 1

    inside(here, work)


def test_who_never_leaves_it_alone_does_not_keep_it_from_being_made(here: World) -> None:
    def work() -> None:
        with opened(here) as agent:
            owner, checks = load(here, agent), count()
            asked(owner, FARS)

            def changed(pause: Slices) -> None:
                assert owner.touched is not None
                owner.touched.everything = True
                next(checks)
                pause._check()

            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(Slices, "__call__", changed)
                made = asked(owner, UPDATES)
            assert made.changed_count == COUNT and next(checks) >= TRIES + 1

    inside(here, work)


@pytest.mark.parametrize("staged", [PLANNED, STAGED])
def test_at_last_who_would_overtake_it_waits(
    here: World, staged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nobody else does."""
    monkeypatch.setattr(large_requests, "TRIES", 0)

    def work() -> None:
        with opened(here) as agent:
            owner = load(here, agent)
            asked(owner, FARS)
            beside = Beside(owner, staged, ["delete FAR 1007"])
            large = beside.run(UPDATES)
            assert beside.order[0] is large and isinstance(beside.order[1], Outcome)
            assert "FAR 1007" not in rules(owner)
            beside = Beside(owner, staged, ["create FAR 3000 [(action, u8, PASS)]"])
            large = beside.run(CREATES)
            assert beside.order[1] is large and isinstance(beside.order[0], Outcome)
            assert not owner.goes_first and owner.touched is None

    inside(here, work)


def test_it_is_refused_where_others_came_and_it_said_if_none_has(here: World) -> None:
    def work() -> None:
        with opened(here) as agent:
            owner = load(here, agent)
            now = owner.revision
            beside = Beside(owner, PLANNED, ["create FAR 7 [(action, u8, PASS)]"])
            ended = beside.run(CREATES, if_revision=now)
            assert isinstance(ended, Refused) and ended.diagnostics[0].code == "H0760"
            assert owner.revision == now + 1

    inside(here, work)


@pytest.mark.parametrize("staged", [PLANNED, STAGED])
def test_a_kill_in_between_leaves_nothing_of_it(here: World, staged: bool) -> None:
    def work() -> None:
        with opened(here) as agent:
            owner = load(here, agent)
            asked(owner, FARS)
            before = rules(owner)
        killed_at_pause(here, staged, "create FAR 7 [(action, u8, PASS)]", CREATES)
        with opened(here) as agent:
            found = rules(agent.owner())
            assert found.pop("FAR 7") and found == before

    inside(here, work)
