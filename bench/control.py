"""The other rows: what the tools take, and how fast rules come into force."""

from __future__ import annotations

import gc
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from helioc.compiler.backend.clang import find_clang, flags
from helioc.compiler.bundle import Bundle
from helioc.lang.contract.request.request import Request
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.csv_columns import read_csv
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.contract.rules.wire import Codecs, decode, encode
from helioc.lang.text.source import Source
from helioc.runtime.kernel.handles import Map, Object
from helioc.runtime.rules.packed import keep
from helioc.runtime.rules.recovery import recover
from helioc.runtime.rules.transaction import Writer
from programs import Hops
from workload import LAN_PORT, WAN_PORT

HELIOC = Path(sys.executable).with_name("helioc")
FARS, PDRS = 1000, 60_000


@dataclass(frozen=True)
class Row:
    """What was measured, in `unit`; `target` in the issue's words."""

    name: str
    value: float
    unit: str
    target: str = ""

    def __str__(self) -> str:
        return f"{self.name:48} {self.value:10,.4g} {self.unit:8} {self.target}"


def commands(linx: Path, times: int) -> Iterator[Row]:
    """Cold processes, wall clock: interpreter start, imports and all."""
    with tempfile.TemporaryDirectory() as out:
        yield from _wall("helioc check", [HELIOC, "check", linx], times, "<= 0.35 s")
        command: list[str | Path] = [HELIOC, "compile", linx, "-o", f"{out}/staged"]
        yield from _wall("helioc compile, unchanged", command, times, "<= 0.4 s")
        command.append("--no-cache")
        yield from _wall("helioc compile", command, times, "<= 1.5 s")
        clang = find_clang()
        assert clang is not None
        command = [clang, *flags(), f"{out}/staged/linx.bpf.c", "-o", f"{out}/alone.o"]
        yield from _wall("clang on its C", command, times)
        command = [HELIOC, "compile", linx, "-o", f"{out}/fused", "--fuse", "--no-cache"]
        yield from _wall("helioc compile --fuse", command, times, "<= 1.5 s")


def _wall(name: str, command: Sequence[str | Path], times: int, target: str = "") -> Iterator[Row]:
    spent = []
    for turn in range(times + 1):  # the first one fills the page cache
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        if turn:
            spent.append(time.perf_counter() - start)
    yield Row(f"{name}: median", median(spent), "s", target)
    yield Row(f"{name}: fastest", min(spent), "s", target)


class Control:
    """A rule book and a writer on a pipeline's maps, without its programs."""

    def __init__(self, bundle: Bundle, maps: dict[str, Map]) -> None:
        self.bundle, self.maps = bundle, maps
        self._open()

    def _open(self) -> None:
        self.writer = Writer(self.bundle.manifest, self.maps, Hops())
        self.book = RuleBook(self.bundle.manifest, {"LAN": LAN_PORT, "WAN": WAN_PORT})

    def tell(self, text: str) -> None:
        """Make a request come true, from its text."""
        self.make(parse_request(Source("bench", text)))

    def make(self, request: Request) -> None:
        plan = self.book.plan(request)
        self.writer.try_apply(plan)
        self.book.commit(plan)

    def open_again(self) -> None:
        """What a writing command does before it can plan: all from the maps."""
        self.writer.close()
        self._open()
        recover(self.writer)
        keep(self.book, self.writer)

    def fill(self, name: str, text: str) -> None:
        """Rules by CSV, in one transaction."""
        plan = self.book.plan_columns(read_csv(Source(f"{name}.csv", text), self.book.kinds[name]))
        self.writer.try_apply(plan)
        self.book.commit(plan)


@contextmanager
def control(bundle: Bundle) -> Iterator[Control]:
    with Object.open(bundle.object, name="linx") as maps:
        for program in maps.program_names():
            maps.skip(program)
        maps.load()
        made = Control(bundle, maps.maps())
        try:
            made.fill("FAR", "id,action\n" + "".join(f"{i},DROP\n" for i in range(1, FARS + 1)))
            yield made
        finally:
            made.writer.close()


