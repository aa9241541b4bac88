"""The console by HTTP: who may look, what is answered, events as they come."""

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, closing, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from console_world import Played, Running, console, usual
from controller.console import listening, server
from controller.console.access import Access, read_token
from controller.console.collector import Collector
from controller.console.listening import ConsoleServer
from controller.console.server import Console
from controller.console.start import Settings, make_reader
from controller.console.start import console as started
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.base.certs import issue, new_authority, revoke
from helioc.runtime.enrolment.est_server import server_context
from helioc.runtime.rpc import control_pb2 as pb
from helioc.runtime.rpc.access import may
from lab import until


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    with console(tmp_path, {"edge1": usual(), "edge2": Played(silent="nobody there")}) as made:
        yield made


class Answer:
    def __init__(self, status: int, headers: Any, body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def ask(
    port: int, path: str, token: str = "", method: str = "GET", body: str = "", cookie: str = "",
    context: ssl.SSLContext | None = None,
) -> Answer:  # fmt: skip
    """`context`: by TLS. An answer without an end is read for its first 64 KiB at most."""
    made = (http.client.HTTPSConnection("127.0.0.1", port, timeout=10, context=context)
            if context else http.client.HTTPConnection("127.0.0.1", port, timeout=10))  # fmt: skip
    with closing(made):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        headers |= {"Cookie": cookie} if cookie else {}
        made.request(method, path, body or None, headers)
        with made.getresponse() as answer:
            if answer.headers["Content-Type"] == "text/event-stream":
                body_ = b""
                while body_.count(b"event: events") < 1:
                    body_ += answer.read1(65_536)
                return Answer(answer.status, answer.headers, body_)
            return Answer(answer.status, answer.headers, answer.read())


def test_nobody_looks_without_a_token(running: Running) -> None:
    port = running.server.port
    for path in ("live", "edge?edge=edge1", "overlays", "history", "histogram", "graph"):
        assert ask(port, f"/api/{path}").status == 401
        assert ask(port, f"/api/{path}", token=running.token[:-1]).status == 401
        assert ask(port, f"/api/{path}", cookie="helio_console=x").status == 401
    assert ask(port, "/api/session", method="POST", body='{"token": "no"}').status == 403
    for bad in ("", "[]", "{}", '{"token": 1}', "x" * 5000):
        assert ask(port, "/api/session", method="POST", body=bad).status in (400, 403, 413)
    given = ask(port, "/api/session", method="POST", body=json.dumps({"token": running.token}))
    said = given.headers["Set-Cookie"]
    assert "HttpOnly" in said and "SameSite=Strict" in said
    cookie = said.partition(";")[0]
    assert ask(port, "/api/overlays", cookie=cookie).status == 200
    assert ask(port, "/api/session", method="DELETE", cookie=cookie).status == 200
    assert ask(port, "/api/overlays", cookie=cookie).status == 401


def test_nothing_can_be_changed_and_scripts_are_ours(running: Running) -> None:
    port, token = running.server.port, running.token
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert ask(port, "/api/edge?edge=edge1", token, method).status == 405
    for path in ("/", "/page/main.js", "/page/console.css", "/api/overlays", "/page/nothing.js"):
        answer = ask(port, path, token)
        policy = answer.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'self'; ") and "unsafe" not in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
    page = ask(port, "/").body.decode()
    assert "<script type=" in page and page.count("<script") == 1 and "style=" not in page
    for path in ("/page/../server.py", "/page/%2e%2e/server.py", "/page//etc/passwd"):
        assert ask(port, path).status == 404


def test_what_cannot_be_is_said(running: Running) -> None:
    port, token = running.server.port, running.token
    assert ask(port, "/api/edge?edge=nobody", token).status == 404
    for path in ("history?edge=edge1&series=x", "history?edge=edge1&series=[[1]]",
                 "history?edge=edge1&since=nan", "overlays?first=-1", "overlays?count=1e99",
                 "edge?edge=edge1&t=x"):  # fmt: skip
        answer = ask(port, f"/api/{path}", token)
        assert answer.status == 400 and answer.json["title"], path
    many = json.dumps([["p", "port", "x", "y"]] * 65)
    assert ask(port, f"/api/history?edge=edge1&series={many.replace(' ', '')}", token).status == 400
    unknown = '[["linx","nothing","x","y"],["linx","overlay","nobody","delay"]]'
    assert ask(port, f"/api/history?edge=edge1&series={unknown}", token).status == 200


def test_events_come_as_they_happen(running: Running) -> None:
    until(lambda: running.collector.edge("edge2").state == "unreachable", "it is asked")  # type: ignore[union-attr]
    answer = ask(running.server.port, "/api/live?edge=edge1", running.token)
    parts = [part.split("\n") for part in answer.body.decode().split("\n\n") if part]
    said = {part[0]: json.loads(part[1].removeprefix("data: ")) for part in parts if len(part) > 1}
    assert {"event: hello", "event: fleet", "event: edge", "event: events"} <= said.keys()
    assert said["event: events"][0]["text"] == "unreachable: nobody there"
    first = next(part for part in parts if part[0] == "event: fleet")
    rows = {row["name"]: row for row in json.loads(first[1][6:])["edges"]}
    assert rows["edge2"]["state"] == "unreachable" and rows["edge2"]["why"] == "nobody there"


# ---- who may ------------------------------------------------------------------------------------


def _client(directory: Path, name: str = "") -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(directory / "ca.pem"))
    if name:
        context.load_cert_chain(directory / f"{name}.pem", directory / f"{name}.key")
    return context


