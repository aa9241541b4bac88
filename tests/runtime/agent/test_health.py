"""What the agent reports to who supervises it: /healthz and /readyz, systemd's watchdog."""

from __future__ import annotations

import fcntl
import http.client
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import cast

import pytest
from agent_world import EDGE, World, ask_health
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.agent import health as health_module
from helioc.runtime.agent.agent import Agent
from helioc.runtime.agent.health import LONGEST_WORK, Health, watch_until, watchdog_interval
from helioc.runtime.base.listening import listen_locally
from helioc.runtime.base.paths import RUN
from helioc.runtime.client import Rejected
from helioc.runtime.loading.bundle import read_bundle
from helioc.runtime.loading.releases import remove_pinned
from helioc.runtime.observe.health_server import health_servers
from helioc.runtime.owner.fair_lock import FairLock, Slices
from lab import Background, command, until

# ---- by HTTP --------------------------------------------------------------------------------


def listens(at: Path) -> bool:
    """The socket's name is there a moment before."""
    with suppress(FileNotFoundError, ConnectionRefusedError):
        return bool(ask_health(at, "/healthz"))
    return False


def test_it_is_ready_when_it_has_restored_what_there_was(here: World) -> None:
    at = here.directory / "health"
    with here.agent(), here.client() as client:
        client.load(read_bundle(here.directory / "bundle"), EDGE)
    program = [sys.executable, "-m", "helioc.commands.heliod"]
    words = [*here.edge.inside(*program, "--socket", str(here.socket), "--state", str(here.state),
                               "--health", f"unix:{at}")]  # fmt: skip
    with (RUN / f"{here.name}.lock").open() as lock:  # as another program has that changes it
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = Background(tuple(words))
        try:
            until(lambda: listens(at), "it listens")
            assert ask_health(at, "/healthz") == (200, "ok\n")
            assert ask_health(at, "/readyz") == (503, "starting: pipelines are being restored\n")
            fcntl.flock(lock, fcntl.LOCK_UN)
            process.expect("ready")
            until(lambda: ask_health(at, "/readyz") == (200, "ok\n"), "it is ready")
            assert ask_health(at, "/healthz") == (200, "ok\n")
            assert ask_health(at, "/metrics")[0] == ask_health(at, "/")[0] == 404
        finally:
            process.stop()


def test_it_is_not_ready_while_data_is_lost(here: World) -> None:
    at = here.directory / "health"
    with here.agent() as process, here.client() as client:
        client.load(read_bundle(here.directory / "bundle"), EDGE)
        client.apply("create FAR 1 [(action, u8, DROP)]")
        os.kill(process.pid, signal.SIGKILL)
        until(lambda: not process.running, "it is killed")
    remove_pinned(here.name)
    (log,) = here.state.glob("requests-1-*")
    log.unlink()
    with here.agent("--health", f"unix:{at}"), here.client() as client:
        until(lambda: not ask_health(at, "/readyz")[1].startswith("starting"), "it has restored")
        status, said = ask_health(at, "/readyz")
        assert status == 503 and said.startswith("H0781: ") and said.count("\n") == 1
        assert here.name not in said and ask_health(at, "/healthz") == (200, "ok\n")
        assert not client.accept_loss().left
        assert ask_health(at, "/readyz") == (200, "ok\n")


def test_it_is_not_ready_while_the_disk_is_full(here: World) -> None:
    at, filler = here.directory / "health", here.state / "filler"
    here.state.mkdir()
    command("mount", "-t", "tmpfs", "-o", "size=4m,mode=0700", "none", str(here.state))
    try:
        with here.agent("--health", f"unix:{at}"), here.client() as client:
            client.load(read_bundle(here.directory / "bundle"), EDGE)
            assert ask_health(at, "/readyz") == (200, "ok\n")
            with pytest.raises(OSError), filler.open("wb", buffering=0) as file:
                while file.write(bytes(4096)):
                    pass
            with pytest.raises(Rejected, match="H0780"):
                client.unload()
            assert ask_health(at, "/readyz") == (503, "H0780: the journal cannot be written\n")
            assert ask_health(at, "/healthz") == (200, "ok\n")
            filler.unlink()
            until(lambda: ask_health(at, "/readyz") == (200, "ok\n"), "there is room")
    finally:
        command("umount", "--lazy", str(here.state))


