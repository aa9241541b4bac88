"""The real `heliod` of an older release, and back: with `HELIO_OLD_RELEASE=0924e90`.

Its sources are taken out of the repository; it runs with the libraries of this one.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from agent_world import EDGE, TO_TUNNEL, World, crosses, texts
from helioc.compiler import bundle as bundles
from helioc.compiler.driver import check_file
from helioc.runtime.client import Client
from helioc.runtime.loading.bundle import read_bundle
from helioc.runtime.loading.releases import remove_pinned
from lab import Wire

RELEASE = os.environ.get("HELIO_OLD_RELEASE", "")
pytestmark = [
    pytest.mark.usefixtures("kernel"),
    pytest.mark.skipif(not RELEASE, reason="HELIO_OLD_RELEASE names no revision"),
]
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory to import the older release from, with a bundle `linx` of its compiler."""
    made = tmp_path_factory.mktemp("old")
    archive = subprocess.run(
        ["git", "-C", str(ROOT), "archive", RELEASE], capture_output=True, check=True, timeout=60
    ).stdout  # fmt: skip
    with tarfile.open(fileobj=io.BytesIO(archive)) as found:
        found.extractall(made / "helioc")
    pipeline = made / "helioc" / "pipelines" / "linx.hp"
    subprocess.run(
        [sys.executable, "-m", "helioc.commands.helioc", "compile", str(pipeline), "-o",
         str(made / "linx")],
        env={**os.environ, "PYTHONPATH": str(made)}, cwd=made, check=True, timeout=300,
        capture_output=True,
    )  # fmt: skip
    return made


@contextmanager
def older(here: World, old: Path) -> Iterator[Client]:
    """The older release's agent, and a client of today's."""
    with here.agent(by=("env", "-C", str(old), f"PYTHONPATH={old}")), here.client() as client:
        yield client


def filled(client: Client) -> list[str]:
    for number in range(1, 51):
        client.apply(f"create FAR {number} [(action, u8, DROP)]", key=f"key-{number}")
    client.apply(TO_TUNNEL)
    return texts(client)


def holds(here: World, client: Client, wires: tuple[Wire, Wire], expected: list[str]) -> None:
    """Rules, answers to keys, packets."""
    assert texts(client) == expected
    assert client.apply("create FAR 7 [(action, u8, DROP)]", key="key-7").repeated
    crosses(here, wires)


@pytest.mark.parametrize("rebooted", [True, False])
def test_there_and_back(here: World, old: Path, wires: tuple[Wire, Wire], rebooted: bool) -> None:
    with older(here, old) as client:
        words = [sys.executable, "-m", "helioc.commands.helioctl", "--name", here.name, "--agent",
                 here.address, "load", "linx", "--config",
                 str(here.directory / "edge.yaml")]  # fmt: skip
        here.edge.run("env", "-C", str(old), f"PYTHONPATH={old}", *words)
        expected = filled(client)
        holds(here, client, wires, expected)
    if rebooted:
        remove_pinned(here.name)
    with here.agent() as process, here.client() as client:
        holds(here, client, wires, expected)
        revision = client.status().pipelines[0].revision
        assert not [f for f in client.status().pipelines[0].findings if not f.warning]
        assert "H9999" not in process.output
        client.apply("create FAR 99 [(action, u8, DROP)]", key="key-99")
        expected = texts(client)
        assert f"revision {revision + 1}" in here.ctl("backup", "--for", RELEASE, "older")
    remove_pinned(here.name)
    here.state.rename(here.directory / "new")
    (here.directory / "older").rename(here.state)
    with older(here, old) as client:
        holds(here, client, wires, expected)
        assert client.apply("create FAR 99 [(action, u8, DROP)]", key="key-99").repeated
        assert client.status().pipelines[0].revision >= revision + 1
        client.apply("delete FAR 99")


def compiled_today(old: Path, directory: Path) -> Path:
    """The older pipeline, compiled today."""
    made = bundles.compile_pipeline(check_file(old / "helioc" / "pipelines" / "linx.hp"))
    bundles.write_bundle(made, directory / "newer")
    return directory / "newer"


def test_a_newer_bundle(here: World, old: Path, wires: tuple[Wire, Wire]) -> None:
    """Rules of a pipeline that was compiled today go back by an upgrade to the older bundle."""
    with here.agent(), here.client() as client:
        client.load(read_bundle(compiled_today(old, here.directory)), EDGE)
        expected = filled(client)
        assert "error[H0865]" in here.ctl("backup", "--for", RELEASE, "older", status=1)
        here.ctl("upgrade", str(old / "linx"))
        here.ctl("backup", "file")
        here.ctl("backup", "--for", RELEASE, "--from", "file", "older")
    remove_pinned(here.name)
    here.state.rename(here.directory / "new")
    (here.directory / "older").rename(here.state)
    with older(here, old) as client:
        holds(here, client, wires, expected)
