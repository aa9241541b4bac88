"""What the live tests of LINX share: see tests/e2e/conftest.py for the fixtures."""

from __future__ import annotations

from dataclasses import dataclass

from edges import Edge
from linx.peer import Peer
from linx.world import PATHS, A, B, World
from traffic import ping


@dataclass(frozen=True)
class Linx:
    """Two sites whose edges run LINX, and a foreign peer; rules as the demo begins with."""

    world: World
    a: Edge
    b: Edge
    peer: Peer


def meet_neighbours(world: World) -> None:
    """Let both edges' kernels learn the MAC addresses of their gateways."""
    for path in PATHS:
        assert ping(world.edge_a, B.wan[path], 1, "-I", A.wan[path]).lost == 0
