"""Pipelines that nobody wrote are accepted, load, and mean in the kernel what the interpreter says:
verdict, bytes, egress, events, counters.

HELIO_PIPELINES is how many (SUITE otherwise), HELIO_SEED the first seed. A failure shows the
pipeline made small; `tests/generated/shrink_seed.py` makes it smaller, and `run_seeds.py` runs many
seeds in every form.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from campaign import try_at_tc, try_seed, try_text, try_tunnels
from compare import Disagreement, Tally
from shrink_seed import shrunk

FOUND = sorted((Path(__file__).parent / "found").glob("*.hp"))
FIRST = int(os.environ.get("HELIO_SEED", "0"))
SUITE = 36  # `make seeded` finds each fault by fewer
SEEDS = range(FIRST, FIRST + int(os.environ.get("HELIO_PIPELINES", SUITE)))
AT_ONCE = 6  # pipelines a test
TUNNELS = range(FIRST, FIRST + len(SEEDS) // 5)

pytestmark = pytest.mark.usefixtures("kernel")


@pytest.mark.parametrize("first", SEEDS[::AT_ONCE])
def test_pipelines_that_nobody_wrote(first: int) -> None:
    for seed in range(first, min(first + AT_ONCE, SEEDS.stop)):
        try:
            try_seed(seed, Tally())
        except Disagreement as error:
            small, why = shrunk(seed, most=40)
            pytest.fail(f"seed {seed}: {error}\n\nsmaller:\n{small}\n{why}", pytrace=False)


@pytest.mark.parametrize("seed", SEEDS[::AT_ONCE])
def test_the_same_at_tc(seed: int) -> None:
    try_at_tc(seed, Tally())


@pytest.mark.parametrize("first", TUNNELS[::AT_ONCE])
def test_tunnels_as_people_nest_them(first: int) -> None:
    for seed in range(first, min(first + AT_ONCE, TUNNELS.stop)):
        try_tunnels(seed, Tally())


def test_a_long_chain_of_else_if() -> None:
    """Each branch is within the one before, for all that goes through a tree and for clang."""
    branches = (f"if ipv4.id & 0x1ff = {i} {{ count c{i} }}" for i in range(300))
    text = f"""
        import std.ethernet, std.ip
        pipeline chain {{
          ports lan
          parser {{ ethernet -> ipv4 when type = 0x0800 }}
          default pass
          stage s {{ if ipv4 {{ {" else ".join(branches)} else {{ drop }} }} pass }}
          run parser -> s
        }}"""
    try_text(text, "chain", Tally())


@pytest.mark.parametrize("path", FOUND, ids=lambda p: p.stem)
def test_what_was_found_once(path: Path) -> None:
    """Each was refused, did not load or was carried out wrongly."""
    for seed in ("a", "b"):
        try_text(path.read_text(), seed, Tally())
