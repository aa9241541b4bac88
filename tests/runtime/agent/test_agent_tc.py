"""An agent whose ports are at tc: loaded by it, found again, restored after a reboot, looked
after."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import hop
import pytest
import relay
from agent_world import World
from helioc.runtime.client import Client
from helioc.runtime.kernel.handles import BpfError, Link
from helioc.runtime.loading.attach import link_of
from helioc.runtime.loading.bundle import read_bundle
from helioc.runtime.loading.loader import unload
from helioc.runtime.loading.releases import ROOT, remove_pinned
from lab import Lab, until
from numbered import flow, sender

pytestmark = pytest.mark.usefixtures("kernel")

#: The second port is moved.
EDGE = """\
ports:
  IN:  {role: inside, interface: in0}
  OUT: {role: outside, interface: out0, at: tc.ingress}
"""
RULES = """create ROUTE 1 [(dst_ip, u32, 10.2.0.0/16), (interface, u32, OUT)],
                  ROUTE 2 [(dst_ip, u32, 10.1.0.0/16), (interface, u32, IN)]"""
HERE = hop.text("tc.ingress", "xdp")
LARGER = hop.text("tc.ingress", "xdp", ("rule ROUTE [64]", "rule ROUTE [128]"))


@pytest.fixture
def hosts(lab: Lab) -> relay.World:
    return relay.build(lab)


@pytest.fixture
def here(hosts: relay.World, tmp_path: Path) -> Iterator[World]:
    for name, text in (("bundle", HERE), ("larger", LARGER)):
        hop.write(text, tmp_path / name)
    made = World(hosts.edge, f"ht{os.getpid()}-tc", tmp_path)
    yield made
    if (ROOT / made.name).exists():
        unload(made.name)


def healthy(client: Client) -> bool:
    (status,) = client.status().pipelines
    return not status.findings and all(port.state == "up" for port in status.ports)


def test_killed_and_upgraded_and_restored(
    here: World, hosts: relay.World, tmp_path: Path, pins: Path
) -> None:
    """While packets go through, as long as the kernel keeps running."""
    program = sender(tmp_path)
    larger = read_bundle(tmp_path / "larger")
    with here.agent() as first, here.client() as client:
        client.load(read_bundle(tmp_path / "bundle"), EDGE)
        client.apply(RULES)
        assert healthy(client)
        with flow(hosts.near, hosts.far, hosts.frame(), program, pins / "one") as some:
            some.until(200)
            first.stop(signal.SIGKILL)
            some.until(200)
            with here.agent(), here.client() as again:
                assert healthy(again)
                again.upgrade(larger)
                some.until(200)
                assert healthy(again)
        assert some.journey.lost == 0
    remove_pinned(here.name)  # as a reboot does
    with here.agent(), here.client() as client:
        assert healthy(client)
        with flow(hosts.near, hosts.far, hosts.frame(), program, pins / "two") as some:
            some.until(200)
        assert some.journey.lost == 0
        assert "out0 at tc.ingress" in here.ctl("status")
        here.ctl("unload")
    assert not (ROOT / here.name).exists()


@pytest.mark.parametrize("edge", [EDGE, EDGE.replace(", at: tc.ingress", "")], ids=["tc", "xdp"])
def test_a_program_that_is_taken_off_comes_back(here: World, edge: str) -> None:
    with here.agent(), here.client() as client:
        client.load(read_bundle(here.directory / "bundle"), edge)
        client.apply(RULES)
        for port in (1, 2):
            with Link.open_pinned(link_of(here.name, port)) as link:
                link.detach()
            until(lambda: _attached(here.name), "the ports' programs")
            until(lambda: healthy(client), "a status without findings")


def _attached(name: str) -> bool:
    try:
        for port in (1, 2):
            with Link.open_pinned(link_of(name, port)) as link:
                if not link.info().ifindex:
                    return False
    except BpfError:  # another one is being pinned
        return False
    return True
