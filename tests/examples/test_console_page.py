"""The console's page in a browser: what is drawn is what agents said, and none of it is run."""

from __future__ import annotations

import csv
import os
import re
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser, chromium, missing
from console_world import Played, Running, console, session, usual
from helioc.runtime.rpc import control_pb2 as pb
from lab import until

HOSTILE = ("<img src=x onerror=\"document.title='owned'\">", "=cmd|' /C calc'!A0",
           "'><script>document.title='owned'</script>", "\u202egnp.exe", "x" * 300)  # fmt: skip


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if what := missing():
        why = f"the console's page needs a browser, but there is no {what}"
        if os.environ.get("CI") == "true":
            pytest.fail(f"CI must run every test: {why}", pytrace=False)
        pytest.skip(why)
    with chromium(tmp_path_factory.mktemp("chromium")) as made:
        yield made


@pytest.fixture
def agents() -> dict[str, Played]:
    return {"edge1": usual(), "edge2": usual(1, 3)}


@pytest.fixture
def running(agents: dict[str, Played], browser: Browser, tmp_path: Path) -> Iterator[Running]:
    with console(tmp_path, agents) as made:
        yield made
        browser.leave()


def _open(browser: Browser, running: Running, where: str) -> None:
    browser.open(f"{running.url}#{where}&token={running.token}")


def _cells(browser: Browser, label: str) -> list[list[str]]:
    """What the rows of a table show, in their order."""
    script = """
        const rows = [...document.querySelectorAll(`[aria-label="${arguments[0]}"] .rows .row`)];
        return rows.filter((row) => !row.hidden).sort((a, b) => a.ariaRowIndex - b.ariaRowIndex)
          .map((row) => [...row.children].map((cell) => cell.textContent));"""
    return [[str(cell) for cell in row] for row in browser.run(script, label)]


def _cell(browser: Browser, label: str, row: int, column: int) -> str:
    """Empty as long as there is no such row."""
    rows = _cells(browser, label)
    return rows[row][column] if rows else ""


def _saved_csv(browser: Browser) -> list[list[str]]:
    with browser.saved(".csv").open(newline="") as file:
        return list(csv.reader(file))


def test_a_token_is_asked_for(browser: Browser, running: Running) -> None:
    browser.open(running.url)
    browser.shows("dialog[open]", "Token")
    assert _cells(browser, "Edges") == []
    give = "const input = document.querySelector('#token'); input.value = arguments[0]"
    browser.run(give, "x" * 40)
    browser.click("dialog button")
    browser.shows("#login-error", "this is not the token")
    browser.run(give, running.token)
    browser.click("dialog button")
    browser.until(lambda: len(_cells(browser, "Edges")) == 2, "the fleet is shown")
    browser.errors()  # of the refusals


def test_what_is_drawn_is_what_agents_said(browser: Browser, running: Running) -> None:
    _open(browser, running, "edge=edge1&view=overlays")
    browser.until(lambda: len(_cells(browser, "Overlays")) == 6, "overlays are shown")
    first, *_, last = _cells(browser, "Overlays")
    assert first[:2] == ["GRE-WAN1", "alive"] and first[9] == "probes"
    assert [first[3], first[4], first[5]] == ["4.00 ms", "200 µs", "1.00 %"]
    assert last[:2] == ["GRE-WAN6", "dead"] and last[5] == "100 %"
    # 1,500 of 1,500 + 750 + 375 + 187.5 + 93.75 packets a second
    browser.until(lambda: _cell(browser, "Overlays", 0, 6)[:2] in ("51", "52"), "its share")
    assert "token" not in browser.run("return location.href")
    script = """
        const lines = document.querySelectorAll('[aria-label="Delay"] .legend li');
        return [...lines].map((line) => [...line.children].map((each) => each.textContent));"""
    browser.until(lambda: "4.00 ms" in str(browser.run(script)), "it is drawn")
    assert [each[1:] for each in browser.run(script)] == [
        ["GRE-WAN1", "4.00 ms"], ["GRE-WAN2", "8.00 ms"], ["GRE-WAN3", "12.0 ms"],
        ["GRE-WAN4", "16.0 ms"], ["GRE-WAN5", "20.0 ms"],
    ]  # fmt: skip
    assert browser.errors() == []
    assert all(each.startswith(running.url) for each in browser.requests())


