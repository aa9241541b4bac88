"""Packed columns beside others, whose requests are made between two pieces of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from agent_world import World, world
from helioc.lang.contract.rules.columns import Column, Columns, dump
from helioc.lang.text.cancel import cancel_when
from helioc.lang.text.diagnostics import Diagnostic, Refused
from helioc.runtime.base.outcome import Outcome
from helioc.runtime.loading.loader import Loaded
from helioc.runtime.loading.releases import remove_pinned
from helioc.runtime.owner.large import FEWEST
from helioc.runtime.owner.owner import Owner
from helioc.runtime.owner.requests import ApplyRequest
from helioc.runtime.rules import bulk
from lab import Lab
from large_world import (
    PLANNED,
    STAGED,
    Beside,
    asked,
    at_pause,
    inside,
    killed_at_pause,
    load,
    opened,
    rules,
)

pytestmark = pytest.mark.usefixtures("kernel")

COUNT = 5000  # more than `column_dict.FEWEST`
FIRST = 10 << 24
#: Pauses by which ids and keys were looked at, or some are in the hash.
AFTER = {PLANNED: 10, STAGED: 4}
FAR = "create FAR 1 [(action, u8, DROP)]"


@pytest.fixture
def here(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr(Owner, "settle_journal", lambda _: None)  # requests are to be made again
    monkeypatch.setattr(bulk, "_CHUNK", 1000)
    with world(lab, tmp_path) as made:
        yield made


def pdrs(count: int = COUNT, first: int = FIRST, ids: int = 0, **more: object) -> ApplyRequest:
    """So many PDRs, each of a destination of its own. `ids`: from which on they have ids."""
    hosts = np.arange(first, first + count, dtype=np.uint32)
    ones, zeros = np.ones(count, np.uint8), np.zeros(count, np.uint32)
    columns = [
        Column("dst_ip", "matcher", hosts, ones, zeros),
        Column("FAR", "reference", ones.astype(np.uint32), words=("1",)),
    ]
    if ids:
        columns.append(Column("id", "id", np.arange(ids, ids + count, dtype=np.uint32)))
    content = dump(Columns("PDR", count, tuple(columns)))
    assert len(content) >= FEWEST
    return ApplyRequest(content, True, **more)  # type: ignore[arg-type]


def pdr(address: str, id_: str = "") -> str:
    return f"create PDR {id_} [(dst_ip, u32, {address}), FAR 1]"


def keys(owner: Owner) -> int:
    """In the hash, just as many as the directory counts."""
    with owner.still() as loaded:
        assert isinstance(loaded, Loaded)
        table = loaded.writer.tables["PDR"]
        assert table.directory is not None and table.entries is not None
        tuples = [t for same in table.directory.by_mask.values() for t in same]
        found = len(table.entries.read_all()[0])
        assert found == sum(t.keys for t in tuples)
        return found


@pytest.mark.parametrize("staged", [PLANNED, STAGED])
def test_who_comes_while_they_are_made_need_not_wait(here: World, staged: bool) -> None:
    def work() -> None:
        with opened(here) as agent:
            owner = load(here, agent)
            asked(owner, FAR)
            others = [f"{pdr('192.0.2.1')}; {pdr('192.0.2.2')}; delete PDR 1"]
            asked(owner, pdr("198.51.100.1"))  # PDR 1, whose id is free only for later ones
            ended = Beside(owner, staged, others, AFTER[staged])
            large = ended.run(pdrs(key="k"))
            (other,) = (each for each in ended.order if each is not large)
            assert isinstance(large, Outcome) and isinstance(other, Outcome)
            assert (
                other.revision + 1 == large.revision == owner.revision
                and large.created_count == COUNT
            )
            before = rules(owner)
            assert len(before) == COUNT + 4 and keys(owner) == COUNT + 2
            assert owner.apply(pdrs(key="k")).repeated
        remove_pinned(here.name)  # as a reboot does: the journal makes the same of it
        with opened(here) as agent:
            assert rules(agent.owner()) == before
            assert agent.owner().revision >= large.revision

    inside(here, work)


@pytest.mark.parametrize("staged", [PLANNED, STAGED])
@pytest.mark.parametrize(
    ("other", "code"),
    [
        (pdr("10.0.0.7", "9000000"), "H0452"),
        (pdr("192.0.2.1", "20007"), "H0451"),
        ("delete FAR 1", "H0441"),
        (f"create FAR 2 [(action, u8, DROP)]; {pdr('10.0.0.7', '20007')}", "H0451"),
    ],
)
def test_who_took_what_they_need_came_first(
    here: World, staged: bool, other: str, code: str
) -> None:
    """Then nothing of them is left."""

    def work() -> None:
        with opened(here) as agent:
            owner = load(here, agent)
            asked(owner, FAR)
            beside = Beside(owner, staged, [other], AFTER[staged])
            ended = beside.run(pdrs(ids=20000))
            assert [each for each in beside.order if isinstance(each, Outcome)]
            assert isinstance(ended, Refused) and ended.diagnostics[0].code == code
            assert not [name for name in rules(owner) if name.startswith("PDR 20")][1:]
            assert keys(owner) == ("PDR" in other)
            asked(owner, "create FAR 5 [(action, u8, DROP)]")

    inside(here, work)


def test_they_are_refused_where_others_came_and_they_said_if_none_has(here: World) -> None:
    def work() -> None:
        with opened(here) as agent:
            owner = load(here, agent)
            asked(owner, FAR)
            now = owner.revision
            ended = Beside(owner, STAGED, [pdr("192.0.2.1")], AFTER[STAGED]).run(
                pdrs(if_revision=now)
            )
            assert isinstance(ended, Refused) and ended.diagnostics[0].code == "H0760"
            assert owner.revision == now + 1 and keys(owner) == 1

    inside(here, work)


@pytest.mark.parametrize("staged", [PLANNED, STAGED])
def test_who_gives_up_leaves_nothing_of_them(here: World, staged: bool) -> None:
    """Nor does anybody keep what a call that ended did."""

    def work() -> None:
        gone = list[bool]()

        def check() -> None:
            if gone:
                raise Refused([Diagnostic("H0775", "the client went away", ())])

        with opened(here) as agent:
            owner = load(here, agent)
            asked(owner, FAR)
            before, revision = rules(owner), owner.revision
            pause = at_pause(owner, staged, lambda: gone.append(True), AFTER[staged])
            with cancel_when(check), pause, pytest.raises(Refused, match="H0775"):
                owner.apply(pdrs())
            assert gone and rules(owner) == before and owner.revision == revision
            assert keys(owner) == 0
            assert owner.apply(pdrs()).created_count == COUNT and keys(owner) == COUNT

    inside(here, work)


@pytest.mark.parametrize("staged", [PLANNED, STAGED])
def test_a_kill_in_between_leaves_nothing_of_them(here: World, staged: bool) -> None:
    def work() -> None:
        with opened(here) as agent:
            owner = load(here, agent)
            asked(owner, FAR)
            before = rules(owner)
        killed_at_pause(here, staged, pdr("192.0.2.1"), pdrs(), AFTER[staged])
        with opened(here) as agent:
            found = rules(agent.owner())
            assert found.pop("PDR 1") and found == before and keys(agent.owner()) == 1

    inside(here, work)
