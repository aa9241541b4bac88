"""What the console costs for 100 edges with 1,000 overlays each, and frames of its page."""

from __future__ import annotations

import math
import resource
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))
from browser import Browser, chromium
from console_world import PlayedClient, console, usual
from controller.console import views, windows
from controller.console.collector import Collector
from controller.console.reading import Looker

EDGES, OVERLAYS = 100, 1000
PERIOD, MEMORY, SECONDS = 2.0, 512 << 20, 12.0
#: How long each frame took, as the page itself sees it, and tasks that kept it from drawing.
WATCH = """
window.frames = []; window.tasks = [];
new PerformanceObserver((l) => l.getEntries().forEach((e) => tasks.push(e.duration)))
  .observe({type: 'longtask'});
let last = performance.now();
const frame = (now) => { frames.push(now - last); last = now; requestAnimationFrame(frame); };
requestAnimationFrame(frame);"""
SCROLL = """
const grid = document.querySelector('[aria-label="Overlays"]'); let step = 0;
window.scrolling = setInterval(() => {
  step += 1; grid.scrollTop = (Math.sin(step / 40) + 1) / 2 * grid.scrollHeight; }, 16);"""
VIEWS = (("all edges", "view=", ""), ("all overlays", "view=overlays&span=300", ""),
         ("all overlays, scrolled", "view=overlays", SCROLL),
         ("an edge's overlays", "edge=edge007&view=overlays", ""),
         ("its overlays, scrolled", "edge=edge007&view=overlays", SCROLL),
         ("its ports", "edge=edge007", ""), ("its STAMP", "edge=edge007&view=stamp", ""),
         ("its pipeline", "edge=edge007&view=pipeline", ""))  # fmt: skip


class Fleet:
    """Edges whose overlays change at each look, put into a collector as pollers would."""

    def __init__(self, collector: Collector) -> None:
        self.collector = collector
        names = [f"edge{n:03}" for n in range(EDGES)]
        collector.are(dict.fromkeys(names, "played:1"))
        self.agents = {name: PlayedClient(usual(n, OVERLAYS)) for n, name in enumerate(names)}
        self.lookers = {name: Looker() for name in names}
        self.ended = threading.Event()

    def turn(self) -> float:
        """One look at each edge; seconds of this thread's CPU time."""
        began = time.thread_time()
        moved = 1 + 0.2 * math.sin(time.time() / 5)
        for number, (name, client) in enumerate(self.agents.items()):
            for overlay in client.agent.overlays[number::7]:
                overlay.delay *= 0.9 + 0.1 * moved
            found: Any = self.lookers[name].look(lambda _, client=client: client)  # type: ignore[misc]
            self.collector.put(name, found)
        return time.thread_time() - began

    def go_on(self) -> None:
        while not self.ended.wait(0.05):
            self.turn()


def rows() -> Iterator[str]:
    yield f"console: {EDGES} edges, {OVERLAYS:,} overlays each, a look each {PERIOD:g} s"
    collector = Collector(MEMORY)
    before = _resident()
    fleet = Fleet(collector)
    turns = [fleet.turn() for _ in range(4)]
    yield f"  a look at all edges, ms of CPU      {1000 * statistics.median(turns[1:]):9.0f}"
    yield f"  series                              {sum(e.series for e in collector.edges()):9,}"
    yield f"  samples' memory at most, MiB        {collector.held >> 20:9,} of {MEMORY >> 20}"
    all_ = windows.Overlays(collector, 0)
    for sort in ("delay", "name"):

        def window(sort: str = sort) -> object:
            return all_.window(windows.Window(sort=sort, most=60))

        yield f"  all overlays by {sort}, ms of CPU  {'':{8 - len(sort)}}{_cpu(window):9.1f}"
    edge = collector.edge("edge007")
    assert edge is not None
    yield f"  an edge's snapshot, ms of CPU       {_cpu(lambda: views.edge_now(edge)):9.1f}"
    yield f"  the fleet's snapshot, ms of CPU     {_cpu(lambda: views.fleet(collector)):9.1f}"
    yield f"  resident, MiB                       {(_resident() - before) >> 20:9,}"
    yield from _frames()


def _cpu(make: Callable[[], object]) -> float:
    """Milliseconds, the median of ten."""
    times = list[float]()
    for _ in range(10):
        began = time.thread_time()
        make()
        times.append(time.thread_time() - began)
    return 1000 * statistics.median(times)


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def _frames() -> Iterator[str]:
    names = "frames", "median", "p95", "p99", "worst", "CPU"
    yield f"  {'the page, ms a frame':28}{''.join(f'{name:>9}' for name in names)}  long tasks"
    made = list[Fleet]()
    with tempfile.TemporaryDirectory(prefix="helio-console-") as folder:
        place = Path(folder)
        with (
            chromium(place) as browser,
            console(place, {}, PERIOD, MEMORY, play=lambda c: made.append(Fleet(c))) as running,
        ):
            (fleet,) = made
            fleet.turn()
            fleet.turn()
            thread = threading.Thread(target=_slowly, args=(fleet,))
            thread.start()
            try:
                for name, where, script in VIEWS:
                    browser.open(f"{running.url}#{where}&token={running.token}")
                    time.sleep(4)
                    yield _frame_row(browser, name, script)
            finally:
                fleet.ended.set()
                thread.join()
                browser.leave()


def _slowly(fleet: Fleet) -> None:
    while not fleet.ended.wait(PERIOD):
        fleet.turn()


def _frame_row(browser: Browser, name: str, script: str) -> str:
    browser.run(WATCH + script)
    before = browser.busy()
    time.sleep(SECONDS)
    busy = 1000 * (browser.busy() - before)
    frames, tasks = browser.run("return [window.frames.slice(2), window.tasks]")
    p50, p95, p99 = np.percentile(frames, (50, 95, 99))
    return (f"  {name:28}{len(frames):9}{p50:9.1f}{p95:9.1f}{p99:9.1f}{max(frames):9.1f}"
            f"{busy / len(frames):9.1f}"
            f"  {len(tasks)}, worst {max(tasks, default=0):.0f} ms")  # fmt: skip
