"""What becomes of sessions over reboots, upgrades, backups, and kills at a bad moment."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from helioc.runtime.agent.agent import Agent
from helioc.runtime.base.errors import not_loaded
from helioc.runtime.base.paths import RUN
from helioc.runtime.client import Rejected
from helioc.runtime.intents.store import Intent, IntentStore
from helioc.runtime.journal.store import Store
from helioc.runtime.loading.releases import remove_pinned
from helioc.runtime.owner.owner import Owner
from helioc.runtime.rpc import control_pb2 as pb
from helioc.runtime.stamp.kept import KeptCounts
from helioc.runtime.stamp.manager import StampManager
from helioc.runtime.stamp.parameters import Parameters, Setup
from helioc.runtime.stamp.store import Kept, SessionStore
from lab import Lab, until
from stamp_world import (
    EDGE,
    REFLECTOR4,
    SENDER4,
    Ends,
    agents,
    bundle,
    forget_counts,
    stamp_ends,
)  # fmt: skip

pytestmark = pytest.mark.usefixtures("kernel")
ABOUT = Parameters(5, REFLECTOR4, name="paris", source=SENDER4, interval=0.01, timeout=0.5)


@pytest.fixture
def ends(lab: Lab, tmp_path: Path) -> Iterator[Ends]:
    with stamp_ends(lab, tmp_path) as made:
        yield made


def session(ends: Ends) -> pb.StampSession:
    (found,) = ends.client.stamp_sessions(5).sessions
    return found


def answers(ends: Ends, more: int) -> bool:
    return session(ends).answered > more


def test_a_reboot_begins_counts_again_and_the_session_goes_on(ends: Ends) -> None:
    with agents(ends):
        ends.measured(5, interval=0.01)
        ends.measured(6, interval=0.01)
        ends.client.start_stamp_session(5)
        ends.client.start_stamp_session(6, 1000.0)
        until(partial(answers, ends, 30), "answers come")
    remove_pinned(ends.sender.name)
    for left in RUN.glob(f"{ends.sender.name}.*"):
        left.unlink()
    forget_counts(ends.sender)
    with agents(ends):
        until(partial(answers, ends, 5), "answers come")
        assert session(ends).running and not session(ends).strange and not session(ends).lost
        assert ends.client.stamp_results(5, 1)[0].sequence == 0
        assert ends.client.stamp_sessions(6).sessions[0].running


def test_an_agent_that_stood_still_loses_nothing(ends: Ends) -> None:
    """Answers that came meanwhile count by when they came, however late they are read."""
    with (
        ends.reflector.agent(), ends.reflector.client() as ends.other,
        ends.sender.agent() as held, ends.sender.client() as ends.client,
    ):  # fmt: skip
        ends.load()
        ends.relay.fate = lambda *_: [0.05]
        ends.measured(5, interval=0.01, timeout=1.0)
        ends.client.start_stamp_session(5)
        for seconds in (0.7, 1.2, 2.5):
            until(partial(answers, ends, session(ends).answered + 10), "answers come")
            os.kill(held.pid, signal.SIGSTOP)
            time.sleep(seconds)
            os.kill(held.pid, signal.SIGCONT)
            assert not session(ends).lost
        ends.client.stop_stamp_session(5)
        until(lambda: not session(ends).waiting, "all are answered or lost")
        found = session(ends)
    assert found.answered == found.sent and not (found.lost or found.late or found.invalid)
    assert 300 < found.skipped < 600  # those turns are not made up for


def test_an_upgrade_leaves_sessions_as_they_are(ends: Ends) -> None:
    with agents(ends):
        ends.measured(5, interval=0.01, timeout=0.5)
        ends.client.start_stamp_session(5)
        until(partial(answers, ends, 10), "answers come")
        ends.client.upgrade(bundle())
        until(partial(answers, ends, session(ends).answered + 20), "answers come")
        assert not ends.client.stamp_sessions().foreign and not session(ends).why
        assert session(ends).lost <= 1


def test_a_backup_has_sessions(ends: Ends) -> None:
    with agents(ends):
        ends.measured(5, interval=0.01)
        ends.client.init_stamp(source_port=4000)
        ends.client.start_stamp_session(5)
        until(partial(answers, ends, 5), "answers come")
        data = b"".join(ends.client.backup())
        ends.client.reset_stamp()
        with pytest.raises(Rejected):
            ends.client.restore([data])
        ends.client.restore([data], replace_all=True)
        until(partial(answers, ends, 5), "it goes on")
        assert ends.client.create_stamp_session(6, REFLECTOR4).parameters.source_port == 4000
        ends.client.unload()
        ends.client.load(bundle(), EDGE)
        assert not ends.client.stamp_sessions().sessions


def test_an_agent_that_was_killed_as_a_session_was_made_makes_its_rule(ends: Ends) -> None:
    """It had written down the session, and nothing else; and the rule's end is not undone."""

    def body() -> None:
        agent = Agent(Store(ends.sender.state))
        agent.open_all()
        try:
            agent.load(bundle(), Source("<edge>", EDGE), ends.sender.name)
            kept = SessionStore(agent.intents._store.ledger)
            kept.put(Kept(ends.sender.name, ABOUT, True, None, 0, 77, kept.number()))
        finally:
            agent.close()

    ends.sender.edge.inside_thread(body)
    with ends.sender.agent(), ends.sender.client() as ends.client:
        (rule,) = ends.client.rules(kinds=["COLLECTOR"])
        assert rule.name == "paris" and session(ends).running
        until(lambda: session(ends).sent > 3, "it sends")
        ends.client.apply(f"delete COLLECTOR {rule.id}")
    with ends.sender.agent(), ends.sender.client() as ends.client:
        assert not list(ends.client.rules(kinds=["COLLECTOR"]))
        assert "deleted by somebody else" in session(ends).why


def test_intents_and_sessions_share_a_ledger(tmp_path: Path) -> None:
    """Neither sees the other's texts, and no two have one number."""
    with closing(Store(tmp_path)) as store:
        intents = IntentStore(store)
        sessions = SessionStore(intents.ledger)
        first = intents.add(Intent("p", "a", "n", "t", 1.0, None))
        kept = Kept("p", ABOUT, token=1, serial=sessions.number())
        setup = Setup("p", serial=sessions.number())
        sessions.put(kept)
        sessions.put(setup)
        second = intents.add(Intent("p", "b", "n", "t", 1.0, None))
        assert len({first.serial, kept.serial, setup.serial, second.serial}) == 4
        sessions.put(replace(kept, running=True))
    with closing(Store(tmp_path)) as store:
        intents = IntentStore(store)
        assert [each.id for each in intents.all()] == ["a", "b"]
        sessions = SessionStore(intents.ledger)
        assert sessions.all() == ([replace(kept, running=True)], [setup])
        sessions.remove(kept, setup)
        assert sessions.all() == ([], []) and len(intents.all()) == 2


def test_a_session_for_a_while_is_for_that_while_after_a_reboot(tmp_path: Path) -> None:
    """Its packets are counted from 0 again."""

    def no_owner(name: str) -> Owner:
        raise Refused([not_loaded(name, ())])

    with closing(Store(tmp_path)) as store:
        sessions = SessionStore(IntentStore(store).ledger)
        sessions.put(Kept("p", ABOUT, True, 5060, 5000, 1, sessions.number()))
        manager = StampManager(no_owner, sessions, KeptCounts(None))
        manager.start()
        (entry,) = manager.find("p")
        assert (entry.kept.since, entry.kept.until, entry.running) == (0, 60, True)
        assert "no pipeline `p` is loaded" in entry.session.why
        manager.stop()
