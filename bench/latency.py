"""How long a controller waits: from a request on the wire to its acknowledgement, by the agent."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from array import array
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from helioc.compiler.phases import Bundle
from helioc.lang.request import Request
from helioc.lang.request_parser import parse_request
from helioc.lang.source import Source
from helioc.runtime import bundle as bundles
from helioc.runtime.certs import make_authority
from helioc.runtime.client import Client
from helioc.runtime.rpc import control_pb2 as pb
from lab import Background, Lab

HERE = Path(__file__).parent
FARS = 1000
PORT = 50051
EDGE = "ports:\n  LAN: {role: lan, interface: lan0}\n  WAN: {role: wan, interface: wan0}\n"
#: Figure 4 of the paper, milliseconds: 1,000 values.
PAPER = {"p10": 0.146, "p50": 0.7, "p90": 1.6, "max": 2.6, "mean": 0.8155, "variance": 0.3539,
         "std": 0.5949, "cv": 0.7295}  # fmt: skip


@dataclass(frozen=True)
class Run:
    """One row: `pace` in microseconds, 0 back to back; `acknowledge` as `heliod` has it."""

    name: str
    calls: str
    pace: int
    acknowledge: str
    tls: bool = True
    target: str = ""


RUNS = (
    Run("stream, back to back", "stream", 0, "before", target="p50 <= 0.1, p99 <= 0.5"),
    Run("stream, one per 2 ms", "stream", 2000, "before"),
    Run("unary, back to back", "unary", 0, "before", target="p50 <= 0.25, p99 <= 1"),
    Run("unary, one per 2 ms", "unary", 2000, "before"),
    Run("stream, back to back", "stream", 0, "after", target="p50 <= 0.5"),
    Run("stream, one per 2 ms", "stream", 2000, "after"),
    Run("unary, back to back", "unary", 0, "after"),
    Run("unary, one per 2 ms", "unary", 2000, "after"),
)


@dataclass(frozen=True)
class Times:
    """Milliseconds, in the order of the requests."""

    values: Sequence[float]

    def part(self, share: float) -> float:
        ordered = sorted(self.values)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    @property
    def row(self) -> dict[str, float]:
        mean, std = statistics.fmean(self.values), statistics.pstdev(self.values)
        parts = {f"p{p}": self.part(p / 100) for p in (10, 50, 90, 99)}
        return parts | {"max": max(self.values), "mean": mean, "variance": std * std, "std": std,
                        "cv": std / mean}  # fmt: skip


class Edge:
    """A namespace with an agent that has loaded LINX and 1,000 FARs."""

    def __init__(self, bundle: Bundle, lab: Lab, directory: Path, acknowledge: str) -> None:
        self.directory, self.lab = directory, lab
        self.name = f"bench-{lab.prefix.rstrip('-')}"
        self.bundle = bundles.Bundle(bundle.manifest, bundle.object)
        ends = [lab.namespace(n) for n in ("lan", "edge", "wan")]
        self.edge = ends[1]
        lab.wire(ends[0], "eth0", self.edge, "lan0")
        lab.wire(ends[2], "eth0", self.edge, "wan0")
        self.certs = directory / "certs"
        if not self.certs.exists():
            make_authority(self.certs, [])
        self.socket = directory / "heliod.sock"
        self.words = words = [
                 sys.executable, "-m", "helioc.runtime.daemon", "--socket", str(self.socket),
                 "--state", str(directory / f"state-{acknowledge}"), "--acknowledge", acknowledge,
                 "--tcp", f"127.0.0.1:{PORT}", "--identity", str(self.certs / "agent"),
                 "--rate", "1000000"]  # fmt: skip
        self.agent: Background = self.edge.start("chrt", "-f", "10", *words)
        self.agent.expect("ready")

    def fill(self) -> None:
        with self.client() as client:
            client.load(self.bundle, EDGE)
            for first in range(1, FARS + 1, 100):
                rules = ", ".join(
                    f"FAR {i} [(action, u8, DROP)]" for i in range(first, first + 100)
                )
                client.apply(f"create {rules}")

    def client(self) -> Client:
        return Client(f"unix:{self.socket}", self.name)

    def unload(self) -> None:
        with self.client() as client:
            client.unload()


@contextmanager
def edge(bundle: Bundle, acknowledge: str) -> Iterator[Edge]:
    with ExitStack() as owned:
        directory = Path(owned.enter_context(tempfile.TemporaryDirectory(prefix="helio-bench-")))
        lab = owned.enter_context(Lab("hb-"))
        made = Edge(bundle, lab, directory, acknowledge)
        made.fill()
        owned.callback(made.unload)
        yield made


def build_client(directory: Path) -> Path:
    """The client that costs next to nothing: grpc_client.c."""
    out = directory / "grpc_client"
    subprocess.run(["gcc", "-O2", "-o", out, HERE / "grpc_client.c", "-lssl", "-lcrypto"],
                   check=True)  # fmt: skip
    return out


def updates(made: Edge, count: int, shift: int = 0) -> list[bytes]:
    """Requests, each of which changes one of the FARs."""
    with made.client() as client:
        schema = client.schema()
        found = []
        for i in range(count):
            action = "PASS" if (i // FARS + shift) % 2 == 0 else "DROP"
            request = _parsed(f"update FAR {1 + i % FARS} [(action, u8, {action})]")
            octets = client._message(request, None, "")[1].request
            found.append(
                pb.ApplyRequest(
                    pipeline=made.name, request=octets, digest=schema.manifest.digest
                ).SerializeToString()
            )
        return found


def _parsed(text: str) -> Request:
    return parse_request(Source("bench", text))


def measure(made: Edge, program: Path, run: Run, requests: list[bytes]) -> Times:
    """One run of the native client in the agent's namespace."""
    asked, answers = made.directory / "requests", made.directory / "answers"
    asked.write_bytes(b"".join(len(r).to_bytes(4, "little") + r for r in requests))
    address = f"127.0.0.1:{PORT}" if run.tls else f"unix:{made.socket}"
    identity = str(made.certs / "admin") if run.tls else "-"
    method = f"/helio.control.v1.Control/{'Stream' if run.calls == 'stream' else 'Apply'}"
    made.edge.run("chrt", "-f", "10", str(program), address, identity, method, run.calls,
                  str(run.pace), str(asked), str(answers))  # fmt: skip
    found = array("Q", answers.read_bytes())
    return Times([ns / 1e6 for ns in found])


def rows(bundle: Bundle, count: int) -> Iterator[tuple[Run, Times]]:
    with tempfile.TemporaryDirectory() as out:
        program = build_client(Path(out))
        for acknowledge in ("before", "after"):
            with edge(bundle, acknowledge) as made:
                warm = updates(made, 200)
                for run in RUNS:
                    if run.acknowledge == acknowledge:
                        measure(made, program, run, warm)
                        yield run, measure(made, program, run, updates(made, count))


if __name__ == "__main__":
    from helioc.compiler.phases import check_file, compile_pipeline

    compiled = compile_pipeline(check_file(HERE.parent / "pipelines" / "linx.hp"))
    for run, times in rows(compiled, int(sys.argv[1]) if len(sys.argv) > 1 else 1000):
        shown = "  ".join(f"{k} {v:6.3f}" for k, v in times.row.items())
        sys.stdout.write(f"{run.name:22} {run.acknowledge:7} {shown}  {run.target}\n")
        sys.stdout.flush()
