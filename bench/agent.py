"""How long a controller waits: from a request on the wire to its acknowledgement, by the agent."""

from __future__ import annotations

import csv
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from pathlib import Path

import numpy as np
from control import Row
from helioc.compiler.bundle import Bundle, compile_pipeline
from helioc.compiler.driver import check_file
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.columns import Column, Columns, dump
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from helioc.runtime.base.certs import issue, make_authority
from helioc.runtime.client import Client
from helioc.runtime.loading import bundle as bundles
from helioc.runtime.loading.loader import unload
from helioc.runtime.loading.releases import remove_pinned
from helioc.runtime.rpc.clients import Limits
from helioc.runtime.rpc.methods import path
from lab import Background, Lab, LabError

HERE = Path(__file__).parent
FARS, MANY, MILLION = 1000, 100_000, 1_000_000
PORT = 50051
EDGE = "ports:\n  LAN: {role: lan, interface: lan0}\n  WAN: {role: wan, interface: wan0}\n"
#: Figure 4 of the paper, milliseconds: 1,000 values.
PAPER = {"p10": 0.146, "p50": 0.7, "p90": 1.6, "max": 2.6, "mean": 0.8155, "var": 0.3539,
         "std": 0.5949, "cv": 0.7295}  # fmt: skip
COLUMNS = ("p10", "p50", "p90", "p99", "max", "mean", "var", "std", "cv")
#: In front of the agent and of the client: whatever else this machine does stands back.
FIRST = ("chrt", "--fifo", "10")


@dataclass(frozen=True)
class Run:
    """A row. `pace`: microseconds from one request to the next, 0: back to back. `acknowledge` as
    `heliod` has it. `beside`: what another client does at the same time."""

    calls: str
    pace: int
    acknowledge: str
    target: str = ""
    beside: str = ""

    @property
    def name(self) -> str:
        pace = "one per 2 ms" if self.pace else "back to back"
        return f"{self.calls}, {pace}{f', {self.beside}' if self.beside else ''}"


LISTED = "1 M rules listed"
LARGE, CHANGES = "180,000 changes asked for", 180_000
FLOOD, CALLS = "another asks without a pause", 32
RUNS = (
    Run("stream", 0, "before", "p50 <= 0.1, p99 <= 0.5"),
    Run("stream", 2000, "before"),
    Run("unary", 0, "before", "p50 <= 0.25, p99 <= 1"),
    Run("unary", 2000, "before"),
    Run("stream", 0, "after", "p50 <= 0.5"),
    Run("stream", 2000, "after"),
    Run("unary", 0, "after"),
    Run("unary", 2000, "after"),
)
BESIDE = (
    Run("stream", 0, "before", "p99 <= 3", LISTED),
    Run("stream", 2000, "before", "p99 <= 3", LISTED),
    Run("unary", 2000, "before", "p99 <= 3", LISTED),
)
#: The agent as it is started by hand: by FIFO a thread that is busy would let no other near.
BESIDE_LARGE = (
    Run("stream", 2000, "before", "p99 <= 10", LARGE),
    Run("unary", 2000, "before", "p99 <= 10", LARGE),
)
FLOODED = (
    Run("stream", 2000, "before", "p99 <= 10", FLOOD),
    Run("unary", 2000, "before", "p99 <= 10", FLOOD),
)


@dataclass(frozen=True)
class Times:
    """Milliseconds, in the order of the requests."""

    values: Sequence[float]

    @property
    def row(self) -> dict[str, float]:
        ordered = sorted(self.values)
        parts = {f"p{p}": ordered[int(p / 100 * (len(ordered) - 1))] for p in (10, 50, 90, 99)}
        mean, std = statistics.fmean(ordered), statistics.pstdev(ordered)
        return parts | {"max": ordered[-1], "mean": mean, "var": std * std, "std": std,
                        "cv": std / mean}  # fmt: skip


