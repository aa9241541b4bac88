"""How long others wait while packed rules are applied beside many: prints a table; needs root."""

from __future__ import annotations

import argparse
import sys
import time
from array import array
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

# the laboratory is the examples'
sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
import agent
import numpy as np
from agent import Edge, edge, of_a_million
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.columns import Column, Columns, dump
from helioc.lang.text.source import Source
from helioc.runtime.client import Client
from lab import Background

PACE = 0.002
OTHER = "ports:\n  LAN: {role: lan, interface: lan1}\n  WAN: {role: wan, interface: wan1}\n"
#: What each client asks for, again and again.
FARS = [
    *(f"{word} FAR 60000 [(action, u8, DROP)]" for word in ("create", "update", "update")),
    "delete FAR 60000",
]
PDRS = [
    "create PDR 4000000 [(priority, u16, 7), (dst_ip, u32, 192.0.2.1), FAR 1]",
    *(f"update PDR 4000000, FAR {far}" for far in (2, 1)),
    "delete PDR 4000000",
]


@dataclass(frozen=True)
class Waits:
    """When each request began, by the machine's monotonic clock, and how many ms it took."""

    begun: np.ndarray
    took: np.ndarray

    def within(self, first: float, last: float) -> np.ndarray:
        """Those of requests that were under way then."""
        return self.took[(self.begun + self.took / 1e3 > first) & (self.begun < last)]


def ask(address: str, pipeline: str, what: str, out: str) -> None:
    """A paced client, until its standard input ends."""
    begun, took = array("d"), array("d")
    texts = {"FAR": FARS, "PDR": PDRS}[what]
    with Client(address, pipeline, timeout=100) as client:
        sent = [client.message(parse_request(Source("bench", text))) for text in texts]
        end = Path(out + ".end")
        sys.stdout.write("at it\n")
        sys.stdout.flush()
        for message in cycle(sent):
            at = time.monotonic()
            client._call("Apply", message)
            now = time.monotonic()
            begun.append(at)
            took.append((now - at) * 1e3)
            if end.exists() and message is sent[-1]:
                break
            time.sleep(max(0.0, at + PACE - now))
    Path(out).write_bytes(begun.tobytes() + took.tobytes())


class Clients:
    """Those beside, each a process."""

    def __init__(self, made: Edge, which: Sequence[tuple[str, str]]) -> None:
        self._made, self._all = made, dict[str, tuple[Background, Path]]()
        for i, (pipeline, what) in enumerate(which):
            out = made.directory / f"waits{i}"
            Path(f"{out}.end").unlink(missing_ok=True)
            words = ["env", f"PYTHONPATH={':'.join(sys.path)}", sys.executable, __file__, "--ask",
                     f"unix:{made.socket}", pipeline, what, str(out)]  # fmt: skip
            process = made.edge.start(*words)
            process.expect("at it", 60)
            same = "same" if pipeline == made.name else "other"
            self._all[f"{what}, {same} pipeline"] = process, out

    def end(self) -> dict[str, Waits]:
        found = {}
        for name, (process, out) in self._all.items():
            Path(f"{out}.end").touch()
            process.wait()
            begun, took = np.frombuffer(out.read_bytes()).reshape(2, -1)
            found[name] = Waits(begun, took)
        return found


def columns(first: int, count: int, scattered: bool) -> bytes:
    """PDRs, each of a destination of its own. `scattered`: with masks and priorities of several
    kinds, as a policy has them."""
    number = np.arange(first, first + count, dtype=np.uint32)
    ones, zeros = np.ones(count, np.uint8), np.zeros(count, np.uint32)
    to = Column("FAR", "reference", ones.astype(np.uint32), words=("1",))
    hosts = number + np.uint32(10 << 24)
    if not scattered:
        return dump(Columns("PDR", count, (Column("dst_ip", "matcher", hosts, ones, zeros), to)))
    length = 24 + number % np.uint32(8)
    mask = np.uint32(0xFFFFFFFF) << (np.uint32(32) - length)
    source = Column("src_ip", "matcher", (number << np.uint32(8)) & mask,
                    np.full(count, 2, np.uint8), length.astype(np.uint32))  # fmt: skip
    order = Column("priority", "value", (number % np.uint32(7)).astype(np.uint16), ones)
    both = Column("dst_ip", "matcher", hosts, ones, zeros), source, order, to
    return dump(Columns("PDR", count, both))


@contextmanager
def filled(count: int, scattered: bool, acknowledge: str) -> Iterator[Edge]:
    """An agent with that many rules in one pipeline, and another beside it."""
    bundle = of_a_million("1500k")
    with ExitStack() as owned:
        made = owned.enter_context(edge(bundle, acknowledge, cpu=(), first=()))
        for name in ("lan", "wan"):
            far = made.lab.namespace(f"{name}1")
            made.lab.wire(far, "eth0", made.edge, f"{name}1")
        with made.client() as client:
            if count:
                client.bulk(columns(0, count, scattered))
        other = owned.enter_context(Client(f"unix:{made.socket}", f"{made.name}-2"))
        other.load(made.bundle, OTHER)
        owned.callback(other.unload)
        other.apply("create FAR 1 [(action, u8, DROP)]")
        yield made


def run(made: Edge, first: int, count: int, scattered: bool, quiet: float) -> list[str]:
    """One bulk request beside the others; a line for each."""
    sent = columns(first, count, scattered)
    both = [(made.name, "FAR"), (made.name, "PDR"), (f"{made.name}-2", "FAR")]
    with made.client() as client:
        clients = Clients(made, both)
        before = time.monotonic()
        time.sleep(quiet)
        begun = time.monotonic()
        client.bulk(sent)
        ended = time.monotonic()
        time.sleep(1)
        waits = clients.end()
    lines = []
    for name, found in waits.items():
        alone, beside = found.within(before, begun), found.within(begun, ended + 0.5)
        worst = found.begun[found.took == beside.max()][0] - begun
        lines.append(f"{name:22}" + _cells(alone) + "   |" + _cells(beside) + f"{worst:7.2f}")
    return [f"{count:,} in {ended - begun:.2f} s", *lines]


def _cells(found: np.ndarray) -> str:
    parts = [*np.percentile(found, [50, 99]), found.max()]
    return f"{len(found):7}" + "".join(f"{part:9.2f}" for part in parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ask", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--there", type=int, default=900_000, help="rules before")
    parser.add_argument("--count", type=int, default=100_000, help="rules of a request")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--quiet", type=float, default=3.0, help="seconds before a request")
    parser.add_argument("--scattered", action="store_true", help="several masks and priorities")
    parser.add_argument("--acknowledge", default="after", choices=("after", "before"))
    asked = parser.parse_args()
    if asked.ask:
        ask(*asked.ask)
        return
    heads = "".join(f"{head:>9}" for head in ("p50", "p99", "max"))
    say = agent._say
    with filled(asked.there, asked.scattered, asked.acknowledge) as made:
        say(f"{'ms':22}{'alone':>7}{heads}   |{'beside':>7}{heads}     at")
        for i in range(asked.runs):
            first = asked.there + i * asked.count
            for line in run(made, first, asked.count, asked.scattered, asked.quiet):
                say(line)
            with made.client() as client:
                say(f"revision {client.status().pipelines[0].revision}")


if __name__ == "__main__":
    main()
