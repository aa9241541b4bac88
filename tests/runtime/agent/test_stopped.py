"""Processes of an agent that are stopped (SIGSTOP): callers get an answer by their deadline, others
are served, and all goes on when they do."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from abused import tree
from agent_world import EDGE, World
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.loading.bundle import read_bundle
from lab import Background, until

pytestmark = pytest.mark.usefixtures("kernel")

FAR = "create FAR [(action, u8, DROP)]"
#: An agent that waits for a reader no longer than some seconds; one takes a second to begin.
SOON = (sys.executable, "-c", "import sys; from helioc.runtime.rpc import readers; "
        "readers.SILENT = (4.0, 4.0); del sys.argv[1:4]; "
        "from helioc.commands import heliod; heliod.main()")  # fmt: skip


def part_of(process: Background, module: str) -> int:
    """The agent's process that runs it."""

    def find() -> int:
        for each in tree(process.pid):
            if module.encode() in Path(f"/proc/{each}/cmdline").read_bytes().split(b"\0"):
                return each
        return 0

    return until(find, f"{module} runs")


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        until(lambda: "T (stopped)" in Path(f"/proc/{pid}/status").read_text(), "it is stopped")
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def late(call: Callable[[], object]) -> None:
    """It ends by its deadline, of a second."""
    begun = time.monotonic()
    with pytest.raises(Refused, match="H0764"):
        call()
    assert time.monotonic() - begun < 5


def test_the_agent(here: World) -> None:
    with here.agent() as process, here.client() as client:
        client.load(read_bundle(here.directory / "bundle"), EDGE)
        before, client.timeout = client.apply(FAR).revision, 1.0
        with stopped(process.pid):
            late(lambda: client.apply(FAR, key="late"))
        client.timeout = 10.0
        client.apply(FAR, key="late")  # made once, whatever became of the first
        assert client.apply(FAR).revision == before + 2


def test_a_reader(here: World) -> None:
    """It is replaced after a while, by the call that waits or by the next."""
    with here.agent(by=SOON) as process, here.client() as client:
        client.load(read_bundle(here.directory / "bundle"), EDGE)
        client.apply("create FAR 1 [(action, u8, DROP)]")
        assert client.rule("FAR", 1)
        reader = part_of(process, "helioc.runtime.rpc")
        os.kill(reader, signal.SIGSTOP)
        client.timeout = 0.5
        late(lambda: client.rule("FAR", 1))
        assert client.apply(FAR).revision, "nobody else waits for it"
        client.timeout = 30.0
        assert client.rule("FAR", 1)
        assert part_of(process, "helioc.runtime.rpc") != reader
