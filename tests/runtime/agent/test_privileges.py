"""What the agent may do to its host, and that this is enough for it; the unit for systemd."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import helioc
import sandbox
from agent_world import ANEW, EDGE, World
from helioc.runtime.kernel.privileges import AGENT, LOW_PORT, READER, TIMES
from helioc.runtime.loading.bundle import read_bundle
from lab import until
from privileges_world import children, mask, threads

UNIT = Path(helioc.__file__).parent / "runtime" / "heliod.service"
PAGE = Path(__file__).parents[3] / "docs" / "agent.md"


def work(here: World) -> None:
    """A little of everything."""
    bundle = read_bundle(here.directory / "bundle")
    with here.client() as client:
        client.load(bundle, EDGE)
        client.apply("create FAR 1 [(action, u8, DROP)], PDR 1 [(dst_port, u16, 7), FAR 1]")
        assert client.upgrade(bundle).rules == 3
        assert client.refresh().gone == []
        assert len(list(client.rules())) == 3 and client.stats().events
        client.unload()


def test_all_threads_have_what_they_need_and_no_more(here: World) -> None:
    agent, reader = mask(*AGENT), mask(*READER)
    with here.agent(by=ANEW) as process:
        work(here)
        assert threads(process.pid) == {(0, agent, agent, agent, 0, 1)}
        until(lambda: len(children(process.pid)) == 2, "the readers")
        for child in children(process.pid):
            # what is bounding is no way to more: nothing that it starts gets more than it has
            assert threads(child) == {(0, reader, reader, agent, 0, 1)}


def test_a_low_port_takes_one_more(here: World) -> None:
    here.edge.ip("link", "set", "lo", "up")
    with here.agent("--metrics", "127.0.0.1:94", by=ANEW) as process:
        ((_, permitted, *_),) = threads(process.pid)
        assert permitted == mask(*AGENT, LOW_PORT)


def test_times_of_programs_take_one_more(here: World) -> None:
    with here.agent("--program-times", by=ANEW) as process:
        ((_, permitted, *_),) = threads(process.pid)
        assert permitted == mask(*AGENT, TIMES)


def test_the_page_tells_them() -> None:
    rows = re.findall(r"^\| `(CAP_\w+)` \| (.*?) \| (.*?) \|", PAGE.read_text(), re.M)
    assert [name for name, agent, _ in rows if agent == "yes"] == list(AGENT)
    assert [name for name, _, reader in rows if reader == "yes"] == list(READER)
    assert [name for name, agent, _ in rows if agent != "yes"] == [TIMES, LOW_PORT]


# ---- the unit -------------------------------------------------------------------------------


def settings() -> dict[str, list[str]]:
    found = re.findall(r"^(\w+)=(.*)$", UNIT.read_text(), re.M)
    return {name: text.split() for name, text in found}


def test_the_unit_has_the_same_capabilities() -> None:
    shown = settings()
    assert shown["CapabilityBoundingSet"] == shown["AmbientCapabilities"] == list(AGENT)
    assert shown["User"] == shown["Group"] == ["helio"]
    assert shown["NoNewPrivileges"] == ["yes"] and shown["Type"] == ["notify"]
    assert shown["RuntimeDirectory"] == shown["StateDirectory"] == ["helio"]


def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        assert all(" " not in name for name in settings())  # at least it is one
        return
    made = tmp_path / UNIT.name
    made.write_text(UNIT.read_text().replace("/usr/bin/heliod", sys.executable))
    words = [analyze, "verify", "--man=no", str(made)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    words = [analyze, "security", "--offline=yes", "--threshold=28", "--no-pager", str(made)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout


def test_it_works_as_the_unit_runs_it(here: World) -> None:
    """And with no system call that the unit's filter would refuse."""
    analyze = shutil.which("systemd-analyze")
    calls = sandbox.calls_of(settings()["SystemCallFilter"], analyze) if analyze else []
    with here.agent(by=sandbox.words(here.directory, calls)) as process:
        work(here)
        assert process.running
        assert not calls or "Seccomp:\t2" in Path(f"/proc/{process.pid}/status").read_text()
