"""Live edges: the network of examples/linx, compiled, loaded and given rules, once for a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from edges import Edge, compile_pipeline, pinned
from lab import Lab
from leaks import PREFIX
from linx.peer import Peer
from linx.world import HERE, build
from linx_live import Linx, meet_neighbours


@pytest.fixture(scope="session")
def bundle(kernel: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("linx") / "bundle"
    compile_pipeline(out)
    return out


@pytest.fixture(scope="module")
def linx(bundle: Path) -> Iterator[Linx]:
    prefix = f"{PREFIX}live-"
    with ExitStack() as owned:
        world = build(owned.enter_context(Lab(prefix)))
        edges = Edge(world.edge_a), Edge(world.edge_b)
        meet_neighbours(world)
        for edge, letter in zip(edges, "ab", strict=True):
            owned.callback(edge.forget)
            edge.load(bundle, HERE / f"edge-{letter}.yaml")
            edge.push(HERE / f"rules-{letter}.req")
        yield Linx(world, *edges, Peer(world))
    assert pinned(prefix) == []
