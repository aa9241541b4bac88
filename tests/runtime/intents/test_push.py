"""Reports pushed to a collector: as it reads them, and whatever it does."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from helioc.runtime.base.certs import make_authority
from helioc.runtime.edge.push_settings import PUSH, Push
from helioc.runtime.edge.read_config import Host, read_config
from helioc.runtime.intents import pusher
from helioc.runtime.intents.otlp import request
from helioc.runtime.intents.push_status import (
    OUTCOMES,
    PushStatus,
    read_push_status,
    remove_push_status,
    write_push_status,
)
from helioc.runtime.intents.reports import Report, Reports
from helioc.runtime.intents.sink import Sink
from helioc.runtime.intents.store import Intent
from helioc.runtime.kernel.netlink import Link
from helioc.runtime.loading.bundle import read_bundle
from lab import Lab, until
from slice_world import EDGE, bundle, frame, intent, slice_world

VIDEO = Intent("slice", "video-17", "<intent>", "", 1000.0, None, "active", serial=1)
LATER = Intent("slice", "later", "<intent>", "", 2000.0, None, serial=2)
REPORTS = Reports(
    1010.5, 10.0, [Report(VIDEO, 7, 700, 5, 500, 0.25, 3, (0, 7, 0, 0, 0, 0, 0)),
                   Report(LATER, 0, 0, 0, 0, None, None, ())],
    1, 2, [0.5, 1.0], None, 4,
)  # fmt: skip
COUNTS = {"sent": 4, "dropped": 1, "failed": 2}


# ---- as a collector reads them --------------------------------------------------------------


def points(content: dict[str, Any], name: str) -> list[dict[str, Any]]:
    (found,) = content["resourceMetrics"]
    (scope,) = found["scopeMetrics"]
    (metric,) = [each for each in scope["metrics"] if each["name"] == name]
    (data,) = [each for each in metric.values() if isinstance(each, dict)]
    made: list[dict[str, Any]] = data["dataPoints"]
    return made


def attributes(point: dict[str, Any]) -> dict[str, str]:
    return {each["key"]: each["value"]["stringValue"] for each in point["attributes"]}


def test_a_report_is_metrics() -> None:
    content = json.loads(json.dumps(request(REPORTS, "slice", COUNTS, 900.0)))
    resource = content["resourceMetrics"][0]["resource"]
    assert attributes(resource)["helio.pipeline"] == "slice"
    video, later = points(content, "helio.intent.packets")
    assert attributes(video) == {"helio.intent": "video-17"}
    assert video["asInt"] == "7" and later["asInt"] == "0"
    assert (video["startTimeUnixNano"], video["timeUnixNano"]) == ("1000000000000", "1010500000000")
    assert later["startTimeUnixNano"] == later["timeUnixNano"]  # it begins later
    assert [p["asInt"] for p in points(content, "helio.intent.io")] == ["700", "0"]
    assert [p["asInt"] for p in points(content, "helio.intent.active")] == ["1", "0"]
    (cpu,) = points(content, "helio.intent.cpu")  # of the other it was not measured
    assert cpu["asDouble"] == 0.25
    (lost,) = points(content, "helio.intent.lost_at_most")
    assert lost["asInt"] == "3" and lost["startTimeUnixNano"] == "1000500000000"
    (size,) = points(content, "helio.intent.packet_size")
    assert size["count"] == "7" and size["bucketCounts"] == ["0", "7", "0", "0", "0", "0", "0"]
    assert len(size["explicitBounds"]) == len(size["bucketCounts"]) - 1
    drops = {
        attributes(p)["helio.drop.by"]: p["asInt"] for p in points(content, "helio.host.drops")
    }
    assert drops == {"cpu": "1", "port": "2", "queue": "4"}
    assert [p["asDouble"] for p in points(content, "helio.host.cpu")] == [0.5, 1.0]
    outcomes = points(content, "helio.reports")
    assert {attributes(p)["helio.report.outcome"]: int(p["asInt"]) for p in outcomes} == COUNTS
    assert "helio.packet.time" not in json.dumps(content)  # not measured


# ---- collectors -----------------------------------------------------------------------------


@dataclass
class Collector:
    """Answers with the next of `statuses`, and then with the last. `got`: contents that it took."""

    statuses: list[int] = field(default_factory=lambda: [200])
    headers: dict[str, str] = field(default_factory=dict)
    answer: bytes = b"{}"
    got: list[dict[str, Any]] = field(default_factory=list)
    asked: list[dict[str, str]] = field(default_factory=list)
    port: int = 0

    @contextmanager
    def serve(self, tls: ssl.SSLContext | None = None) -> Iterator[Collector]:
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.asked.append({"path": self.path, **self.headers})
                left = collector.statuses
                status = left.pop(0) if len(left) > 1 else left[0]
                if status == 200:
                    collector.got.append(json.loads(body))
                self.send_response(status)
                for name, value in collector.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(collector.answer)))
                self.end_headers()
                self.wfile.write(collector.answer)

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        self.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield self
        finally:
            server.shutdown()
            thread.join()
            server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1/metrics?tenant=a"


@contextmanager
def sink(
    url: str, patience: float = 10.0, most: int = 4, ca: str = "", token_file: str = ""
) -> Iterator[Sink]:
    settings = Push(url, ca=ca, token_file=token_file)
    with closing(Sink("slice", settings, patience, 0.01, most)) as made:
        yield made


def counted(made: Sink, **expected: int) -> None:
    until(lambda: all(made.counts[k] >= n for k, n in expected.items()), f"{expected}")


def test_reports_arrive_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret\n")
    with Collector().serve() as collector:
        with sink(collector.url, most=100, token_file=str(tmp_path / "token")) as made:
            for number in range(20):
                made.put({"number": number})
            counted(made, sent=20)
        assert [each["number"] for each in collector.got] == list(range(20))
        first = collector.asked[0]
        assert first["path"] == "/v1/metrics?tenant=a"
        assert first["Content-Type"] == "application/json"
        assert first["Authorization"] == "Bearer secret"
    assert made.counts == {"sent": 20, "dropped": 0, "failed": 0}


def test_what_may_pass_is_sent_again() -> None:
    with Collector([503, 429, 502, 504, 200], {"Retry-After": "0"}).serve() as collector:
        with sink(collector.url) as made:
            made.put({"number": 1})
            counted(made, sent=1)
        assert [each["number"] for each in collector.got] == [1]
    assert made.counts == {"sent": 1, "dropped": 0, "failed": 4}


@pytest.mark.parametrize("status", [500, 400, 401, 404, 301])
def test_what_will_not_pass_is_dropped(status: int, caplog: pytest.LogCaptureFixture) -> None:
    """A redirection is not followed: the address is what the edge says."""
    with Collector([status, 200]).serve() as collector, sink(collector.url) as made:
        made.put({"number": 1})
        made.put({"number": 2})
        counted(made, sent=1)
        assert [each["number"] for each in collector.got] == [2]
        assert made.counts == {"sent": 1, "dropped": 1, "failed": 1}
    assert f"HTTP status {status}" in caplog.text and "reports to http" in caplog.text


def test_the_log_says_when_dropping_begins_and_ends(caplog: pytest.LogCaptureFixture) -> None:
    with Collector([503]).serve() as collector, sink(collector.url, most=2) as made:
        for number in range(20):
            made.put({"number": number})
        assert made.counts["dropped"] == 18
        collector.statuses[:] = [200]
        until(lambda: "no longer dropped; dropped in the meantime: 18" in caplog.text, "it ends")
        assert caplog.text.count("reports are dropped: 2 reports wait") == 1
        collector.statuses[:] = [400]
        made.put({})
        counted(made, dropped=19)
        assert "reports are dropped: HTTP status 400" in caplog.text, "it begins again"


@pytest.mark.parametrize("period, bound", [(0.1, 10.0), (30.0, 30.0), (3600.0, 60.0)])
def test_a_collector_that_comes_back_is_found_soon(period: float, bound: float) -> None:
    with closing(Sink("slice", Push("http://127.0.0.1:1/", period))) as made:
        waits = [made._backoff(attempts) for attempts in range(1, 100)]
    assert 0.5 <= waits[0] <= 1 and bound / 2 <= max(waits) <= bound


def test_retry_after_is_kept() -> None:
    """The collector is asked once, and then left alone for as long as it says."""
    with Collector([503], {"Retry-After": "50"}).serve() as collector, sink(collector.url) as made:
        made.put({})
        counted(made, failed=1)
        made.put({})
        assert made.counts["failed"] == len(collector.asked) == 1


def test_what_a_collector_rejects_in_part_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    said = {"partialSuccess": {"rejectedDataPoints": "3", "errorMessage": "too old"}}
    collector = Collector(answer=json.dumps(said).encode())
    with collector.serve(), sink(collector.url) as made:
        made.put({})
        counted(made, sent=1)
        until(lambda: "too old" in caplog.text, "it is logged")


def test_a_file_that_is_missing_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """And read again, in case it comes."""
    token = tmp_path / "token"
    with Collector().serve() as collector, sink(collector.url, token_file=str(token)) as made:
        made.put({"number": 1})
        counted(made, failed=1)
        assert f"{token}: No such file" in caplog.text and not collector.asked
        token.write_text("secret")
        counted(made, sent=1)


@contextmanager
def hostile(serve: Callable[[socket.socket, threading.Event], None]) -> Iterator[str]:
    """A URL at which connections are dealt with so."""
    ended = threading.Event()
    with ExitStack() as owned:
        listening = owned.enter_context(socket.create_server(("127.0.0.1", 0)))
        threads: list[threading.Thread] = []

        def accept() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                thread = threading.Thread(target=deal, args=(connection,))
                thread.start()
                threads.append(thread)

        def deal(connection: socket.socket) -> None:
            with connection, suppress(OSError):  # it has hung up
                serve(connection, ended)

        accepting = threading.Thread(target=accept)
        accepting.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
        finally:
            ended.set()
            listening.shutdown(socket.SHUT_RDWR)
            accepting.join()
            for thread in threads:
                thread.join()


def hangs(connection: socket.socket, ended: threading.Event) -> None:
    ended.wait()


def closes(connection: socket.socket, ended: threading.Event) -> None:
    connection.recv(10)


def drips(connection: socket.socket, ended: threading.Event) -> None:
    """A header that never ends, a byte at a time, each well within any time limit of one read."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
    while not ended.wait(0.01):
        connection.sendall(b"x")


