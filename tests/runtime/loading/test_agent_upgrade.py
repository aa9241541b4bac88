"""Upgrades by the agent: the journal has the build that is in force, whatever happens."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import relay
from agent_world import World, opened
from helioc.lang.contract.rules.wire import encode
from helioc.lang.text.diagnostics import Diagnostic, Refused
from helioc.lang.text.source import Source
from helioc.runtime.agent.agent import Agent
from helioc.runtime.base.outcome import Outcome
from helioc.runtime.client import Client, Rejected
from helioc.runtime.edge.read_config import read_here
from helioc.runtime.http2.codes import Code
from helioc.runtime.journal import journal, pipelines
from helioc.runtime.journal.errors import cannot_write
from helioc.runtime.journal.journal import Journal
from helioc.runtime.journal.state import State
from helioc.runtime.journal.store import Store
from helioc.runtime.kernel.handles import Link
from helioc.runtime.loading import switching
from helioc.runtime.loading import upgrade as upgrading
from helioc.runtime.loading.any_loaded import load
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.loading.releases import releases_of, remove_pinned
from helioc.runtime.owner.requests import ApplyRequest
from lab import until
from relay import built, marked, request

pytestmark = pytest.mark.usefixtures("kernel")

EDGE = f"""\
ports:
  IN:  {{role: inside, interface: in0}}
  OUT: {{role: outside, interface: out0}}
rules: |
  {relay.RULES}
