"""Net nanoseconds a packet of XDP programs, as ratios that a noisy machine cannot spoil.

Every round times each program, and a stub that does nothing, in turn and on one CPU, each under the
same dispatcher that puts the packet back (restore.bpf.c). What counts is the thread's own CPU time.
A program's net is the median over the rounds of its time less the stub's of the same round; a ratio
is the median of the rounds' ratios. So rounds are many and short, not few and long, and the half in
which the stub was slowest, because another process shared the core, is left out.

Every timing is preceded by an untimed run of the same program, so that none is slower for what ran
before it; and every other round goes backwards. Programs and maps are made again for every *load*,
since where they come to lie is worth several ns, many with a thousand rules: so a difference is the
median of many loads, and is printed with what it lies between in 95 of 100 cases.
"""

from __future__ import annotations

import os
import struct
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import comb
from pathlib import Path
from statistics import median, quantiles

from helioc.compiler.backend.clang import find_clang, flags
from helioc.runtime.kernel.handles import Object, Program

HERE = Path(__file__).parent
ACTIONS = ("aborted", "drop", "pass", "tx", "redirect")
_SETTING = struct.Struct("<QQQII5I5I256s")
_COPY_MOST, _SEED, _CHECKED = 128, 88172645463325252, 400
STUB = "stub"


class Wrong(Exception):
    """A program does not do what it is timed for."""


def build(source: Path, *defines: str) -> bytes:
    """Compile a C program of this folder as helioc compiles its own."""
    clang = find_clang()
    if clang is None:
        raise Wrong("clang is not to be found: apt-get install clang-16")
    command = [clang, *flags(), *(f"-D{d}" for d in defines), str(source), "-o", "-"]
    return subprocess.run(command, check=True, capture_output=True).stdout


@dataclass(frozen=True)
class Vary:
    """A big-endian field of the frame, drawn for each packet: base + step * [0, count).
    Both fields of a load take the same draw."""

    offset: int
    size: int
    base: int
    count: int
    step: int = 1


@dataclass(frozen=True)
class Load:
    """What is sent, and what must come of it: the verdict and the frame's length afterwards.
    `timed`: where bytes that depend on when it was sent begin and end."""

    frame: bytes
    vary: tuple[Vary, ...]
    action: str
    length: int
    timed: tuple[int, int] = (0, 0)

    def left(self, frame: bytes) -> bytes:
        """What does not depend on when it was sent."""
        return frame[: self.timed[0]] + frame[self.timed[1] :]


@dataclass
class Times:
    """One program's rounds, ns a packet: `net` is without the stub's time of the round, `stub`;
    `load` is the number of the load that the round was of."""

    net: list[float] = field(default_factory=list)
    stub: list[float] = field(default_factory=list)
    load: list[int] = field(default_factory=list)

    def add(self, other: Times) -> None:
        """The rounds of one more load."""
        self.load += [max(self.load, default=0) + 1] * len(other.net)
        self.net += other.net
        self.stub += other.stub

    def quiet(self) -> Times:
        """The half of each load's rounds in which the machine let the stub run fastest."""
        keep: list[int] = []
        for load in sorted(set(self.load)):
            mine = [i for i, each in enumerate(self.load) if each == load]
            keep += sorted(mine, key=self.stub.__getitem__)[: len(mine) // 2 + 1]
        parts = ([column[i] for i in keep] for column in (self.net, self.stub))
        return Times(*parts, [self.load[i] for i in keep])

    @property
    def median(self) -> float:
        return median(self.net)

    @property
    def spread(self) -> tuple[float, float]:
        quarters = quantiles(self.net, n=4)
        return quarters[0], quarters[2]

    def over(self, other: Times) -> float:
        """This one's time as a multiple of another's."""
        return median(a / b for a, b in zip(self.net, other.net, strict=True))

    def above(self, other: Times) -> tuple[float, float, float]:
        """Nanoseconds more than another where neither was disturbed, which only ever adds: between
        the least tenths of each load's rounds. The median of the loads, and between what it lies in
        95 of 100 cases (of fewer than six loads: the least and the most)."""
        differences = sorted(
            mine - its for mine, its in zip(self._least(), other._least(), strict=True)
        )
        outside = _seldom(len(differences))
        return median(differences), differences[outside], differences[-1 - outside]

    def _least(self) -> list[float]:
        by_load: dict[int, list[float]] = {}
        for load, net in zip(self.load, self.net, strict=True):
            by_load.setdefault(load, []).append(net)
        return [quantiles(each, n=10)[0] for each in by_load.values()]


def _seldom(count: int) -> int:
    """How many of `count` draws a median has below it (or above it) in all but 2.5 of 100 cases."""
    at, chance = 0, 0.5**count
    while chance <= 0.025:
        at += 1
        chance += comb(count, at) * 0.5**count
    return max(at - 1, 0)


class Dispatcher:
    """`restore`, loaded, with a slot for the program under test."""

    def __init__(self) -> None:
        self._object = Object.open(build(HERE / "restore.bpf.c"), name="restore")
        self._object.load()
        programs, maps = self._object.programs(), self._object.maps()
        self._restore, self._slot = programs["restore"], maps["target"]
        self.stub, self.eater = programs["stub"], programs["eater"]
        self._setting = maps["settings"].mmap()
        self._frame = b""

    def close(self) -> None:
        self._object.close()

    def __enter__(self) -> Dispatcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, load: Load, vary: bool = True) -> None:
        """From here on this is what programs get."""
        self._frame = load.frame
        fields = [*load.vary, Vary(0, 0, 0, 0), Vary(0, 0, 0, 0)][:2] if vary else []
        numbers = [n for v in fields for n in (v.offset, v.size, v.base, v.count, v.step)]
        numbers += [0] * (10 - len(numbers))
        copy = min(len(load.frame), _COPY_MOST)
        head = load.frame[:copy]
        packed = _SETTING.pack(0, 0, _SEED, len(load.frame), copy, *numbers, head)
        self._setting[: len(packed)] = packed

    def target(self, program: Program) -> None:
        self._slot.update(bytes(4), program.fileno().to_bytes(4, "little"))

    def run(self, packets: int) -> tuple[float, int, bytes]:
        """Thread-CPU ns a packet, and the last packet's verdict and bytes."""
        self._setting[:8] = bytes(8)
        start = time.thread_time_ns()
        done = self._restore.test_run(self._frame, repeat=packets)
        return (time.thread_time_ns() - start) / packets, done.retval, done.data