def test_a_certificate_of_the_role_may_look(tmp_path: Path) -> None:
    new_authority(tmp_path)
    issue(tmp_path, "office", None, ["127.0.0.1"])
    for role in ("console", "read"):
        issue(tmp_path, role, role)
    issue(tmp_path, "edge", None, ["127.0.0.1"])
    issue(tmp_path, "stolen", "console")
    served = Console(Collector(1 << 20), Access(tmp_path, "t" * 40), 0.2)
    context = server_context(tmp_path / "office")
    with closing(ConsoleServer(served, ("127.0.0.1", 0), context)) as server:

        def status(name: str = "", token: str = "") -> int:
            shown = _client(tmp_path, name)
            return ask(server.port, "/api/overlays", token, context=shown).status

        assert [status(each) for each in ("console", "read", "edge", "")] == [200, 200, 401, 401]
        assert status(token="t" * 40) == 200 and status("edge", "t" * 40) == 200
        assert status("stolen") == 200
        revoke(tmp_path, tmp_path / "stolen.pem")
        assert status("stolen") == 401
    assert not may("console", "read") and may("read", "console")  # an agent shows it nothing


def test_a_token_is_the_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "state" / "console.token"
    made = read_token(path)
    assert len(made) >= 32 and path.stat().st_mode & 0o777 == 0o600
    assert read_token(path) == made
    path.chmod(0o640)
    with pytest.raises(Refused) as refused:
        read_token(path)
    assert (
        refused.value.diagnostics[0].code == "H0806"
        and "0640" in refused.value.diagnostics[0].title
    )
    path.chmod(0o600)
    for bad in ("", "short", f"{made} {made}", "x" * 5000 + " "):
        path.write_text(bad)
        with nullcontext() if len(bad) > 4096 else pytest.raises(Refused):
            read_token(path)
    path.unlink()
    os.mkfifo(path, 0o600)  # nobody writes into it
    with pytest.raises(Refused):
        read_token(path)
    path.unlink()
    path.mkdir(0o700)
    with pytest.raises(Refused):
        read_token(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="a file of another user is made by root only")
def test_a_token_of_another_user_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "console.token"
    read_token(path)
    os.chown(path, 65534, -1)
    with pytest.raises(Refused) as refused:
        read_token(path)
    assert refused.value.diagnostics[0].code == "H0806"
    assert "65534" in refused.value.diagnostics[0].title


# ---- hostile clients ----------------------------------------------------------------------------


