"""The console of real agents: what it shows is what they say, and it goes on when they do."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.request
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from controller.console.collector import Collector, Edge
from controller.console.poller import Pollers
from controller.console.start import make_reader
from controller.console.views import edge_now
from cryptography import x509
from fleet_world import DROP, Edges, edges, plain
from helioc.runtime.base.certs import new_authority
from helioc.runtime.rpc.access import NEEDED, may
from lab import Background, Lab, until
from leaks import PREFIX
from stamp_world import REFLECTOR4, agents, stamp_ends

MAIN = Path(__file__).parents[2] / "examples" / "controller" / "main.py"


def known(collector: Collector, name: str) -> Edge:
    until(lambda: collector.edge(name), "it is known")
    edge = collector.edge(name)
    assert edge is not None
    return edge


def rows(edge: Edge, group: str) -> dict[str, Any]:
    """Items of a group with their facts by name."""
    found = [each for each in edge_now(edge).get("tables", []) if each["group"] == group]
    return {
        item: dict(zip(table["facts"], facts, strict=True))
        for table in found for item, _, facts in table["rows"]
    }  # fmt: skip


def texts(collector: Collector, sort: str) -> list[str]:
    """Of the events of a sort, oldest first."""
    return [each.text for each in collector.events(0) if each.sort == sort]


def test_an_edge_is_shown_lost_and_found(kernel: None, tmp_path: Path) -> None:
    with ExitStack() as owned:
        one: Edges = owned.enter_context(edges(tmp_path, "one"))
        world, collector = one.worlds["one"], Collector(1 << 22)
        targets = {"one": world.address}
        owned.enter_context(closing(Pollers(collector, plain, 0.2, lambda: targets)))
        edge = known(collector, "one")
        until(lambda: edge.reading, "it was looked at")
        with world.client() as client:
            client.apply(f"create {DROP}")
            (status,) = client.status().pipelines
        until(lambda: rows(edge, "kind")["FAR"]["rules"] == 1, "the new rule")
        assert rows(edge, "port").keys() == {port.name for port in status.ports}
        assert {p["state"] for p in rows(edge, "port").values()} == {p.state for p in status.ports}
        until(lambda: texts(collector, "rules"), "the change is told")
        (told,) = texts(collector, "rules")
        assert re.fullmatch(r"revision \d+: 1 created \(FAR 1\)", told)
        graph = edge.graphs[world.name][1]
        assert {box["id"] for box in graph["boxes"]} >= {"ethernet", "stage classifier"}
        one.agents["one"].stop(signal.SIGKILL)
        until(lambda: edge.state == "unreachable", "it is gone")
        assert "no agent answers" in edge.why and rows(edge, "port")  # as it was
        owned.enter_context(world.agent())
        until(lambda: edge.state == "reachable", "it is back")
        said = texts(collector, "edge")
        assert said[-1] == "reachable" and said[-2].startswith("unreachable: no agent answers")


def test_sessions_of_stamp_are_measured(kernel: None, tmp_path: Path) -> None:
    with Lab(f"{PREFIX}console-") as lab, stamp_ends(lab, tmp_path) as ends, agents(ends):
        ends.measured(17, REFLECTOR4, interval=0.02, name="GRE-WAN1")
        collector, targets = Collector(1 << 22), {"sender": ends.sender.address}
        with closing(Pollers(collector, plain, 0.2, lambda: targets)):
            edge = known(collector, "sender")
            until(lambda: rows(edge, "session"), "its session is known")
            ends.client.start_stamp_session(17, 1.0)
            key = ends.sender.name, 17
            until(lambda: rows(edge, "session")["GRE-WAN1"]["answered"] == 50, "all are answered")
            until(lambda: key in edge.histograms, "results")
            counted, now = edge.histograms[key], collector.now()
            until(lambda: counted.until(now + 60, 3).sum() == 50, "each is in the histogram")
        ends.client.reset_stamp()


def test_a_console_only_reads() -> None:
    """What it asks agents for is for the role `read`."""
    asked = ("Status", "Stats", "GetSchema", "List", "ListIntents", "ListStampSessions", "Watch",
             "WatchStampResults")  # fmt: skip
    assert all(may("read", NEEDED[each] or "read") for each in asked)


@pytest.fixture
def quiet(tmp_path: Path) -> Path:
    path = tmp_path / "wanted.yaml"
    path.write_text("edges: {one: {address: '127.0.0.1:1'}}\n")
    return path


def test_the_controller_serves_it(quiet: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    words = [sys.executable, str(MAIN), "--state", str(state)]
    subprocess.run([*words, "init", "--host", "127.0.0.1"], check=True, capture_output=True)
    (state / "office.pem").rename(state / "kept")  # no TLS: then the loopback only
    refused = subprocess.run(
        [*words, "run", "--file", str(quiet), "--console", "0.0.0.0:0"],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert refused.returncode != 0 and "H0807" in refused.stderr
    assert "Traceback" not in refused.stderr
    process = Background((*words, "run", "--file", str(quiet), "--console", "127.0.0.1:0"))
    try:
        said = process.expect("the console is at")
        (url,) = re.findall(r"http://127\.0\.0\.1:\d+/", said)
        token = (state / "console.token").read_text().strip()
        request = urllib.request.Request(
            f"{url}api/edge?edge=one", headers={"Authorization": f"Bearer {token}"}
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            assert json.load(answer)["name"] == "one"
        assert (state / "reader.pem").exists()
    finally:
        process.stop()


def test_who_reads_is_no_controller(tmp_path: Path) -> None:
    """The identity of the console is one of the role `read`."""
    new_authority(tmp_path)
    pem = make_reader(tmp_path).with_suffix(".pem").read_bytes()
    names = x509.load_pem_x509_certificate(pem).extensions.get_extension_for_class(
        x509.SubjectAlternativeName
    )
    uris = names.value.get_values_for_type(x509.UniformResourceIdentifier)
    assert uris == ["urn:helio:role:read"]
