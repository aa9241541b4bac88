"""An agent that listens by mutual TLS, and clients with certificates of its authority."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest
from agent_world import EDGE, World, relay
from helioc.runtime.base.certs import issue, make_authority
from helioc.runtime.base.identity import ROLES
from helioc.runtime.client import Client, Rejected
from helioc.runtime.http2.codes import Code
from helioc.runtime.loading.bundle import read_bundle

PORT = 50051
_numbers = count(1)


@pytest.fixture(scope="module")
def certs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An authority with a client of each role, one without, and another authority's client."""
    directory = tmp_path_factory.mktemp("certs")
    make_authority(directory, ["192.0.2.1"])
    for role in ROLES:
        issue(directory, f"a-{role}", role)
        issue(directory, f"attacker-{role}", role)
    issue(directory, "nobody", None)
    make_authority(directory / "other", [])
    return directory


@pytest.fixture
def secure(here: World, certs: Path) -> Iterator[World]:
    """An agent with a loaded pipeline that listens by mutual TLS."""
    with secured(here, certs):
        yield here


@contextmanager
def secured(here: World, certs: Path, by: Sequence[str] = ()) -> Iterator[None]:
    """The same; `by`: see `World.agent`."""
    with here.agent("--tcp", f"0.0.0.0:{PORT}", "--identity", str(certs / "agent"), by=by):
        with here.client() as client:
            client.load(read_bundle(here.directory / "bundle"), EDGE)
        yield


def within(here: World, certs: Path, name: str, work: Callable[[Client], object]) -> object:
    """Do it as that client, by TCP, in the agent's namespace."""

    identity, path = certs / name, here.directory / f"relay-{next(_numbers)}"
    with (
        relay(here.edge, PORT, path) as address,
        Client(
            address, here.name, identity=identity, server_name="localhost", timeout=10
        ) as client,
    ):
        return work(client)


def code_of(work: Callable[[], object]) -> Code | None:
    try:
        work()
    except Rejected as rejected:
        return rejected.status
    return None
