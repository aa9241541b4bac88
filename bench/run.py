"""`make bench`: the compiled LINX beside one written by hand. Prints tables; needs root."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack

from helioc.compiler.phases import check_file, compile_pipeline
from measure import HERE, Dispatcher, build, compare, one_cpu, self_test
from programs import by_hand, compiled
from workload import SCENARIOS, Workload

LINX = HERE.parent / "pipelines" / "linx.hp"
RULES = (1, 1000, 10_000)


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def data_path(rounds: int, packets: int, scenarios: list[str], sizes: list[int]) -> None:
    pipeline = check_file(LINX)
    staged, fused = (compile_pipeline(pipeline, join) for join in ("staged", "fused"))
    source = HERE / "linx_by_hand.bpf.c"
    plain, epoch = build(source, "PDRS=65536"), build(source, "PDRS=65536", "EPOCH")
    say(
        f"{'':9} {'PDRs':>6}  {'by hand':>8} {'+ epoch':>8} {'fused':>8} {'staged':>8}   "
        f"{'epoch/hand':>10} {'fused/epoch':>11} {'fused/hand':>10} {'staged-fused':>12}"
    )
    with one_cpu(), Dispatcher() as dispatcher:
        self_test(dispatcher)
        for scenario in SCENARIOS:
            for rules in RULES:
                if scenario not in scenarios or rules not in sizes:
                    continue
                load = Workload(scenario, rules)
                with ExitStack() as owned:
                    programs = {
                        "hand": by_hand(plain, load, owned),
                        "epoch": by_hand(epoch, load, owned),
                        "fused": compiled(fused, load, owned),
                        "staged": compiled(staged, load, owned),
                    }
                    t = compare(dispatcher, programs, load.load(), rounds, packets)
                say(
                    f"{scenario:9} {rules:6}  "
                    + " ".join(f"{t[n].median:8.1f}" for n in programs)
                    + f"   {t['epoch'].over(t['hand']):10.2f} {t['fused'].over(t['epoch']):11.2f}"
                    f" {t['fused'].over(t['hand']):10.2f} {t['staged'].above(t['fused']):9.1f} ns",
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=41)
    parser.add_argument("--packets", type=int, default=30_000)
    parser.add_argument("--scenario", nargs="*", default=list(SCENARIOS))
    parser.add_argument("--rules", nargs="*", type=int, default=list(RULES))
    given = parser.parse_args()
    data_path(given.rounds, given.packets, given.scenario, given.rules)


if __name__ == "__main__":
    main()
