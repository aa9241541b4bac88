"""LINX at work: two SD-WAN edges and a foreign peer, from linx.hp to real packets.

    .venv/bin/python examples/linx/demo.py [--prefix linx-] [--stay]

Needs root. Everything happens in network namespaces whose names begin with the prefix; they, and
what is loaded into the kernel, are gone at the end, also after Ctrl-C or a failure. Every fact that
is printed was measured: if one does not hold the demo says so, stops, and exits with 1.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

sys.path.insert(0, str(Path(__file__).parents[1]))

from controller.console.start import Settings, console
from edges import Edge
from helioc.runtime.client import Client
from lab import until
from linx import steps
from linx.world import B, build
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
    edges = demo.edge_with_agent(world.edge_a), demo.edge_with_agent(world.edge_b)
    sites = steps.Sites(demo.say, world, *edges, demo.folder)
    watch(demo, {"edge-a": edges[0], "edge-b": edges[1]})
    for step in STEPS:
        step(sites)
    if demo.stay:
        demo.owned.callback(world.host_a.start("ping", "-q", "-i", "0.02", B.host).stop)


def watch(demo: Demo, edges: Mapping[str, Edge]) -> None:
    """Serve a console of both edges while the demo runs."""
    settings = Settings("127.0.0.1:0", demo.folder / "console.token", period=1.0)

    def connect(edge: str, address: str, pipeline: str) -> Client:
        return Client(address, pipeline, timeout=5)

    addresses = {name: edge.agent for name, edge in edges.items()}
    served = console(settings, demo.folder, connect, lambda: addresses)
    url, token = demo.owned.enter_context(served), settings.token.read_text().strip()
    demo.say.step("Serve a console of both edges, while this runs")
    for name in edges:
        asked = f"{url}api/edge?edge={name}"
        request = Request(asked, headers={"Authorization": f"Bearer {token}"})
        until(partial(_reachable, request), f"{name} is shown")
    demo.say.fact(True, f"{url}#token={token}")


def _reachable(request: Request) -> bool:
    """Whether an edge is, as the console says it."""
    try:
        with urlopen(request, timeout=5) as answer:
            return bool(json.load(answer)["state"] == "reachable")
    except HTTPError:  # it has not looked yet
        return False


if __name__ == "__main__":
    sys.exit(run(show, TITLE, PICTURE, prefix="linx-"))