def test_it_is_served_on_this_host_alone(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    for address in (f"0.0.0.0:{port}", f"[::]:{port}", "127.0.0.1:0", "127.0.0.1:99999", "unix:"):
        with pytest.raises(Refused, match="H0769"):
            listen_locally(address)
    (listening,) = listen_locally(f"127.0.0.1:{port}")
    with health_servers([listening], lambda: "", lambda: "not yet"):
        asked = http.client.HTTPConnection("127.0.0.1", listening.getsockname()[1], timeout=10)
        asked.request("GET", "/readyz")
        assert asked.getresponse().status == 503
        asked.close()
    for _ in range(2):  # a socket that the last one left is no hindrance
        (listening,) = listen_locally(f"unix:{tmp_path}/health")
        with pytest.raises(Refused, match="H0767"):
            listen_locally(f"unix:{tmp_path}/health")
        listening.close()


# ---- the watchdog ---------------------------------------------------------------------------


class Fake:
    """As much of an agent as is looked at, with one pipeline."""

    journalled, losses, unrestored, bare = True, (), False, False

    def __init__(self, turns: FairLock) -> None:
        self.lock, self.journal_flusher = turns, self
        self.works = True

    def owners(self) -> list[Fake]:
        return [self]


@pytest.fixture
def manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """systemd's end of NOTIFY_SOCKET."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
        made.bind(str(tmp_path / "notify"))
        made.settimeout(20)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        monkeypatch.setenv("WATCHDOG_USEC", "20000")
        yield made


def test_the_watchdog_is_fed_while_there_is_progress(
    manager: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health_module, "LONGEST_TURN", 0.05)
    turns, stop, said, reported = FairLock(), threading.Event(), list[str](), threading.Event()
    health = Health()
    agent = Fake(turns)
    health.agent = cast(Agent, agent)
    health.restored = True

    def report(why: str) -> None:
        said.append(why)
        reported.set()

    loop = threading.Thread(target=watch_until, args=(stop.wait, health.stuck, report))
    loop.start()
    try:
        assert manager.recv(64) == manager.recv(64) == b"WATCHDOG=1"
        turns.take()
        assert reported.wait(20) and "for more than" in said[0]
        manager.setblocking(False)
        with pytest.raises(BlockingIOError):
            while manager.recv(64):
                pass
        turns.go_on()  # a large request that goes on is progress
        manager.settimeout(20)
        assert manager.recv(64) == b"WATCHDOG=1"
        turns.give()
        assert not health.stuck() and not health.unready()
        agent.works = False
        assert "have ended" in health.stuck() == health.unready()
        health.unattended = lambda: LONGEST_WORK + 1
        assert "no thread has waited for clients" in health.stuck() == health.unready()
    finally:
        stop.set()
        loop.join()


def test_a_large_request_counts_by_its_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = FairLock()
    assert turns.lasting() == 0 and turns.take()
    before = turns._since
    slices = Slices(turns, lambda: None)
    monkeypatch.setattr(slices, "_until", 0.0)
    slices()
    assert turns._since > before > 0
    turns.give()
    assert turns.lasting() == 0


def test_the_watchdog_of_another_process_is_none_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", "3000000")
    assert watchdog_interval() == 1.5
    monkeypatch.setenv("WATCHDOG_PID", "1")
    assert watchdog_interval() is None
    monkeypatch.delenv("WATCHDOG_PID")
    for wrong in ("", "0", "soon"):
        monkeypatch.setenv("WATCHDOG_USEC", wrong)
        assert watchdog_interval() is None


def test_the_agent_reports_to_systemd(here: World, manager: socket.socket) -> None:
    with here.agent():
        assert manager.recv(64) == b"READY=1"
        assert manager.recv(64) == manager.recv(64) == b"WATCHDOG=1"
    received = {manager.recv(64) for _ in iter(lambda: pending(manager), False)}
    assert received <= {b"WATCHDOG=1", b"STOPPING=1"} and b"STOPPING=1" in received


def pending(manager: socket.socket) -> bool:
    manager.setblocking(False)
    try:
        return bool(manager.recv(64, socket.MSG_PEEK))
    except BlockingIOError:
        return False