def test_a_plot_is_saved_as_csv_and_png(browser: Browser, running: Running) -> None:
    _open(browser, running, "edge=edge1&view=overlays&pick=GRE-WAN2")
    browser.until(lambda: len(_cells(browser, "Overlays")) == 6, "overlays are shown")
    browser.click('[aria-label="Delay"] button', "CSV")
    head, *rows = _saved_csv(browser)
    assert head == ["time", "unix_seconds", "GRE-WAN2 (s)"]
    assert rows and {row[2] for row in rows} == {"0.008"}
    assert abs(float(rows[-1][1]) - time.time()) < 5
    browser.click('[aria-label="Delay"] button', "PNG")
    drawn = browser.saved(".png").read_bytes()
    width, height = struct.unpack("!II", drawn[16:24])
    assert drawn.startswith(b"\x89PNG") and width > 200 and height > 150
    browser.clear()


def test_sessions_and_their_histogram(
    browser: Browser, running: Running, agents: dict[str, Played]
) -> None:
    agents["edge2"].measure(17, *([0.010] * 90), *([0.1] * 10))
    _open(browser, running, "edge=edge2&view=stamp")
    browser.shows('[aria-label="Histogram of round trips"] .legend', "100 results")
    (row,) = _cells(browser, "Sessions of STAMP")
    assert row[:4] == ["17", "GRE-WAN1", "198.51.100.2", "running"]
    assert row[9:12] == ["600", "597", "3"]
    agents["edge2"].sessions[0] = session(17, "GRE-WAN1")
    more = agents["edge2"].sessions[0]
    for way, mean in ((more.round_trip, 0.02), (more.forward, 0.012), (more.backward, 0.008)):
        way.mean = (way.mean * way.count + 100 * mean) / (way.count + 100)
        way.count += 100
    more.sent, more.answered = 700, 697
    browser.until(
        lambda: _cells(browser, "Sessions of STAMP")[0][4:7] == ["20.0 ms", "12.0 ms", "8.00 ms"],
        "the means of the last hundred",
    )


def test_the_graph_has_numbers_where_packets_are_counted(
    browser: Browser, running: Running
) -> None:
    _open(browser, running, "edge=edge1&view=pipeline")
    browser.shows(".graph", "classifier")
    browser.until(lambda: re.search(r"3\.8\d kp/s", browser.text(".graph")), "verdicts a second")
    said = browser.text(".graph")
    assert re.search(r"PDR 3\.\d\d kp/s, missed \d\d", said) and "p/s malformed" in said
    lines = browser.run(
        "return [...document.querySelectorAll('.graph path')].map((e) => e.getAttribute('class'))"
    )
    assert lines.count("flow") == 6  # in, from the parser to the stages, to four verdicts
    assert browser.run("return document.querySelectorAll('.graph .rate').length") == 2
    browser.click(".bar button", "PNG")
    assert browser.saved(".png").read_bytes().startswith(b"\x89PNG")
    browser.clear()
    assert browser.errors() == []


def test_an_edge_that_does_not_answer(
    browser: Browser, running: Running, agents: dict[str, Played]
) -> None:
    _open(browser, running, "edge=edge2")
    browser.until(lambda: len(_cells(browser, "Ports")) == 3, "its ports")
    agents["edge2"].silent = "no agent answers at `192.0.2.2:50051`"
    try:
        browser.shows("#banner", "edge2 has not answered since")
        assert "no agent answers at `192.0.2.2:50051`" in browser.text("#banner")
        assert len(_cells(browser, "Ports")) == 3  # as they were
        browser.shows("#list", "no answer for")
    finally:
        agents["edge2"].silent = ""
    browser.until(lambda: not browser.text("#banner"), "it answers again")