def floods(connection: socket.socket, ended: threading.Event) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n")
    while not ended.is_set():
        connection.sendall(bytes(1 << 16))


def babbles(connection: socket.socket, ended: threading.Event) -> None:
    connection.sendall(b"\xff\x00 no HTTP at all\r\n" * 100)
    connection.recv(1 << 16)


@pytest.mark.parametrize("serve", [hangs, closes, drips, babbles], ids=lambda f: f.__name__)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_hostile_collector_costs_only_reports(
    serve: Callable[[socket.socket, threading.Event], None], scheme: str
) -> None:
    """Nobody waits for it: the oldest reports give way, which is counted; and at the end all ends
    at once."""
    with hostile(serve) as url, sink(url.replace("http", scheme, 1), 0.3) as made:
        assert made.pushed == PushStatus()
        begun = time.monotonic()
        for number in range(50):
            made.put({"number": number})
        assert time.monotonic() - begun < 10 * made._patience  # each would take one of these
        assert made.counts["dropped"] >= 45  # four wait; one may be under way
        counted(made, failed=2)
        assert not made.counts["sent"]
        assert made.pushed.tried and made.pushed.why.isprintable() and made.pushed.why
    assert not made._thread.is_alive()


def test_an_answer_without_end_is_not_read_to_it() -> None:
    with hostile(floods) as url, sink(url) as made:
        made.put({})
        counted(made, sent=1)