def check(dispatcher: Dispatcher, name: str, program: Program, load: Load) -> bytes:
    """The frame that a program leaves, but for what is timed. Raises Wrong unless the thousandth
    packet fares like the first, and every varied one as it should."""
    dispatcher.send(load, vary=False)
    dispatcher.target(program)
    first = program.test_run(load.frame)
    _, action, frame = dispatcher.run(1000)
    frame = load.left(frame)
    if (action, frame) != (first.retval, load.left(first.data)):
        raise Wrong(f"{name}: the thousandth packet does not fare like the first")
    dispatcher.send(load)
    for _ in range(_CHECKED):
        _, action, left = dispatcher.run(1)
        if ACTIONS[action] != load.action or len(left) != load.length:
            raise Wrong(
                f"{name}: {ACTIONS[action]} with {len(left)} bytes, "
                f"not {load.action} with {load.length}"
            )
    return frame


def compare(
    dispatcher: Dispatcher,
    programs: Mapping[str, Program],
    load: Load,
    rounds: int = 41,
    packets: int = 30_000,
) -> dict[str, Times]:
    """Time programs against each other. Raises Wrong where they differ in what they do."""
    frames = {name: check(dispatcher, name, p, load) for name, p in programs.items()}
    if len(set(frames.values())) != 1:
        raise Wrong(f"they leave different frames: { {n: f.hex() for n, f in frames.items()} }")
    dispatcher.send(load)
    times = {name: Times() for name in programs}
    order = [(STUB, dispatcher.stub), *programs.items()]
    for turn in range(rounds):
        spent = {}
        turned = order[turn % len(order) :] + order[: turn % len(order)]
        for name, program in turned[:: -1 if turn % 2 else 1]:
            dispatcher.target(program)
            dispatcher.run(packets)  # warms up
            spent[name] = dispatcher.run(packets)[0]
        for name, all_ in times.items():
            all_.net.append(spent[name] - spent[STUB])
            all_.stub.append(spent[STUB])
    return times


def self_test(dispatcher: Dispatcher) -> None:
    """Raises Wrong where the dispatcher does not put the packet back."""
    load = Load(b"\xab" + bytes(99), (), "tx", 68)
    check(dispatcher, "eater", dispatcher.eater, load)


@contextmanager
def one_cpu() -> Iterator[int]:
    """Stay on one CPU, the last allowed: the first serves most interrupts."""
    before = os.sched_getaffinity(0)
    cpu = max(before)
    os.sched_setaffinity(0, {cpu})
    try:
        yield cpu
    finally:
        os.sched_setaffinity(0, before)
