"""What is counted, as Prometheus reads it; and that the dashboard asks for what there is."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from agent_world import EDGE, World
from helioc.compiler.bundle import compile_pipeline
from helioc.compiler.driver import check_file, lower_pipeline
from helioc.compiler.manifest import manifest_of
from helioc.lang.contract.manifest.manifest import Manifest
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.base.latency_stats import Histogram, LatencyReport, read_latency
from helioc.runtime.edge.overlay_health import Quality
from helioc.runtime.edge.overlay_status import OverlayStatus
from helioc.runtime.kernel.netlink import Counts
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.observe.metrics import Metrics, _Families, busiest, gained, render
from helioc.runtime.observe.metrics_server import MetricsServer
from helioc.runtime.observe.port_sample import PortSample
from helioc.runtime.observe.sampling import KindSample, Sample
from helioc.runtime.observe.top import TopView, _short, watched
from lab import until
from linx_world import PIPELINES, linx_manifest
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families

DASHBOARD = Path(__file__).parents[3] / "examples" / "grafana" / "helio.json"
DOCS = Path(__file__).parents[3] / "docs" / "metrics.md"


def counted(kind: Any, *rules: tuple[int, int, int]) -> KindSample:
    """Rules as (cell, sequence, packets); each packet has 100 bytes."""
    table = np.array(rules, np.uint64).reshape(-1, 3)
    counts = np.stack([table[:, 2], table[:, 2] * np.uint64(100)], axis=1)
    masks = None if kind.fixed else 3
    return KindSample(kind, len(table), masks, table[:, 0].astype(np.int64), table[:, 1], counts)


@pytest.fixture(scope="module")
def manifest() -> Manifest:
    pipeline = check_file(PIPELINES / "vxlan_gateway.hp")
    return manifest_of(pipeline, lower_pipeline(pipeline))


def made(manifest: Manifest, number: int) -> Sample:
    events = [(counter, counter.index) for counter in manifest.counters]
    kinds = [counted(kind, (1, 7, 5), (2, 8, number)) for kind in manifest.rules]
    states = [(state, 9) for state in manifest.states]
    ports = [
        PortSample("A", "access", "eth1", "up", Counts(*range(10, 18))),
        PortSample("B", "underlay", "eth2", "gone", None),
    ]
    overlays = [
        OverlayStatus("OVERLAY", "GRE-1", Quality("dead", 0.5, 0.02, 0.001, 10, 5)),
        OverlayStatus("OVERLAY", "GRE-2", Quality("dead", 1.0, 0.0, 0.0, 10, 0)),
    ]
    force, answer = Histogram(0.5, (4, 0, 1, *[0] * 12)), Histogram(0.0, (0,) * 15)
    tally = LatencyReport(3, 1e9, 2, force, answer, 1, {"disk": 0.4, "turn": 0.1})
    return Sample(
        1.0, "gateway", "d1", (3 << 16) + 2, events, kinds, states, ports, overlays, tally
    )


def rule_in(kind: Any, cell: int) -> Any:
    """The one in cell 1 has gone meanwhile."""
    return SimpleNamespace(kind=kind.name, id=4, name="", sequence=8) if cell == 2 else None


def samples(manifest: Manifest, *numbers: int, rules_of: tuple[str, ...] = ()) -> dict[str, Any]:
    """The metrics after so many looks: values by name and labels."""
    metrics = Metrics()
    for number in numbers:
        found, sample = _Families(), made(manifest, number)
        reader: Any = SimpleNamespace(manifest=manifest, incarnation="x", rule_in=rule_in)
        metrics._pipeline(found, reader, sample, rules_of)
    text = render(list(found), generate_latest).decode()
    return {
        f"{sample.name}{dict(sorted(sample.labels.items()))}": sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def names(manifest: Manifest) -> set[str]:
    """Every metric there is: LINX has no state, the gateway no masks that change."""
    found = {"helio_scrape_seconds", "helio_journal_losses"}
    for each in (manifest, linx_manifest()):
        kinds = tuple(kind.name for kind in each.rules)
        found |= {name.partition("{")[0] for name in samples(each, 3, rules_of=kinds)}
    return found


def test_values(manifest: Manifest) -> None:
    found = samples(manifest, 3)

    def value(name: str, **labels: str) -> float:
        return float(
            found[f"helio_{name}{dict(sorted({'pipeline': 'gateway', **labels}.items()))}"]
        )

    index = {(c.group, c.reason): c.index for c in manifest.counters}
    assert value("revision") == (3 << 16) + 2 and value("epoch") == 2
    assert value("packets_total", verdict="drop") == index["verdict", "drop"]
    assert value("drops_total", reason="ecn") == index["drop", "ecn"]
    errors = {"node": "outer", "error": "truncated"}
    assert value("parse_errors_total", **errors) == index["malformed", "outer: truncated"]
    assert value("misses_total", kind="FDB") == index["miss", "FDB"]
    assert value("rule_packets_total", kind="STATION") == 8
    assert value("rule_bytes_total", kind="STATION") == 800
    assert value("rules", kind="STATION") == 2
    assert value("rules_capacity", kind="STATION") == manifest.rule("STATION").capacity
    assert value("state_entries", state="FDB") == 9
    port = {"port": "A", "role": "access", "interface": "eth1"}
    assert value("port_up", **port) == 1
    assert value("port_receive_packets_total", **port) == 10
    assert value("port_transmit_drops_total", **port) == 17
    assert value("port_up", port="B", role="underlay", interface="eth2") == 0
    overlay = {"kind": "OVERLAY", "overlay": "GRE-1"}
    assert value("overlay_delay_seconds", **overlay) == 0.02
    assert value("overlay_jitter_seconds", **overlay) == 0.001
    unanswered = {name.partition("{")[0] for name in found if "GRE-2" in name}
    assert "helio_overlay_loss_ratio" in unanswered
    assert not unanswered & {"helio_overlay_delay_seconds", "helio_overlay_jitter_seconds"}
    assert not any("single_rule" in name for name in found)
    in_force = {
        le: value("request_seconds_bucket", step="force", le=le)
        for le in ("5e-05", "0.0001", "0.00025", "5.0", "+Inf")
    }
    assert list(in_force.values()) == [4, 4, 5, 5, 5]
    assert value("request_seconds_sum", step="force") == 0.5
    assert value("slow_requests_total") == 1
    assert value("slow_request_seconds_total", wait="turn") == 0.1
    assert value("requests_refused_total") == 2 and value("agent_starts_total") == 3


def test_single_rules_where_they_are_asked_for(manifest: Manifest) -> None:
    found = samples(manifest, 3, rules_of=("STATION",))
    single = {name: value for name, value in found.items() if "single_rule" in name}
    assert sorted(single.values()) == [3, 300]
    assert all("'id': '4'" in name for name in single)


def test_no_number_of_rules_makes_more_series(manifest: Manifest) -> None:
    few, many = _Families(), _Families()
    reader: Any = SimpleNamespace(manifest=manifest, incarnation="x")
    for found, rules in ((few, 1), (many, 5000)):
        kinds = [counted(k, *((n, n, n) for n in range(1, rules))) for k in manifest.rules]
        sample = Sample(1.0, "gateway", "d1", 1, [], kinds, [], [])
        Metrics()._pipeline(found, reader, sample, ())
    assert [len(f.samples) for f in few] == [len(f.samples) for f in many]


def test_counters_go_on_where_rules_go(manifest: Manifest) -> None:
    kind = manifest.rule("STATION")
    first = counted(kind, (1, 7, 10), (2, 8, 20))
    assert gained(None, first).sum(axis=0).tolist() == [30, 3000]
    # 7 counted two more, 8 is gone, and its cell has another rule
    assert gained(first, counted(kind, (1, 7, 12), (2, 9, 4)))[:, 0].tolist() == [2, 4]
    # counters that began anew, and a cell further up than any
    assert gained(first, counted(kind, (1, 7, 3), (90, 10, 1)))[:, 0].tolist() == [3, 1]
    assert gained(first, counted(kind)).shape == (0, 2)
    # an upgrade gave both other cells
    assert gained(first, counted(kind, (1, 8, 21), (3, 7, 10)))[:, 0].tolist() == [1, 0]
    values = samples(manifest, 20, 4, 6)
    assert (
        values["helio_rule_packets_total{'kind': 'STATION', 'pipeline': 'gateway'}"] == 25 + 4 + 2
    )


def test_the_busiest() -> None:
    values = np.array([3, 0, 9, 9, 1], np.uint64)
    assert busiest(values, 2) in ([2, 3], [3, 2])
    assert busiest(values, 9)[2:] == [0, 4]
    assert busiest(values[:0], 3) == [] == busiest(values, 0)


def test_top_shows_no_delay_where_nothing_was_answered(manifest: Manifest) -> None:
    now = made(manifest, 3)
    rows = [line.text.split() for line in TopView(now, now, []).lines() if "GRE-" in line.text]
    assert rows == [["GRE-1", "dead", "50%", "20", "ms", "1", "ms"],
                    ["GRE-2", "dead", "100%", "-", "-"]]  # fmt: skip


def test_top_shows_state_tables(manifest: Manifest) -> None:
    now = made(manifest, 3)
    lines = [line.text.split() for line in TopView(now, now, []).lines()]
    (state,) = manifest.states
    at = lines.index(["state", "entries"])
    assert lines[at + 1] == [state.name, "9", "of", f"{state.capacity:,}"]


def test_rates_are_short() -> None:
    rates = [0, 0.5, 9.5, 99.6, 999, 1000, 12_345, 999_400, 1_234_567, 5e9, 7e15]
    assert [_short(rate) for rate in rates] == [
        "0", "0.50", "9.50", "99.6", "999", "1k", "12.3k", "999k", "1.23M", "5G", "7000T",
    ]  # fmt: skip


# ---- the dashboard and the page -------------------------------------------------------------


def asked_by_dashboard() -> Iterator[str]:
    board = json.loads(DASHBOARD.read_text())
    for variable in board["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["query"]
    for panel in board["panels"]:
        assert panel["targets"], panel["title"]
        for target in panel["targets"]:
            yield target["expr"]


def test_the_dashboard_asks_for_metrics_that_there_are(manifest: Manifest) -> None:
    there, asked = names(manifest), set[str]()
    for query in asked_by_dashboard():
        found = set(re.findall(r"helio_\w+", query))
        assert found and found <= there, query
        asked |= found
    unseen = {n for n in there - asked if "single_rule" not in n and n != "helio_epoch"}
    assert not unseen


def test_the_page_lists_them(manifest: Manifest) -> None:
    text = DOCS.read_text()
    for name in names(manifest):
        stem = re.sub(r"_(packets|bytes|drops|errors)_total$", "_…_total", name)
        stem = re.sub(r"_(bucket|sum|count)$", "", stem)
        assert f"`{name}`" in text or f"`{stem}`" in text, name


# ---- over HTTP ------------------------------------------------------------------------------


class Fixed(Metrics):
    def __init__(self) -> None:
        super().__init__()
        self.looks: list[tuple[str, ...]] = []

    def kinds(self) -> set[str]:
        return {"PDR", "FAR", "BROKEN"}

    def families(self, rules_of: Any) -> Any:
        self.looks.append(tuple(rules_of))
        if "BROKEN" in rules_of:
            raise OSError("no")
        found = _Families()
        found.gauge("revision", "r", {"pipeline": "p"}, 4)
        return list(found)


def get(port: int, path: str, method: str = "GET", **headers: str) -> tuple[int, str, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.headers["Content-Type"], answer.read().decode()
    finally:
        connection.close()


def test_over_http() -> None:
    metrics = Fixed()
    with MetricsServer(socket.create_server(("127.0.0.1", 0)), metrics) as server:
        status, form, text = get(server.port, "/metrics")
        assert status == 200 and form.startswith("text/plain")
        assert 'helio_revision{pipeline="p"} 4.0\n' in text
        assert get(server.port, "/metrics")[2] == text and metrics.looks == [()]  # for a second
        assert get(server.port, "/metrics?rules=PDR&rules=FAR")[0] == 200
        assert metrics.looks[1:] == [("FAR", "PDR")]
        accept = "application/openmetrics-text; version=1.0.0"
        assert get(server.port, "/metrics", Accept=accept)[2].endswith("# EOF\n")
        assert get(server.port, "/metrics", "HEAD")[2] == ""
        assert get(server.port, "/")[0] == get(server.port, "/metrics/x")[0] == 404
        assert get(server.port, "/metrics?rules=BROKEN")[0] == 500
        status, _, text = get(server.port, "/metrics?rules=PDR&rules=FOO")
        assert status == 400 and "there are BROKEN, FAR, PDR" in text
        assert get(server.port, "/metrics", "POST")[0] == 501
        assert get(server.port, "/metrics")[0] == 200


def test_who_says_nothing_gives_way() -> None:
    with MetricsServer(socket.create_server(("127.0.0.1", 0)), Fixed()) as server:
        silent = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(100)]
        try:
            assert get(server.port, "/metrics")[0] == 200
        finally:
            for each in silent:
                each.close()


# ---- of a pipeline that is loaded -----------------------------------------------------------


def load(here: World) -> None:
    bundle = compile_pipeline(check_file(PIPELINES / "linx.hp"))
    with here.client() as client:
        client.load(Bundle(bundle.manifest, bundle.object), EDGE)
        client.apply("create FAR 1 [(action, u8, DROP)], PDR 1 [(dst_port, u16, 7), FAR 1]")


def children(pid: int) -> list[int]:
    """Processes that any of its threads started."""
    texts = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    return [int(word) for text in texts for word in text.split()]


def test_by_the_agent_whatever_its_reader_meets(here: World) -> None:
    """Served by the process that reads; when that dies there is another."""
    with here.edge.inside_thread(lambda: socket.create_server(("127.0.0.1", 0))) as probe:
        port = probe.getsockname()[1]
    here.edge.ip("link", "set", "lo", "up")

    def scraped() -> str:
        return here.edge.inside_thread(lambda: get(port, "/metrics")[2])

    with here.agent("--metrics", f"127.0.0.1:{port}") as process:
        load(here)
        text = scraped()
        assert f'helio_rules{{kind="PDR",pipeline="{here.name}"}} 1.0' in text
        assert f'helio_port_up{{interface="lan0",pipeline="{here.name}",port="LAN"' in text
        before = children(process.pid)
        assert len(before) == 1  # another comes for who lists
        os.kill(before[0], signal.SIGKILL)
        until(lambda: set(children(process.pid)) - set(before), "another reader")
        assert "helio_revision" in scraped()
        with pytest.raises(Refused), here.client() as client:
            client.apply("delete FAR 1")
        process.stop(signal.SIGKILL)
    first = read_latency(here.name)
    assert first is not None and (first.starts, first.refused) == (1, 1)
    assert sum(first.force.counts) == sum(first.answer.counts) == 1
    assert 0 < first.force.sum < 1 and first.answer.sum > 0
    with here.agent(), here.client() as client:
        client.apply("create FAR 2 [(action, u8, DROP)]", key="once")
        client.apply("create FAR 2 [(action, u8, DROP)]", key="once")
        text = here.ctl("metrics")
        assert f'helio_agent_starts_total{{pipeline="{here.name}"}} 2.0' in text
        at = f'{{pipeline="{here.name}",step="force"}}'
        assert f"helio_request_seconds_count{at} 2.0" in text
        client.unload()
        assert read_latency(here.name) is None


def test_once_and_top(here: World) -> None:
    with here.agent():
        load(here)
        text = here.ctl("metrics")
        assert f'helio_rules_capacity{{kind="FAR",pipeline="{here.name}"}}' in text
        assert "single_rule" not in here.ctl("metrics", "--rules", "PDR")  # none has counted
        said = here.ctl("top", "--once", "--interval", "0.1")
        assert said.startswith(f"{here.name}  revision ")
        assert re.search(r"^LAN +lan +lan0 ", said, re.M)
        assert re.search(r"^PDR +0 +0 +1 of ", said, re.M)
        screens = here.edge.inside_thread(lambda: watched(here.name, 0.01, 3, screen=True))
        shown = here.edge.inside_thread(lambda: next(screens))
        assert shown.startswith("\x1b[?25l\x1b[H") and shown.endswith("\x1b[J")
        screens.close()  # type: ignore[attr-defined]
