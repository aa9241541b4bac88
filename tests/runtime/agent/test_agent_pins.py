"""Pins of a loaded pipeline that something removed."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest
from agent_world import EDGE, World, texts
from helioc.runtime.client import Client, Rejected
from helioc.runtime.loading.bundle import read_bundle
from helioc.runtime.loading.releases import ROOT

pytestmark = pytest.mark.usefixtures("kernel")

#: Without them a pipeline cannot be opened, or not by everybody.
PINS = ("release-1/maps/control", "release-1/maps/far_cells", "release-1/maps")


def load(here: World, client: Client) -> list[str]:
    client.load(read_bundle(here.directory / "bundle"), EDGE)
    client.apply("create FAR 1 [(action, u8, DROP)]")
    return texts(client)


def remove(here: World, pin: str) -> None:
    path = ROOT / here.name / pin
    if path.is_dir():
        for each in path.iterdir():
            each.unlink()
    else:
        path.unlink()


@pytest.mark.parametrize("pin", PINS)
def test_the_journal_brings_it_back(here: World, pin: str) -> None:
    with here.agent(), here.client() as client:
        before = load(here, client)
        remove(here, pin)
    with here.agent() as process, here.client() as client:
        assert texts(client) == before
        (found,) = client.status().pipelines[0].findings
        assert found.code == "H0713" and "has no pin" in found.title
        assert "H0713" in process.output
        client.apply("create FAR 2 [(action, u8, DROP)]")
        client.unload()


def test_what_no_journal_has_is_named_and_can_be_unloaded(here: World) -> None:
    with here.agent(), here.client() as client:
        load(here, client)
    shutil.rmtree(here.state)
    remove(here, PINS[0])
    with here.agent(), here.client() as client:
        works: tuple[Callable[[], object], ...] = (
            lambda: list(client.rules()), client.schema, lambda: client.apply("delete FAR 1"),
        )  # fmt: skip
        for work in works:
            with pytest.raises(Rejected, match="H0710.*the map `control` has no pin"):
                work()
        assert client.unload() == here.name
        load(here, client)


@pytest.mark.parametrize("pin", PINS)
def test_without_an_agent(here: World, pin: str) -> None:
    here.ctl("--local", "load", "bundle", "--config", "edge.yaml")
    remove(here, pin)
    for words in (("show",), ("create", "FAR 1 [(action, u8, DROP)]")):
        assert "error[H0710]" in here.ctl("--local", *words, status=1)
    assert "H0710" in here.ctl("--local", "status")
    here.ctl("--local", "unload")
    here.ctl("--local", "load", "bundle", "--config", "edge.yaml")