class Edge:
    """A namespace with an agent that has loaded a pipeline with `FARS` FARs. `cpu`: its words for
    the CPU that it has."""

    def __init__(
        self, bundle: Bundle, lab: Lab, directory: Path, acknowledge: str, cpu: Sequence[str],
        rate: int, first: Sequence[str],
    ) -> None:  # fmt: skip
        self.directory, self.first, self.lab = directory, first, lab
        self.name = f"bench-{lab.prefix.rstrip('-')}"
        self.bundle = bundles.Bundle(bundle.manifest, bundle.object)
        lan, self.edge, wan = (lab.namespace(n) for n in ("lan", "edge", "wan"))
        lab.wire(lan, "eth0", self.edge, "lan0")
        lab.wire(wan, "eth0", self.edge, "wan0")
        self.certs, self.socket = directory / "certs", directory / "heliod.sock"
        make_authority(self.certs, [])
        issue(self.certs, "other", "rules")
        self.words = [
            sys.executable, "-m", "helioc.commands.heliod", "--socket", str(self.socket),
            "--state", str(directory / "state"), "--acknowledge", acknowledge,
            "--tcp", f"127.0.0.1:{PORT}", "--identity", str(self.certs / "agent"),
            "--rate", str(rate), *cpu,
        ]  # fmt: skip
        self.agent = self.start()

    def start(self) -> Background:
        self.agent = self.edge.start(*self.first, *self.words)
        self.agent.expect("ready")
        return self.agent

    def fill(self) -> None:
        with self.client() as client:
            client.load(self.bundle, EDGE)
            for first in range(1, FARS + 1, 100):
                rules = (f"FAR {i} [(action, u8, DROP)]" for i in range(first, first + 100))
                client.apply(f"create {', '.join(rules)}")

    def client(self) -> Client:
        return Client(f"unix:{self.socket}", self.name)

    def unload(self) -> None:
        try:
            with self.client() as client:
                client.unload()
        except Refused:  # the agent is no more
            with suppress(Refused):
                unload(self.name)

    def by_tls(self, what: str) -> Background:
        """A process of ours in the namespace, as another client by TCP: see `main`."""
        path, identity = f"PYTHONPATH={':'.join(sys.path)}", str(self.certs / "other")
        words = ["env", path, sys.executable, __file__, what, identity, self.name]
        return self.edge.start(*words)


@contextmanager
def edge(
    bundle: Bundle, acknowledge: str, cpu: Sequence[str] = ("--cpu", "0"), rate: int = MILLION,
    first: Sequence[str] = FIRST,
) -> Iterator[Edge]:  # fmt: skip
    """`rate`: requests a second that a client may ask for; more than anybody does. `first`: what
    the agent stands behind."""
    with ExitStack() as owned:
        directory = Path(owned.enter_context(tempfile.TemporaryDirectory(prefix="helio-bench-")))
        lab = owned.enter_context(Lab(f"hb{os.getpid()}-"))
        made = Edge(bundle, lab, directory, acknowledge, cpu, rate, first)
        owned.callback(made.unload)
        made.fill()
        yield made


def of_a_million(room: str = "1M") -> Bundle:
    """LINX with room for a million PDRs."""
    text = (HERE.parent / "pipelines" / "linx.hp").read_text()
    with tempfile.TemporaryDirectory() as out:
        path = Path(out) / "linx.hp"
        path.write_text(text.replace("rule PDR [64k]", f"rule PDR [{room}]"))
        return compile_pipeline(check_file(path))


def pdrs(count: int) -> bytes:
    """So many PDRs, each of a destination of its own, packed."""
    hosts = np.arange(count, dtype=np.uint32) + np.uint32(10 << 24)
    ones, zeros = np.ones(count, np.uint8), np.zeros(count, np.uint32)
    to = Column("FAR", "reference", ones.astype(np.uint32), words=("1",))
    return dump(Columns("PDR", count, (Column("dst_ip", "matcher", hosts, ones, zeros), to)))


# ---- one request after the other ------------------------------------------------------------