def test_a_collector_that_is_not_there_and_comes() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with sink(f"http://127.0.0.1:{port}/") as made:
        made.put({"number": 1})
        counted(made, failed=2)
        assert not made.counts["dropped"]


def test_a_report_that_is_too_long_is_dropped(caplog: pytest.LogCaptureFixture) -> None:
    with Collector().serve() as collector, sink(collector.url) as made:
        made.put({"long": "x" * (5 << 20)})
        assert made.counts["dropped"] == 1 and "bytes" in caplog.text


# ---- TLS ------------------------------------------------------------------------------------


def test_who_answers_must_have_a_certificate(tmp_path: Path) -> None:
    make_authority(tmp_path / "certs", ["localhost", "127.0.0.1"])
    ca, key = tmp_path / "certs" / "ca.pem", tmp_path / "certs" / "agent.key"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "certs" / "agent.pem", key)
    with Collector().serve(context) as collector:
        url = f"https://127.0.0.1:{collector.port}/v1/metrics"
        with sink(url) as made:  # the system knows no such authority
            made.put({"number": 1})
            counted(made, failed=2)
        assert not collector.got
        with sink(url, ca=str(ca)) as made:
            made.put({"number": 2})
            counted(made, sent=1)
        with sink(url.replace("127.0.0.1", "127.0.0.2"), ca=str(ca)) as made:
            made.put({"number": 3})
            counted(made, failed=1)
        assert [each["number"] for each in collector.got] == [2]


# ---- the edge's YAML ------------------------------------------------------------------------


def read(text: str) -> Push | None:
    links = (Link(2, "nic0", "", 1500, bytes(6), 0, 0, 0),)
    source = Source("edge.yaml", EDGE + text)
    return PUSH.of(read_config(source, bundle().manifest, Host(links, ()))[0].settings)


def test_the_edge_says_where() -> None:
    assert read("") is None
    found = read("reports: {otlp: 'http://[::1]:4318/v1/metrics'}\n")
    assert found == Push("http://[::1]:4318/v1/metrics", 10.0, "", "")
    found = read(
        "reports: {otlp: https://c.example/x, period: 1 min, ca: /a.pem, token_file: /t}\n"
    )
    assert found == Push("https://c.example/x", 60.0, "/a.pem", "/t")


