"""A journal that cannot be written when the agent begins: it reads, answers, and waits for room."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import grpc
import pytest
from agent_world import EDGE, World, ask_health, world
from block_device import ext4
from grpc_health.v1 import health_pb2, health_pb2_grpc
from helioc.runtime.client import Client, Rejected
from helioc.runtime.journal.state import COPIES
from helioc.runtime.loading.bundle import read_bundle
from helioc.runtime.loading.releases import remove_pinned
from helioc.runtime.rpc.server import JOURNAL
from lab import Background, Lab, until

pytestmark = pytest.mark.usefixtures("kernel")


@pytest.fixture
def here(lab: Lab, tmp_path: Path) -> Iterator[World]:
    """Its journal has a disk of its own, of 4 MiB."""
    with world(lab, tmp_path) as made:
        made.state.mkdir()
        options = "size=4m,mode=0700"
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", made.state], check=True)
        try:
            yield made
        finally:
            subprocess.run(["umount", "--lazy", made.state], check=True)


def prepare(here: World, end: signal.Signals = signal.SIGTERM) -> list[str]:
    """A pipeline with two rules, whose agent has ended. Returns all rules as text."""
    with here.agent() as process, here.client() as client:
        client.load(read_bundle(here.directory / "bundle"), EDGE)
        client.apply("create FAR 1 [(action, u8, DROP)]", key="first")
        client.apply("create FAR 2 [(action, u8, PASS)]")
        found = texts(client)
        os.kill(process.pid, end)
        until(lambda: not process.running, "it has ended")
    return found


def texts(client: Client) -> list[str]:
    return [rule.text for rule in client.rules()]


def codes(client: Client) -> list[str]:
    (status,) = client.status().pipelines
    return [found.code for found in status.findings]


def test_a_disk_that_becomes_read_only_is_noticed(here: World, tmp_path: Path) -> None:
    """As ext4 does after an error (`errors=remount-ro`), while nobody asks for anything."""
    at = here.directory / "health"
    with (
        ext4(tmp_path / "disk", here.state), here.agent("--health", f"unix:{at}") as process,
        here.client() as client,
    ):  # fmt: skip
        client.load(read_bundle(here.directory / "bundle"), EDGE)
        until(lambda: ask_health(at, "/readyz") == (200, "ok\n"), "it is ready")
        before = written(here)
        subprocess.run(["mount", "-o", "remount,abort", here.state], check=True)
        process.expect("H0780")
        assert written(here) == before
        assert ask_health(at, "/readyz") == (503, "H0780: the journal cannot be written\n")
        assert codes(client) == ["H0780"]
        with pytest.raises(Rejected, match="H0780") as error:
            client.unload()
        assert f"`mount -o remount,rw {here.state}`" in error.value.diagnostics[0].help


def written(here: World) -> dict[str, int]:
    """When each file was."""
    return {each.name: each.stat().st_mtime_ns for each in here.state.iterdir()}


@contextmanager
def full(here: World) -> Iterator[Path]:
    """Yields what takes all the room."""
    filler = here.state / "filler"
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass
    try:
        yield filler
    finally:
        filler.unlink(missing_ok=True)


def refused_with_the_fix(here: World, client: Client, fix: str) -> None:
    for change in (lambda: fill_the_log(client), client.unload):
        with pytest.raises(Rejected) as error:
            change()
        (found,) = error.value.diagnostics
        assert found.code == "H0780" and str(here.state) in found.title and fix in found.help


def fill_the_log(client: Client) -> None:
    """It may have room that was allocated before."""
    for _ in range(3000):
        client.apply("update FAR 1 [(action, u8, DROP)]")


def in_force_again(here: World, client: Client, process: Background, before: list[str]) -> None:
    """Without a restart, and for good."""
    until(lambda: not codes(client), "it can be written again", 20)
    assert process.running and texts(client) == before
    assert client.apply("create FAR 1 [(action, u8, DROP)]", key="first").repeated
    client.apply("create FAR 3 [(action, u8, DROP)]")


@pytest.mark.parametrize("end, rebooted", [(signal.SIGKILL, True), (signal.SIGTERM, False)])
def test_it_begins_on_a_full_disk(here: World, end: signal.Signals, rebooted: bool) -> None:
    before = prepare(here, end)
    if rebooted:
        remove_pinned(here.name)
    with full(here) as filler, here.agent() as process, here.client() as client:
        assert texts(client) == before
        assert client.rule("FAR", 2).text == before[2]
        assert codes(client) == ["H0780"] and "H0780" in process.output
        refused_with_the_fix(here, client, f"`{here.state}` (tmpfs on none) is full")
        assert texts(client) == before
        filler.unlink()
        in_force_again(here, client, process, before)
        before = texts(client)
        os.kill(process.pid, signal.SIGKILL)
        until(lambda: not process.running, "it is killed")
    remove_pinned(here.name)
    with here.agent(), here.client() as client:
        assert texts(client) == before and not codes(client)


def test_it_begins_on_a_full_disk_twice(here: World) -> None:
    """What the first could not note, the second does not take for written."""
    before = prepare(here)
    remove_pinned(here.name)
    with full(here) as filler:
        with here.agent(), here.client() as client:
            assert texts(client) == before
        with here.agent() as process, here.client() as client:
            assert texts(client) == before
            refused_with_the_fix(here, client, "is full")
            filler.unlink()
            in_force_again(here, client, process, before)


def test_it_begins_on_a_read_only_disk(here: World) -> None:
    before = prepare(here, signal.SIGKILL)
    remove_pinned(here.name)
    remount(here, "ro")
    with here.agent() as process, here.client() as client:
        assert texts(client) == before and codes(client) == ["H0780"]
        refused_with_the_fix(here, client, f"`mount -o remount,rw {here.state}`")
        remount(here, "rw")
        in_force_again(here, client, process, before)


def remount(here: World, how: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{how}", here.state], check=True)


def test_it_begins_in_a_directory_that_it_may_not_write_to(here: World) -> None:
    """The agent gives up what lets root write everywhere."""
    before = prepare(here)
    remove_pinned(here.name)
    here.state.chmod(0o500)
    with here.agent() as process, here.client() as client:
        assert texts(client) == before and codes(client) == ["H0780"]
        with pytest.raises(Rejected, match="H0780") as error:
            client.unload()
        assert "let the agent write there" in error.value.diagnostics[0].help
        client.apply("delete FAR 2")  # by the log that is there
        here.state.chmod(0o700)
        in_force_again(here, client, process, before[:2])


@pytest.mark.parametrize("files", [COPIES, ("requests-1-1",)])
def test_it_does_not_begin_where_it_may_not_read(here: World, files: tuple[str, ...]) -> None:
    """The agent gives up what lets root read everything."""
    before = prepare(here, signal.SIGKILL)
    remove_pinned(here.name)
    there = {path.name: path.read_bytes() for path in here.state.iterdir()}
    for name in files:
        os.chown(here.state / name, 4711, 4711)
    words = [sys.executable, "-m", "helioc.commands.heliod", "--socket", str(here.socket),
             "--state", str(here.state)]  # fmt: skip
    done = subprocess.run(
        here.edge.inside(*words), capture_output=True, text=True, timeout=60
    )  # fmt: skip
    said = f"error[H0798]: the journal `{here.state / files[0]}` cannot be read: permission denied"
    assert done.returncode == 1 and said in done.stderr
    assert {path.name: path.read_bytes() for path in here.state.iterdir()} == there
    for name in files:
        os.chown(here.state / name, os.geteuid(), os.getegid())
    with here.agent(), here.client() as client:
        assert texts(client) == before and not codes(client)


def test_a_first_agent_on_a_full_disk_waits_for_room(here: World) -> None:
    with full(here) as filler, here.agent() as process, here.client() as client:
        process.expect("H0780")
        with pytest.raises(Rejected, match="H0780"):
            client.load(read_bundle(here.directory / "bundle"), EDGE)
        status = client.status()
        assert not status.pipelines and [found.code for found in status.findings] == ["H0780"]
        filler.unlink()
        client.load(read_bundle(here.directory / "bundle"), EDGE)
        client.unload()


def test_a_log_that_is_gone_is_told_and_the_maps_are_kept(here: World) -> None:
    before = prepare(here, signal.SIGKILL)
    (log,) = here.state.glob("requests-1-*")
    log.unlink()
    with here.agent() as process, here.client() as client:
        process.expect("H0781")
        (found,) = client.status().pipelines[0].findings
        assert found.code == "H0781" and "its rules are all there" in found.title
        assert texts(client) == before
    remove_pinned(here.name)
    with here.agent(), here.client() as client:
        assert texts(client) == before and codes(client) == ["H0781"]
        assert not client.accept_loss().left and not codes(client)


def test_a_log_that_is_gone_after_a_reboot_is_told_until_somebody_accepts_it(here: World) -> None:
    prepare(here, signal.SIGKILL)
    remove_pinned(here.name)
    (log,) = here.state.glob("requests-1-*")
    log.unlink()
    for _ in range(2):
        with here.agent() as process, here.client() as client:
            process.expect("H0781")
            (found,) = client.status().pipelines[0].findings
            assert found.code == "H0781" and f"`{log}`: it is gone" in found.title
            assert next(client.rules()).kind == "OVERLAY", "its snapshot"
            client.apply("create FAR [(action, u8, DROP)]")
            about = json.loads(here.ctl("status", "--json"))["journal"]
            assert about["state"] == "data_loss" and about["losses"] == 1
            assert healthy(here) == health_pb2.HealthCheckResponse.NOT_SERVING
            text = here.edge.run(*METRICS)
            assert "helio_journal_losses 1.0" in text
    with here.agent(), here.client() as client:
        assert "journal  data_loss" in here.ctl("status")
        assert "accepted: data of" in here.ctl("repair", "--accept-loss")
        assert "nothing is lost" in here.ctl("repair", "--accept-loss")
        assert json.loads(here.ctl("status", "--json"))["journal"]["state"] == "healthy"
        assert healthy(here) == health_pb2.HealthCheckResponse.SERVING and not codes(client)
        assert "helio_journal_losses 0.0" in here.edge.run(*METRICS)


METRICS = (sys.executable, "-m", "helioc.commands.helioctl", "--local", "metrics")


def healthy(here: World) -> int:
    with grpc.insecure_channel(here.address) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        asked = health_pb2.HealthCheckRequest(service=JOURNAL)
        return int(stub.Check(asked, timeout=10).status)


def test_a_pipeline_killed_while_it_was_unloaded_stays(here: World) -> None:
    """The journal had been told, and the kernel not yet."""
    from helioc.runtime.journal.store import Store

    before = prepare(here)
    store = Store(here.state)
    store.retire(here.name)
    store.close()
    with here.agent(), here.client() as client:
        assert texts(client) == before and not codes(client)
    remove_pinned(here.name)
    with here.agent(), here.client() as client:
        assert texts(client) == before


def test_the_status_says_how_the_journal_is(here: World) -> None:
    def journal() -> dict[str, Any]:
        found: dict[str, Any] = json.loads(here.ctl("status", "--json"))["journal"]
        return found

    with here.agent(), here.client() as client:
        client.load(read_bundle(here.directory / "bundle"), EDGE)
        client.apply("create FAR 1 [(action, u8, DROP)]")
        healthy = journal()
        assert healthy["state"] == "healthy" and healthy["size"] > 0
        assert 0 <= time.time() - healthy["synced"] < 60
        with full(here):
            with pytest.raises(Rejected):
                fill_the_log(client)
            assert journal()["state"] == "degraded"
            text = here.ctl("status")
            assert "journal  degraded" in text and "H0780" in text
            assert f"{here.name}  degraded" in text
        until(lambda: journal()["state"] == "healthy", "the journal can be written")
