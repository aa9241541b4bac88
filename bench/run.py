"""`make bench`: the compiled LINX beside one written by hand. Prints tables; needs root."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path

# the laboratory is the examples'
sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
import agent
import console
import gates
import passes
import sizes
import stamp
import steering
import steering_cores
import waits
from control import bulk, commands, requests
from helioc.compiler.bundle import Bundle, compile_pipeline
from helioc.compiler.driver import check_file
from helioc.compiler.lower.unit import Join
from measure import HERE, Dispatcher, Times, build, compare, one_cpu, self_test
from overlays import overlays
from programs import by_hand, compiled
from reference import exact, gre, prefixes, srv6, ternary, upf, vxlan
from sessions import ROWS, SESSIONS, Row
from workload import SCENARIOS, Scenario, Workload

LINX = HERE.parent / "pipelines" / "linx.hp"
RULES = (1, 1000, 10_000)
REFERENCES = exact, ternary, prefixes, gre, upf, vxlan, srv6
GATES = {gate.name: gate for each in REFERENCES for gate in each.GATES}
PARTS = ("packets", "gates", "sessions", "requests", "bulk", "overlays", "steering", "commands",
         "stamp", "console", "agent", "waits", "sizes", "passes")  # fmt: skip
JOINS: tuple[Join, ...] = ("fused", "staged")
NAMES = ("by hand", "+ epoch", "fused", "staged")


def say(line: object = "") -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


class DataPath:
    """The rows of the data path. `loads`: how often programs and maps are made again, for where
    they happen to lie in memory costs or saves several per cent."""

    def __init__(
        self, staged: Bundle, fused: Bundle, loads: int, rounds: int, packets: int
    ) -> None:
        source = HERE / "linx_by_hand.bpf.c"
        self._plain = build(source, "PDRS=65536")
        self._epoch = build(source, "PDRS=65536", "EPOCH")
        self._staged, self._fused = staged, fused
        self._loads, self._rounds, self._packets = loads, rounds, packets

    def print(self, scenarios: list[Scenario], sizes: list[int]) -> None:
        say("net ns a packet: median (quartiles)                                      ratios")
        say(
            f"{'':9} {'PDRs':>6}"
            + "".join(f"{name:>15}" for name in NAMES)
            + f"{'epoch/hand':>13}{'fused/epoch':>13}{'staged-fused':>14}"
        )
        with one_cpu(), Dispatcher() as dispatcher:
            self_test(dispatcher)
            for scenario in scenarios:
                for rules in sizes:
                    times = self._times(dispatcher, Workload(scenario, rules))
                    say(f"{scenario:9} {rules:6}" + _columns(times))

    def _times(self, dispatcher: Dispatcher, load: Workload) -> dict[str, Times]:
        times = {name: Times() for name in NAMES}
        for _ in range(self._loads):
            with ExitStack() as owned:
                fused, staged = compiled((self._fused, self._staged), load, owned)
                programs = {
                    "by hand": by_hand(self._plain, load, owned),
                    "+ epoch": by_hand(self._epoch, load, owned),
                    "fused": fused,
                    "staged": staged,
                }
                found = compare(dispatcher, programs, load.load(), self._rounds, self._packets)
            for name, some in found.items():
                times[name].add(some)
        return {name: some.quiet() for name, some in times.items()}


class Sessions:
    """The rows of the other pipelines, beside what peers take for the same."""

    def __init__(self, loads: int, rounds: int, packets: int) -> None:
        self._loads, self._rounds, self._packets = loads, rounds, packets

    def print(self) -> None:
        say(f"net ns a packet: {'':16} {'sessions':>8}{'fused':>17}{'staged':>17}  peers")
        bundles = {
            name: {
                join: compile_pipeline(check_file(LINX.with_name(f"{name}.hp")), join)
                for join in JOINS
            }
            for name in {row.pipeline for row in ROWS}
        }
        with one_cpu(), Dispatcher() as dispatcher:
            self_test(dispatcher)
            for row in ROWS:
                for i, sessions in enumerate(SESSIONS):
                    times = self._times(dispatcher, row, bundles[row.pipeline], sessions)
                    peers = ", ".join(f"{name} {found[i]}" for name, found in row.peers.items())
                    what = f"{row.pipeline}: {row.direction}"
                    cells = "".join(f"{_cell(x):>17}" for x in times.values())
                    say(f"{what:33} {sessions:8}{cells}  {peers}".rstrip())

    def _times(
        self, dispatcher: Dispatcher, row: Row, bundles: dict[Join, Bundle], sessions: int
    ) -> dict[str, Times]:
        times: dict[str, Times] = {join: Times() for join in bundles}
        for _ in range(self._loads):
            with ExitStack() as owned:
                programs = {
                    join: row.program(bundle, sessions, owned) for join, bundle in bundles.items()
                }
                load = row.load(sessions)
                found = compare(dispatcher, programs, load, self._rounds, self._packets)
            for name, some in found.items():
                times[name].add(some)
        return {name: some.quiet() for name, some in times.items()}


def _cell(x: Times) -> str:
    return f"{x.median:.0f} ({x.spread[0]:.0f}-{x.spread[1]:.0f})"


def _columns(t: dict[str, Times]) -> str:
    cells = [_cell(x) for x in t.values()]
    more, least, most = t["staged"].above(t["fused"])
    return (
        "".join(f"{cell:>15}" for cell in cells)
        + f"{t['+ epoch'].over(t['by hand']):13.2f}{t['fused'].over(t['+ epoch']):13.2f}"
        + f"{more:9.1f} ns ({least:.1f} to {most:.1f})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--loads", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=31, help="for each load")
    parser.add_argument("--packets", type=int, default=10_000, help="for each round")
    parser.add_argument("--scenario", nargs="+", choices=SCENARIOS, default=list(SCENARIOS))
    parser.add_argument("--gate", nargs="+", choices=GATES, default=list(GATES))
    parser.add_argument("--rules", nargs="+", type=int, help="of packets, and of gates: how many")
    parser.add_argument("--requests", type=int, default=5000, help="to the agent, for each row")
    parser.add_argument("--runs", type=int, default=3, help="of stamp, for each row: 2 to 10")
    parser.add_argument("--cdf", type=Path, help="a CSV of the agent's distributions, to plot")
    parser.add_argument("--json", type=Path, help="steering and gates, to plot")
    given = parser.parse_args()
    parts = given.parts or PARTS
    if unknown := set(parts) - set(PARTS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    pipeline = check_file(LINX)
    staged, fused = (compile_pipeline(pipeline, join) for join in ("staged", "fused"))
    if "packets" in parts:
        path = DataPath(staged, fused, given.loads, given.rounds, given.packets)
        path.print(given.scenario, given.rules or list(RULES))
        say()
    if "gates" in parts:
        with one_cpu(), Dispatcher() as dispatcher:
            self_test(dispatcher)
            asked, loads = [GATES[name] for name in given.gate], given.loads // 2 or 1
            found = gates.rows(dispatcher, asked, given.rules, loads, given.rounds, given.packets)
            plotted = gates.print_rows(found, say)
        if given.json:
            given.json.with_suffix(".gates.json").write_text(gates.as_json(plotted))
        say()
    if "sessions" in parts:
        Sessions(given.loads // 2 or 1, given.rounds, given.packets).print()
        say()
    if "steering" in parts:
        for line in (*steering.costs(given.loads // 2 or 1, given.rounds, given.packets), ""):
            say(line)
        for line in steering.shape():
            say(line)
        say()
        cores = steering_cores.table(steering_cores.rows(), say)
        if given.json:
            given.json.write_text(steering_cores.as_json(cores))
        say()
    if "stamp" in parts:
        for line in (*stamp.costs(given.loads // 2 or 1, given.rounds, given.packets), ""):
            say(line)
        stamp.tables(given.runs, say)
        say()
        stamp.collectors(given.runs, say)
        say()
    if "agent" in parts:
        agent.print_rows(staged, given.requests, say, given.cdf)
        say()
    if "waits" in parts:
        waits.print_rows(staged, given.requests // 10 or 1, 5, say)
        say()
    for part, rows in (("requests", requests(staged)), ("bulk", bulk(staged)),
                       ("overlays", overlays(staged)), ("commands", commands(LINX, 13)),
                       ("console", console.rows()), ("agent", agent.figures()),
                       ("sizes", sizes.rows()), ("passes", passes.rows())):  # fmt: skip
        if part in parts:
            for row in rows:
                say(row)


if __name__ == "__main__":
    main()
