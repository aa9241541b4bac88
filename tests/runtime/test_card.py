"""What a card's programs do, run on the host's kernel, is what the interpreter says."""

from __future__ import annotations

from pathlib import Path

import pytest
from helioc.compiler.fuzzing.scenarios import Fuzzed
from helioc.compiler.fuzzing.search import search
from helioc.compiler.phases import check_file, compile_for_card
from helioc.runtime.bundle import Bundle
from helioc.runtime.card.run import CardRun

ROOT = Path(__file__).parents[2]
SLICE = ROOT / "pipelines" / "slice.hp"
HERE = Path(__file__).parent / "card"
PIPELINES = [SLICE, ROOT / "pipelines" / "linx_offload.hp", *sorted(HERE.glob("*.hp"))]

pytestmark = pytest.mark.usefixtures("kernel")


def on_host(path: Path) -> CardRun:
    bundle = compile_for_card(check_file(path), on_host=True)
    return CardRun(Bundle(bundle.manifest, bundle.object))


@pytest.mark.parametrize("path", PIPELINES, ids=lambda p: p.stem)
def test_agrees_on_packets_that_nobody_wrote(path: Path) -> None:
    with on_host(path) as run:
        found = search(Fuzzed(check_file(path)), run, 600, 3, 60)
    assert found.scenario is None, found