"""
LARGER = ("rule ROUTE [64]", "rule ROUTE [128]")
NOTES = (("  rule", "  ie note = 9, u64\n\n  rule"), ("gives  way,", "gives  note, way,"))
ONE, TWO, THREE = built(marked(1)), built(marked(2, LARGER, *NOTES)), built(marked(3))
NARROW = built(marked(2, ("rule ROUTE [64]", "rule ROUTE [1]")))
OTHER_NUMBERS = built(marked(2, ("dst_ip    = 1", "dst_ip    = 17")))
ROUTE = "create ROUTE [(dst_ip, u32, 10.9.0.0/16), (way, u8, BACK)]"
OTHER_ROUTE = "create ROUTE [(dst_ip, u32, 10.7.0.0/16), (way, u8, BACK)]"


@pytest.fixture
def here(world: relay.World, name: str, tmp_path: Path) -> World:
    return World(world.edge, name, tmp_path)


def texts(client: Client) -> list[str]:
    return [rule.text for rule in client.rules()]


def refused(action: Callable[[], object]) -> Rejected:
    with pytest.raises(Rejected) as error:
        action()
    return error.value


# ---- through gRPC ---------------------------------------------------------------------------


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_rules_keys_and_revisions_outlive_it(here: World, end: signal.Signals) -> None:
    """And a reboot after it."""
    with here.agent() as process, here.client() as client:
        client.load(ONE, EDGE)
        first = client.apply(ROUTE, key="one")
        before = texts(client)
        with client.watch() as watch:
            done = client.upgrade(TWO)
            (event,) = (next(iter(watch)),)
        assert (done.rules, done.rewritten) == (3, 3) and "ROUTE" in done.differences[1]
        assert event.changed.change == 2 and event.revision == done.status.revision
        assert done.status.digest == TWO.manifest.digest and done.status.revision > first.revision
        assert texts(client) == before and client.schema().manifest.rules[0].capacity == 128
        again = client.apply(ROUTE, key="one")
        assert again.repeated and again.revision == first.revision
        late = refused(lambda: client.upgrade(THREE, if_revision=first.revision))
        assert late.status is Code.ABORTED and late.revision == done.status.revision
        assert client.upgrade(built(marked(4, LARGER, *NOTES))).rewritten == 0
        last = client.upgrade(TWO)
        client.apply("create ROUTE [(dst_ip, u32, 10.8.0.0/16), (way, u8, BACK)]", key="two")
        before = texts(client)
        os.kill(process.pid, end)
        until(lambda: not process.running, "it has ended")
    with here.agent() as process, here.client() as client:
        assert texts(client) == before and not client.status().pipelines[0].findings
        os.kill(process.pid, end)
        until(lambda: not process.running, "it has ended")
    remove_pinned(here.name)  # a reboot
    with here.agent(), here.client() as client:
        (status,) = client.status().pipelines
        assert status.digest == TWO.manifest.digest and not status.findings
        assert texts(client) == before and status.revision > last.status.revision
        assert client.apply(ROUTE, key="one").repeated
        assert client.upgrade(THREE).rules == 4


def test_what_does_not_fit_is_told_and_changes_nothing(here: World) -> None:
    with here.agent(), here.client() as client:
        client.load(ONE, EDGE)
        before = client.status().pipelines
        error = refused(lambda: client.upgrade(NARROW))
        assert error.status is Code.FAILED_PRECONDITION
        assert error.diagnostics[0].code == "H0790" and "up to 1 " in error.diagnostics[0].help
        error = refused(lambda: client.upgrade(TWO, "kinds: {ROUT: WAY}"))
        assert error.status is Code.INVALID_ARGUMENT
        span = error.diagnostics[0].span
        assert span is not None and span.source.text[span.start : span.end] == "ROUT"
        dry = client.upgrade(TWO, dry_run=True)
        assert dry.differences and dry.status.digest == ONE.manifest.digest
        assert client.status().pipelines == before
        assert client.apply(ROUTE).created_count == 1


def test_a_client_that_knows_the_build_before_asks_again(here: World) -> None:
    with here.agent(), here.client() as client, here.client() as other:
        client.load(ONE, EDGE)
        assert client.schema().manifest.digest == ONE.manifest.digest
        other.upgrade(OTHER_NUMBERS)
        assert client.apply(ROUTE).created_count == 1
        assert client.schema().manifest.digest == OTHER_NUMBERS.manifest.digest


def test_a_stream_that_knows_the_build_before_asks_again(here: World) -> None:
    """The requests after one that is refused are in the numbers of the new one."""
    with here.agent(), here.client() as client, here.client() as other:
        client.load(ONE, EDGE)
        with client.stream() as stream:
            client.schema()
            other.upgrade(OTHER_NUMBERS)
            stream.send(ROUTE)
            assert refused(stream.receive).diagnostics[0].code == "H0765"
            stream.send(ROUTE)
            assert stream.receive().created_count == 1


# ---- in this process ------------------------------------------------------------------------


def asked(agent: Agent, text: str, key: str = "") -> Outcome:
    owner = agent.owner()
    return owner.apply(ApplyRequest(encode(request(text), owner.codecs), key=key))


def held(agent: Agent, name: str) -> tuple[str, list[Any], list[Diagnostic]]:
    """Digest, rules, findings."""
    (status,) = [s for s in agent.status() if s.name == name]
    owner = agent.owner(name)
    rules = [rule._replace(sequence=0) for rule in owner.loaded.book.save()]
    return owner.digest, rules, list(status.findings)


# What is done, of what, and for the how manieth time; whether the new build is in force then.
STEPS: list[tuple[Any, str, int, bool]] = [
    (Store, "prepare", 1, False), (upgrading, "install", 1, False),
    (upgrading, "write_about", 1, False), (upgrading, "put_in_force", 1, False),
    (Link, "update", 1, True), (Link, "update", 2, True), (switching, "carry", 2, True),
    (State, "save", 1, False), (journal, "open_new", 1, True), (Journal, "turn_over", 1, True),
    (pipelines, "write_whole", 1, True), (State, "save", 2, True), (Store, "fold", 1, True),
    (Store, "_sweep", 2, True),
]  # fmt: skip


def upgrade_killed(here: World, step: tuple[Any, str, int, bool], after: bool) -> None:
    """An agent of its own begins an upgrade to TWO, and is killed at this step of it."""
    where, what, nth, _ = step
    real, calls = getattr(where, what), count(1)

    def killed(*arguments: Any) -> Any:
        last = next(calls) == nth
        done = real(*arguments) if after or not last else None
        if last:
            os._exit(7)
        return done

    pid = os.fork()
    if not pid:
        try:
            with opened(here.state) as agent:
                setattr(where, what, killed)
                agent.upgrade(TWO, name=here.name)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", STEPS, ids=lambda step: f"{step[1]}-{step[2]}")
def test_killed_at_each_step(here: World, step: tuple[Any, str, int, bool], after: bool) -> None:
    """The next agent finds one build with all rules, and so does the one after a reboot."""
    _, what, _, new = step

    def first() -> tuple[str, list[Any], list[Diagnostic]]:
        with opened(here.state) as agent:
            agent.load(ONE, Source("<edge>", EDGE), here.name)
            asked(agent, ROUTE, "one")
            return held(agent, here.name)

    def next_one() -> tuple[str, list[Any], list[Diagnostic]]:
        with opened(here.state) as agent:
            assert asked(agent, ROUTE, "one").repeated
            return held(agent, here.name)

    def go() -> None:
        before = first()
        upgrade_killed(here, step, after)
        digest = (TWO if new or (after and what == "put_in_force") else ONE).manifest.digest
        found = next_one()
        assert found == (digest, before[1], []) and len(releases_of(here.name)) == 1
        remove_pinned(here.name)
        assert next_one() == found
        with opened(here.state) as agent:
            agent.upgrade(THREE, name=here.name)
            assert held(agent, here.name) == (THREE.manifest.digest, before[1], [])

    here.edge.inside_thread(go)


# ---- of a pipeline that the journal does not know -------------------------------------------


def unknown(here: World) -> None:
    """It is loaded without an agent, with a rule."""
    manifest = ONE.manifest
    with load(ONE, read_here(Source("<edge>", EDGE), manifest)[0], here.name) as loaded:
        loaded.apply(request(ROUTE))


def codes_of(found: list[Diagnostic]) -> list[str]:
    return [each.code for each in found]


@pytest.mark.parametrize("to", [ONE, TWO], ids=["same", "another"])
def test_an_upgrade_puts_it_into_the_journal(here: World, to: Bundle) -> None:
    """With its rules, and what was answered to keys before."""

    def go() -> None:
        unknown(here)
        with opened(here.state) as agent:
            asked(agent, OTHER_ROUTE, "one")
            _, rules, found = held(agent, here.name)
            assert codes_of(found) == ["H0784"]
            agent.upgrade(to, name=here.name, dry_run=True)
            assert codes_of(held(agent, here.name)[2]) == ["H0784"]
            agent.upgrade(to, name=here.name)
            assert held(agent, here.name) == (to.manifest.digest, rules, [])
            with agent.backup() as taken:
                assert not taken.contents.left_out
        for _ in range(2):
            with opened(here.state) as agent:
                assert held(agent, here.name) == (to.manifest.digest, rules, [])
                assert asked(agent, OTHER_ROUTE, "one").repeated
            remove_pinned(here.name)  # a reboot

    here.edge.inside_thread(go)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(
    "step", [(Store, "begin", 1, False), *STEPS[1:]], ids=lambda step: f"{step[1]}-{step[2]}"
)
def test_killed_at_each_step_that_makes_it_known(
    here: World, step: tuple[Any, str, int, bool], after: bool
) -> None:
    """What was before is as unknown as it was, or what is new is known."""
    new = step[3] or (after and step[1] == "put_in_force")

    def go() -> None:
        unknown(here)
        with opened(here.state) as agent:
            before = held(agent, here.name)
        upgrade_killed(here, step, after)
        for _ in range(2):
            with opened(here.state) as agent:
                assert len(releases_of(here.name)) == 1
                digest, rules, found = held(agent, here.name)
                assert (digest, rules) == ((TWO if new else ONE).manifest.digest, before[1])
                assert codes_of(found) == ([] if new else ["H0784"])
        remove_pinned(here.name)  # a reboot
        with opened(here.state) as agent:
            assert [each.name for each in agent.owners()] == [here.name] * new
            assert not agent.unrestored and not agent.losses
            if new:
                assert held(agent, here.name) == (TWO.manifest.digest, before[1], [])
                agent.unload(here.name)

    here.edge.inside_thread(go)


def test_an_upgrade_that_fails_leaves_it_unknown(
    here: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal cannot be written, or the kernel refuses the build."""

    def full(*_: object) -> None:
        raise Refused([cannot_write("journal", "no space left on device")])

    def go() -> None:
        unknown(here)
        with opened(here.state) as agent:
            before = held(agent, here.name)
            for where, what in ((State, "save"), (upgrading, "install")):
                with monkeypatch.context() as patched, pytest.raises(Refused, match="H0780"):
                    patched.setattr(where, what, full)
                    agent.upgrade(TWO, name=here.name)
                assert releases_of(here.name) == [1]
                assert agent.store is not None and not agent.store.begun()
                until(lambda: held(agent, here.name) == before, "the list can be written")
            agent.upgrade(TWO, name=here.name)
            assert not held(agent, here.name)[2]

    here.edge.inside_thread(go)


