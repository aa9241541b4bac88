"""Interpreter and kernel agree on every pipeline that ships, on packets and rules drawn from its
own parse graph and rule kinds.

HELIO_DRAWN times as many packets are drawn: `make nightly`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from checked import checked, each_join
from helioc.commands.packet_runs import fuzz_pipeline
from helioc.compiler.lower.unit import Join

TIMES = int(os.environ.get("HELIO_DRAWN", "1"))
#: Packets until one is sent: `slice` does while it is congested, `stamp` answers test packets only.
SELDOM = {"slice": 1200, "slice_offload": 1200, "stamp": 1200}
PIPELINES = sorted((Path(__file__).parents[2] / "pipelines").glob("*.hp"))


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize(
    ("pipeline", "join"), each_join(PIPELINES), ids=lambda p: getattr(p, "stem", p)
)
def test_fuzzed(pipeline: Path, join: Join) -> None:
    seed = {"staged": 4, "fused": 3}[join]
    packets = TIMES * SELDOM.get(pipeline.stem, 300)
    well, said = fuzz_pipeline(checked(pipeline), packets, seed, TIMES * 60, join)
    assert well, said
    assert "counted: " in said and (" %  redirect" in said or " %  tx" in said), said
