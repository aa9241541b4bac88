"""An agent that starts on a journal with one damaged file: what was acknowledged is in force, or
the agent reports its loss, and works. `HELIO_FAULTS` says with how many."""

from __future__ import annotations

import logging
import os
import random
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
import relay
from agent_world import World
from helioc.lang.contract.rules.wire import encode
from helioc.lang.text.source import Source
from helioc.runtime.agent.agent import Agent
from helioc.runtime.base.paths import RUN
from helioc.runtime.journal.recovery import OURS
from helioc.runtime.journal.state import COPIES
from helioc.runtime.journal.store import Store
from helioc.runtime.loading.releases import ROOT, remove_pinned
from helioc.runtime.owner.requests import ApplyRequest
from lab import Lab
from relay import built, marked, request

pytestmark = pytest.mark.usefixtures("kernel")

FAULTS = int(os.environ.get("HELIO_FAULTS", "30"))
#: Requests, after which of them there is a snapshot, and the number of the first one's rule.
REQUESTS, FOLDS, FIRST = 24, (6, 15), 10
EDGE = f"""\
ports:
  IN:  {{role: inside, interface: in0}}
  OUT: {{role: outside, interface: out0}}
rules: |
  {relay.RULES}
"""


@dataclass
class Scene:
    """`files`: of a state directory that a killed agent left; `before`: what they were once."""

    here: World
    files: dict[str, bytes]
    before: list[tuple[str, bytes]]

    def damage(self, chance: random.Random) -> str:
        """Put a state there with a damaged file. Returns what is wrong with it."""
        shutil.rmtree(self.here.state)
        self.here.state.mkdir(mode=0o700)
        files = dict(self.files)
        name = chance.choice(sorted(files))
        content = bytearray(files[name])
        at = chance.randrange(len(content))
        how = chance.choice(("flip", "cut", "page", "noise", "gone", "swap", "stale", "longer"))
        if how == "flip":
            content[at] ^= 1 << chance.randrange(8)
        elif how == "cut":
            del content[at:]
        elif how == "page":
            at -= at % 4096
            content[at : at + 4096] = bytes(len(content[at : at + 4096]))
        elif how == "noise":
            content[at : at + 16] = chance.randbytes(len(content[at : at + 16]))
        elif how == "longer":
            content += chance.randbytes(100)
        files[name] = bytes(content)
        if how == "gone":
            del files[name]
        elif how == "swap":
            other = chance.choice(sorted(files))
            files[name], files[other] = files[other], files[name]
        elif how == "stale":
            name, files[name] = chance.choice(self.before)
        for each, written in files.items():
            (self.here.state / each).write_bytes(written)
        return f"{how} {name} {at}"


@pytest.fixture
def scene(lab: Lab, tmp_path: Path) -> Iterator[Scene]:
    name = f"ht{os.getpid()}-damaged"
    here = World(relay.build(lab).edge, name, tmp_path)

    def fill() -> None:
        agent = Agent(Store(here.state))
        agent.open_all()
        agent.load(built(marked(1)), Source("<edge>", EDGE), name)
        owner = agent.owner()
        for number in range(REQUESTS):
            ask(agent, FIRST + number)
            shutil.copytree(here.state, tmp_path / f"seen-{number}")
            if number in FOLDS:
                owner.fold()
        assert owner.journal is not None
        owner.journal.confirm(owner.journal.number, owner.journal.log.mark)

    def killed() -> None:
        pid = os.fork()
        if not pid:
            try:
                fill()
                os._exit(7)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7

    here.edge.inside_thread(killed)
    files = read(here.state)
    seen = [read(tmp_path / f"seen-{number}") for number in range(REQUESTS)]
    before = {(n, c) for each in seen for n, c in each.items() if files.get(n, c) != c}
    yield Scene(here, files, sorted(before))
    if (ROOT / name).exists():
        remove_pinned(name)
    forget(name)


def forget(name: str) -> None:
    """What a reboot takes from below /run."""
    for posted in RUN.glob(f"{name}.*"):
        posted.unlink()


def read(directory: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes() for path in directory.iterdir()
        if OURS.fullmatch(path.name) or path.name in COPIES
    }  # fmt: skip


def ask(agent: Agent, number: int) -> bool:
    """Whether it was made before."""
    owner, text = agent.owner(), f"create ROUTE {number} [(dst_ip, u32, 10.9.{number}.0/24), "
    expected = request(text + "(way, u8, BACK)]")
    return owner.apply(ApplyRequest(encode(expected, owner.codecs), key=f"key {number}")).repeated


def look(agent: Agent, name: str, what: str) -> str:
    """The outcome. Fails where something is missing and nobody says so."""
    codes = {found.code for found in agent.findings}
    lost, owners = "H0781" in codes, agent.owners()
    assert lost == bool(agent.losses)
    if not owners:
        assert lost, what
        return "not restored"
    book = owners[0].loaded.book
    there = sorted(rule.id for rule in book.rules("ROUTE") if rule.id >= FIRST)
    assert there == list(range(FIRST, FIRST + len(there))), (what, "what came first is there")
    missing = REQUESTS - len(there)
    assert not missing or lost or "H0787" in codes, what
    again = [ask(agent, FIRST + number) for number in range(len(there)) if not lost]
    assert all(again), (what, "keys are known")
    assert not ask(agent, FIRST + REQUESTS), "it works"
    return "lost" if lost else "unconfirmed" if missing else "all there"


def test_one_damaged_file(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)
    name, outcomes = scene.here.name, Counter[str]()

    def once(seed: int) -> str:
        what = f"seed {seed}: {scene.damage(random.Random(seed))}"
        forget(name)
        agent = Agent(Store(scene.here.state))
        try:
            agent.open_all()
            outcome = look(agent, name, what)
        finally:
            agent.close()
        remove_pinned(name)  # a reboot, and what was lost is still reported
        with closing(Store(scene.here.state)) as store:
            assert bool(store.losses) == (outcome in ("lost", "not restored")), what
        return outcome

    def go() -> None:
        remove_pinned(name)
        for seed in range(FAULTS):
            outcomes[once(seed)] += 1

    scene.here.edge.inside_thread(go)
    sys.stdout.write(f"\n{dict(outcomes)}\n")
    assert {"lost", "all there", "not restored"} <= {*outcomes}