def build_client(directory: Path) -> Path:
    """The client that costs next to nothing: grpc_client.c."""
    out = directory / "grpc_client"
    source = HERE / "grpc_client.c"
    subprocess.run(["gcc", "-O2", "-o", out, source, "-lssl", "-lcrypto"], check=True)
    return out


def updates(made: Edge, count: int) -> list[bytes]:
    """Requests, each of which changes one of the FARs."""
    with made.client() as client:
        found = []
        for i in range(count):
            action = "PASS" if i // FARS % 2 == 0 else "DROP"
            text = f"update FAR {1 + i % FARS} [(action, u8, {action})]"
            request = client.message(parse_request(Source("bench", text)))
            found.append(request.SerializeToString())
    return found


def measure(made: Edge, program: Path, run: Run, requests: list[bytes]) -> Times:
    """By the native client, in the agent's namespace, at CPU 1."""
    by_client = ask(made, program, run, requests, "taskset", "-c", "1", *FIRST)
    return Times([ns / 1e6 for ns, _ in by_client])


def ask(
    made: Edge, program: Path, run: Run, requests: list[bytes], *first: str, depth: int = 1
) -> list[tuple[int, int]]:  # fmt: skip
    """Nanoseconds to the answer, and when it came, of each; `depth`: of requests that wait for
    theirs. `first`: what the client stands behind."""
    asked, answers = made.directory / "requests", made.directory / "answers"
    asked.write_bytes(b"".join(len(r).to_bytes(4, "little") + r for r in requests))
    method = f"/helio.control.v1.Control/{'Stream' if run.calls == 'stream' else 'Apply'}"
    made.edge.run(*first, str(program), f"127.0.0.1:{PORT}", str(made.certs / "admin"), method,
                  run.calls, str(run.pace), str(depth), str(asked), str(answers))  # fmt: skip
    found = array("Q", answers.read_bytes())
    return list(zip(found[::2], found[1::2], strict=True))


def rows(bundle: Bundle, count: int) -> Iterator[tuple[Run, Times]]:
    with tempfile.TemporaryDirectory() as out:
        program = build_client(Path(out))
        for acknowledge in ("before", "after"):
            with edge(bundle, acknowledge) as made:
                warm, requests = updates(made, 200), updates(made, count)
                for run in (r for r in RUNS if r.acknowledge == acknowledge):
                    measure(made, program, run, warm)
                    yield run, measure(made, program, run, requests)
        with edge(of_a_million(), "before") as made:
            made.by_tls("bulk").wait()
            for run in BESIDE:
                with beside(made, run):
                    yield run, measure(made, program, run, updates(made, count))
        with edge(of_a_million(), "before", cpu=(), first=()) as made:
            made.by_tls("bulk").wait()
            for run in BESIDE_LARGE:
                with beside(made, run):
                    yield run, measure(made, program, run, updates(made, count))
        with edge(bundle, "before", rate=int(Limits().rate)) as made:
            for run in FLOODED:
                with beside(made, run):
                    yield run, measure(made, program, run, updates(made, count))


@contextmanager
def beside(made: Edge, run: Run) -> Iterator[None]:
    """Another client does what the row says, by TLS, again and again."""
    process = made.by_tls({LISTED: "list", LARGE: "change", FLOOD: "flood"}[run.beside])
    process.expect("at it", 60)
    try:
        yield
        if not process.running:
            raise LabError(f"no other client ran beside {run.name}: {process.wait()}")
    finally:
        process.stop()


def keep_listing(client: Client) -> None:
    _say("at it")
    while True:
        for count, _ in enumerate(client.rules(text=False)):
            if count % 100_000 == 0:
                client.stats()


def keep_changing(client: Client) -> None:
    """Requests with as many changes as go into one, of rules that no other request names."""
    expected = []
    for far in (2, 3):
        message = client.message(parse_request(Source("bench", f"update PDR 1, FAR {far}")))
        # A version, how many changes, and each of them: with its id behind kind and flags.
        version, one = message.request[:1], message.request[5:]
        at = one.index((1).to_bytes(4, "big"), 4)
        changes = (one[:at] + i.to_bytes(4, "big") + one[at + 4 :] for i in range(1, CHANGES + 1))
        message.request = version + CHANGES.to_bytes(4, "big") + b"".join(changes)
        expected.append(message)
    _say("at it")
    for message in cycle(expected):
        client._call("Apply", message)


