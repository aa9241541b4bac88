"""An agent that lacks what it needs says so in words, and goes on as soon as it is there."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from agent_world import EDGE, World
from helioc.runtime.client import Client, Rejected
from helioc.runtime.loading.bundle import read_bundle
from lab import Background, Lab, Namespace, command, until

pytestmark = pytest.mark.usefixtures("kernel")


@contextmanager
def agent(here: World, *under: str) -> Iterator[Background]:
    """`heliod`, run by another program."""
    words = [sys.executable, "-m", "helioc.commands.heliod", "--socket", str(here.socket),
             "--state", str(here.state)]  # fmt: skip
    process = Background(here.edge.inside(*under, *words))
    try:
        process.expect("ready")
        yield process
    finally:
        process.stop()


def load(here: World, client: Client, more: str = "") -> None:
    client.load(read_bundle(here.directory / "bundle"), EDGE + more)


def test_pipelines_of_other_namespaces_are_nobodys_business(here: World, lab: Lab) -> None:
    """An agent says nothing of them, not even that they are there."""
    here.ctl("--local", "load", "bundle", "--config", "edge.yaml")
    elsewhere = World(Namespace(f"{lab.prefix}lan", lab._stack), here.name, here.directory)
    with agent(elsewhere), here.client() as client:
        for work in (client.status, client.schema, client.unload, client.rules):
            for name in (here.name, "other", ""):
                client.pipeline = name
                try:
                    said = str(work())
                except Rejected as error:
                    said = str(error.diagnostics)
                    assert "H0706" in said
                assert here.name not in said.replace(f"no pipeline `{here.name}` is loaded", "")
    assert here.name in here.ctl("--local", "list")


def test_no_bpf_file_system(here: World) -> None:
    hide = ("unshare", "--mount", "sh", "-c", 'umount /sys/fs/bpf; exec "$@"', "sh")
    with agent(here, *hide) as process, here.client() as client:
        with pytest.raises(Rejected) as error:
            load(here, client)
        (found,) = error.value.diagnostics
        assert found.code == "H0721" and "mount -t bpf bpf /sys/fs/bpf" in found.help
        command("nsenter", f"--mount=/proc/{process.pid}/ns/mnt", "mount", "-t", "bpf", "bpf",
                "/sys/fs/bpf")  # fmt: skip
        load(here, client)
        client.apply("create FAR 1 [(action, u8, DROP)]")
        client.unload()


@pytest.mark.parametrize(
    "missing", ["-all", "-net_admin,-sys_admin", "-bpf,-sys_admin", "-perfmon,-sys_admin"]
)
def test_a_capability_is_missing(here: World, missing: str) -> None:
    with agent(here, "setpriv", f"--bounding-set={missing}") as process, here.client() as client:
        with pytest.raises(Rejected) as error:
            load(here, client)
        (found,) = error.value.diagnostics
        named = [name[1:] for name in missing.split(",") if name not in ("-all", "-sys_admin")]
        assert all(f"CAP_{name.upper()} is missing" in found.title for name in named)
        assert found.code == "H0720" and "CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON" in found.help
        assert process.running and not client.status().pipelines
        assert "Traceback" not in process.output


def test_overlays_that_may_not_be_probed(here: World) -> None:
    with agent(here, "setpriv", "--bounding-set=-net_raw"), here.client() as client:
        load(here, client, "liveness: {interval: 100 ms}\n")
        (found,) = until(lambda: client.status().pipelines[0].findings, "it is said")
        assert found.code == "H0775" and "CAP_NET_RAW" in found.help
        assert [o.state for o in client.status().pipelines[0].overlays] == [0]
        client.apply("create FAR 1 [(action, u8, DROP)]")
        client.unload()
