"""Another build in the shadow, by the agent: reports as they come, and what is left when the
client, the agent or the run is killed."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import relay
from agent_world import World as Agents
from helioc.runtime.client import Client, Rejected
from helioc.runtime.loading.bundle import read_bundle
from helioc.runtime.loading.loader import unload
from helioc.runtime.loading.releases import ROOT, releases_of
from helioc.runtime.shadow.options import ShadowOptions
from lab import Lab, until
from leaks import PREFIX
from shadow_world import NAME, Edge, write_builds

PORTS = """\
ports:
  IN:  {role: inside, interface: in0}
  OUT: {role: outside, interface: out0}
"""


@pytest.fixture(scope="module")
def edge(kernel: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Edge]:
    bundles = write_builds(tmp_path_factory.mktemp("builds"))
    with Lab(f"{PREFIX}sa-") as lab:
        world = relay.build(lab)
        yield Edge(world, world.near.room.wire("eth0"), bundles)


@pytest.fixture
def agents(edge: Edge, tmp_path: Path) -> Iterator[Agents]:
    yield Agents(edge.world.edge, NAME, tmp_path)
    if (ROOT / NAME).exists():
        unload(NAME)


def load(edge: Edge, client: Client) -> None:
    client.load(read_bundle(edge.bundles["same"]), PORTS)
    client.apply(relay.RULES)


def test_reports_as_they_come(edge: Edge, agents: Agents) -> None:
    """And requests meanwhile."""
    with agents.agent() as process, agents.client() as client, edge.traffic():
        load(edge, client)
        bundle = read_bundle(edge.bundles["drops"])
        found = []
        for report in client.shadow(bundle, options=ShadowOptions(seconds=2.5, period=0.5)):
            found.append(report)
            with agents.client() as other:
                where = f"(dst_ip, u32, 10.9.9.{len(found)}/32), (way, u8, BACK)"
                other.apply(f"create ROUTE {50 + len(found)} [{where}]")
        assert len(found) >= 4
        compared = [report["compared"] for report in found]
        assert compared == sorted(compared) and compared[0] < compared[-1] > 500
        assert found[-1]["differing"] == found[-1]["not_allowed"] == compared[-1]
        assert found[-1]["differences"][0]["differences"] == ["redirect -> drop"]
        assert edge.plain_in_place()
        process.expect("method=Shadow pipeline=")
        assert "role=admin" in process.output and "answer=OK" in process.output


def test_helioctl_asks_the_agent(edge: Edge, agents: Agents) -> None:
    with agents.agent(), agents.client() as client, edge.traffic():
        load(edge, client)
        bundle = str(edge.bundles["drops"])
        found = json.loads(agents.ctl("load", "--shadow", bundle, "--for", "1s", "--json"))
        assert found["compared"] == found["differing"] > 100
        assert "H0748" in agents.ctl("upgrade", "--shadow", "1s", bundle, status=1)
        assert releases_of(NAME) == [1]
        said = agents.ctl("upgrade", "--shadow", "1s", bundle, "--allow", "ROUTE 1")
        assert "redirect -> drop (named by --allow)" in said and "upgraded" in said
        assert releases_of(NAME) == [2]


def test_what_is_refused(edge: Edge, agents: Agents) -> None:
    with agents.agent(), agents.client() as client:
        load(edge, client)
        bundle = read_bundle(edge.bundles["same"])
        for options, code in (
            (ShadowOptions("ipv4.ttl ="), "H0855"), (ShadowOptions(port="INN"), "H0853"),
            (ShadowOptions(period=0.01), "H0817"), (ShadowOptions(allowed=("ROUT 1",)), "H0749"),
        ):  # fmt: skip
            with pytest.raises(Rejected) as caught:
                list(client.shadow(bundle, options=options))
            assert caught.value.diagnostics[0].code == code
        assert edge.plain_in_place()


def test_a_client_that_is_gone(edge: Edge, agents: Agents) -> None:
    """Its run ends, and the plain build is in place; another may begin."""
    with agents.agent(), agents.client() as client, edge.traffic():
        load(edge, client)
        bundle = read_bundle(edge.bundles["same"])
        with closing(client.shadow(bundle, options=ShadowOptions(period=0.2))) as reports:
            assert next(reports)["ended"] == ""
            assert edge.traced()
            with pytest.raises(Rejected, match="H0851"):
                next(iter(client.shadow(bundle)))
        until(edge.plain_in_place, "the plain build", 20)
        assert list(client.shadow(bundle, options=ShadowOptions(seconds=0.5)))[-1]["compared"] > 50


def test_a_run_that_is_killed(edge: Edge, agents: Agents) -> None:
    with agents.agent() as process, agents.client() as client, edge.traffic():
        load(edge, client)
        bundle = read_bundle(edge.bundles["same"])
        with closing(client.shadow(bundle, options=ShadowOptions(period=0.2))) as reports:
            next(reports)
            os.kill(child_of(process.pid), signal.SIGKILL)
            with pytest.raises(Rejected, match="H0818"):
                list(reports)
        assert edge.plain_in_place()


def test_an_agent_that_is_killed(edge: Edge, agents: Agents) -> None:
    with agents.agent() as process, agents.client() as client, edge.traffic():
        load(edge, client)
        reports = client.shadow(
            read_bundle(edge.bundles["same"]), options=ShadowOptions(period=0.2)
        )
        next(reports)
        run = child_of(process.pid)
        os.kill(process.pid, signal.SIGKILL)
        with pytest.raises(Rejected):
            list(reports)
        until(lambda: not Path(f"/proc/{run}").exists(), "the end of the run", 20)
        assert edge.plain_in_place()


def child_of(agent: int) -> int:
    """The process of the shadow run of an agent."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
            status = (path.parent / "status").read_text()
        except OSError:
            continue
        if b"helioc.runtime.rpc.shadowing" in words and f"PPid:\t{agent}\n" in status:
            return int(path.parent.name)
    raise AssertionError("no shadow run")
