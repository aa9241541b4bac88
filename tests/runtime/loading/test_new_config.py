"""Upgrades with another YAML of the edge: settings change, ports come and go, the rest stays."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import count
from pathlib import Path
from typing import Any

import forks
import pytest
import relay
from agent_world import World, opened
from helioc.lang.text.source import Source
from helioc.runtime.agent.agent import Agent
from helioc.runtime.journal.journal import Journal
from helioc.runtime.journal.store import Store
from helioc.runtime.kernel.handles import Link, Object, XdpMode
from helioc.runtime.loading import attach
from helioc.runtime.loading import upgrade as upgrading
from helioc.runtime.loading.loader import unload
from helioc.runtime.loading.releases import ROOT, releases_of, remove_pinned
from lab import Lab, until
from numbered import End
from relay import built, marked
from tinybpf import build

pytestmark = pytest.mark.usefixtures("kernel")

ONE, TWO = built(marked(1)), built(marked(2))
BOTH = "  IN:  {role: inside, interface: in0}\n  OUT: {role: outside, interface: out0}\n"
SIDE = "  SIDE: {role: outside, interface: side0}\n"
EDGE = f"ports:\n{BOTH}rules: |\n  {relay.RULES}\n"
#: In front, so that its number is not that of its place.
MORE = f"ports:\n{SIDE}{BOTH}default: pass\n"
LESS = f"ports:\n{BOTH}default: pass\n"
TO_SIDE = "ROUTE 3 [(dst_ip, u32, 10.3.0.0/16), (way, u8, ON), (interface, u32, SIDE)]"
DROPPER = 'SEC("xdp") int dropper(struct xdp_md *ctx) { return XDP_DROP; }'
Ctl = Callable[..., str]


@pytest.fixture
def side(world: relay.World, lab: Lab) -> End:
    """A third host, to whose interface the pipeline is not attached yet."""
    host = lab.namespace("side")
    lab.wire(host, "eth0", world.edge, "side0")
    world.edge.address("side0", "10.3.0.1/16")
    world.edge.neighbour("side0", "10.3.0.2", host.mac("eth0"))
    return End(host, "eth0")


@pytest.fixture
def here(world: relay.World, side: End, name: str, tmp_path: Path) -> World:
    return World(world.edge, name, tmp_path)


@pytest.fixture(params=["local", "agent"])
def ctl(request: pytest.FixtureRequest, here: World) -> Iterator[Ctl]:
    """`helioctl` in the edge, where the relay is loaded."""
    how = ["--local"] if request.param == "local" else ["--agent", here.address]

    def run(*words: str, status: int = 0) -> str:
        program = [sys.executable, "-m", "helioc.commands.helioctl", *how, "--name", here.name]
        code, said = forks.run(here.edge.inside(*program, *words), "", here.directory)
        assert code == status, said
        return said

    for called, text in (("edge", EDGE), ("more", MORE), ("less", LESS)):
        (here.directory / f"{called}.yaml").write_text(text)
    relay.write(marked(1), here.directory / "first")
    relay.write(marked(2), here.directory / "second")
    with here.agent() if request.param == "agent" else nullcontext():
        run("load", "first", "--config", "edge.yaml")
        yield run
    if (ROOT / here.name).exists():
        unload(here.name)


def has_program(world: World, interface: str) -> bool:
    return "prog/xdp" in world.edge.run("ip", "link", "show", "dev", interface)


def test_a_port_comes_and_goes(ctl: Ctl, here: World, world: relay.World, side: End) -> None:
    """It forwards both ways, rules keep it, and rules of others stay as they are."""
    rules = ctl("show", "ROUTE")
    dry = ctl("upgrade", "second", "--config", "more.yaml", "--dry-run").split("\n")
    assert dry[1:3] == [
        "`default`  -        pass",
        "SIDE       -        outside on side0 at xdp, number 3",
    ]
    assert not has_program(here, "side0")
    said = ctl("upgrade", "second", "--config", "more.yaml")
    assert "SIDE" in said and "2 rules, 0 of them written anew\n" in said
    assert said.count("warning[H0729]") == 1 and "`side0`" in said  # of the new port alone
    assert has_program(here, "side0") and ctl("show", "ROUTE") == rules
    ctl("create", TO_SIDE)
    frame = bytearray(world.frame())
    frame[30:34] = 10, 3, 0, 2
    heard, sent = side.room.wire("eth0"), world.near.room.wire("eth0")
    sent.send(bytes(frame))
    heard.expect(lambda got: got[30:34] == bytes((10, 3, 0, 2)))
    said = ctl("upgrade", "second", "--config", "less.yaml", status=1)
    assert said.startswith("error[H0883]: the file has no port `SIDE`") and "ROUTE 3" in said
    assert has_program(here, "side0")
    ctl("delete", "ROUTE 3")
    said = ctl("upgrade", "second", "--config", "less.yaml")
    assert "SIDE  outside on side0 at xdp, number 3  -" in said
    assert not has_program(here, "side0") and has_program(here, "out0")
    assert "SIDE" not in ctl("status") and ctl("show", "ROUTE") == rules


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        (EDGE.replace("interface: in0", "interface: side0"), "H0882", "inside on in0 at xdp"),
        (EDGE.replace("inside, ", "outside, "), "H0882", "`IN` runs as inside"),
        (EDGE.replace("in0}", "in0, number: 9}"), "H0882", "number 1"),
        (f"{EDGE}mode: generic\n", "H0882", "mode `native`"),
        (EDGE.replace("IN:", "INNER:").replace("IN)", "INNER)"), "H0883", "no port `IN`"),
        (EDGE.replace("in0", "in9"), "H0607", "in9"),
        (f"{EDGE}defualt: drop\n", "H0604", "defualt"),
    ],
)  # fmt: skip
def test_what_no_upgrade_changes(here: World, text: str, code: str, says: str) -> None:
    with here.agent(), here.client() as client:
        client.load(ONE, EDGE)
        before = client.status().pipelines
        with pytest.raises(Exception, match=code) as refused:
            client.upgrade(None, config=text)
        assert says in str(refused.value) and client.status().pipelines == before


def test_a_build_stays_where_none_is_given(here: World) -> None:
    """And all of it is there after a kill, and after a reboot."""
    with here.agent() as process, here.client() as client:
        client.load(ONE, EDGE)
        done = client.upgrade(None, config=MORE)
        assert done.rewritten == 0 and done.status.digest == ONE.manifest.digest
        client.apply(f"create {TO_SIDE}")
        os.kill(process.pid, signal.SIGKILL)
        until(lambda: not process.running, "it has ended")
    for _ in range(2):
        with here.agent(), here.client() as client:
            (status,) = client.status().pipelines
            assert {port.name for port in status.ports} == {"IN", "OUT", "SIDE"}
            assert not status.findings and status.kinds[0].rules == 3
        remove_pinned(here.name)  # a reboot


# ---- in this process ------------------------------------------------------------------------


def facts(agent: Agent, world: World) -> tuple[str, str, list[bool], int]:
    """The default, names of ports, which interfaces have a program, rules."""
    loaded = agent.owner(world.name).loaded
    names = " ".join(sorted(port.name for port in loaded.port_configs))
    there = [has_program(world, each) for each in ("in0", "out0", "side0")]
    return loaded.default, names, there, len(loaded.book)


BEFORE = ("drop", "IN OUT", [True, True, False], 2)
AFTER = ("pass", "IN OUT SIDE", [True, True, True], 2)

# What is done, of what, for the how manieth time; whether the file is in force then.
STEPS: list[tuple[Any, str, int, bool]] = [
    (Store, "prepare", 1, False), (upgrading, "install", 1, False),
    (upgrading, "put_in_force", 1, False), (attach, "attach", 1, True), (Link, "update", 2, True),
    (Journal, "turn_over", 1, True), (Store, "fold", 1, True),
]  # fmt: skip


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", STEPS, ids=lambda step: f"{step[1]}-{step[2]}")
def test_killed_at_each_step(here: World, step: tuple[Any, str, int, bool], after: bool) -> None:
    """The next agent has all of the one file, or of the other, and so has one after a reboot."""
    where, what, nth, new = step
    expected = AFTER if new or (after and what == "put_in_force") else BEFORE
    real, calls = getattr(where, what), count(1)

    def killed(*arguments: Any) -> Any:
        last = next(calls) == nth
        done = real(*arguments) if after or not last else None
        if last:
            os._exit(7)
        return done

    def go() -> None:
        with opened(here.state) as agent:
            agent.load(ONE, Source("<edge>", EDGE), here.name)
            assert facts(agent, here) == BEFORE
        pid = os.fork()
        if not pid:
            try:
                with opened(here.state) as agent:
                    setattr(where, what, killed)
                    agent.upgrade(None, name=here.name, config=Source("<more>", MORE))
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        with opened(here.state) as agent:
            until(lambda: facts(agent, here) == expected, f"{expected}")
            assert len(releases_of(here.name)) == 1
        remove_pinned(here.name)
        with opened(here.state) as agent:
            assert facts(agent, here) == expected

    here.edge.inside_thread(go)


def test_a_port_that_cannot_be_attached_changes_nothing(
    here: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where another program comes to its interface after that was looked at."""

    def go() -> None:
        with opened(here.state) as agent, Object.open(build(DROPPER), name="small") as made:
            made.load()
            other, index = made.programs()["dropper"], here.edge.ifindex("side0")
            agent.load(ONE, Source("<edge>", EDGE), here.name)
            with Link.attach_xdp(other, index, XdpMode.NATIVE):
                for _ in range(2):
                    with pytest.raises(Exception, match="H0724"):
                        agent.upgrade(None, name=here.name, config=Source("<more>", MORE))
                    default, names, _, rules = facts(agent, here)
                    assert (default, names, rules) == (BEFORE[0], BEFORE[1], BEFORE[3])
                    assert releases_of(here.name) == [agent.owner(here.name).loaded.release]
                    assert not (ROOT / here.name / "link_3").exists()
                    monkeypatch.setattr(attach, "check", lambda *_: None)
            monkeypatch.undo()
            agent.upgrade(None, name=here.name, config=Source("<more>", MORE))
            assert facts(agent, here) == AFTER

    here.edge.inside_thread(go)
