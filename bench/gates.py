"""Helio's fused programs beside references in C by hand: the same work and frames, in one run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from helioc.compiler.bundle import Bundle, compile_pipeline
from helioc.compiler.driver import check_file
from helioc.runtime.kernel.handles import Program
from measure import HERE, Dispatcher, Load, Times, compare

HELIO = "Helio"
PIPELINES = HERE.parent / "pipelines"


def _none() -> int:
    return 0


@dataclass(frozen=True)
class Entry:
    """A program with its rules. `left_out`: how many packets it had until now that are other than
    what it was written for, and of which it says nothing."""

    program: Program
    left_out: Callable[[], int] = _none


@dataclass(frozen=True)
class Gate:
    """What Helio is held to. `aims`: by each reference's name the multiple of its time that Helio
    may take; None: no aim. `loads`: what is sent, by a name, with a number of rules. `programs`:
    all programs with so many, Helio's under that name."""

    name: str
    sizes: tuple[int, ...]
    aims: Mapping[str, float | None]
    loads: Mapping[str, Callable[[int], Load]]
    programs: Callable[[int, ExitStack], dict[str, Entry]]
    counts: str = "rules"  # of what a size says how many


@dataclass(frozen=True)
class Row:
    """What was measured of one load of a gate."""

    gate: Gate
    load: str
    size: int
    times: dict[str, Times]

    def ratio(self, name: str) -> tuple[float, float, float]:
        """Helio's time as a multiple of a reference's: of the rounds' medians, and between what it
        lies in 95 of 100 cases (a ratio of one round says little where a stub takes longer)."""
        mine, its = (np.array(self.times[n].net) for n in (HELIO, name))
        drawn = np.random.default_rng(0).integers(0, len(mine), (1000, len(mine)))
        each = np.median(mine[drawn], 1) / np.median(its[drawn], 1)
        least, most = np.percentile(each, (2.5, 97.5)).tolist()
        return float(np.median(mine) / np.median(its)), least, most


def rows(
    dispatcher: Dispatcher,
    gates: Iterable[Gate],
    sizes: Sequence[int] | None,
    loads: int,
    rounds: int,
    packets: int,
) -> Iterator[Row]:
    """Each gate with the given sizes, or its own."""
    for gate in gates:
        for size in sizes or gate.sizes:
            times = {load: {n: Times() for n in (HELIO, *gate.aims)} for load in gate.loads}
            for _ in range(loads):
                with ExitStack() as owned:
                    entries = gate.programs(size, owned)
                    programs = {n: entry.program for n, entry in entries.items()}
                    for name, load in gate.loads.items():
                        found = compare(dispatcher, programs, load(size), rounds, packets)
                        for program, some in found.items():
                            times[name][program].add(some)
            for name, of in times.items():
                yield Row(gate, name, size, _undisturbed(of))


def _undisturbed(times: dict[str, Times]) -> dict[str, Times]:
    """Of each load the half of the rounds in which all programs and the stub together took least
    time: what disturbs one of them makes the ratio of that round worthless."""
    first = next(iter(times.values()))
    nets = zip(*(t.net for t in times.values()), strict=True)
    total = [sum(n) + (len(n) + 1) * stub for n, stub in zip(nets, first.stub, strict=True)]
    keep: list[int] = []
    for load in sorted(set(first.load)):
        mine = [i for i, each in enumerate(first.load) if each == load]
        keep += sorted(mine, key=total.__getitem__)[: len(mine) // 2 + 1]
    return {
        name: Times(*([column[i] for i in keep] for column in (t.net, t.stub, t.load)))
        for name, t in times.items()
    }


def print_rows(found: Iterable[Row], say: Callable[[object], None]) -> list[dict[str, Any]]:
    """As a table while they come; returned to be plotted."""
    say(f"{'':36} net ns a packet: median (quartiles)   Helio as a multiple of it (95 %)")
    plotted = []
    for row in found:
        ns = {name: {"median": t.median, "quartiles": t.spread} for name, t in row.times.items()}
        ratios = {name: row.ratio(name) for name in row.gate.aims}
        what = f"{row.gate.name} {row.load}".strip()
        for name, times in row.times.items():
            cells = f"{times.median:.0f} ({times.spread[0]:.0f}-{times.spread[1]:.0f})"
            ratio = "{:.2f} ({:.2f}-{:.2f})".format(*ratios[name]) if name in ratios else ""
            aim = row.gate.aims.get(name)
            said = f"{what:26} {row.size:9,}" if name == HELIO else ""
            last = f"{ratio:>22}" + (f"  aim {aim}" if aim else "")
            say(f"{said:36} {name:22} {cells:>17}{last}".rstrip())
        plotted.append({"gate": row.gate.name, "load": row.load, row.gate.counts: row.size,
                        "ns": ns, "ratios": ratios, "aims": dict(row.gate.aims)})  # fmt: skip
    return plotted


def as_json(found: list[dict[str, Any]]) -> str:
    return json.dumps(found, indent=1)


@cache
def fused(pipeline: Path) -> Bundle:
    """What Helio makes of it."""
    return compile_pipeline(check_file(pipeline), "fused")
