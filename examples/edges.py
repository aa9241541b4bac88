"""An edge under `helioctl`: loaded in its namespace, given rules, and unloaded."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lab import Background, LabError, Namespace, command, until

HERE = Path(__file__).parent
PIPELINES = HERE.parent / "pipelines"
HELIOC, HELIOCTL, HELIOD = (
    str(Path(sys.executable).with_name(name)) for name in ("helioc", "helioctl", "heliod")
)


class Edge:
    """One edge. Its pipeline is loaded under the name of its namespace, by the agent that
    listens at a socket, if there is one."""

    def __init__(self, room: Namespace, agent: Path | None = None) -> None:
        self.room, self.name = room, room.name
        self.agent = f"unix:{agent}" if agent else ""
        self._agent = ("--agent", self.agent) if agent else ()

    def control(self, *words: str) -> str:
        """Run `helioctl`, in the edge's namespace since it is there that the interfaces are. Raises
        LabError with what it says."""
        return self.room.run(HELIOCTL, *self._agent, "--name", self.name, *words)

    def load(self, bundle: Path, config: Path) -> str:
        self.forget()  # a run that was killed may have left it
        return self.control("load", str(bundle), "--config", str(config))

    def push(self, file: Path) -> str:
        return self.control("push", str(file))

    def unload(self) -> None:
        self.control("unload")

    def forget(self) -> None:
        """Unload it if it is loaded."""
        with suppress(LabError):
            self.unload()

    def rules(self) -> str:
        """Every rule with its counters, as a table."""
        return self.control("show")

    def event(self, group: str, reason: str) -> int:
        """How often something happened: `event("miss", "OVERLAY")`."""
        return int(self._statistics()["events"][group][reason])

    def packets(self, kind: str, which: int | str) -> int:
        """How many packets a rule counted, by its id or name."""
        rules = self._statistics()["rules"]
        return next(
            int(rule["packets"])
            for rule in rules
            if rule["kind"] == kind and which in (rule["id"], rule.get("name"))
        )

    def counted(self, kind: str) -> dict[str, int]:
        """How many packets each rule of a kind counted, by their names."""
        found = [rule for rule in self._statistics()["rules"] if rule["kind"] == kind]
        return {str(rule["name"]): int(rule["packets"]) for rule in found}

    def _statistics(self) -> Any:
        return json.loads(self.control("stats", "--json"))

    def modes(self) -> dict[str, str]:
        """The interfaces with an XDP program, and how it is attached: `xdp` is native."""
        listed = self.room.ip("-oneline", "link", "show")
        found = re.findall(r"^\d+: (\w+)@?\S*: .* (xdp\w*) ", listed, re.M)
        return dict(found)


@contextmanager
def agent_in(room: Namespace, folder: Path) -> Iterator[Path]:
    """An agent that keeps what it has in `folder`; its socket. It ends with the block."""
    agent, socket = start_agent(room, folder)
    try:
        yield socket
    finally:
        agent.stop()


def start_agent(room: Namespace, folder: Path) -> tuple[Background, Path]:
    """The agent of `agent_in`, and its socket, for whoever ends it."""
    socket = folder / "heliod.sock"
    socket.unlink(missing_ok=True)  # one that was killed has left it
    agent = room.start(HELIOD, "--socket", str(socket), "--state", str(folder / "state"))
    until(socket.exists, "the agent's socket")
    return agent, socket


@contextmanager
def running(
    room: Namespace, bundle: Path, config: Path, rules: Path, agent: Path | None = None
) -> Iterator[Edge]:
    """An edge that is loaded and has its rules; unloaded at the end of the block."""
    edge = Edge(room, agent)
    try:
        edge.load(bundle, config)
        edge.push(rules)
        yield edge
    finally:
        edge.forget()


def compile_pipeline(out: Path, pipeline: str = "linx", *options: str) -> str:
    """Compile a pipeline that ships to a bundle; returns what `helioc` prints. Raises LabError with
    what it says."""
    words = [HELIOC, "compile", str(PIPELINES / f"{pipeline}.hp"), "-o", str(out), *options]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise LabError(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def pinned(prefix: str) -> list[str]:
    """The pipelines in the kernel whose names begin with `prefix`."""
    return sorted(str(path) for path in Path("/sys/fs/bpf/helio").glob(f"{prefix}*"))


def hear_answers(facing: list[tuple[Namespace, str]]) -> None:
    """Let devices that face an edge take at once what the edge's program sends back by them: a veth
    does so only with a program of its own."""
    with TemporaryDirectory(prefix="helio-pass-") as folder:
        made = f"{folder}/pass.o"
        command("clang-16", "-O2", "-target", "bpf", "-c", str(HERE / "pass.bpf.c"), "-o", made)
        for room, device in facing:
            room.ip("link", "set", "dev", device, "xdpdrv", "object", made, "section", "xdp")
