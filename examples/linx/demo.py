"""LINX at work: two SD-WAN edges and a foreign peer, from linx.hp to real packets.

    .venv/bin/python examples/linx/demo.py [--prefix linx-]

Needs root. Everything happens in network namespaces whose names begin with the prefix; they, and
what is loaded into the kernel, are gone at the end, also after Ctrl-C or a failure. Every fact that
is printed was measured: if one does not hold the demo says so, stops, and exits with 1.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from linx import steps
from linx.world import build
from showing import Demo, run

TITLE = "the SD-WAN edge LINX, from linx.hp to real packets"
PICTURE = """
    host A ── edge A ══ GRE-WAN1 ═══ internet ══ edge B ── host B
  10.1.0.10        ╚═══ GRE-WAN2 ═══════╝           10.2.0.10
                    ╚══ GRE-SITE-C ══ a peer that scapy plays, 10.9.0.0/16"""
STEPS: tuple[Callable[[steps.Sites], None], ...] = (
    steps.load_edges,
    steps.talk,
    steps.keep_packets_small,
    steps.meet_the_peer,
    steps.move_a_flow,
    steps.drop_a_class,
    steps.balance,
    steps.count,
)


def show(demo: Demo) -> None:
    steps.compile_linx(demo.say, demo.folder)
    world = build(demo.lab)
    edges = demo.edge(world.edge_a), demo.edge(world.edge_b)
    sites = steps.Sites(demo.say, world, *edges, demo.folder)
    for step in STEPS:
        step(sites)


if __name__ == "__main__":
    sys.exit(run(show, TITLE, PICTURE, prefix="linx-"))