def _said(port: int, request: bytes) -> bytes:
    """The first bytes of the answer; none if the connection is closed without one."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as made:
        made.sendall(request)
        try:
            return made.recv(4096)
        except ConnectionError:
            return b""


def _post(content: bytes, *headers: str) -> bytes:
    lines = ["POST /api/session HTTP/1.1", "Host: x", f"Content-Length: {len(content)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + content


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (_post(b'{"token": "x"}', "Content-Type: text/plain; charset=nonsense"), 403),
        (_post(b"[" * 4000), 400),
        (_post(b'{"token": "\\ud800"}'), 403),
        (_post(b"not compressed", "Content-Encoding: deflate"), 400),
        (_post(b"x" * 5000), 413),
        (b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"\x16\x03\x01 nonsense \r\n\r\n", 400),
        (b"GET /?" + b"a" * 20000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 20000 + b"\r\n\r\n", 400),
        (b"GET /api/session/../edge?edge=edge1 HTTP/1.1\r\nHost: x\r\n\r\n", 401),
        (b"GET /api/edge HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \xff\r\n\r\n", 401),
        (b"HEAD /api/live HTTP/1.1\r\nHost: x\r\n\r\n", 401),
    ],
)  # fmt: skip
def test_who_has_no_token_fills_no_log(
    running: Running, caplog: pytest.LogCaptureFixture, request_: bytes, status: int
) -> None:
    """Neither with a traceback nor with anything else."""
    assert _said(running.server.port, request_).split()[1:2] == [b"%d" % status]
    assert not caplog.records


def test_deep_series_are_refused(running: Running) -> None:
    path = "/api/history?edge=edge1&series=" + "[" * 3000
    assert ask(running.server.port, path, running.token).status == 400


def test_connections_are_bounded(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "MOST_OF_ONE", 4)
    port = running.server.port
    with ExitStack() as owned:
        for _ in range(4):
            owned.enter_context(socket.create_connection(("127.0.0.1", port)))
        until(lambda: _said(port, b"GET / HTTP/1.0\r\n\r\n") == b"", "there are too many")
    until(lambda: b" 200 " in _said(port, b"GET / HTTP/1.0\r\n\r\n"), "these have gone")


@pytest.mark.parametrize(
    "part", [b"", b"GET / HTTP/1.1\r\nHost: ", _post(b"{}").removesuffix(b"}"),
             b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"],
)  # fmt: skip
def test_who_is_silent_is_left(
    running: Running, monkeypatch: pytest.MonkeyPatch, part: bytes
) -> None:
    """Also in the middle of a request, and behind one."""
    for module in (listening, server):
        monkeypatch.setattr(module, "PATIENCE", 0.5)
    with socket.create_connection(("127.0.0.1", running.server.port), timeout=10) as made:
        made.sendall(part)
        with suppress(ConnectionError):
            while made.recv(65_536):
                pass


def test_what_is_no_number_hides_nothing_else(tmp_path: Path) -> None:
    odd = usual()
    odd.overlays[0].since = odd.overlays[1].delay = float("inf")
    odd.overlays[2].name = "9" * 5000
    odd.congestion = pb.Congestion(congested=True, since=float("nan"))
    with console(tmp_path, {"odd": odd, "edge1": usual(1)}) as made:
        port, token = made.server.port, made.token
        until(lambda: all(e.state == "reachable" for e in made.collector.edges()), "they answer")
        for sort in ("name", "delay", "state"):
            rows = ask(port, f"/api/overlays?sort={sort}", token).json["rows"]
            assert len(rows) == 12
            (since,) = [row[4][3] for row in rows if row[0] == "odd" and row[2] == "GRE-WAN1"]
            assert since is None
        of = ask(port, "/api/edge?edge=odd", token).json["of"]["linx"]
        assert of["congestion"] == {"congested": True, "since": None, "why": ""}


@pytest.mark.parametrize(
    "address", ["0.0.0.0:1", "nonsense", "127.0.0.1:99999", ":1", "10.0.0.1:1"]
)
def test_a_console_is_not_served_in_the_clear(tmp_path: Path, address: str) -> None:
    settings = Settings(address, tmp_path / "token")
    with pytest.raises(Refused) as refused, started(settings, tmp_path, _nobody, dict):
        pass
    assert refused.value.diagnostics[0].code == "H0807"


def _nobody(edge: str, address: str, pipeline: str) -> Any:
    raise AssertionError


def test_a_console_starts_and_ends(tmp_path: Path) -> None:
    settings = Settings("127.0.0.1:0", tmp_path / "token", 0.2, 8)
    with started(settings, tmp_path, _nobody, lambda: {"e": ""}) as url:
        assert url.startswith("http://127.0.0.1:")
        port = int(url.rstrip("/").rpartition(":")[2])
        token = read_token(tmp_path / "token")
        until(lambda: ask(port, "/api/edge?edge=e", token).json["state"] == "unreachable", "asked")
        taken = replace(settings, address=f"127.0.0.1:{port}")
        with pytest.raises(Refused) as refused, started(taken, tmp_path, _nobody, dict):
            pass
        (found,) = refused.value.diagnostics
        assert found.code == "H0807" and found.title.endswith(f"{port}`: address already in use")
    assert not make_reader(tmp_path).with_suffix(".pem").exists()  # without an authority
    new_authority(tmp_path)
    assert make_reader(tmp_path).with_suffix(".pem").exists()