def flood(client: Client) -> None:
    """So many calls at a time, the next when one is answered."""
    message = client.message(parse_request(Source("bench", "update FAR 5 [(action, u8, DROP)]")))
    begin = partial(client.channel.call, path("Apply"), None, message.SerializeToString())
    going = deque(begin() for _ in range(CALLS))
    _say("at it")
    while True:
        going.popleft().only()
        going.append(begin())


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


# ---- in bulk, and from nothing --------------------------------------------------------------


def figures() -> Iterator[Row]:
    """What many rules cost."""
    yield from (row for acknowledge in ("before", "after") for row in _bulk(acknowledge))
    yield from _starts()


def _bulk(acknowledge: str) -> Iterator[Row]:
    with edge(of_a_million(), acknowledge, cpu=()) as made:
        spent = float(made.by_tls("bulk").wait())
        name = f"1 M rules by mutual TLS, acknowledge {acknowledge}"
        yield Row(name, MILLION / spent, "rules/s", ">= 1,000,000 /s")
        yield Row("memory of the agent with them", _resident(made) / 2**20, "MiB")


def _starts() -> Iterator[Row]:
    """From the start of the process until it answers; in the latter two, until it forwards."""
    with edge(of_a_million(), "after") as made:
        with made.client() as client:
            client.bulk(pdrs(MANY))
        made.agent.stop(signal.SIGKILL)
        yield Row("start after kill -9, 100,000 rules", _started(made), "s", "<= 1 s")
        made.agent.stop()
        remove_pinned(made.name)
        yield Row("start after a reboot, 100,000 rules", _started(made), "s", "<= 2 s")
        made.agent.stop(signal.SIGKILL)
        remove_pinned(made.name)
        yield Row("start after a power cut, 100,000 rules", _started(made), "s", "<= 2 s")


def _started(made: Edge) -> float:
    begun = time.perf_counter()
    made.start()
    return time.perf_counter() - begun


def send_million(client: Client) -> None:
    columns, begun = pdrs(MILLION), time.perf_counter()
    client.bulk(columns)
    sys.stdout.write(f"{time.perf_counter() - begun}\n")


def _resident(made: Edge) -> int:
    with made.client() as client:
        status = Path(f"/proc/{client.status().pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) << 10


# ---- as a table -----------------------------------------------------------------------------


def print_rows(bundle: Bundle, count: int, say: Callable[[str], None], cdf: Path | None) -> None:
    """All rows; `cdf`: a CSV of each row's distribution, to plot."""
    say(f"{'ms, mutual TLS, one rule a request':44} {'ack':7}"
        + "".join(f"{c:>8}" for c in COLUMNS))  # fmt: skip
    cells = "".join(f"{PAPER.get(c, ''):>8}" for c in COLUMNS)
    say(f"{'the paper (Figure 4)':44} {'':7}{cells}")
    with ExitStack() as owned:
        out = None
        if cdf is not None:
            out = csv.writer(owned.enter_context(cdf.open("w", newline="")))
            out.writerow(("row", "acknowledge", "share", "ms"))
        for run, times in rows(bundle, count):
            cells = "".join(f"{times.row[c]:8.3f}" for c in COLUMNS)
            say(f"{run.name:44} {run.acknowledge:7}{cells}  {run.target}")
            if out is not None:
                for i, value in enumerate(sorted(times.values), 1):
                    out.writerow((run.name, run.acknowledge, i / len(times.values), f"{value:.6f}"))


def main(what: str, identity: str, name: str) -> None:
    doing = {"list": keep_listing, "bulk": send_million, "change": keep_changing, "flood": flood}
    with Client(f"127.0.0.1:{PORT}", name, identity=identity, timeout=100) as client:
        doing[what](client)


if __name__ == "__main__":
    main(*sys.argv[1:])
