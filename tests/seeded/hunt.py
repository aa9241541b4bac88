"""python tests/seeded/hunt.py [SEEDS]: look for a fault in the compiler that this imports.

Exits with 1 and one line where there is one: packet tests of LINX, of meters and of counts, and of
programs at tc, random rules and packets for LINX, then generated pipelines, interpreter against
kernel.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from campaign import try_seed, try_text
from compare import Tally
from packet_cases import packet_cases_hold, packet_cases_hold_at_tc

ROOT = Path(__file__).resolve().parents[2]
LINX, VXLAN = ROOT / "pipelines" / "linx.hp", ROOT / "pipelines" / "vxlan_gateway.hp"
CASES = ROOT / "tests/compiler/lower/cases"
OWN = ("meters/colours", "meters/aware", "rules/quota", "rules/given_again", "states/counted",
       "states/rules", "states/ranked", "registers/sketch", "events/of_rules",
       "tunnels/bare_ports")  # fmt: skip


def hunts(seeds: int) -> Iterator[Callable[[], object]]:
    """One by one, those that find most first."""
    for seed in range(min(3, seeds)):
        yield partial(try_seed, seed, Tally())
    yield partial(packet_cases_hold, LINX, "staged")
    for name in OWN:
        yield partial(packet_cases_hold, CASES / f"{name}.hp", "staged")
    for path in (CASES / "tunnels/bare_ports.hp", CASES / "copies/taps.hp", VXLAN):
        yield partial(packet_cases_hold_at_tc, path)
    yield partial(try_text, LINX.read_text(), "linx", Tally(), 300)
    for path in sorted((ROOT / "tests/generated/found").glob("*.hp")):
        yield partial(try_text, path.read_text(), "a", Tally())
    for seed in range(3, seeds):
        yield partial(try_seed, seed, Tally())


def main() -> int:
    steps = 0
    try:
        for hunt in hunts(int(sys.argv[1]) if len(sys.argv) > 1 else 24):
            hunt()
            steps += 1
    except Exception as error:  # whatever it is, the fault shows
        sys.stdout.write(f"step {steps}: {type(error).__name__}: {str(error)[:160]!r}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