def requests(bundle: Bundle) -> Iterator[Row]:
    """One rule a request, one request after another, each its own transaction. The mean has the
    grace periods, which many of them share, and Python's collector."""
    updates = [
        f"update FAR {1 + i % FARS} [(action, u8, {'PASS' if i // FARS % 2 == 0 else 'DROP'})]"
        for i in range(4 * FARS)
    ]
    prefixes = [f"10.{i >> 8}.{i & 255}.0/24" for i in range(2000)]
    creates = [f"create PDR {i} [(dst_ip, u32, {p}), FAR 1]" for i, p in enumerate(prefixes, 1)]
    tens = [
        f"create PDR {i} [(src_ip, u32, {p}), (dst_ip, u32, 10.9.0.0/16), (protocol, u8, UDP), "
        f"(dscp, u8, 46), (tos, u8, 184), (src_port, u16, {1000 + i}), (dst_port, u16, 53), "
        "(vlan_id, u16, 7), (src_mac, u48, 02:00:00:00:00:01), FAR 1]"
        for i, p in enumerate(prefixes, 1)
    ]
    deletes = [f"delete PDR {i}" for i in range(1, 1 + len(prefixes))]
    with control(bundle) as c:
        yield from _each("update a FAR", updates, c)
        yield from _each("create a PDR", creates, c)
        yield from _each("delete a PDR", deletes, c)
    with control(bundle) as c:
        yield _to_force("update a FAR: bytes to force, median", updates, c, "<= 20 us")
        yield _to_force("create a PDR: bytes to force, median", creates, c)
        yield _to_force("delete a PDR: bytes to force, median", deletes, c)
        yield _to_force("create a PDR of ten: bytes to force", tens, c, "<= 35 us")


def _to_force(name: str, texts: list[str], c: Control, target: str = "") -> Row:
    """From a request as an agent gets it until it is in force and the rule book knows."""
    codecs = Codecs(c.bundle.manifest, c.book.kinds)
    messages = [encode(parse_request(Source("bench", text)), codecs) for text in texts]
    made = []
    for message in messages:
        before = time.perf_counter_ns()
        c.make(decode(message, codecs))
        made.append(time.perf_counter_ns() - before)
    c.writer.settle()
    return Row(name, median(made) / 1000, "us", target)


def _each(name: str, texts: list[str], c: Control) -> Iterator[Row]:
    read, made, requests = [], [], []
    for text in texts:
        before = time.perf_counter_ns()
        requests.append(parse_request(Source("bench", text)))
        read.append(time.perf_counter_ns() - before)
    gc.freeze()  # as an agent does
    start = time.perf_counter_ns()
    for request in requests:
        before = time.perf_counter_ns()
        c.make(request)
        made.append(time.perf_counter_ns() - before)
    c.writer.settle()
    whole = time.perf_counter_ns() - start
    yield Row(f"{name}: applied, median", median(made) / 1000, "us", "<= 20 us")
    yield Row(f"{name}: applied, mean with grace", whole / len(texts) / 1000, "us")
    yield Row(f"{name}: its text read, median", median(read) / 1000, "us")


def bulk(bundle: Bundle) -> Iterator[Row]:
    """Many PDRs in one transaction, from the text in memory until every packet sees them."""
    pairs = [(i, f"10.{i >> 8}.{i & 255}.0/24", 1 + i % FARS) for i in range(PDRS)]
    csv = "src_ip,dst_ip,FAR\n" + "".join(f"{p},172.16.0.0/12,{far}\n" for _, p, far in pairs)
    text = ";\n".join(
        f"create PDR {i + 1} [(src_ip, u32, {p}), (dst_ip, u32, 172.16.0.0/12), FAR {far}]"
        for i, p, far in pairs
    )
    with control(bundle) as c:
        yield _rate("60,000 PDRs from CSV", lambda: c.fill("PDR", csv), ">= 200,000 /s")
        start = time.perf_counter()
        c.open_again()
        yield Row("60,000 PDRs opened again", time.perf_counter() - start, "s")
    with control(bundle) as c:
        yield _rate("60,000 PDRs from request text", lambda: c.tell(text), ">= 5,000 /s")


def _rate(name: str, work: Callable[[], None], target: str) -> Row:
    start = time.perf_counter()
    work()
    return Row(name, PDRS / (time.perf_counter() - start), "rules/s", target)
