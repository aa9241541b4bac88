"""LINX in the shadow of itself, and of a build that handles a tunnel otherwise: packets of both
directions, overlays that are probed."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from edges import HELIOCTL, Edge
from helioc.lang.contract.rules.rules import Reference
from helioc.runtime.loading.excluded_members import exclude_members
from helioc.runtime.loading.loader import Loaded
from helioc.runtime.rules.left_out import LeftOut
from helioc.runtime.shadow.in_force import InForce
from linx.world import A, B
from linx_live import Linx
from traffic import udp_socket


@contextmanager
def talk(linx: Linx) -> Iterator[None]:
    """Datagrams of several sizes between both hosts, some hundred a second each way."""
    over = threading.Event()

    def send() -> None:
        with udp_socket(linx.world.host_a) as a, udp_socket(linx.world.host_b) as b:
            number = 0
            while not over.wait(0.002):
                data = bytes(number % 1400)
                a.sendto(data, (B.host, 7000 + number % 50))
                b.sendto(data, (A.host, 7000 + number % 50))
                number += 7

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def shadow(edge: Edge, bundle: Path) -> dict[str, Any]:
    said = edge.room.run(
        HELIOCTL, "--name", edge.name, "load", "--shadow", str(bundle), "--for", "2s", "--json"
    )
    found: dict[str, Any] = json.loads(said)
    return found


def test_the_same_build_does_the_same(linx: Linx, bundle: Path) -> None:
    with talk(linx):
        found = shadow(linx.a, bundle)
    assert found["compared"] > 200
    assert (found["differing"], found["unlike"], found["left_out"]) == (0, 0, {})
    ways = {each["in_force"] for each in found["verdicts"]}
    assert {"redirect by WAN1", "redirect by LAN"} <= ways
    assert {"PDR", "FAR", "OVERLAY"} == {rule["kind"] for rule in found["rules"]}


def test_members_that_are_left_out(linx: Linx, bundle: Path) -> None:
    """As their overlay is dead: the copies know of that."""
    edge, dead = linx.a, "GRE-WAN1"
    members = "FAR 1 [(weight, u16, 1)], FAR 2 [(weight, u16, 1)]"
    edge.control("create", f"LBR 9 [{members}]")
    edge.control("update", "PDR 1 [LBR 9]")

    def leave_out() -> LeftOut:
        with Loaded.open(edge.name) as loaded:
            overlay = next(r for r in loaded.book.rules("OVERLAY") if r.name == dead)
            assert exclude_members(loaded, {Reference("OVERLAY", overlay.id)}) == 1
            return loaded.writer.left_out

    def seen() -> LeftOut:
        with InForce(edge.name) as pipeline:
            return pipeline.left_out()

    left_out = edge.room.inside_thread(leave_out)
    try:
        assert edge.room.inside_thread(seen) == left_out
        with talk(linx):
            found = shadow(edge, bundle)
    finally:
        edge.control("update", "PDR 1 [FAR 1]")
        edge.control("delete", "LBR 9")
    assert (found["differing"], found["unlike"]) == (0, 0)
    used = {(rule["kind"], rule["id"]) for rule in found["rules"] if rule["shadow"]}
    assert ("FAR", 2) in used and ("FAR", 1) not in used
    assert "redirect by WAN2" in {each["shadow"] for each in found["verdicts"]}
