"""The disk fails while the journal's list is written: the answer says what is in force, and that is
what the next agent has."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from agent_world import EDGE, World
from helioc.lang.contract.rules.wire import encode
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from helioc.runtime.agent.agent import Agent
from helioc.runtime.journal.store import Store
from helioc.runtime.loading.bundle import read_bundle
from helioc.runtime.loading.releases import ROOT, remove_pinned
from helioc.runtime.owner.requests import ApplyRequest
from journal_world import failing
from relay import request

pytestmark = pytest.mark.usefixtures("kernel")


@contextmanager
def agent(here: World) -> Iterator[Agent]:
    with closing(Agent(Store(here.state))) as made:
        made.open_all()
        yield made


def load(here: World, made: Agent) -> None:
    made.load(read_bundle(here.directory / "bundle"), Source("<edge>", EDGE), here.name)


def ask(made: Agent, text: str) -> None:
    owner = made.owner()
    owner.apply(ApplyRequest(encode(request(text), owner.codecs)))


def rules(made: Agent) -> list[int]:
    """Of FAR; none where nothing is loaded."""
    return sorted(rule.id for each in made.owners() for rule in each.loaded.book.rules("FAR"))


def reboot(here: World) -> None:
    if (ROOT / here.name).exists():
        remove_pinned(here.name)


ONE, TWO = (f"create FAR {number} [(action, u8, DROP)]" for number in (1, 2))
PERHAPS = "H0783.*perhaps not on the disk"


@pytest.mark.parametrize(
    "at, call, done, restored", [("state-b", "rename", 2, 2), ("", "fsync", 3, 4)]
)
def test_what_one_list_has_is_in_force(
    here: World, at: str, call: str, done: int, restored: int
) -> None:
    """A load, an upgrade, a restore in the place of what there is, and an unload. `done`,
    `restored`: which call it is that writes what is done; before it that it begins is written, and
    new logs are synced."""

    def work() -> None:
        with agent(here) as made, failing(here.state / at, call, done):
            with pytest.raises(Refused, match=PERHAPS):
                load(here, made)
            with pytest.raises(Refused, match="H0780"):
                ask(made, ONE)
            made.close()
        reboot(here)
        with agent(here) as made:
            ask(made, ONE)
            with made.backup() as taken:
                data = b"".join(taken.parts())
            with failing(here.state / at, call, done):
                with pytest.raises(Refused, match=PERHAPS):
                    made.upgrade(read_bundle(here.directory / "bundle"), name=here.name)
                with pytest.raises(Refused, match="H0780"):
                    ask(made, TWO)
                made.close()
        with agent(here) as made:
            assert rules(made) == [1] and not made.losses
            ask(made, TWO)
            with made.receiving([data]) as received, failing(here.state / at, call, restored):
                with pytest.raises(Refused, match=PERHAPS):
                    made.restore_backup(received, replace_all=True)
                assert rules(made) == [1]
                made.close()
        reboot(here)
        with agent(here) as made:
            assert rules(made) == [1] and not made.losses
            with failing(here.state / at, call):
                with pytest.raises(Refused, match=PERHAPS):
                    made.unload()
                assert not made.owners() and not (ROOT / here.name).exists()
                made.close()
        with agent(here) as made:
            assert not made.owners() and not made.losses and not made.unrestored

    here.edge.inside_thread(work)


@pytest.mark.parametrize("at, call", [("state-b", "rename"), ("", "fsync")])
def test_a_load_that_is_refused_is_none(here: World, at: str, call: str) -> None:
    """That it began is in one list, but nothing that it is in force."""

    def work() -> None:
        with agent(here) as made, failing(here.state / at, call):
            with pytest.raises(Refused, match="H078"):
                load(here, made)
            assert not made.owners() and not (ROOT / here.name).exists()
            made.close()
        with agent(here) as made:
            assert not made.owners() and not made.losses and not made.unrestored

    here.edge.inside_thread(work)


def test_an_unload_whose_end_cannot_be_written_is_one(here: World) -> None:
    """The list says already that no start restores it."""

    def work() -> None:
        with agent(here) as made:
            load(here, made)
            with failing(here.state / "state-a~", "open", 2):
                assert made.unload() == here.name
                assert not made.owners() and not made.journalled
                made.close()
        with agent(here) as made:
            assert not made.owners() and not made.losses and not made.unrestored

    here.edge.inside_thread(work)


def test_who_accepts_losses_waits_for_intents_first(here: World) -> None:
    """They look for their owners, which wait for who loads and unloads."""

    class Order:
        def __init__(self, made: Agent) -> None:
            self.lock, self.intents, self.seen = made._changing, made.intents, 0

        def __enter__(self) -> None:
            assert self.intents._changed._is_owned()  # type: ignore[attr-defined]
            self.seen += 1
            self.lock.acquire()

        def __exit__(self, *_: object) -> None:
            self.lock.release()

    def work() -> None:
        with agent(here) as made:
            order: Any = Order(made)
            made._changing = order
            made.accept_losses()
            made._changing = order.lock
            assert order.seen

    here.edge.inside_thread(work)


def test_a_repair_waits_no_longer_than_it_may_for_a_snapshot(here: World) -> None:
    def work() -> None:
        with agent(here) as made:
            load(here, made)
            owner = made.owner()
            with owner._folding, pytest.raises(Refused, match="H0766"):
                owner.repair(lambda: read_bundle(here.directory / "bundle"), time.monotonic())
            assert owner.repair(lambda: read_bundle(here.directory / "bundle")) == []

    here.edge.inside_thread(work)
