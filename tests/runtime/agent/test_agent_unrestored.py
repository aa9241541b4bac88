"""Pipelines that could not be restored: what is lost of them, and what is not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from agent_world import EDGE, World
from helioc.runtime.client import Client, Rejected
from helioc.runtime.loading.bundle import read_bundle
from helioc.runtime.loading.releases import ROOT, remove_pinned

pytestmark = pytest.mark.usefixtures("kernel")


def prepare(here: World) -> list[str]:
    """A pipeline whose agent has ended, before a reboot. Returns its rules."""
    with here.agent(), here.client() as client:
        client.load(read_bundle(here.directory / "bundle"), EDGE)
        client.apply("create FAR 1 [(action, u8, DROP)]", key="first")
        rules = texts(client)
    remove_pinned(here.name)
    return rules


def texts(client: Client) -> list[str]:
    return [rule.text for rule in client.rules()]


@contextmanager
def in_the_way(here: World) -> Iterator[None]:
    """Another pipeline at its interfaces, until this ends or somebody unloads it."""
    other = f"{here.name}-b"
    here.ctl("--local", "--name", other, "load", "bundle", "--config", "edge.yaml")
    try:
        yield
    finally:
        if (ROOT / other).exists():
            here.ctl("--local", "--name", other, "unload")


@pytest.mark.parametrize("earlier", [False, True])
def test_what_is_not_lost_is_not_forgotten(here: World, earlier: bool) -> None:
    """By who accepts the loss of answers, `earlier`: which a start recorded before this one."""
    rules = prepare(here)
    answers = next(here.state.glob("answers-1-*"))
    content = bytearray(answers.read_bytes())
    content[len(content) // 2] ^= 1
    answers.write_bytes(content)
    if earlier:
        with here.agent(), here.client() as client:
            assert texts(client) == rules
        remove_pinned(here.name)
    with in_the_way(here), here.agent() as process:
        process.expect("H0785")
        said = here.ctl("repair", "--accept-loss", status=0 if earlier else 1)
        assert ("accepted: " in said) == earlier and ("[H0785]" in said) != earlier
        assert "H0785" in here.ctl("status")
    with here.agent(), here.client() as client:
        assert texts(client) == rules
        assert ("accepted: " in here.ctl("repair", "--accept-loss")) != earlier


def test_a_load_deletes_nothing_that_is_not_lost(here: World) -> None:
    rules = prepare(here)
    with in_the_way(here), here.agent() as process, here.client() as client:
        process.expect("H0785")
        here.ctl("--name", f"{here.name}-b", "unload")
        with pytest.raises(Rejected, match="H0785.*a load would delete") as error:
            client.load(read_bundle(here.directory / "bundle"), EDGE)
        assert f"`helioctl --name {here.name} unload`" in error.value.diagnostics[0].help
    with here.agent(), here.client() as client:
        assert texts(client) == rules


def test_a_load_takes_the_place_of_what_is_lost(here: World) -> None:
    prepare(here)
    snapshot = next(here.state.glob("snapshot-1-*"))
    snapshot.write_bytes(snapshot.read_bytes()[:-1])
    with here.agent() as process, here.client() as client:
        process.expect("H0785")
        client.load(read_bundle(here.directory / "bundle"), EDGE)
        assert "accepted: " in here.ctl("repair", "--accept-loss")
    assert (here.state / "aside" / snapshot.name).exists()
