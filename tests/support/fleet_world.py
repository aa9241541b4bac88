"""A fleet as tests use it: edges with agents, a controller in this process, and etcd."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from agent_world import EDGE, World, world
from controller.board import Board, State
from controller.fleet import Fleet
from controller.manager import Settings
from helioc.runtime.client import Client
from helioc.runtime.loading.bundle import read_bundle
from helioc.runtime.rpc import control_pb2 as pb
from lab import Background, Lab, until
from leaks import PREFIX

_numbers = count(1)
#: Impatient, so that tests are quick.
QUICK = Settings(timeout=0.7, probe=0.3, least=0.05, most=0.4)
DROP, PASS = "FAR 1 [(action, u8, DROP)]", "FAR 1 [(action, u8, PASS)]"
PDR = "PDR 5 [(dst_ip, u32, 10.2.0.0/16), FAR 1]"
Connect = Callable[[str, str, str], Client]


@dataclass
class Edges:
    """Edges by name, each with a loaded pipeline and a running agent."""

    worlds: Mapping[str, World]
    agents: Mapping[str, Background]

    def client(self, name: str) -> Client:
        return Client(self.worlds[name].address, self.worlds[name].name, timeout=20)

    def rules(self, name: str) -> list[str]:
        """Texts of FARs and PDRs."""
        with self.client(name) as client:
            found = client.rules(kinds=["FAR", "PDR"])
            return [rule.text for rule in found if not rule.owned]

    def pipeline(self, name: str) -> str:
        return self.worlds[name].name

    @contextmanager
    def transactions(self, name: str) -> Iterator[list[pb.RulesChanged]]:
        """What changed rules meanwhile. (Revisions tell less: the agent has some of its own.)"""
        found = list[pb.RulesChanged]()
        with self.client(name) as client, client.watch() as watch:

            def listen() -> None:
                found.extend(event.rules for event in watch if event.HasField("rules"))

            thread = threading.Thread(target=listen)
            thread.start()
            try:
                yield found
            finally:
                watch.close()
                thread.join()

    def clear(self) -> None:
        for name in self.worlds:
            with self.client(name) as client:
                client.apply("replace PDR; replace LBR; replace FAR")


@contextmanager
def edges(directory: Path, *names: str) -> Iterator[Edges]:
    worlds, agents = dict[str, World](), dict[str, Background]()
    with ExitStack() as owned:
        for name in names:
            lab = owned.enter_context(Lab(f"{PREFIX}f{next(_numbers)}-"))
            place = directory / name
            place.mkdir()
            worlds[name] = owned.enter_context(world(lab, place))
            agents[name] = owned.enter_context(worlds[name].agent())
            with worlds[name].client() as client:
                client.load(read_bundle(place / "bundle"), EDGE)
        yield Edges(worlds, agents)


def plain(edge: str, address: str, pipeline: str) -> Client:
    return Client(address, pipeline, timeout=QUICK.timeout)


@dataclass
class Controller:
    fleet: Fleet
    board: Board

    def state(self, edge: str) -> State:
        found = [state for state in self.board.states() if state.edge == edge]
        return found[0] if found else State(edge, "")

    def until(self, edge: str, fares: str, seconds: float = 10) -> State:
        until(lambda: self.state(edge).fares == fares, f"{edge}: {fares}", seconds)
        return self.state(edge)


@contextmanager
def controller(
    directory: Path, connect: Connect = plain, settings: Settings = QUICK
) -> Iterator[Controller]:
    path = directory / f"status-{next(_numbers)}.json"
    with closing(Board(path)) as board, closing(Fleet(board, connect, settings)) as fleet:
        yield Controller(fleet, board)


@contextmanager
def put_away() -> Iterator[None]:
    """gRPC closes what a channel had in its own time."""
    before = _pollers()
    yield
    until(lambda: _pollers() <= before, "gRPC has put its channels away")


def _pollers() -> int:
    links = (Path("/proc/self/fd") / name for name in os.listdir("/proc/self/fd"))
    return sum("eventpoll" in os.readlink(link) for link in links if link.is_symlink())


# ---- etcd -----------------------------------------------------------------------------------


@dataclass
class EtcdServer:
    """An etcd of a test's own, at a port of the loopback that nobody has."""

    directory: Path
    port: int
    peer: int
    process: Background | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        here, peers = f"http://{self.address}", f"http://127.0.0.1:{self.peer}"
        self.process = Background((
            "etcd", "--data-dir", str(self.directory), "--listen-client-urls", here,
            "--advertise-client-urls", here, "--listen-peer-urls", peers,
            "--initial-advertise-peer-urls", peers, "--initial-cluster", f"default={peers}",
            "--unsafe-no-fsync", "--logger", "zap", "--log-level", "error",
        ))  # fmt: skip
        until(self._serves, "etcd serves")

    def _serves(self) -> bool:
        return subprocess.run(self._words("get", "x"), capture_output=True).returncode == 0

    def _words(self, *words: str) -> tuple[str, ...]:
        return ("etcdctl", "--endpoints", self.address, "--dial-timeout", "1s",
                "--command-timeout", "5s", *words)  # fmt: skip

    def kill(self) -> None:
        if self.process is not None:
            self.process.stop(signal.SIGKILL)

    def ctl(self, *words: str, stdin: str = "") -> str:
        done = subprocess.run(self._words(*words), input=stdin, capture_output=True, text=True,
                              timeout=20, env={**os.environ, "ETCDCTL_API": "3"})  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def put(self, values: Mapping[str, str | None]) -> None:
        """Keys below /helio/edges/ in one transaction; None deletes."""
        lines = [
            f"del /helio/edges/{key}"
            if value is None
            else f"put /helio/edges/{key} {json.dumps(value)}"
            for key, value in values.items()
        ]
        self.ctl("txn", stdin="\n" + "\n".join(lines) + "\n\n\n")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def etcd(directory: Path) -> Iterator[EtcdServer]:
    made = EtcdServer(directory / "etcd", free_port(), free_port())
    try:
        made.start()
        yield made
    finally:
        made.kill()
        shutil.rmtree(made.directory, ignore_errors=True)


class Cable:
    """A TCP port whose connections go on to another, until it is cut."""

    def __init__(self, port: int) -> None:
        self._to, self._whole = port, True
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._ends: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def cut(self) -> None:
        """What passes breaks off, and nothing gets through."""
        self._whole = False
        for end in self._ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def repair(self) -> None:
        self._whole = True

    def close(self) -> None:
        self.cut()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for end in (*self._ends, self._listener):
            end.close()

    def _accept(self) -> None:
        while True:
            try:
                here, _ = self._listener.accept()
            except OSError:
                return
            if not self._whole:
                here.close()
                continue
            there = socket.create_connection(("127.0.0.1", self._to))
            self._ends += [here, there]
            for one, other in ((here, there), (there, here)):
                self._threads.append(threading.Thread(target=_pump, args=(one, other), daemon=True))
                self._threads[-1].start()


def _pump(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while data := one.recv(1 << 16):
            other.sendall(data)
    for end in (one, other):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
