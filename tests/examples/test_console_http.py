"""The console by HTTP: who may look, what is answered, events as they come."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from console_world import Played, Running, console, usual
from controller.console.access import Access, read_token
from controller.console.collector import Collector
from controller.console.server import Console, ConsoleServer
from controller.console.start import Settings, make_reader
from controller.console.start import console as started
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.base.certs import issue, new_authority, revoke
from helioc.runtime.enrolment.est_server import server_context
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
    for bad in ("", "short", f"{made} {made}"):
        path.write_text(bad)
        with pytest.raises(Refused):
            read_token(path)


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
        with pytest.raises(OSError), started(replace(settings, address=f"127.0.0.1:{port}"),
                                             tmp_path, _nobody, dict):  # fmt: skip
            pass
    assert not make_reader(tmp_path).with_suffix(".pem").exists()  # without an authority
    new_authority(tmp_path)
    assert make_reader(tmp_path).with_suffix(".pem").exists()