def test_a_link_leads_to_a_point_in_time(
    browser: Browser, running: Running, agents: dict[str, Played]
) -> None:
    overlay = agents["edge1"].overlays[0]
    edge = running.collector.edge("edge1")
    browser.until(lambda: edge is not None and edge.heard, "it was looked at")
    looked = time.time()
    until(lambda: time.time() > looked + 1.1, "a link has whole seconds")
    then = int(time.time())
    until(lambda: time.time() > then + 0.1, "the change is later")
    overlay.delay = 0.5
    try:
        _open(browser, running, "edge=edge1&view=overlays&pick=GRE-WAN1")
        browser.until(lambda: _cell(browser, "Overlays", 0, 3) == "500 ms", "what is now")
        browser.run(
            "location.hash = arguments[0]", f"edge=edge1&view=overlays&pick=GRE-WAN1&t={then}"
        )
        browser.shows("#banner", "This is the past")
        browser.until(lambda: _cell(browser, "Overlays", 0, 3) == "4.00 ms", "what was then")
        browser.shows('[aria-label="Delay"] .legend', "4.00 ms")
        browser.click("#live")
        browser.until(lambda: _cell(browser, "Overlays", 0, 3) == "500 ms", "what is now")
        assert "t=" not in browser.run("return location.hash").replace("pick=", "")
    finally:
        overlay.delay = 0.004


def test_nothing_that_a_name_contains_is_run(browser: Browser, tmp_path: Path) -> None:
    made = usual(0, len(HOSTILE))
    for overlay, name in zip(made.overlays, HOSTILE, strict=True):
        overlay.name = name
    made.ports = {HOSTILE[0]: ("lan", 10)}
    made.findings = [HOSTILE[2]]
    made.sessions = [session(1, HOSTILE[0]), session(2, HOSTILE[2])]
    made.intents[0].id = HOSTILE[1]
    made.counters["count", HOSTILE[0]] = 5
    edge = HOSTILE[0]
    made.said.append(pb.Event(pipeline="linx", overlay=pb.Overlay(name=HOSTILE[2])))
    with console(tmp_path, {edge: made}) as running:
        for view in ("", "overlays", "stamp", "slices", "pipeline", "events"):
            _open(browser, running, f"view={view}")
            browser.run(
                "location.hash = new URLSearchParams(arguments[0])", {"edge": edge, "view": view}
            )
            browser.shows("#head", edge)
            browser.until(
                lambda: browser.run("return document.querySelector('#view').innerText.length") > 80,
                view,
            )
            assert browser.run("return document.querySelectorAll('img, #view script').length") == 0
        browser.run(
            "location.hash = new URLSearchParams(arguments[0])", {"edge": edge, "view": "overlays"}
        )
        browser.until(lambda: len(_cells(browser, "Overlays")) == 5, "overlays are shown")
        assert {row[0] for row in _cells(browser, "Overlays")} == set(HOSTILE)
        browser.until(
            lambda: browser.run("return document.querySelectorAll('.canvas canvas').length") >= 3,
            "plots",
        )
        browser.click('[aria-label="Delay"] button', "CSV")
        head = _saved_csv(browser)[0]
        assert "'=cmd|' /C calc'!A0 (s)" in head  # text for a spreadsheet, not a formula
        browser.clear()
        assert browser.run("return document.title") == "Helio console"
        assert browser.errors() == []
        browser.leave()


def test_a_page_of_many_overlays_has_few_elements(browser: Browser, tmp_path: Path) -> None:
    agents = {f"edge{n}": usual(n, 600) for n in range(3)}
    with console(tmp_path, agents) as running:
        _open(browser, running, "view=overlays")
        browser.shows("#view", "1,800 overlays")
        grid = "const grid = document.querySelector('[aria-label=\"Overlays\"]'); "
        browser.run(f"{grid} grid.scrollTop = grid.scrollHeight")
        browser.until(lambda: _cell(browser, "Overlays", -1, 1) == "GRE-WAN600", "the last")
        assert browser.run(f"{grid} return grid.querySelectorAll('.row').length") < 100
        browser.leave()
