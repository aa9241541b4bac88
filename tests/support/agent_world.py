"""An agent as tests use it: `heliod` in a network namespace, and clients of it."""

from __future__ import annotations

import http.client
import os
import selectors
import socket
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest
from edges import hear_answers
from forks import run, way
from helioc.runtime.agent.agent import Agent
from helioc.runtime.base.paths import RUN
from helioc.runtime.client import Client
from helioc.runtime.journal.store import Store
from helioc.runtime.loading.loader import unload
from helioc.runtime.loading.releases import ROOT
from lab import Background, Lab, Namespace, Wire
from linx_maps import udp, write

_numbers = count(1)
#: By which an agent is a process that begins from nothing, not a fork of one that imported all.
ANEW = ("env",)
EDGE = """\
ports:
  LAN:  {role: lan, interface: lan0}
  WAN1: {role: wan, interface: wan0}
overlays:
  GRE-WAN1: {local_ip: 192.0.2.1, remote_ip: 192.0.2.2, key: 7, interface: WAN1}
"""
TO_TUNNEL = ("create PDR [(dst_ip, u32, 10.2.0.0/16), FAR [(action, u8, REDIRECT), "
             "(interface, u32, GRE-WAN1)]]")  # fmt: skip


def make_edge(lab: Lab) -> Namespace:
    """A namespace with lan0 and wan0, wired to two others."""
    lan, made, wan = (lab.namespace(n) for n in ("lan", "edge", "wan"))
    lab.wire(lan, "eth0", made, "lan0")
    lab.wire(wan, "eth0", made, "wan0")
    made.address("lan0", "10.1.0.1/16")
    made.address("wan0", "192.0.2.1/24")
    made.neighbour("wan0", "192.0.2.2", wan.mac("eth0"))
    return made


@dataclass
class World:
    """`name`: what the pipeline is called. `directory` has `bundle` and `edge.yaml`."""

    edge: Namespace
    name: str
    directory: Path

    @property
    def socket(self) -> Path:
        return self.directory / "heliod.sock"

    @property
    def state(self) -> Path:
        return self.directory / "state"

    @property
    def address(self) -> str:
        return f"unix:{self.socket}"

    @contextmanager
    def agent(self, *options: str, by: Sequence[str] = ()) -> Iterator[Background]:
        """`heliod`, ready; ended with SIGTERM unless it has ended. `by`: what runs it, and no
        fork does then."""
        words = [*by, sys.executable, "-m", "helioc.commands.heliod", "--socket", str(self.socket),
                 "--state", str(self.state)]  # fmt: skip
        everything = self.edge.inside(*words, *options)
        process = Background(everything, way(everything))
        try:
            process.expect("ready")
            yield process
        finally:
            process.stop()

    @contextmanager
    def client(self) -> Iterator[Client]:
        with Client(self.address, self.name) as made:
            yield made

    def ctl(self, *words: str, status: int = 0, stdin: str = "") -> str:
        """`helioctl`, told where the agent is."""
        program = [sys.executable, "-m", "helioc.commands.helioctl", "--name", self.name]
        code, said = run(
            self.edge.inside(*program, "--agent", self.address, *words), stdin, self.directory
        )
        assert code == status, said
        assert "Traceback" not in said and "error[H9999]" not in said
        return said


@contextmanager
def relay(inside: Namespace, port: int, path: Path) -> Iterator[str]:
    """A Unix socket, at the returned address, whose connections go on to a port of the namespace's
    loopback. (gRPC connects in threads of its own, which are in the namespace of whoever came
    first.)"""
    with ExitStack() as owned:
        listener = owned.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind(str(path))
        listener.listen()
        selector = owned.enter_context(selectors.DefaultSelector())
        selector.register(listener, selectors.EVENT_READ, None)
        wake, woken = map(owned.enter_context, socket.socketpair())
        selector.register(woken, selectors.EVENT_READ, None)

        def pump() -> None:
            while True:
                for key, _ in selector.select():
                    if key.fileobj is woken:
                        return
                    if key.data is not None:
                        _pass_on(selector, key.fileobj, key.data)  # type: ignore[arg-type]
                        continue
                    here, _ = listener.accept()
                    there = owned.enter_context(socket.create_connection(("127.0.0.1", port)))
                    owned.enter_context(here)
                    selector.register(here, selectors.EVENT_READ, there)
                    selector.register(there, selectors.EVENT_READ, here)

        thread = threading.Thread(target=inside.inside_thread, args=(pump,))
        thread.start()
        try:
            yield f"unix:{path}"
        finally:
            wake.send(b"x")
            thread.join()


def _pass_on(selector: selectors.BaseSelector, one: socket.socket, other: socket.socket) -> None:
    try:
        data = one.recv(1 << 16)
        if data:
            other.sendall(data)
            return
    except OSError:
        pass
    for each in (one, other):
        with suppress(KeyError, ValueError):  # the other end said so a moment ago
            selector.unregister(each)
        each.close()


@contextmanager
def world(lab: Lab, directory: Path) -> Iterator[World]:
    """An edge to run an agent at; its pipeline is unloaded at the end, and what a reboot that was
    only played left of it is removed."""
    write(directory / "bundle")
    (directory / "edge.yaml").write_text(EDGE)
    made = World(make_edge(lab), f"ht{os.getpid()}-a{next(_numbers)}", directory)
    try:
        yield made
    finally:
        if (ROOT / made.name).exists():
            unload(made.name)
        else:
            for left in RUN.glob(f"{made.name}.*"):
                left.unlink()


@pytest.fixture
def here(lab: Lab, tmp_path: Path) -> Iterator[World]:
    with world(lab, tmp_path) as made:
        yield made


@pytest.fixture
def wires(lab: Lab, here: World) -> tuple[Wire, Wire]:
    """Of the edge's neighbours on its LAN and WAN."""
    lan, wan = (Namespace(f"{lab.prefix}{name}", lab._stack) for name in ("lan", "wan"))
    hear_answers([(lan, "eth0")])
    return lan.wire("eth0"), wan.wire("eth0")


def crosses(here: World, wires: tuple[Wire, Wire]) -> None:
    """A packet comes to the other end of the tunnel, by the rule of `TO_TUNNEL`."""
    to = bytes.fromhex(here.edge.mac("lan0").replace(":", ""))
    wires[0].send(to + udp("10.1.0.10", "10.2.0.5", 1000, payload=b"x" * 18)[6:])
    wires[1].expect(lambda f: f[12:14] == b"\x08\x00" and f[23] == 47)


def texts(client: Client) -> list[str]:
    """Of its rules, sorted."""
    return sorted(rule.text for rule in client.rules())


class _Unix(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=10)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self.path))


def ask_health(path: Path, page: str) -> tuple[int, str]:
    """Status and body of a page of `heliod --health unix:PATH`."""
    with closing(_Unix(path)) as asked:
        asked.request("GET", page)
        answer = asked.getresponse()
        return answer.status, answer.read().decode()


@contextmanager
def opened(state: Path) -> Iterator[Agent]:
    """One in this process, with a state directory."""
    agent = Agent(Store(state))
    agent.open_all()
    try:
        yield agent
    finally:
        agent.close()