def test_a_journal_that_cannot_be_written_after_the_switch(
    here: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Changes are refused until it can: a reboot finds one build, with the rules that it had."""

    def full(*_: object) -> None:
        raise Refused([cannot_write("journal", "no space left on device")])

    def codes(action: Callable[[], object]) -> list[str]:
        with pytest.raises(Refused) as error:
            action()
        return [d.code for d in error.value.diagnostics]

    def go() -> None:
        with opened(here.state) as agent:
            agent.load(ONE, Source("<edge>", EDGE), here.name)
            owner = agent.owner()
            with monkeypatch.context() as patched:
                patched.setattr(Store, "fold", full)
                assert codes(lambda: agent.upgrade(TWO)) == ["H0788", "H0780"]
                assert owner.digest == TWO.manifest.digest
                assert codes(lambda: asked(agent, ROUTE)) == ["H0788"]
                owner.refresh()  # writes nothing down that is of a build
                assert codes(lambda: agent.upgrade(THREE)) == ["H0788"]
            until(lambda: _done(lambda: asked(agent, ROUTE)), "the agent tried again")
            before = held(agent, here.name)
        remove_pinned(here.name)
        with opened(here.state) as agent:
            assert held(agent, here.name) == before

    here.edge.inside_thread(go)


def _done(action: Callable[[], object]) -> bool:
    try:
        action()
        return True
    except Refused:
        return False


def test_what_fails_when_it_is_in_force_is_ended(
    here: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel fails behind the switch: whoever opens the pipeline ends what was begun."""
    real, calls = switching.carry, count(1)

    def fails(*arguments: Any) -> None:
        if next(calls) == 2:
            raise OSError(12, "no memory")
        real(*arguments)

    def go() -> None:
        with opened(here.state) as agent:
            agent.load(ONE, Source("<edge>", EDGE), here.name)
            monkeypatch.setattr(switching, "carry", fails)
            assert agent.upgrade(TWO).status.findings == ()
            asked(agent, ROUTE)
            before = held(agent, here.name)
            assert before[0] == TWO.manifest.digest and releases_of(here.name) == [2]
        with opened(here.state) as agent:
            assert held(agent, here.name) == before

    here.edge.inside_thread(go)


def test_who_reads_meanwhile_reads_again(here: World) -> None:
    def go() -> None:
        with opened(here.state) as agent:
            agent.load(ONE, Source("<edge>", EDGE), here.name)
            with agent.owner().hold() as before:
                agent.upgrade(TWO)
                assert not before.let_go()
            with agent.owner().hold() as now:
                assert now.let_go()

    here.edge.inside_thread(go)