@pytest.mark.parametrize(
    ("text", "code"),
    [("{}", "H0605"), ("{otlp: collector}", "H0621"), ("{otlp: 'ftp://c/'}", "H0621"),
     ("{otlp: 'http://u:p@c/'}", "H0621"), ("{otlp: 'http://c:99999/'}", "H0621"),
     ("{otlp: 'http://c/', ca: ca.pem}", "H0621"), ("{otlp: 'http://c/', perod: 1 s}", "H0604"),
     ("{otlp: 'http://c/', period: soon}", "H0617"), ('{otlp: "http://c/\\r\\nX: y"}', "H0621"),
     ("http://c/", "H0602")],
)  # fmt: skip
def test_mistakes(text: str, code: str) -> None:
    with pytest.raises(Refused) as error:
        read(f"reports: {text}\n")
    assert [found.code for found in error.value.diagnostics] == [code]


# ---- by the agent ---------------------------------------------------------------------------


def test_who_reads_beside_the_agent_sees_what_became_of_them() -> None:
    name = "no-such-pipeline"
    assert read_push_status(name) is None
    pushed = PushStatus(4, 1, 2, 1010.5, "it hung up")
    write_push_status(name, pushed)
    try:
        assert read_push_status(name) == pushed and set(OUTCOMES) == set(COUNTS) < set(
            asdict(pushed)
        )
    finally:
        remove_push_status(name)
    assert read_push_status(name) is None


@pytest.mark.usefixtures("kernel")
def test_the_agent_pushes_though_nobody_listens(lab: Lab, tmp_path: Path) -> None:
    """To a collector that the agent's namespace reaches: packets of an intent arrive as metrics,
    and the agent ends though the collector hangs."""
    with slice_world(lab, tmp_path) as (world, wire, mac):
        world.edge.run("ip", "link", "set", "lo", "up")
        with ExitStack() as owned:
            serving = Collector().serve()
            collector = world.edge.inside_thread(lambda: owned.enter_context(serving))
            edge = f"{EDGE}reports: {{otlp: '{collector.url}', period: 100 ms}}\n"
            with world.agent(), world.client() as client:
                client.load(read_bundle(world.directory / "bundle"), edge)
                client.apply_intent(intent())

                def arrived() -> bool:
                    wire.send(frame(mac))
                    return bool(packets(collector.got[-1:]) > 0)

                until(arrived, "a report with packets")
                until(
                    lambda: 'helio_reports_total{outcome="sent"' in world.ctl("metrics"), "metrics"
                )
                for words in ((), ("--local",)):
                    (seen,) = json.loads(world.ctl(*words, "status", "--json"))["pipelines"]
                    assert seen["reports"]["otlp"] == collector.url and seen["reports"]["sent"]
                    assert seen["reports"]["last"]["arrived"]
                collector.statuses[:] = [400]
                expected = "ago: HTTP status 400;"
                until(lambda: expected in world.ctl("status"), "the status says so")
                client.upgrade(None, config=EDGE)
                until(lambda: "not pushed" in world.ctl("status"), "another YAML ends it")
                collector.statuses[:] = [200]
                client.upgrade(None, config=edge.replace("/v1/metrics", "/v2/metrics"))

                def elsewhere() -> bool:
                    return collector.asked[-1]["path"].startswith("/v2/metrics")

                until(elsewhere, "another YAML sends them elsewhere")


def packets(contents: Sequence[dict[str, Any]]) -> int:
    found = [p for content in contents if "helio.intent.packets" in json.dumps(content)
             for p in points(content, "helio.intent.packets")]  # fmt: skip
    return sum(int(point["asInt"]) for point in found)


def test_a_pipeline_whose_reports_have_no_thread_has_them_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads = iter([RuntimeError("can't start new thread"), None])
    loaded = SimpleNamespace(about={"reports": {"otlp": "http://[::1]:4318/v1/metrics"}})
    one = SimpleNamespace(name="one", loaded=loaded)
    two = SimpleNamespace(name="two", loaded=loaded)

    def sink(name: str, *_: object, **__: object) -> Any:
        if name == "one" and (error := next(threads)) is not None:
            raise error
        return SimpleNamespace(pipeline=name)

    monkeypatch.setattr(pusher, "Sink", sink)
    monkeypatch.setattr(pusher, "Reporter", lambda owner: owner)
    owners: Any = [one, two]
    pushing = pusher.Pusher(lambda: owners, lambda _: (), lambda *_: {})
    for there in (["two"], ["one", "two"]):
        pushing._look()
        assert sorted(each.owner.name for each in pushing._pushed.values()) == there
