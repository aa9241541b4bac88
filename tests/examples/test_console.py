"""What the console keeps of a fleet: samples, readings of agents, the graph, windows of tables."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest
from console_world import PlayedClient, manifest, usual
from controller.console import views, windows
from controller.console.asking import MOST_RULES
from controller.console.collector import Collector
from controller.console.graph import graph_of
from controller.console.histograms import BINS, EDGES, Histogram, bin_of
from controller.console.paths import Sessions
from controller.console.reading import Looker, Reading
from controller.console.rings import History, Ring
from controller.console.tables import LONGEST, Key, Rates, Series, shortened, table
from lab import until

OVERLAY = Key("linx", "overlay")


def overlays(time: float, *delays: float, first: int = 1) -> Reading:
    numbers = range(first, first + len(delays))
    values = [(delay, 0.001, 0.0, 10.0, 80.0, 1.0) for delay in delays]
    said = [("OVERLAY", n, "alive", 0.0, "probes") for n in numbers]
    of = table("overlay", [f"GRE-{n}" for n in numbers], values, said)
    facts = {"linx": {"digest": "", "revision": 1, "findings": [], "congestion": None}}
    return Reading(time, {OVERLAY: of}, {}, facts)


# ---- samples ------------------------------------------------------------------------------------


def test_a_ring_keeps_the_last() -> None:
    ring = Ring(4, 1, 1)
    assert math.isinf(ring.oldest) and ring.at(9) is None
    for n in range(6):
        ring.add(n, np.array([[n]], np.float32))
    times, values = ring.since(0, 99, [(0, 0)])
    assert times.tolist() == [2, 3, 4, 5] and values[:, 0].tolist() == [2, 3, 4, 5]
    assert ring.oldest == 2
    found = ring.at(3.5)
    assert found is not None and found[0] == 3 and found[1].tolist() == [[3]]
    shorter = ring.changed(2, 2, [(1, 0)])
    times, values = shorter.since(0, 99, [(0, 0), (1, 0)])
    assert times.tolist() == [4, 5] and np.isnan(values[:, 0]).all()
    assert values[:, 1].tolist() == [4, 5]


def test_minutes_are_means_of_what_was_known() -> None:
    history = History(("a",), 1, 3, 10)
    for second in range(0, 180, 20):
        value = float("nan") if second == 20 else float(second)
        history.add(second, table("state", ["a"], [[value]], [()]), 3, 10)
    times, values = history.since(0, 999, [("a", 0), ("gone", 0)])
    # minutes 0 and 1, as far as there are no single samples; then the last three of these
    assert times.tolist() == [30, 90, 120, 140, 160]
    assert values[:, 0].tolist() == [20, 80, 120, 140, 160] and np.isnan(values[:, 1]).all()
    found = history.at(100)
    assert found is not None and found[1].tolist() == [[80]]


def test_what_stays_keeps_its_past() -> None:
    collector = Collector(1 << 20)
    collector.are({"e": "a:1"})
    collector.put("e", overlays(1, 0.1, 0.2))
    collector.put("e", overlays(2, 0.3, 0.4, first=2))  # the first has gone, a third come
    edge = collector.edge("e")
    assert edge is not None
    asked = [Series("linx", "overlay", f"GRE-{n}", "delay") for n in (1, 2, 3)]
    found = views.history(edge, asked, 0, 9)
    assert found["times"] == [1, 2]
    assert found["columns"] == [[None, None], [0.2, 0.3], [None, 0.4]]
    collector.are({})
    assert collector.edge("e") is None and collector.edges() == []


def test_memory_is_bounded() -> None:
    memory = 4 << 20
    collector = Collector(memory)
    names = [f"edge{n}" for n in range(10)]
    collector.are(dict.fromkeys(names, "a:1"))
    for turn in range(40):
        for name in names:
            collector.put(name, overlays(turn * 30.0, *([0.1] * 300)))
    assert memory / 2 < collector.held <= memory
    collector.are(dict.fromkeys([*names, *(f"more{n}" for n in range(10))], "a:1"))
    for name in names:
        collector.put(name, overlays(9999, *([0.1] * 300)))
    assert collector.held <= memory / 2  # their part


def test_rates_of_counts() -> None:
    rates, key = Rates(), Key("p", "rule")
    first = rates.of(key, ["a", "b"], np.array([[10.0], [5.0]]), 1.0)
    assert np.isnan(first).all()
    now = rates.of(key, ["b", "a", "c"], np.array([[3.0], [30.0], [9.0]]), 3.0)
    assert np.isnan(now[0, 0]) and now[1, 0] == 10 and np.isnan(now[2, 0])  # b began anew, c is new


def test_histograms_are_of_minutes() -> None:
    made = Histogram()
    made.add([0.01] * 3, 60)
    made.add([0.01, 99.0, 0.0], 125)
    assert made.until(125, 1).sum() == 3 and made.until(125, 5).sum() == 6
    counts = made.until(125, 5)
    assert counts[0] == 1 and counts[BINS - 1] == 1 and counts[bin_of(0.01)] == 4
    assert EDGES[bin_of(0.01)] <= 0.01 * (1 + 1e-9) < EDGES[bin_of(0.01) + 1] * (1 + 1e-6)
    assert made.until(125 + 3600, 60).sum() == 0  # the oldest minutes are gone


# ---- readings -----------------------------------------------------------------------------------


def test_a_reading_has_what_the_agent_said() -> None:
    made, looker = usual(), Looker()
    agent = PlayedClient(made)
    looker.look(lambda _: agent)  # type: ignore[arg-type, return-value]
    looked = time.monotonic()
    until(lambda: time.monotonic() > looked + 0.1, "there is a time to take rates over")
    found = looker.look(lambda _: agent)  # type: ignore[arg-type, return-value]
    of = found.tables[OVERLAY]
    assert of.items == tuple(f"GRE-WAN{n}" for n in range(1, 7))
    assert of.values[0, :3].tolist() == pytest.approx([0.004, 0.0002, 0.01])
    assert of.facts[5][2] == "dead" and of.values[5, 2] == 1
    assert np.nansum(of.values[:, 5]) == pytest.approx(1)
    ports = found.tables[Key("linx", "port")]
    assert ports.values[0, 0] == pytest.approx(4000, rel=0.05)
    assert ports.values[0, 1] == pytest.approx(4000 * 500 * 8, rel=0.05)
    slices = found.tables[Key("linx", "slice")]
    assert slices.items == ("slice-video",) and slices.values[0, 0] == pytest.approx(800, rel=0.1)
    made.rules |= {("PDR", n): 0.0 for n in range(1, MOST_RULES + 2)}
    kinds = looker.look(lambda _: agent).tables[Key("linx", "kind")]  # type: ignore[arg-type, return-value]
    read = {item: facts[2] for item, facts in zip(kinds.items, kinds.facts, strict=True)}
    assert read == {"OVERLAY": True, "PDR": False, "FAR": True}  # too many to be read


def test_long_texts_of_agents_are_shortened() -> None:
    """A name of 100 kB would be kept a hundred times, and leave no room on the page."""
    made, long = usual(), "x" * 100_000
    made.overlays[0].name, made.findings, made.ports = long, [long], {long: (long, 10)}
    found = Looker().look(lambda _: PlayedClient(made))  # type: ignore[arg-type, return-value]
    short = "x" * (LONGEST - 1) + "…"
    assert found.tables[OVERLAY].items[0] == short
    assert found.tables[Key("linx", "port")].items == (short,)
    assert found.pipelines["linx"]["findings"][0]["title"] == short
    assert shortened({long: [(long, 1, None)]}) == {short: [(short, 1, None)]}


def test_sessions_of_stamp_take_the_probers_place() -> None:
    sessions, said = Sessions(), usual().sessions[0]
    assert sessions.measured("linx", said).by == ""  # nothing is known of what was before
    for _ in range(100):
        said.round_trip.mean = (said.round_trip.mean * said.round_trip.count + 0.05) / (
            said.round_trip.count + 1)  # fmt: skip
        said.round_trip.count += 1
    said.sent, said.lost = 725, 28
    path = sessions.measured("linx", said)
    assert path.delay == pytest.approx(0.05) and path.loss == pytest.approx(25 / 125)
    assert path.by == "STAMP session 17"
    assert sessions.measured("linx", said) == path  # no answer since: as it was
    said.running = False
    assert sessions.measured("linx", said).by == ""
    sessions.keep(set())
    assert sessions.measured("linx", said).by == ""


def test_a_graph_has_each_header_once() -> None:
    found = graph_of(manifest())
    boxes = {box["id"]: box for box in found["boxes"]}
    assert boxes["mpls"]["members"] == ["mpls", "mpls[1]", "mpls[2]"]
    (chain,) = [box for box in boxes if "…" in box]
    assert len(boxes[chain]["members"]) == 5
    assert boxes["stage classifier"]["finds"] == ["OVERLAY", "OVERLAY6", "PDR", "PDR6"]
    assert "malformed: user: truncated" in boxes["user"]["counters"]
    order = [boxes[name]["layer"] for name in ("ethernet", "vlan", "user", "tcp")]
    assert order == sorted(set(order))
    places = [(box["layer"], box["row"]) for box in boxes.values()]
    assert len(places) == len(set(places))
    lines = {(line["source"], line["target"]) for line in found["lines"]}
    assert ("gre", "user") in lines and ("parser", "stage classifier") in lines
    assert not any(a == b for a, b in lines)


# ---- windows ------------------------------------------------------------------------------------


def test_overlays_are_sorted_and_cut() -> None:
    collector = Collector(1 << 20)
    collector.are({"e1": "a:1", "e2": "a:1"})
    collector.put("e1", overlays(1, *(0.01 * n for n in range(1, 13))))
    collector.put("e2", overlays(1, float("nan"), 0.5))
    all_ = windows.Overlays(collector, 0)

    def names(**asked: Any) -> list[tuple[str, str]]:
        found = all_.window(windows.Window(**asked))
        return [(row[0], row[2]) for row in found["rows"]]

    assert names(sort="name", most=3) == [("e1", "GRE-1"), ("e2", "GRE-1"), ("e1", "GRE-2")]
    assert names(sort="name", falling=True, most=1) == [("e1", "GRE-12")]
    assert names(sort="delay", falling=True, most=2) == [("e2", "GRE-2"), ("e1", "GRE-12")]
    assert names(sort="delay", first=13) == [("e2", "GRE-1")]  # not known: the last
    assert names(sort="delay", falling=True, first=13) == [("e2", "GRE-1")]
    assert names(edge="e2", text="gre-2") == [("e2", "GRE-2")]
    assert names(state="dead") == [] and names(first=10**9) == []
    collector.put("e2", overlays(2, 0.9, 0.5))
    assert names(sort="delay", falling=True, most=1) == [("e2", "GRE-1")]
    assert all_.window(windows.Window(edge="e2", when=1.5))["rows"][0][3][0] is None


def test_a_pipeline_that_goes_is_forgotten() -> None:
    collector = Collector(1 << 20)
    collector.are({"e": "a:1"})
    collector.put("e", overlays(1, 0.1))
    collector.measured("e", "linx", 7, [0.1])
    collector.sessions_are("e", "linx", {7})
    edge = collector.edge("e")
    assert edge is not None and edge.histograms.keys() == {("linx", 7)}
    collector.put("e", Reading(2, {}, {}, {}))
    assert not edge.histories and not edge.histograms
    collector.event("e", "", "packet", "x" * 9999)
    assert len(collector.events(0)[-1].text) == 400
